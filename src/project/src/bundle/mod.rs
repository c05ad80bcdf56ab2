//! From a project to the modules that run: one JavaScript module made by esbuild, its source map, and the
//! text, data and wasm files it imports.
//!
//! The options are those of Wrangler's bundler, so that a project means the same here and there.

mod custom;
mod error;
mod esbuild;
mod find;
mod metafile;
mod node_builtins;
mod raw;
mod source_map;

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub use error::BundleError;
pub use find::{Esbuild, find_esbuild};

use crate::{Project, Purpose};

/// What a module is to the code that imports it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModuleKind {
    /// JavaScript.
    Esm,
    /// A `WebAssembly.Module`.
    Wasm,
    /// A string.
    Text,
    /// An `ArrayBuffer`.
    Data,
    /// A parsed JSON value.
    Json,
    /// The source map of the module named without the `.map`; not importable.
    SourceMap,
}

/// One module of a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Module {
    /// Relative to the deployment's root, `/`-separated, such as `index.js`; an import of `./NAME` from the
    /// main module means this one. May end in a query such as `?module`.
    pub name: String,
    /// What it is.
    pub kind: ModuleKind,
    /// Its content.
    pub bytes: Arc<[u8]>,
}

/// A built project.
#[derive(Debug, Clone)]
pub struct Bundle {
    /// The name of the module that exports the handlers.
    pub main: String,
    /// All modules, the main one first.
    pub modules: Vec<Module>,
    /// The names that the main module exports; `None` when nothing looked (no bundler ran).
    pub exports: Option<Vec<String>>,
    /// Every file that went into it, absolute, for a watcher.
    pub inputs: Vec<PathBuf>,
    /// What the bundler had to say without failing, as it said it.
    pub warnings: Vec<String>,
}

/// How to bundle.
#[derive(Debug, Clone, Copy, Default)]
pub struct BundleOptions {
    /// Let the bundler's messages carry terminal colours.
    pub color: bool,
}

/// Builds the project: its build command, then esbuild (or the files as they are with `no_bundle`).
///
/// Dropping the future ends the processes it started.
pub async fn bundle(project: &Project, options: &BundleOptions) -> Result<Bundle, BundleError> {
    let config = &project.config;
    if let Some(build) = &config.build {
        custom::run(build).await?;
    }
    if !config.main.is_file() {
        return Err(BundleError::NoEntryPoint {
            main: config.main.clone(),
            built_by: config.build.as_ref().map(|build| build.command.clone()),
        });
    }
    let bundle = if config.no_bundle {
        raw::collect(config)?
    } else {
        let esbuild = find_esbuild(&project.root)?;
        let production = project.purpose == Purpose::Deploy;
        esbuild::run(&esbuild, &project.root, config, production, options).await?
    };
    check_classes(project, &bundle)?;
    Ok(bundle)
}

/// A class that the entry point should export and does not fails now, not at the first request. Classes that
/// come through `export *` from a module outside the bundle do not count, as in Wrangler.
fn check_classes(project: &Project, bundle: &Bundle) -> Result<(), BundleError> {
    let Some(exports) = &bundle.exports else { return Ok(()) };
    let config = &project.config;
    let own = config.durable_objects.iter().filter(|binding| binding.script.is_none());
    let bound = own.map(|binding| (&binding.class, format!("bound as {}", binding.name)));
    let introduced = config.migrations.iter().flat_map(|migration| {
        let named = format!("introduced by the migration {}", migration.tag);
        migration.new_classes.iter().map(move |class| (class, named.clone()))
    });
    match bound.chain(introduced).find(|(class, _)| !exports.contains(class)) {
        Some((class, named)) => {
            Err(BundleError::ClassNotExported { class: class.clone(), named, main: config.main.clone() })
        }
        None => Ok(()),
    }
}
