//! Makes the startup snapshot: evaluates the JavaScript of all extensions, serialises the heap, and writes
//! it with the sources that were not evaluated. `docs/decisions/002-startup-snapshot.md` says why here.

#[path = "build/compact.rs"]
mod compact;
#[path = "build/import_graph.rs"]
mod import_graph;
#[path = "build/patches/mod.rs"]
mod patches;
#[path = "build/residual.rs"]
mod residual;
#[path = "build/transpile.rs"]
mod transpile;
#[path = "build/warm.rs"]
mod warm;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;

use celld_engine::platform::extensions;
use deno_core::JsRuntime;
use deno_core::snapshot::{CreateSnapshotOptions, create_snapshot};

/// The directory of the engine's JavaScript, relative to this crate.
const ENGINE_JS: &str = "../engine/js";

/// The snapshots to make, by name, and the `node:` modules that are evaluated in each.
const VARIANTS: &[(&str, &[&str])] = &[("plain", &[]), ("node", warm::MODULES)];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed=build");
    // Deno's own files only change with the version of a crate, which rebuilds this script.
    println!("cargo:rerun-if-changed={ENGINE_JS}");
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("OUT_DIR is not set")?);

    // deno_core records what imports what only when this variable is set before its first import, and a
    // process cannot safely change its own environment: so the work happens in a child.
    if let Some(graph) = std::env::var_os(import_graph::VARIABLE) {
        for (variant, modules) in VARIANTS {
            make(&out_dir.join(variant), modules, Path::new(&graph))?;
        }
        return Ok(());
    }
    let graph = out_dir.join("imports.jsonl");
    // The child appends to it.
    if graph.exists() {
        std::fs::remove_file(&graph)?;
    }
    let status = Command::new(std::env::current_exe()?).env(import_graph::VARIABLE, &graph).status()?;
    if !status.success() {
        return Err(format!("the process that makes the snapshot ended with {status}").into());
    }
    Ok(())
}

/// Keeps the native classes as the platform's JavaScript has left them.
///
/// When an isolate loads its first residual source, `deno_core` gives the operations faster functions, which a snapshot cannot hold. It
/// would also give the classes back every method that was removed or replaced; it finds them by their names here.
fn settle_classes(runtime: &mut JsRuntime) {
    let hide =
        "for (const name of Object.keys(Deno.core.ops)) if (/^[A-Z]/.test(name)) delete Deno.core.ops[name];";
    if let Err(error) = runtime.execute_script("ext:celld_snapshot/settle", hide) {
        panic!("cannot settle the classes in the snapshot: {error}");
    }
}

/// Makes one snapshot into the directory `out`.
fn make(
    out: &Path,
    modules: &'static [&'static str],
    graph: &Path,
) -> Result<(), Box<dyn std::error::Error>> {
    let extensions = extensions::for_snapshot();
    let lazy = residual::lazy_files(&extensions)?;
    let output = create_snapshot(
        CreateSnapshotOptions {
            cargo_manifest_dir: env!("CARGO_MANIFEST_DIR"),
            startup_snapshot: None,
            skip_op_registration: false,
            extensions,
            extension_transpiler: Some(Rc::new(|name, source| {
                transpile::transpile(name.as_str(), source.as_str())
            })),
            with_runtime_cb: Some(Box::new(|runtime| {
                warm::evaluate(runtime, modules);
                settle_classes(runtime);
            })),
        },
        None,
    )?;
    let residual = residual::Residual::new(lazy, &output.consumed_lazy_specifiers)?;
    import_graph::check(graph, &residual)?;
    std::fs::create_dir_all(out)?;
    std::fs::write(out.join("snapshot.bin"), &output.output)?;
    residual.write(out)?;
    Ok(())
}
