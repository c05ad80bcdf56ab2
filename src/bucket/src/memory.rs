//! A bucket in memory, for tests.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use parking_lot::Mutex;

use crate::store::Store;
use crate::upload::Pieces;
use crate::{At, BucketError, Listed, Object, Suffix, Version, WriteOutcome};

pub(crate) struct MemoryStore {
    name: Arc<str>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    objects: BTreeMap<String, Object>,
    /// Writes so far; the version of the next one. Never reused, so a deleted object does not come back as an old version.
    writes: u64,
}

impl State {
    fn write(&mut self, key: &str, bytes: Bytes) -> Version {
        self.writes += 1;
        let version = Version::from_tag(&self.writes.to_string());
        self.objects.insert(key.to_owned(), Object { bytes, version: version.clone() });
        version
    }
}

impl MemoryStore {
    pub(crate) fn new() -> MemoryStore {
        MemoryStore { name: "memory".into(), state: Arc::default() }
    }
}

/// What the keys below a prefix start with.
fn stem(prefix: &str) -> String {
    if prefix.is_empty() { String::new() } else { format!("{prefix}/") }
}

#[async_trait]
impl Store for MemoryStore {
    fn name(&self) -> &Arc<str> {
        &self.name
    }

    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        Ok(self.state.lock().objects.get(key).cloned())
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<Bytes>, BucketError> {
        let Some(object) = self.state.lock().objects.get(key).cloned() else { return Ok(None) };
        if range.end > object.bytes.len() as u64 {
            return Err(BucketError::Range {
                at: At { verb: "read", key: key.into(), bucket: self.name.clone() },
                start: range.start,
                end: range.end,
                problem: format!("the object has {} bytes", object.bytes.len()),
            });
        }
        Ok(Some(object.bytes.slice(range.start as usize..range.end as usize)))
    }

    async fn get_suffix(&self, key: &str, n: u64) -> Result<Option<Suffix>, BucketError> {
        let Some(object) = self.state.lock().objects.get(key).cloned() else { return Ok(None) };
        let size = object.bytes.len() as u64;
        Ok(Some(Suffix { bytes: object.bytes.slice(size.saturating_sub(n) as usize..), size }))
    }

    async fn create(&self, key: &str, bytes: Bytes) -> WriteOutcome {
        let mut state = self.state.lock();
        if state.objects.contains_key(key) {
            return WriteOutcome::Refused;
        }
        WriteOutcome::Done(state.write(key, bytes))
    }

    async fn update(&self, key: &str, bytes: Bytes, version: &Version) -> WriteOutcome {
        let mut state = self.state.lock();
        if state.objects.get(key).is_none_or(|object| object.version != *version) {
            return WriteOutcome::Refused;
        }
        WriteOutcome::Done(state.write(key, bytes))
    }

    async fn put(&self, key: &str, bytes: Bytes) -> Result<Version, BucketError> {
        Ok(self.state.lock().write(key, bytes))
    }

    async fn upload(&self, key: &str) -> Result<Box<dyn Pieces>, BucketError> {
        Ok(Box::new(MemoryUpload { state: self.state.clone(), key: key.to_owned(), bytes: BytesMut::new() }))
    }

    async fn delete(&self, key: &str) -> Result<(), BucketError> {
        self.state.lock().objects.remove(key);
        Ok(())
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listed>, BucketError> {
        let stem = stem(prefix);
        let state = self.state.lock();
        Ok(state
            .objects
            .range(stem.clone()..)
            .take_while(|(key, _)| key.starts_with(&stem))
            .filter(|(key, _)| after.is_none_or(|after| key.as_str() > after))
            .take(limit)
            .map(|(key, object)| Listed { key: key.clone(), size: object.bytes.len() as u64 })
            .collect())
    }

    async fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, BucketError> {
        let stem = stem(prefix);
        let state = self.state.lock();
        let mut names: Vec<String> = state
            .objects
            .range(stem.clone()..)
            .take_while(|(key, _)| key.starts_with(&stem))
            .filter_map(|(key, _)| Some(key[stem.len()..].split_once('/')?.0.to_owned()))
            .collect();
        names.sort();
        names.dedup();
        Ok(names)
    }
}

struct MemoryUpload {
    state: Arc<Mutex<State>>,
    key: String,
    bytes: BytesMut,
}

#[async_trait]
impl Pieces for MemoryUpload {
    async fn write(&mut self, bytes: Bytes) -> Result<(), BucketError> {
        self.bytes.extend_from_slice(&bytes);
        Ok(())
    }

    async fn finish(&mut self) -> Result<(), BucketError> {
        let bytes = self.bytes.split().freeze();
        self.state.lock().write(&self.key, bytes);
        Ok(())
    }
}
