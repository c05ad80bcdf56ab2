//! A bucket directory as a [`Store`]: the operations of [`Inner`], each on a thread that may block.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use tokio::sync::Semaphore;

use super::LocalOptions;
use super::ops::{Inner, Trouble, Written};
use super::upload::{LocalUpload, Unfinished};
use crate::store::Store;
use crate::upload::Pieces;
use crate::{At, BucketError, Listed, Object, Suffix, Version, WriteOutcome};

/// Operations that wait for the disk at the same time, each on a thread of the runtime's blocking pool.
const PARALLEL: usize = 64;

/// Cloning is cheap: all clones are one store.
#[derive(Clone)]
pub(crate) struct LocalStore {
    inner: Arc<Inner>,
    slots: Arc<Semaphore>,
}

impl LocalStore {
    pub(crate) fn open(root: &Path, options: LocalOptions) -> Result<LocalStore, BucketError> {
        let inner = Inner::open(root, &options)?;
        Ok(LocalStore { inner: Arc::new(inner), slots: Arc::new(Semaphore::new(PARALLEL)) })
    }

    /// Runs file work on a thread that may block. The work is not cut short when the caller goes away.
    async fn run<T: Send + 'static>(
        &self,
        verb: &'static str,
        key: &str,
        work: impl FnOnce(&Inner, &str) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Failure> {
        let permit =
            self.slots.clone().acquire_owned().await.map_err(|_| Failure::NotRun(self.gone(verb, key)))?;
        let (inner, owned) = (self.inner.clone(), key.to_owned());
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            inner.check(verb, &owned)?;
            work(&inner, &owned).map_err(|trouble| inner.error(verb, &owned, trouble))
        });
        match task.await {
            Ok(result) => result.map_err(Failure::NotRun),
            Err(_) => Err(Failure::Lost(self.gone(verb, key))),
        }
    }

    fn gone(&self, verb: &'static str, key: &str) -> BucketError {
        BucketError::Other { at: self.inner.at(verb, key), detail: "the process is stopping".into() }
    }

    #[cfg(test)]
    pub(super) fn journals(&self) -> &super::journal::Journals {
        self.inner.journals()
    }

    pub(super) fn at(&self, verb: &'static str, key: &str) -> At {
        self.inner.at(verb, key)
    }

    /// Appends a piece to the file of an upload, or begins one.
    pub(super) async fn append(
        &self,
        key: &str,
        file: Option<Unfinished>,
        piece: Bytes,
    ) -> Result<Unfinished, BucketError> {
        Ok(self.run("write", key, move |inner, key| inner.append(key, file, &piece)).await?)
    }

    /// Ends an upload: gives its file the object's name.
    pub(super) async fn name(&self, key: &str, file: Option<Unfinished>) -> Result<(), BucketError> {
        match self.run("write", key, move |inner, key| inner.end_upload(key, file)).await? {
            Written::Unknown(trouble) => Err(self.inner.error("write", key, trouble)),
            Written::Done(_) | Written::Refused => Ok(()),
        }
    }

    async fn write(
        &self,
        verb: &'static str,
        key: &str,
        work: impl FnOnce(&Inner, &str) -> Result<Written, Trouble> + Send + 'static,
    ) -> WriteOutcome {
        match self.run(verb, key, work).await {
            Ok(Written::Done(nonce)) => WriteOutcome::Done(Version::from_tag(&nonce.text())),
            Ok(Written::Refused) => WriteOutcome::Refused,
            Ok(Written::Unknown(trouble)) => WriteOutcome::Unknown(self.inner.error(verb, key, trouble)),
            Err(Failure::NotRun(error)) => WriteOutcome::Failed(error),
            Err(Failure::Lost(error)) => WriteOutcome::Unknown(error),
        }
    }
}

/// Why file work gave no result.
enum Failure {
    /// It changed nothing.
    NotRun(BucketError),
    /// It was started, and nobody knows how it ended.
    Lost(BucketError),
}

impl From<Failure> for BucketError {
    fn from(failure: Failure) -> BucketError {
        match failure {
            Failure::NotRun(error) | Failure::Lost(error) => error,
        }
    }
}

#[async_trait]
impl Store for LocalStore {
    fn name(&self) -> &Arc<str> {
        self.inner.name()
    }

    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        Ok(self.run("read", key, |inner, key| inner.get(key)).await?)
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<Bytes>, BucketError> {
        Ok(self.run("read", key, move |inner, key| inner.get_range(key, range)).await?)
    }

    async fn get_suffix(&self, key: &str, n: u64) -> Result<Option<Suffix>, BucketError> {
        Ok(self.run("read", key, move |inner, key| inner.get_suffix(key, n)).await?)
    }

    async fn create(&self, key: &str, bytes: Bytes) -> WriteOutcome {
        self.write("create", key, move |inner, key| inner.create(key, &bytes)).await
    }

    fn is_on_disk(&self) -> bool {
        true
    }

    fn create_blocking(&self, key: &str, bytes: &Bytes) -> Option<WriteOutcome> {
        let inner = &self.inner;
        if let Err(error) = inner.check("create", key) {
            return Some(WriteOutcome::Failed(error));
        }
        Some(match inner.create(key, bytes) {
            Ok(Written::Done(nonce)) => WriteOutcome::Done(Version::from_tag(&nonce.text())),
            Ok(Written::Refused) => WriteOutcome::Refused,
            Ok(Written::Unknown(trouble)) => WriteOutcome::Unknown(inner.error("create", key, trouble)),
            Err(trouble) => WriteOutcome::Failed(inner.error("create", key, trouble)),
        })
    }

    async fn begin_journal(&self, prefix: &str) -> Result<bool, BucketError> {
        Ok(self.run("create", prefix, |inner, prefix| inner.begin_journal(prefix)).await?)
    }

    async fn end_journal(&self, prefix: &str) -> Result<(), BucketError> {
        Ok(self.run("write", prefix, |inner, prefix| inner.end_journal(prefix)).await?)
    }

    async fn update(&self, key: &str, bytes: Bytes, version: &Version) -> WriteOutcome {
        let version = version.clone();
        self.write("update", key, move |inner, key| inner.update(key, &bytes, &version)).await
    }

    async fn put(&self, key: &str, bytes: Bytes) -> Result<Version, BucketError> {
        match self.run("write", key, move |inner, key| inner.put(key, &bytes)).await? {
            Written::Done(nonce) => Ok(Version::from_tag(&nonce.text())),
            Written::Unknown(trouble) => Err(self.inner.error("write", key, trouble)),
            Written::Refused => {
                Err(BucketError::Other { at: self.inner.at("write", key), detail: "refused".into() })
            }
        }
    }

    async fn upload(&self, key: &str) -> Result<Box<dyn Pieces>, BucketError> {
        Ok(Box::new(LocalUpload::new(self.clone(), key)))
    }

    async fn delete(&self, key: &str) -> Result<(), BucketError> {
        Ok(self.run("delete", key, |inner, key| inner.delete(key)).await?)
    }

    async fn delete_many(&self, keys: Vec<String>) -> Vec<(String, BucketError)> {
        let all = keys.clone();
        let deleted = self.run("delete", "", move |inner, _| Ok(inner.delete_many(&keys))).await;
        match deleted {
            Ok(failed) => {
                let error = |(key, trouble): (String, Trouble)| {
                    let error = self.inner.error("delete", &key, trouble);
                    (key, error)
                };
                failed.into_iter().map(error).collect()
            }
            Err(failure) => {
                let error = BucketError::from(failure);
                all.into_iter().map(|key| (key, error.clone())).collect()
            }
        }
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listed>, BucketError> {
        let after = after.map(str::to_owned);
        Ok(self.run("list", prefix, move |inner, prefix| inner.list(prefix, after.as_deref(), limit)).await?)
    }

    async fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, BucketError> {
        Ok(self.run("list", prefix, |inner, prefix| inner.list_dirs(prefix)).await?)
    }
}
