//! The bucket: the one durable, shared thing that a fleet has. Everything that celld keeps goes through [`Bucket`], whatever
//! stands behind it: Amazon S3 and its kin, Google Cloud Storage, Azure Blob Storage, or a directory (`celld dev`).
//!
//! Invariants:
//! * A conditional write ends in exactly one of four ways ([`WriteOutcome`]), and *unknown* is never turned into another one
//!   except by reading ([`Bucket::create_resolved`], [`Bucket::update_resolved`]).
//! * This crate knows bytes and keys. What an object means, and which key it has, is its caller's business.

mod answer;
mod bucket;
mod error;
mod failpoint;
mod fault;
mod fault_upload;
mod key;
mod local;
mod memory;
mod multipart;
mod options;
mod outcome;
mod pace;
mod probe;
mod remote;
mod resolve;
mod store;
mod upload;
mod url;

pub use bucket::Bucket;
pub use error::{At, BucketError};
pub use failpoint::{failpoint, fold_interval};
pub use fault::{Fate, Faults};
pub use local::{LocalOptions, Sync};
pub use options::StoreOptions;
pub use outcome::{Listed, Object, Suffix, Version, WriteOutcome};
pub use probe::Probe;
pub use upload::Upload;
pub use url::{BucketUrl, InvalidBucketUrl};
