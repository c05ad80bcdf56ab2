//! The cloud stores, through `object_store`.
//!
//! The client's own retries are off. A read is tried again here, a bounded number of times with jitter; a conditional write is
//! sent once, because a second one could meet the first and be refused by it. What an answer proves is decided by its status:
//! see `answer.rs`.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use object_store::aws::AmazonS3;
use object_store::azure::MicrosoftAzure;
use object_store::gcp::GoogleCloudStorage;
use object_store::list::{PaginatedListOptions, PaginatedListStore};
use object_store::multipart::MultipartStore;
use object_store::path::Path;
use object_store::{
    GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload, PutResult,
    UpdateVersion,
};

use crate::answer::{Answer, Cloud, detail};
use crate::multipart::MultipartUpload;
use crate::pace::{self, Pace};
use crate::store::Store;
use crate::upload::Pieces;
use crate::{At, BucketError, Listed, Object, Suffix, Version, WriteOutcome};

/// A client of one of the three clouds.
#[async_trait]
pub(crate) trait Client: ObjectStore + PaginatedListStore + MultipartStore {
    /// Gets the credentials that the next request is signed with, or says that they are still good. Asked for on its own,
    /// so that a failure to get them is not taken for a failure of the request.
    async fn ready(&self) -> object_store::Result<()>;
}

macro_rules! client {
    ($($client:ty),*) => {$(
        #[async_trait]
        impl Client for $client {
            async fn ready(&self) -> object_store::Result<()> {
                self.credentials().get_credential().await.map(|_| ())
            }
        }
    )*};
}

client!(AmazonS3, GoogleCloudStorage, MicrosoftAzure);

/// Attempts of one read.
const ATTEMPTS: u32 = 4;

/// Cloning is cheap: all clones keep one pace.
#[derive(Clone)]
pub(crate) struct RemoteStore {
    name: Arc<str>,
    cloud: Cloud,
    /// What every key starts with: empty, or the bucket's prefix and a `/`.
    stem: String,
    pub(crate) client: Arc<dyn Client>,
    pace: Arc<Pace>,
}

impl RemoteStore {
    /// The bucket called `name`, with the keys below `prefix`.
    pub(crate) fn new(name: Arc<str>, cloud: Cloud, client: Arc<dyn Client>, prefix: &str) -> RemoteStore {
        let stem = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        RemoteStore { name, cloud, stem, client, pace: Arc::new(Pace::new()) }
    }

    pub(crate) fn at(&self, verb: &'static str, key: &str) -> At {
        At { verb, key: key.into(), bucket: self.name.clone() }
    }

    pub(crate) fn path(&self, verb: &'static str, key: &str) -> Result<Path, BucketError> {
        Path::parse(format!("{}{key}", self.stem)).map_err(|_| BucketError::InvalidKey {
            at: self.at(verb, key),
            problem: "has no place in this store",
        })
    }

    fn version(&self, e_tag: Option<String>, generation: Option<String>) -> Version {
        // Only what the condition of an update uses: the rest may differ between the answers to a write and to a read.
        match self.cloud {
            Cloud::Gcs => Version { e_tag: None, generation: generation.map(Into::into) },
            Cloud::S3 | Cloud::Azure => Version { e_tag: e_tag.map(Into::into), generation: None },
        }
    }

    pub(crate) fn error(
        &self,
        verb: &'static str,
        key: &str,
        answer: Answer,
        error: &object_store::Error,
    ) -> BucketError {
        let (at, detail) = (self.at(verb, key), detail(error));
        match answer {
            Answer::Denied => BucketError::Denied { at, detail },
            // What is missing when no object can be, as for a create, is the bucket.
            Answer::NoBucket | Answer::Missing => BucketError::NoBucket { at, detail },
            Answer::SlowDown | Answer::Busy | Answer::Conflict => BucketError::Throttled { at, detail },
            Answer::NotSent | Answer::NoUpload | Answer::Silence => BucketError::Unavailable { at, detail },
            Answer::Refused | Answer::OutOfRange | Answer::WrongRange | Answer::Rejected => {
                BucketError::Other { at, detail }
            }
        }
    }

    /// Sends a request once, at the store's pace.
    async fn once<T>(&self, request: impl Future<Output = object_store::Result<T>>) -> Result<T, Failed> {
        self.pace.wait().await;
        if let Err(error) = self.client.ready().await {
            return Err(Failed { answer: Answer::of_credentials(&error), error });
        }
        match request.await {
            Ok(value) => {
                self.pace.answered();
                Ok(value)
            }
            Err(error) => {
                let answer = Answer::of(&error, self.cloud);
                if matches!(answer, Answer::SlowDown | Answer::Busy) {
                    self.pace.slow_down();
                }
                Err(Failed { answer, error })
            }
        }
    }

    /// Sends a request that may be carried out twice.
    pub(crate) async fn retrying<T, F: Future<Output = object_store::Result<T>>>(
        &self,
        mut request: impl FnMut() -> F,
    ) -> Result<T, Failed> {
        let mut attempt = 0;
        loop {
            match self.once(request()).await {
                Err(failed) if failed.answer.is_worth_retrying() && attempt + 1 < ATTEMPTS => {
                    tokio::time::sleep(pace::backoff(attempt)).await;
                    attempt += 1;
                }
                other => return other,
            }
        }
    }

    async fn write(&self, verb: &'static str, key: &str, bytes: Bytes, mode: PutMode) -> WriteOutcome {
        let path = match self.path(verb, key) {
            Ok(path) => path,
            Err(error) => return WriteOutcome::Failed(error),
        };
        let mut attempt = 0;
        loop {
            let options = PutOptions { mode: mode.clone(), ..PutOptions::default() };
            let payload = PutPayload::from_bytes(bytes.clone());
            let failed = match self.once(self.client.put_opts(&path, payload, options)).await {
                Ok(PutResult { e_tag, version, .. }) => return self.applied(verb, key, e_tag, version),
                Err(failed) => failed,
            };
            match failed.answer {
                Answer::Refused => return WriteOutcome::Refused,
                // An update of an object that is gone.
                Answer::Missing if matches!(mode, PutMode::Update(_)) => return WriteOutcome::Refused,
                // Certainly not applied, so this is not a second copy of the write.
                Answer::Conflict | Answer::SlowDown | Answer::NotSent if attempt + 1 < ATTEMPTS => {
                    tokio::time::sleep(pace::backoff(attempt)).await;
                    attempt += 1;
                }
                answer => {
                    let error = self.error(verb, key, answer, &failed.error);
                    return if answer.is_certain() {
                        WriteOutcome::Failed(error)
                    } else {
                        WriteOutcome::Unknown(error)
                    };
                }
            }
        }
    }

    /// The store says that a write is done. Without a version the next update could not be conditional.
    fn applied(
        &self,
        verb: &'static str,
        key: &str,
        e_tag: Option<String>,
        generation: Option<String>,
    ) -> WriteOutcome {
        let version = self.version(e_tag, generation);
        if version.e_tag.is_none() && version.generation.is_none() {
            let detail = "the store returned no version for the object".to_owned();
            return WriteOutcome::Unknown(BucketError::Other { at: self.at(verb, key), detail });
        }
        WriteOutcome::Done(version)
    }

    async fn read(&self, path: &Path, range: Option<GetRange>) -> Result<Option<Read>, Failed> {
        let read = self
            .retrying(|| async {
                let options = GetOptions { range: range.clone(), ..GetOptions::default() };
                let result = self.client.get_opts(path, options).await?;
                let (meta, range) = (result.meta.clone(), result.range.clone());
                let bytes = result.bytes().await?;
                Ok(Read { bytes, range, size: meta.size, version: self.version(meta.e_tag, meta.version) })
            })
            .await;
        match read {
            Ok(read) => Ok(Some(read)),
            Err(Failed { answer: Answer::Missing, .. }) => Ok(None),
            Err(failed) => Err(failed),
        }
    }

    fn range_error(&self, key: &str, range: &Range<u64>, problem: String) -> BucketError {
        BucketError::Range { at: self.at("read", key), start: range.start, end: range.end, problem }
    }

    /// One page of a listing. `dirs`: names directly below, instead of every object.
    async fn page(
        &self,
        prefix: &str,
        dirs: bool,
        after: Option<&str>,
        limit: usize,
        token: Option<String>,
    ) -> Result<object_store::list::PaginatedListResult, BucketError> {
        let full = if prefix.is_empty() { self.stem.clone() } else { format!("{}{prefix}/", self.stem) };
        // Azure has no offset: there the pages before `after` are read and left out.
        let offset =
            after.filter(|_| self.cloud != Cloud::Azure).map(|after| format!("{}{after}", self.stem));
        self.retrying(|| {
            let options = PaginatedListOptions {
                offset: offset.clone().filter(|_| token.is_none()),
                delimiter: dirs.then(|| "/".into()),
                max_keys: Some(limit.clamp(1, 1000)),
                page_token: token.clone(),
                ..PaginatedListOptions::default()
            };
            self.client.list_paginated(Some(full.as_str()).filter(|full| !full.is_empty()), options)
        })
        .await
        .map_err(|failed| self.error("list", prefix, failed.answer, &failed.error))
    }
}

pub(crate) struct Failed {
    pub(crate) answer: Answer,
    pub(crate) error: object_store::Error,
}

struct Read {
    bytes: Bytes,
    range: Range<u64>,
    size: u64,
    version: Version,
}

#[async_trait]
impl Store for RemoteStore {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        let read = self.read(&self.path("read", key)?, None).await;
        let read = read.map_err(|failed| self.error("read", key, failed.answer, &failed.error))?;
        let Some(read) = read else { return Ok(None) };
        if read.bytes.len() as u64 != read.size {
            return Err(self.range_error(
                key,
                &(0..read.size),
                format!("the store sent {} bytes", read.bytes.len()),
            ));
        }
        Ok(Some(Object { bytes: read.bytes, version: read.version }))
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<Bytes>, BucketError> {
        match self.read(&self.path("read", key)?, Some(GetRange::Bounded(range.clone()))).await {
            Ok(None) => Ok(None),
            Ok(Some(read)) if read.range == range && read.bytes.len() as u64 == range.end - range.start => {
                Ok(Some(read.bytes))
            }
            Ok(Some(read)) => {
                Err(self.range_error(key, &range, format!("the object has {} bytes", read.size)))
            }
            Err(Failed { answer: Answer::OutOfRange, .. }) => {
                Err(self.range_error(key, &range, "the object is shorter".into()))
            }
            Err(Failed { answer: Answer::WrongRange, error }) => {
                Err(self.range_error(key, &range, detail(&error)))
            }
            Err(failed) => Err(self.error("read", key, failed.answer, &failed.error)),
        }
    }

    async fn get_suffix(&self, key: &str, n: u64) -> Result<Option<Suffix>, BucketError> {
        let path = self.path("read", key)?;
        let answer = if self.cloud == Cloud::Azure {
            // Azure has no ranges from the end.
            match self.retrying(|| self.client.head(&path)).await {
                Ok(meta) if meta.size == 0 => return Ok(Some(Suffix { bytes: Bytes::new(), size: 0 })),
                Ok(meta) => {
                    self.read(&path, Some(GetRange::Bounded(meta.size.saturating_sub(n)..meta.size))).await
                }
                Err(Failed { answer: Answer::Missing, .. }) => return Ok(None),
                Err(failed) => Err(failed),
            }
        } else {
            self.read(&path, Some(GetRange::Suffix(n))).await
        };
        match answer {
            Ok(None) => Ok(None),
            Ok(Some(read)) if read.bytes.len() as u64 == n.min(read.size) => {
                Ok(Some(Suffix { bytes: read.bytes, size: read.size }))
            }
            Ok(Some(read)) => {
                let wanted = read.size.saturating_sub(n)..read.size;
                Err(self.range_error(key, &wanted, format!("the store sent {} bytes", read.bytes.len())))
            }
            // The end of nothing: some stores refuse it, some send the whole of nothing.
            Err(failed @ Failed { answer: Answer::OutOfRange | Answer::WrongRange, .. }) => {
                match self.retrying(|| self.client.head(&path)).await {
                    Ok(meta) if meta.size == 0 => Ok(Some(Suffix { bytes: Bytes::new(), size: 0 })),
                    Ok(meta) => {
                        let wanted = meta.size.saturating_sub(n)..meta.size;
                        Err(self.range_error(key, &wanted, detail(&failed.error)))
                    }
                    Err(failed) => Err(self.error("read", key, failed.answer, &failed.error)),
                }
            }
            Err(failed) => Err(self.error("read", key, failed.answer, &failed.error)),
        }
    }

    async fn create(&self, key: &str, bytes: Bytes) -> WriteOutcome {
        self.write("create", key, bytes, PutMode::Create).await
    }

    async fn update(&self, key: &str, bytes: Bytes, version: &Version) -> WriteOutcome {
        let version = UpdateVersion {
            e_tag: version.e_tag.as_deref().map(str::to_owned),
            version: version.generation.as_deref().map(str::to_owned),
        };
        self.write("update", key, bytes, PutMode::Update(version)).await
    }

    async fn put(&self, key: &str, bytes: Bytes) -> Result<Version, BucketError> {
        let path = self.path("write", key)?;
        let put = self.retrying(|| self.client.put(&path, PutPayload::from_bytes(bytes.clone()))).await;
        match put {
            Ok(PutResult { e_tag, version, .. }) => match self.applied("write", key, e_tag, version) {
                WriteOutcome::Done(version) => Ok(version),
                WriteOutcome::Unknown(error) | WriteOutcome::Failed(error) => Err(error),
                WriteOutcome::Refused => {
                    Err(BucketError::Other { at: self.at("write", key), detail: "refused".into() })
                }
            },
            Err(failed) => Err(self.error("write", key, failed.answer, &failed.error)),
        }
    }

    async fn upload(&self, key: &str) -> Result<Box<dyn Pieces>, BucketError> {
        Ok(Box::new(MultipartUpload::new(self.clone(), key)?))
    }

    async fn delete(&self, key: &str) -> Result<(), BucketError> {
        let path = self.path("delete", key)?;
        match self.retrying(|| self.client.delete(&path)).await {
            Ok(()) | Err(Failed { answer: Answer::Missing, .. }) => Ok(()),
            Err(failed) => Err(self.error("delete", key, failed.answer, &failed.error)),
        }
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listed>, BucketError> {
        let mut found: Vec<Listed> = Vec::new();
        let mut token = None;
        loop {
            let page = self.page(prefix, false, after, limit - found.len(), token.take()).await?;
            for meta in page.result.objects {
                let full = meta.location.to_string();
                let Some(key) = full.strip_prefix(&self.stem) else { continue };
                if after.is_none_or(|after| key > after) {
                    found.push(Listed { key: key.to_owned(), size: meta.size });
                }
            }
            token = page.page_token;
            if token.is_none() || found.len() >= limit {
                break;
            }
        }
        found.sort_by(|a, b| a.key.cmp(&b.key));
        found.truncate(limit);
        Ok(found)
    }

    async fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, BucketError> {
        let mut names: Vec<String> = Vec::new();
        let mut token = None;
        loop {
            let page = self.page(prefix, true, None, 1000, token.take()).await?;
            names.extend(
                page.result
                    .common_prefixes
                    .iter()
                    .filter_map(|path| Some(path.parts().next_back()?.as_ref().to_owned())),
            );
            token = page.page_token;
            if token.is_none() {
                break;
            }
        }
        names.sort();
        names.dedup();
        Ok(names)
    }
}
