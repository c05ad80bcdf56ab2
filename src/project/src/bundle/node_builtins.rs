//! Node's built-in modules, which are the runtime's to provide and never bundled.

use std::collections::BTreeSet;
use std::fmt::Write;

use super::metafile::Import;

/// The names that may be imported without the `node:` prefix.
pub(super) const BARE: &[&str] = &[
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "stream",
    "string_decoder",
    "sys",
    "timers",
    "tls",
    "trace_events",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
];

/// The modules below them.
const BELOW: &[&str] = &[
    "assert/strict",
    "dns/promises",
    "fs/promises",
    "inspector/promises",
    "path/posix",
    "path/win32",
    "readline/promises",
    "stream/consumers",
    "stream/promises",
    "stream/web",
    "timers/promises",
    "util/types",
];

/// Whether a Worker with these compatibility flags may import them.
pub(super) fn enabled(flags: &[String]) -> bool {
    let has = |flag: &str| flags.iter().any(|set| set == flag);
    (has("nodejs_compat") || has("nodejs_compat_v2")) && !has("no_nodejs_compat")
}

/// `process/browser` for `node:process/browser`: a built-in module's name, and a path that is none of its modules.
pub(super) fn path_in_package(import: &str) -> Option<&str> {
    let path = import.strip_prefix("node:")?;
    let (package, _) = path.split_once('/')?;
    (BARE.contains(&package) && !BELOW.contains(&path)).then_some(path)
}

/// JavaScript that makes `require` work for the built-in modules that CommonJS packages in the bundle ask for;
/// empty when none do.
///
/// esbuild turns such a call into one of the `require` in scope, and a module has none. Imports and function
/// declarations are hoisted, so this can stand at the end, where it moves no line of the source map. A name that is
/// no built-in module gets no import, which would fail when the module loads: packages try such names and catch the
/// error.
pub(super) fn require_shim(imports: &[Import]) -> String {
    let names: BTreeSet<&str> = imports
        .iter()
        .filter(|import| import.external && import.kind == "require-call")
        .map(|import| import.path.as_str())
        .filter(|path| match path.strip_prefix("node:") {
            Some(name) => BARE.contains(&name) || BELOW.contains(&name),
            None => path.starts_with("cloudflare:"),
        })
        .collect();
    if names.is_empty() {
        return String::new();
    }
    let mut imports = String::new();
    let mut cases = String::new();
    for (index, name) in names.iter().enumerate() {
        // `module.exports` of a Node built-in is its default export; the platform's modules have only names.
        let clause = if name.starts_with("node:") { "" } else { "* as " };
        let _ = writeln!(imports, "import {clause}__celld_required_{index} from \"{name}\";");
        let _ = writeln!(cases, "    case \"{name}\": return __celld_required_{index};");
    }
    format!(
        "{imports}function require(name) {{\n  switch (name) {{\n{cases}  }}\n  \
         throw new Error(`Dynamic require of \"${{name}}\" is not supported`);\n}}\n"
    )
}

/// A warning for each built-in module that is imported although `nodejs_compat` is off.
pub(super) fn warnings(imports: &[Import], enabled: bool) -> Vec<String> {
    if enabled {
        return Vec::new();
    }
    let used: BTreeSet<&str> =
        imports.iter().map(|import| import.path.as_str()).filter(|path| path.starts_with("node:")).collect();
    used.into_iter()
        .map(|name| {
            format!(
                "{name} is imported, and the compatibility flag \"nodejs_compat\" that provides it is not set"
            )
        })
        .collect()
}
