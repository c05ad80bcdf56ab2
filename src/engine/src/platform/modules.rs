//! A script's modules in the form isolates load them: checked once, shared by all isolates.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, OnceLock};

use deno_core::{ModuleSpecifier, v8};

use super::code_cache::CodeCache;
use super::memfs::BUNDLE_DIR;
use crate::deployment::{Module, ModuleKind, Script};

/// The URL below which a script's modules live. Stack traces show it unless [`display_name`] cuts it off.
const BUNDLE_URL: &str = "file:///bundle/";

/// Why a script's modules cannot be loaded.
#[derive(Debug, thiserror::Error)]
pub enum ModulesError {
    /// The entry module is not among the modules.
    #[error("the main module {main:?} of script {script:?} is not in its bundle")]
    NoMain {
        /// The script.
        script: String,
        /// The name of the entry module.
        main: String,
    },
    /// The entry module is not JavaScript.
    #[error("the main module {main:?} of script {script:?} is not an ES module")]
    MainNotEsm {
        /// The script.
        script: String,
        /// The name of the entry module.
        main: String,
    },
    /// A module that must be text is not valid UTF-8.
    #[error("module {module:?} of script {script:?} is not valid UTF-8")]
    NotUtf8 {
        /// The script.
        script: String,
        /// The module.
        module: String,
    },
    /// A name that is no path inside the bundle.
    #[error("module name {module:?} of script {script:?} is not a relative path inside the bundle")]
    BadName {
        /// The script.
        script: String,
        /// The module.
        module: String,
    },
}

/// The modules of one script, ready to load into any number of isolates.
#[derive(Debug)]
pub struct Modules {
    script: Arc<Script>,
    main: ModuleSpecifier,
    /// Compiled WebAssembly by module name: compiled by the first isolate, reused by the others.
    wasm: HashMap<String, OnceLock<CompiledWasm>>,
    pub(super) code_cache: CodeCache,
}

pub(super) struct CompiledWasm(pub(super) v8::CompiledWasmModule);

impl std::fmt::Debug for CompiledWasm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CompiledWasm")
    }
}

impl Modules {
    /// Checks the modules of `script`: names are paths inside the bundle, text is UTF-8, `main` exists.
    pub fn new(script: Arc<Script>) -> Result<Modules, ModulesError> {
        let name = || script.name.clone();
        let main = match script.modules.get(&script.main) {
            None => return Err(ModulesError::NoMain { script: name(), main: script.main.clone() }),
            Some(module) if module.kind != ModuleKind::Esm => {
                return Err(ModulesError::MainNotEsm { script: name(), main: script.main.clone() });
            }
            Some(_) => module_url(&script.main),
        };
        let bad_name = |module: &str| ModulesError::BadName { script: name(), module: module.to_owned() };
        let main = main.ok_or_else(|| bad_name(&script.main))?;
        let mut wasm = HashMap::new();
        for (module_name, module) in &script.modules {
            module_url(module_name).ok_or_else(|| bad_name(module_name))?;
            match module.kind {
                ModuleKind::Wasm => drop(wasm.insert(module_name.clone(), OnceLock::new())),
                ModuleKind::Data => {}
                ModuleKind::Esm | ModuleKind::Text | ModuleKind::Json => {
                    if std::str::from_utf8(&module.bytes).is_err() {
                        return Err(ModulesError::NotUtf8 { script: name(), module: module_name.clone() });
                    }
                }
            }
        }
        Ok(Modules { script, main, wasm, code_cache: CodeCache::default() })
    }

    /// The script these modules belong to.
    pub fn script(&self) -> &Arc<Script> {
        &self.script
    }

    /// The URL of the entry module.
    pub fn main(&self) -> &ModuleSpecifier {
        &self.main
    }

    /// All modules with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Module)> {
        self.script.modules.iter().map(|(name, module)| (name.as_str(), module))
    }

    /// The module behind a URL made by [`module_url`], with its name.
    pub(super) fn by_url(&self, url: &str) -> Option<(&str, &Module)> {
        let path = url.strip_prefix(BUNDLE_URL)?;
        let decoded = percent_encoding::percent_decode_str(path).decode_utf8().ok()?;
        self.script.modules.get_key_value(decoded.as_ref()).map(|(name, module)| (name.as_str(), module))
    }

    /// The slot for the compiled form of the WebAssembly module `name`.
    pub(super) fn wasm_slot(&self, name: &str) -> Option<&OnceLock<CompiledWasm>> {
        self.wasm.get(name)
    }
}

/// The URL of the module `name`, or `None` when the name leads out of the bundle.
pub(super) fn module_url(name: &str) -> Option<ModuleSpecifier> {
    let stays_inside = !name.is_empty() && name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    if !stays_inside {
        return None;
    }
    ModuleSpecifier::from_file_path(format!("{BUNDLE_DIR}/{name}")).ok()
}

/// The name to show for a file of a stack frame: a bundle-relative path, or `file` as it is.
pub fn display_name(file: &str) -> &str {
    file.strip_prefix(BUNDLE_URL).unwrap_or(file)
}

/// `text` with the URLs of its stack frames ("    at f (file:///bundle/src/a.ts:1:2)") as [`display_name`]
/// shows them, and without the platform's own frames.
pub(super) fn display_stack(text: &str) -> Cow<'_, str> {
    if !text.contains(BUNDLE_URL) && !text.contains("ext:") {
        return Cow::Borrowed(text);
    }
    let mut shown: Vec<Cow<'_, str>> = Vec::new();
    for line in text.split('\n') {
        let frame = line.trim_start().strip_prefix("at ");
        if frame.is_some_and(|frame| frame.starts_with("ext:") || frame.contains("(ext:")) {
            // What an error has besides its stack follows the last frame.
            if let (true, Some(last)) = (line.ends_with(" {"), shown.last_mut()) {
                last.to_mut().push_str(" {");
            }
        } else if frame.is_some() {
            shown.push(line.replace(BUNDLE_URL, "").into());
        } else {
            shown.push(line.into());
        }
    }
    Cow::Owned(shown.join("\n"))
}
