//! JavaScript: shards with their isolates, the Web and Workers APIs, Durable Objects.
//!
//! Invariants: `Deno`, its ops and the host's file system are not reachable from user code; nothing here knows what a bucket is,
//! the process around it is reached through [`host::Host`] alone.

pub mod deployment;
mod engine;
pub mod host;
pub mod platform;
pub mod shard;
pub mod socket;
pub mod storage;
mod web;

pub use engine::{AdoptError, Engine, StartError};
pub use platform::snapshot::{Snapshot, Snapshots};
pub use shard::{BuildError, Census, ShardOptions, StoppedCell};
pub use web::CacheStore;
