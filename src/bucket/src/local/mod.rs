//! A directory as a bucket: what `celld dev` uses. Several processes may use one directory at once; a process may die at any
//! point. See [`ops`] for why a conditional write is one here.
//!
//! The layout:
//!
//! ```text
//! celld-bucket      what this directory is, and the version of the layout
//! lock              held shared by every process that has the bucket open
//! locks/00 … 3f     held exclusively while an object whose key hashes to it changes or goes
//! tmp/              files that are being written; emptied by a process that finds itself alone
//! objects/          the objects (`path.rs` says where, `object.rs` says how),
//! journals/         except those of logs, many of which share a file (`journal`)
//! ```

mod dirs;
mod disk;
mod journal;
mod list;
mod object;
mod open;
mod ops;
mod path;
mod staged;
mod store;
mod upload;

pub use disk::Sync;
pub(crate) use store::LocalStore;

/// How a directory bucket behaves.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct LocalOptions {
    /// Whether a write waits for the disk. Default: [`Sync::Durable`].
    pub sync: Sync,
}

impl LocalOptions {
    /// Sets [`LocalOptions::sync`].
    #[must_use]
    pub fn sync(mut self, sync: Sync) -> LocalOptions {
        self.sync = sync;
        self
    }
}
