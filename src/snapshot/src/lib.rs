//! The V8 startup snapshots, made by this crate's build script and embedded here.
//!
//! Invariant: this crate has no code. It exists because a snapshot is made by running the engine, so
//! the engine must be compiled before the crate that embeds its snapshot
//! (`docs/decisions/002-startup-snapshot.md`).

use celld_engine::platform::snapshot::{Snapshot, Snapshots};

mod plain {
    include!(concat!(env!("OUT_DIR"), "/plain/table.rs"));
}

mod node {
    include!(concat!(env!("OUT_DIR"), "/node/table.rs"));
}

/// The snapshots of this build.
pub static SNAPSHOTS: Snapshots = Snapshots {
    plain: Snapshot {
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/plain/snapshot.bin")),
        residual_js: plain::RESIDUAL_JS,
        residual_esm: plain::RESIDUAL_ESM,
    },
    node: Snapshot {
        bytes: include_bytes!(concat!(env!("OUT_DIR"), "/node/snapshot.bin")),
        residual_js: node::RESIDUAL_JS,
        residual_esm: node::RESIDUAL_ESM,
    },
};
