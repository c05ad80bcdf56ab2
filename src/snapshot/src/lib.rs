//! The V8 startup snapshot, made by this crate's build script and embedded here.
//!
//! Invariant: this crate has no code. It exists because a snapshot is made by running the engine, so
//! the engine must be compiled before the crate that embeds its snapshot
//! (`docs/decisions/002-startup-snapshot.md`).

use celld_engine::platform::snapshot::Snapshot;

mod table {
    include!(concat!(env!("OUT_DIR"), "/plain/table.rs"));
}

/// The snapshot for every Worker: all Web and Workers globals; `node:` modules are evaluated when they
/// are first imported.
pub static SNAPSHOT: Snapshot = Snapshot {
    bytes: include_bytes!(concat!(env!("OUT_DIR"), "/plain/snapshot.bin")),
    residual_js: table::RESIDUAL_JS,
    residual_esm: table::RESIDUAL_ESM,
};
