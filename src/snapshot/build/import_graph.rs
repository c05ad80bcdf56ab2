//! Guards against a trap in `deno_core` 0.413 that corrupts memory silently.
//!
//! An ES module that is loaded with `core.createLazyLoader` while the snapshot is made is evaluated into
//! it, but its root is not recorded as consumed; the snapshot then drops the bytes of its source while
//! V8 keeps a string of the old length, and functions that are compiled later read foreign memory. Such
//! a module has to be imported statically before. Here the build fails if there is one.

use std::path::Path;

use crate::residual::Residual;

/// The environment variable that makes `deno_core` append its import graph to a file.
pub const VARIABLE: &str = "DENO_SNAPSHOT_IMPORT_GRAPH";

/// Why the import graph was not accepted.
#[derive(Debug, thiserror::Error)]
pub enum GraphError {
    #[error("cannot read the import graph of the snapshot: {0}")]
    Read(#[from] std::io::Error),
    #[error("a line of the import graph of the snapshot is not JSON: {0}")]
    Parse(#[from] serde_json::Error),
    #[error(
        "these modules were loaded lazily into the snapshot, which loses their source (import them statically \
         before): {}",
        .0.join(", ")
    )]
    LazyRoots(Vec<String>),
}

/// Checks that nothing the snapshot loaded lazily is missing from what it keeps.
pub fn check(graph: &Path, residual: &Residual) -> Result<(), GraphError> {
    // Without a single import there is no file.
    let lines = match std::fs::read_to_string(graph) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        lines => lines?,
    };
    let mut lost = Vec::new();
    for line in lines.lines() {
        let edge: serde_json::Value = serde_json::from_str(line)?;
        let (kind, target) =
            (edge["kind"].as_str().unwrap_or_default(), edge["to"].as_str().unwrap_or_default());
        if kind != "esm" && residual.contains(target) {
            lost.push(target.to_owned());
        }
    }
    lost.sort();
    lost.dedup();
    if lost.is_empty() { Ok(()) } else { Err(GraphError::LazyRoots(lost)) }
}
