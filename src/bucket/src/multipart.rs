//! Uploads to the cloud stores: small objects as one request, large ones as multipart uploads.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use object_store::multipart::PartId;
use object_store::path::Path;
use object_store::{MultipartId, PutPayload};
use tokio::task::JoinSet;

use crate::BucketError;
use crate::answer::Answer;
use crate::remote::{Failed, RemoteStore};
use crate::store::Store;
use crate::upload::Pieces;

/// Bytes of each part but the last. All are equal, because Cloudflare R2 wants that; at least 5 MiB, because S3 does; and 10,000
/// of them, which is the most that S3 takes, are far more than the largest object.
const PART: usize = 8 << 20;

/// Parts on their way at once.
const IN_FLIGHT: usize = 3;

pub(crate) struct MultipartUpload {
    store: RemoteStore,
    key: Arc<str>,
    path: Path,
    /// The next part so far: never more than [`PART`].
    buffer: BytesMut,
    /// `None` while everything fits into one request.
    started: Option<Started>,
}

struct Started {
    id: MultipartId,
    parts: Vec<Option<PartId>>,
    sending: JoinSet<(usize, Result<PartId, Failed>)>,
}

impl MultipartUpload {
    pub(crate) fn new(store: RemoteStore, key: &str) -> Result<MultipartUpload, BucketError> {
        let path = store.path("write", key)?;
        Ok(MultipartUpload { store, key: key.into(), path, buffer: BytesMut::new(), started: None })
    }

    fn error(&self, failed: Failed) -> BucketError {
        self.store.error("write", &self.key, failed.answer, &failed.error)
    }

    fn stopping(&self) -> BucketError {
        BucketError::Other { at: self.store.at("write", &self.key), detail: "the process is stopping".into() }
    }

    async fn started(&mut self) -> Result<&mut Started, BucketError> {
        let started = match self.started.take() {
            Some(started) => started,
            None => {
                let create = || self.store.client.create_multipart(&self.path);
                let id = self.store.retrying(create).await.map_err(|failed| self.error(failed))?;
                Started { id, parts: Vec::new(), sending: JoinSet::new() }
            }
        };
        Ok(self.started.insert(started))
    }

    /// Sends what the buffer holds as the next part.
    async fn send(&mut self) -> Result<(), BucketError> {
        let payload = PutPayload::from_bytes(self.buffer.split().freeze());
        while self.started().await?.sending.len() >= IN_FLIGHT {
            self.arrived().await?;
        }
        let (store, path) = (self.store.clone(), self.path.clone());
        let started = self.started().await?;
        let (number, id) = (started.parts.len(), started.id.clone());
        started.parts.push(None);
        started.sending.spawn(async move {
            let put = || store.client.put_part(&path, &id, number, payload.clone());
            (number, store.retrying(put).await)
        });
        Ok(())
    }

    /// Waits for one part. `false` when none is on its way.
    async fn arrived(&mut self) -> Result<bool, BucketError> {
        let Some(started) = &mut self.started else { return Ok(false) };
        match started.sending.join_next().await {
            None => Ok(false),
            Some(Ok((number, Ok(part)))) => {
                started.parts[number] = Some(part);
                Ok(true)
            }
            Some(Ok((_, Err(failed)))) => Err(self.error(failed)),
            Some(Err(_)) => Err(self.stopping()),
        }
    }
}

#[async_trait]
impl Pieces for MultipartUpload {
    async fn write(&mut self, mut bytes: Bytes) -> Result<(), BucketError> {
        while !bytes.is_empty() {
            // Only when more comes: an object of exactly one part needs no multipart upload.
            if self.buffer.len() == PART {
                self.send().await?;
            }
            let take = bytes.len().min(PART - self.buffer.len());
            self.buffer.extend_from_slice(&bytes.split_to(take));
        }
        Ok(())
    }

    async fn finish(&mut self) -> Result<(), BucketError> {
        if self.started.is_none() {
            return self.store.put(&self.key, self.buffer.split().freeze()).await.map(drop);
        }
        if !self.buffer.is_empty() {
            self.send().await?;
        }
        while self.arrived().await? {}
        let Some(started) = &self.started else { return Err(self.stopping()) };
        let parts: Vec<PartId> = started.parts.iter().flatten().cloned().collect();
        let id = started.id.clone();
        let complete = || self.store.client.complete_multipart(&self.path, &id, parts.clone());
        self.store.retrying(complete).await.map_err(|failed| self.error(failed))?;
        // Nothing is left to be given up.
        self.started = None;
        Ok(())
    }
}

impl Drop for MultipartUpload {
    fn drop(&mut self) {
        let (Some(started), Ok(runtime)) = (self.started.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let (store, key, path) = (self.store.clone(), self.key.clone(), self.path.clone());
        runtime.spawn(async move {
            // The parts first: one that arrives after the end would stay.
            drop(started.sending);
            let abort = || store.client.abort_multipart(&path, &started.id);
            if let Err(failed) = store.retrying(abort).await
                && failed.answer != Answer::NoUpload
            {
                let error = store.error("write", &key, failed.answer, &failed.error);
                tracing::debug!(%error, "the pieces of an upload that was given up stay in the store");
            }
        });
    }
}
