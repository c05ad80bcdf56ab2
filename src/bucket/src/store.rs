//! The narrow layer between [`Bucket`](crate::Bucket) and what stands behind it.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::{FutureExt, StreamExt, stream};

use crate::upload::Pieces;
use crate::{BucketError, Listed, Object, Suffix, Version, WriteOutcome};

/// Deletions at once.
const DELETIONS: usize = 16;

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
    /// Whether the store has [`Store::create_blocking`].
    fn is_on_disk(&self) -> bool {
        false
    }
    /// A create on the calling thread, where that is what creating is.
    fn create_blocking(&self, _key: &str, _bytes: &Bytes) -> Option<WriteOutcome> {
        None
    }
    /// Begins a journal for the objects directly below `prefix`, where there is such a thing.
    async fn begin_journal(&self, _prefix: &str) -> Result<bool, BucketError> {
        Ok(false)
    }
    /// Ends it.
    async fn end_journal(&self, _prefix: &str) -> Result<(), BucketError> {
        Ok(())
    }
    async fn update(&self, key: &str, bytes: Bytes, version: &Version) -> WriteOutcome;
    async fn put(&self, key: &str, bytes: Bytes) -> Result<Version, BucketError>;
    /// Begins an object that is written in pieces.
    async fn upload(&self, key: &str) -> Result<Box<dyn Pieces>, BucketError>;
    async fn delete(&self, key: &str) -> Result<(), BucketError>;
    /// Deletes many objects and returns those that may still be there, with the reason.
    async fn delete_many(&self, keys: Vec<String>) -> Vec<(String, BucketError)> {
        stream::iter(keys)
            .map(|key: String| async move { self.delete(&key).await.err().map(|error| (key, error)) }.boxed())
            .buffer_unordered(DELETIONS)
            .filter_map(|failed| async move { failed })
            .collect()
            .await
    }
    async fn list(&self, prefix: &str, after: Option<&str>, limit: usize)
    -> Result<Vec<Listed>, BucketError>;
    async fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, BucketError>;
}
