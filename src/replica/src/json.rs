//! Small JSON records that change only by conditional writes.

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, Object, Version};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::record::patiently;

/// A record together with the version that a change to it must name.
#[derive(Debug, Clone)]
pub struct Versioned<T> {
    /// The content.
    pub record: T,
    /// What it was read as.
    pub version: Version,
}

/// Why a record cannot be read or changed.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RecordError {
    /// The store failed. Its message names the object.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// The object is not the record that it should be.
    #[error("{key} is damaged: {problem}")]
    Damaged {
        /// The object.
        key: String,
        /// What the parser says.
        problem: String,
    },
    /// The record kept changing, or the outcome of writing it stayed unknown, for as long as we tried.
    #[error("{key} cannot be changed: {problem}")]
    Contended {
        /// The object.
        key: String,
        /// What happened last.
        problem: String,
    },
}

/// Reads a record; waits out what passes.
pub(crate) async fn read<T: DeserializeOwned>(
    bucket: &Bucket,
    key: &str,
) -> Result<Option<Versioned<T>>, RecordError> {
    parse(key, patiently(|| bucket.get(key)).await?)
}

/// Reads a record once, for a caller that repeats the whole of what it does.
pub(crate) async fn read_once<T: DeserializeOwned>(
    bucket: &Bucket,
    key: &str,
) -> Result<Option<Versioned<T>>, RecordError> {
    parse(key, bucket.get(key).await?)
}

fn parse<T: DeserializeOwned>(key: &str, found: Option<Object>) -> Result<Option<Versioned<T>>, RecordError> {
    let Some(object) = found else { return Ok(None) };
    match serde_json::from_slice(&object.bytes) {
        Ok(record) => Ok(Some(Versioned { record, version: object.version })),
        Err(error) => Err(RecordError::Damaged { key: key.to_owned(), problem: error.to_string() }),
    }
}

/// The record's bytes. The records of this crate are plain structs of numbers and text, which always serialize.
pub(crate) fn bytes<T: Serialize>(key: &str, record: &T) -> Result<Bytes, RecordError> {
    match serde_json::to_vec(record) {
        Ok(bytes) => Ok(bytes.into()),
        Err(error) => Err(RecordError::Damaged { key: key.to_owned(), problem: error.to_string() }),
    }
}
