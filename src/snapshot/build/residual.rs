//! The sources that the snapshot did not evaluate and an isolate may still ask for.

use std::collections::{BTreeMap, HashSet};
use std::fmt::Write as _;
use std::path::Path;

use deno_core::Extension;

use crate::transpile::transpile;

/// A file that an extension loads on demand.
pub struct LazyFile {
    specifier: String,
    source: String,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Script,
    Module,
}

/// Reads all files that `extensions` load on demand.
pub fn lazy_files(extensions: &[Extension]) -> Result<Vec<LazyFile>, Box<dyn std::error::Error>> {
    let mut files = Vec::new();
    for extension in extensions {
        let scripts = extension.lazy_loaded_js_files.iter().map(|file| (Kind::Script, file));
        let modules = extension.lazy_loaded_esm_files.iter().map(|file| (Kind::Module, file));
        for (kind, file) in scripts.chain(modules) {
            let source = file.load()?.as_str().to_owned();
            files.push(LazyFile { specifier: file.specifier.to_owned(), source, kind });
        }
    }
    Ok(files)
}

/// The residual files, transformed, by specifier (which is the order `deno_core` searches in).
pub struct Residual {
    scripts: BTreeMap<String, String>,
    modules: BTreeMap<String, String>,
}

impl Residual {
    /// What of `files` the snapshot did not consume.
    pub fn new(files: Vec<LazyFile>, consumed: &[String]) -> Result<Residual, deno_error::JsErrorBox> {
        let consumed: HashSet<&str> = consumed.iter().map(String::as_str).collect();
        let mut residual = Residual { scripts: BTreeMap::new(), modules: BTreeMap::new() };
        for file in files.into_iter().filter(|file| !consumed.contains(file.specifier.as_str())) {
            let (text, _source_map) = transpile(&file.specifier, &file.source)?;
            match file.kind {
                // Wrapped here, V8 can use the static text in place instead of copying it to its heap.
                Kind::Script => {
                    let wrapped = deno_core::wrap_lazy_ext_script(text.as_str());
                    residual.scripts.insert(file.specifier, wrapped);
                }
                Kind::Module => drop(residual.modules.insert(file.specifier, text.as_str().to_owned())),
            }
        }
        Ok(residual)
    }

    pub fn contains(&self, specifier: &str) -> bool {
        self.scripts.contains_key(specifier) || self.modules.contains_key(specifier)
    }

    /// Writes the files and a `table.rs` that includes them into `out`.
    pub fn write(&self, out: &Path) -> std::io::Result<()> {
        let sources = out.join("sources");
        std::fs::create_dir_all(&sources)?;
        let mut table = String::new();
        for (name, files) in [("RESIDUAL_JS", &self.scripts), ("RESIDUAL_ESM", &self.modules)] {
            let _ = writeln!(table, "pub static {name}: &[(&str, &str)] = &[");
            for (index, (specifier, source)) in files.iter().enumerate() {
                let file = sources.join(format!("{name}.{index}.js"));
                std::fs::write(&file, source)?;
                let _ = writeln!(table, "    ({specifier:?}, include_str!({file:?})),");
            }
            table.push_str("];\n");
        }
        std::fs::write(out.join("table.rs"), table)
    }
}
