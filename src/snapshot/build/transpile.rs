//! The transformation of every JavaScript and TypeScript file of the runtime: to plain JavaScript, in
//! ASCII, and without what Deno's Node polyfills expect of Deno.
//!
//! It is the same function for the files in the snapshot and for the residual ones.

use celld_engine::platform::builtins;
use deno_ast::{
    EmitOptions, ImportsNotUsedAsValues, MediaType, ParseParams, SourceMapOption, TranspileOptions,
};
use deno_core::url::Url;
use deno_core::{ModuleCodeString, SourceMapData};
use deno_error::JsErrorBox;

use crate::compact::compact;
use crate::patches;

/// In the place of Deno's `node:module`, whose loader reaches internal modules.
const OUR_MODULE: &str =
    "export * from \"node:celld/module\"; export { default } from \"node:celld/module\";";
/// Appended to `node:process`.
const PATCH_PROCESS: &str = include_str!("../../engine/js/platform/patch_process.js");

/// What `deno_core` wants of a transpiler: the text, and a source map if there is one.
pub type Transpiled = (ModuleCodeString, Option<SourceMapData>);

/// Transforms the file `specifier`.
///
/// # Errors
/// A syntax error, or a place that is to be changed and does not exist: after an update of Deno's crates
/// the change has to be thought through again.
pub fn transpile(specifier: &str, source: &str) -> Result<Transpiled, JsErrorBox> {
    let is_node = specifier.starts_with("node:");
    let mut text = if specifier == "node:module" { OUR_MODULE.to_owned() } else { source.to_owned() };
    if specifier.ends_with(".ts") || is_node {
        text = strip_types(specifier, text)?;
    }
    if is_node || specifier.starts_with("ext:deno_node/") {
        text = text.replace("__NODE_VERSION__", deno_node::NODE_VERSION);
        // The polyfill would leave this function on the global object.
        text = text
            .replace("globalThis.nodeBootstrap = initialize;", "internals.__nodeInitialize = initialize;");
        text = bind_deno(specifier, text);
    }
    text = match specifier {
        "node:process" => text + "\n" + PATCH_PROCESS,
        "ext:deno_node/net.ts" => keep_context_in_onread(specifier, text)?,
        "ext:deno_fs/30_fs.js" => know_platform(specifier, text)?,
        "ext:deno_web/02_event.js" => report_to_log(specifier, text)?,
        _ => text,
    };
    for (from, to) in patches::changes(specifier) {
        text = replace(specifier, text, from, to)?;
    }
    if text.contains("__NODE_URLS__") {
        let urls = builtins::node_modules().map(|(name, url)| format!("{name:?}: {url:?}"));
        text = text.replace("...__NODE_URLS__", &urls.collect::<Vec<_>>().join(", "));
    }
    text = compact(specifier, text)?;
    Ok((escape_non_ascii(text).into(), None))
}

fn strip_types(specifier: &str, text: String) -> Result<String, JsErrorBox> {
    let generic = |error: &dyn std::fmt::Display| JsErrorBox::generic(format!("{specifier}: {error}"));
    let parsed = deno_ast::parse_module(ParseParams {
        specifier: Url::parse(specifier).map_err(|error| generic(&error))?,
        text: text.into(),
        media_type: MediaType::TypeScript,
        capture_tokens: false,
        scope_analysis: false,
        maybe_syntax: None,
    })
    .map_err(|error| generic(&error))?;
    let options =
        TranspileOptions { imports_not_used_as_values: ImportsNotUsedAsValues::Remove, ..Default::default() };
    let emit = EmitOptions { source_map: SourceMapOption::None, ..Default::default() };
    let emitted = parsed.transpile(&options, &Default::default(), &emit).map_err(|error| generic(&error))?;
    Ok(emitted.into_source().text)
}

/// Gives a polyfill that uses the free variable `Deno` the object made in `node_host.js`, so that no
/// global of that name has to exist.
fn bind_deno(specifier: &str, mut text: String) -> String {
    // In the excluded file the word occurs in data.
    if !text.contains("Deno.") || specifier.ends_with("_brotli.js") {
        return text;
    }
    let is_module = text.contains("\nexport ") || text.contains("\nimport ") || text.starts_with("import ");
    let body =
        ["(function() {", "(function () {"].iter().find_map(|open| Some(text.find(open)? + open.len()));
    match body {
        Some(body) if !is_module => {
            text.insert_str(body, "const Deno = __bootstrap.internals.__denoNs;");
            text
        }
        _ => format!(
            "import {{ internals as __internals }} from \"ext:core/mod.js\"; \
             const Deno = __internals.__denoNs;\n{text}"
        ),
    }
}

/// Native code calls a socket's `onread` without an async context; this gives it the one in which the
/// handler was set.
fn keep_context_in_onread(specifier: &str, text: String) -> Result<String, JsErrorBox> {
    replace(
        specifier,
        text,
        "socket._handle.onread = onStreamRead;",
        "{
          const context = core.getAsyncContext();
          socket._handle.onread = context === undefined ? onStreamRead : function (...args) {
            const previous = core.getAsyncContext();
            core.setAsyncContext(context);
            try {
              return Reflect.apply(onStreamRead, this, args);
            } finally {
              core.setAsyncContext(previous);
            }
          };
        }",
    )
}

/// The decoder of `stat` results is compiled from text in which `Deno.build.os` decides; its scope has no
/// `Deno`, and the answer is known.
fn know_platform(specifier: &str, text: String) -> Result<String, JsErrorBox> {
    let condition = ["darwin", "linux", "android", "openbsd", "freebsd"]
        .map(|os| format!("Deno.build.os === \"{os}\""))
        .join(" || ");
    replace(specifier, text, &condition, "true")
}

/// An exception in an event handler goes to the log; Deno would end the event loop with it.
fn report_to_log(specifier: &str, text: String) -> Result<String, JsErrorBox> {
    replace(specifier, text, "core.reportUnhandledException(error);", "internals.celldReportUncaught(error);")
}

fn replace(specifier: &str, text: String, from: &str, to: &str) -> Result<String, JsErrorBox> {
    if !text.contains(from) {
        return Err(JsErrorBox::generic(format!("{specifier} has no place {from:?} to change any more")));
    }
    Ok(text.replace(from, to))
}

/// V8 uses the sources in place as one-byte strings, which must be ASCII; a release build does not check.
fn escape_non_ascii(text: String) -> String {
    if text.is_ascii() {
        return text;
    }
    let mut escaped = String::with_capacity(text.len() + 64);
    for character in text.chars() {
        if character.is_ascii() {
            escaped.push(character);
            continue;
        }
        for unit in character.encode_utf16(&mut [0; 2]) {
            escaped.push_str(&format!("\\u{unit:04x}"));
        }
    }
    escaped
}
