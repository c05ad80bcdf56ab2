//! The narrow layer between [`Bucket`](crate::Bucket) and what stands behind it.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use crate::{BucketError, Listed, Object, Suffix, Version, WriteOutcome};

/// One store. Keys and prefixes have been checked by the caller; a prefix has no trailing `/`.
#[async_trait]
pub(crate) trait Store: Send + Sync + 'static {
    /// The bucket as the user writes it, for messages.
    fn name(&self) -> &Arc<str>;
    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError>;
    /// Exactly the bytes of a non-empty range, or [`BucketError::Range`].
    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<Bytes>, BucketError>;
    async fn get_suffix(&self, key: &str, n: u64) -> Result<Option<Suffix>, BucketError>;
    async fn create(&self, key: &str, bytes: Bytes) -> WriteOutcome;
    async fn update(&self, key: &str, bytes: Bytes, version: &Version) -> WriteOutcome;
    async fn put(&self, key: &str, bytes: Bytes) -> Result<Version, BucketError>;
    async fn delete(&self, key: &str) -> Result<(), BucketError>;
    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize)
    -> Result<Vec<Listed>, BucketError>;
    async fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, BucketError>;
}
