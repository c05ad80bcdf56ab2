//! `no_bundle`: the entry point as it stands, and every file beside it that a module rule selects.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::{Glob, GlobSet, GlobSetBuilder};

use super::{Bundle, BundleError, Module, ModuleKind};
use crate::config::{Config, RuleKind};

/// Directories that hold no modules of the project.
const SKIPPED: [&str; 4] = ["node_modules", ".git", ".celld", ".wrangler"];

pub(super) fn collect(config: &Config) -> Result<Bundle, BundleError> {
    let root = &config.module_root;
    let main = config.main.strip_prefix(root).unwrap_or(&config.main).display().to_string();
    let mut modules = vec![Module { name: main.clone(), kind: ModuleKind::Esm, bytes: read(&config.main)? }];
    let mut inputs = vec![config.main.clone()];

    let rules: Vec<(GlobSet, ModuleKind)> =
        config.rules.0.iter().map(|rule| (glob_set(&rule.globs), kind_of(rule.kind))).collect();
    let mut files = Vec::new();
    walk(root, &mut files)?;
    files.sort();
    for file in files {
        let name = file.strip_prefix(root).unwrap_or(&file);
        let Some((_, kind)) = rules.iter().find(|(globs, _)| globs.is_match(name)) else { continue };
        let name = name.display().to_string();
        if name != main {
            modules.push(Module { name, kind: *kind, bytes: read(&file)? });
            inputs.push(file);
        }
    }
    Ok(Bundle { main, modules, exports: None, inputs, warnings: Vec::new() })
}

fn kind_of(rule: RuleKind) -> ModuleKind {
    match rule {
        RuleKind::EsModule => ModuleKind::Esm,
        RuleKind::Text => ModuleKind::Text,
        RuleKind::Data => ModuleKind::Data,
        RuleKind::CompiledWasm => ModuleKind::Wasm,
    }
}

/// A glob that is not one matches nothing, as in Wrangler, where it becomes a literal.
fn glob_set(globs: &[String]) -> GlobSet {
    let mut builder = GlobSetBuilder::new();
    for glob in globs.iter().filter_map(|glob| Glob::new(glob).ok()) {
        builder.add(glob);
    }
    builder.build().unwrap_or_else(|_| GlobSet::empty())
}

fn walk(directory: &Path, files: &mut Vec<PathBuf>) -> Result<(), BundleError> {
    let io = |source| BundleError::Io { action: "read", path: directory.to_owned(), source };
    for entry in std::fs::read_dir(directory).map_err(io)? {
        let entry = entry.map_err(io)?;
        let kind = entry.file_type().map_err(io)?;
        if kind.is_dir() {
            if !SKIPPED.iter().any(|skipped| entry.file_name() == *skipped) {
                walk(&entry.path(), files)?;
            }
        } else if entry.path().is_file() {
            files.push(entry.path());
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Arc<[u8]>, BundleError> {
    std::fs::read(path).map(Arc::from).map_err(|source| BundleError::Io {
        action: "read",
        path: path.to_owned(),
        source,
    })
}
