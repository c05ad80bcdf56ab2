//! [`Bucket`]: the handle that the rest of celld holds.

use std::fmt;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;

use crate::answer::Cloud;
use crate::local::{LocalOptions, LocalStore};
use crate::memory::MemoryStore;
use crate::remote::RemoteStore;
use crate::store::Store;
use crate::upload::Upload;
use crate::{
    At, BucketError, BucketUrl, Faults, Listed, Object, StoreOptions, Suffix, Version, WriteOutcome,
    failpoint, key, options,
};

/// A bucket and the key prefix in it. Cloning is cheap and every clone is the same bucket.
///
/// Keys are `/`-separated and relative to the bucket's prefix: 1 to 1024 bytes, no empty segment, no `.` or `..`, no control
/// characters ([`BucketError::InvalidKey`]). A key may be a prefix of another (`a` and `a/b`). Reads see every write that
/// has been answered.
#[derive(Clone)]
pub struct Bucket(pub(crate) Arc<dyn Store>);

impl fmt::Debug for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Bucket({})", self.0.name())
    }
}

impl fmt::Display for Bucket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0.name())
    }
}

impl Bucket {
    /// The bucket in the directory `path`, which is made when it does not exist. Writes are durable when they are answered.
    /// Blocks for a few file operations.
    ///
    /// Errors: [`BucketError::NotABucket`] when the directory holds something else; [`BucketError::Io`].
    pub fn local(path: impl AsRef<Path>) -> Result<Bucket, BucketError> {
        Bucket::local_with(path, LocalOptions::default())
    }

    /// The same with options.
    pub fn local_with(path: impl AsRef<Path>, options: LocalOptions) -> Result<Bucket, BucketError> {
        let bucket = Bucket(Arc::new(LocalStore::open(path.as_ref(), options)?));
        Ok(match failpoint::faults() {
            Some(seed) => bucket.with_faults(Faults::rough(seed)),
            None => bucket,
        })
    }

    /// The bucket that `url` names. Sends nothing: wrong credentials show in the first request (see [`Bucket::probe`]).
    ///
    /// Errors: [`BucketError::Other`] with the setting that is missing, contradictory or not supported.
    pub fn open(url: &BucketUrl, options: &StoreOptions) -> Result<Bucket, BucketError> {
        let remote = |cloud, client: Result<_, String>, prefix: &str| {
            let name: Arc<str> = url.to_string().into();
            match client {
                Ok(client) => Ok(Bucket(Arc::new(RemoteStore::new(name, cloud, client, prefix)))),
                Err(detail) => {
                    let at = At { verb: "open", key: "".into(), bucket: name };
                    Err(BucketError::Other { at, detail })
                }
            }
        };
        match url {
            BucketUrl::Local(path) => Bucket::local(path),
            BucketUrl::S3 { bucket, prefix } => remote(Cloud::S3, options::s3(bucket, options), prefix),
            BucketUrl::Gcs { bucket, prefix } => remote(Cloud::Gcs, options::gcs(bucket, options), prefix),
            BucketUrl::Azure { container, prefix } => {
                remote(Cloud::Azure, options::azure(container, options), prefix)
            }
        }
    }

    /// An empty bucket in memory, for tests.
    pub fn in_memory() -> Bucket {
        Bucket(Arc::new(MemoryStore::new()))
    }

    /// The object `key`, or `None` when there is none.
    pub async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        self.check("read", key)?;
        self.0.get(key).await
    }

    /// Exactly the bytes `range` of the object, or `None` when there is no object.
    ///
    /// Errors: [`BucketError::Range`] when the range does not lie inside of the object.
    pub async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<Bytes>, BucketError> {
        self.check("read", key)?;
        if range.start > range.end {
            return Err(BucketError::Range {
                at: self.at("read", key),
                start: range.start,
                end: range.end,
                problem: "which ends before it starts".into(),
            });
        }
        if range.is_empty() {
            // No store can be asked for nothing; the answer depends only on whether the object exists.
            return Ok(self.0.get_suffix(key, 1).await?.map(|_| Bytes::new()));
        }
        self.0.get_range(key, range).await
    }

    /// The last `n` bytes of the object (the whole object when it is shorter) and the object's size.
    pub async fn get_suffix(&self, key: &str, n: u64) -> Result<Option<Suffix>, BucketError> {
        self.check("read", key)?;
        let suffix = self.0.get_suffix(key, n.max(1)).await?;
        Ok(suffix.map(|s| if n == 0 { Suffix { bytes: Bytes::new(), ..s } } else { s }))
    }

    /// Writes the object if there is none with this key.
    pub async fn create(&self, key: &str, bytes: Bytes) -> WriteOutcome {
        match self.check("create", key) {
            Ok(()) => self.0.create(key, bytes).await,
            Err(error) => WriteOutcome::Failed(error),
        }
    }

    /// `true` for a bucket in a directory, with which [`Bucket::create_blocking`] works.
    pub fn is_on_disk(&self) -> bool {
        self.0.is_on_disk()
    }

    /// Like [`Bucket::create`], on the calling thread, which it keeps until the disk is done. `None`, and nothing has happened, for a
    /// bucket that is not on a disk of this machine. For a thread that has nothing else to do.
    pub fn create_blocking(&self, key: &str, bytes: &Bytes) -> Option<WriteOutcome> {
        match self.check("create", key) {
            Ok(()) => self.0.create_blocking(key, bytes),
            Err(error) => Some(WriteOutcome::Failed(error)),
        }
    }

    /// Makes creating small objects directly below `prefix` cheap, for one process that creates very many of them: in a directory, they
    /// go into a journal instead of into a file each. Nothing else changes, for nobody.
    ///
    /// Nobody else may know the prefix yet, and nothing may ever have been below it. `false` when there is no journal and every object
    /// is on its own: the store has no such thing, or something is there.
    pub async fn begin_journal(&self, prefix: &str) -> Result<bool, BucketError> {
        let prefix = self.check_prefix(prefix)?;
        self.0.begin_journal(prefix).await
    }

    /// Makes what is in the journal of `prefix` objects on their own, and removes the journal. Others do that too when they change
    /// something below the prefix. Not an error when there is no journal.
    pub async fn end_journal(&self, prefix: &str) -> Result<(), BucketError> {
        let prefix = self.check_prefix(prefix)?;
        self.0.end_journal(prefix).await
    }

    /// Replaces the object if it still has this version.
    pub async fn update(&self, key: &str, bytes: Bytes, version: &Version) -> WriteOutcome {
        match self.check("update", key) {
            Ok(()) => self.0.update(key, bytes, version).await,
            Err(error) => WriteOutcome::Failed(error),
        }
    }

    /// Writes the object whatever is there. An error leaves it open whether the write was applied.
    pub async fn put(&self, key: &str, bytes: Bytes) -> Result<Version, BucketError> {
        self.check("write", key)?;
        self.0.put(key, bytes).await
    }

    /// Begins to write the object in pieces, whatever is there: a [`Bucket::put`] for what does not fit into memory.
    pub async fn upload(&self, key: &str) -> Result<Upload, BucketError> {
        self.check("write", key)?;
        self.0.upload(key).await.map(Upload)
    }

    /// Removes the object. Not an error when there is none.
    pub async fn delete(&self, key: &str) -> Result<(), BucketError> {
        self.check("delete", key)?;
        self.0.delete(key).await
    }

    /// Removes many objects, with as few requests and flushes as the store allows. Returns those that may still be there, with the
    /// reason for each.
    pub async fn delete_many(&self, keys: Vec<String>) -> Vec<(String, BucketError)> {
        let (good, bad): (Vec<_>, Vec<_>) =
            keys.into_iter().partition(|key| self.check("delete", key).is_ok());
        let mut failed = if good.is_empty() { Vec::new() } else { self.0.delete_many(good).await };
        failed.extend(
            bad.into_iter().filter_map(|key| self.check("delete", &key).err().map(|error| (key, error))),
        );
        failed
    }

    /// The objects below `prefix`, in the byte order of their keys: those after the key `after`, at most `limit`.
    ///
    /// The prefix is whole segments, with or without a trailing `/`: `a` finds `a/b` and `a/b/c`, neither `a` nor `ab`.
    /// The empty prefix finds everything. `after` is a whole key; it need not exist.
    pub async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listed>, BucketError> {
        let prefix = self.check_prefix(prefix)?;
        if limit == 0 {
            return Ok(Vec::new());
        }
        self.0.list(prefix, after, limit).await
    }

    /// The names of the "directories" directly below `prefix` in byte order: one segment each, without `/`. A name is there
    /// when at least one object lies below it.
    pub async fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, BucketError> {
        let prefix = self.check_prefix(prefix)?;
        self.0.list_dirs(prefix).await
    }

    pub(crate) fn at(&self, verb: &'static str, key: &str) -> At {
        At { verb, key: key.into(), bucket: self.0.name().clone() }
    }

    fn check(&self, verb: &'static str, key: &str) -> Result<(), BucketError> {
        key::check_key(key).map_err(|problem| BucketError::InvalidKey { at: self.at(verb, key), problem })
    }

    fn check_prefix<'a>(&self, prefix: &'a str) -> Result<&'a str, BucketError> {
        key::check_prefix(prefix)
            .map_err(|problem| BucketError::InvalidKey { at: self.at("list", prefix), problem })
    }
}
