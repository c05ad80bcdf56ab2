//! Conditional writes that end known: an unknown outcome is resolved by reading what stands in the bucket.
//!
//! Why sending the write again is not a blind retry: it is sent only after a read has shown that the first attempt has not
//! been applied *yet*, it carries the same condition, and the content names its writer. Should the first attempt arrive late
//! after all, the store applies one of the two and refuses the other, and the read that follows finds our content.

use std::time::Duration;

use bytes::Bytes;

use crate::{Bucket, BucketError, Version, WriteOutcome};

/// How often an unknown outcome is read and sent again before it is handed to the caller as unknown.
const ATTEMPTS: u32 = 4;

/// What the bucket holds compared with what we tried to write.
enum Found {
    /// Our content, as this version.
    Ours(Version),
    /// What stood there before: our write has not been applied so far.
    Before,
    /// Somebody else's content, or none at all.
    Other,
}

impl Bucket {
    /// Like [`Bucket::create`], but an unknown outcome is resolved by reading. `bytes` must contain something that only this
    /// writer writes (a session, a nonce): finding them is taken as proof that this call wrote them.
    ///
    /// [`WriteOutcome::Refused`] means that something else stands there now. Still [`WriteOutcome::Unknown`] when the store
    /// cannot be read either.
    pub async fn create_resolved(&self, key: &str, bytes: Bytes) -> WriteOutcome {
        let ours = bytes.clone();
        self.create_resolved_by(key, bytes, |found| found == ours).await
    }

    /// The same with a test of our own for "this is what I wrote".
    pub async fn create_resolved_by(
        &self,
        key: &str,
        bytes: Bytes,
        is_ours: impl Fn(&[u8]) -> bool + Send + Sync,
    ) -> WriteOutcome {
        self.resolve(key, bytes, None, &is_ours).await
    }

    /// Like [`Bucket::update`], but an unknown outcome is resolved by reading. `bytes` must contain something that only this
    /// write contains (a session with a counter, a nonce), and differ from what they replace.
    ///
    /// [`WriteOutcome::Refused`] is certain. Still [`WriteOutcome::Unknown`] when the store cannot be read either, and when
    /// another writer's content stands there after an unknown attempt: that writer may have built on ours.
    pub async fn update_resolved(&self, key: &str, bytes: Bytes, version: &Version) -> WriteOutcome {
        let ours = bytes.clone();
        self.update_resolved_by(key, bytes, version, |found| found == ours).await
    }

    /// The same with a test of our own for "this is what I wrote".
    pub async fn update_resolved_by(
        &self,
        key: &str,
        bytes: Bytes,
        version: &Version,
        is_ours: impl Fn(&[u8]) -> bool + Send + Sync,
    ) -> WriteOutcome {
        self.resolve(key, bytes, Some(version), &is_ours).await
    }

    async fn resolve(
        &self,
        key: &str,
        bytes: Bytes,
        version: Option<&Version>,
        is_ours: &(impl Fn(&[u8]) -> bool + Send + Sync),
    ) -> WriteOutcome {
        let mut doubt = match self.attempt(key, &bytes, version).await {
            WriteOutcome::Unknown(error) => error,
            known => return known,
        };
        for attempt in 0..ATTEMPTS {
            match self.find(key, version, is_ours).await {
                Ok(Found::Ours(version)) => return WriteOutcome::Done(version),
                // A created object that somebody replaced is gone from our sight, and so is the proof. For a create the
                // caller is told what stands; an update may be the base of what stands now, and "refused" would make the
                // caller apply its change twice.
                Ok(Found::Other) if version.is_none() => return WriteOutcome::Refused,
                Ok(Found::Other) => return WriteOutcome::Unknown(doubt),
                // Whatever this attempt answers, the first one may be what it met: only the next read tells.
                Ok(Found::Before) => match self.attempt(key, &bytes, version).await {
                    WriteOutcome::Done(version) => return WriteOutcome::Done(version),
                    WriteOutcome::Unknown(error) | WriteOutcome::Failed(error) => doubt = error,
                    WriteOutcome::Refused => continue,
                },
                Err(error) => doubt = error,
            }
            tokio::time::sleep(Duration::from_millis(20 << (2 * attempt))).await;
        }
        WriteOutcome::Unknown(doubt)
    }

    async fn attempt(&self, key: &str, bytes: &Bytes, version: Option<&Version>) -> WriteOutcome {
        match version {
            None => self.create(key, bytes.clone()).await,
            Some(version) => self.update(key, bytes.clone(), version).await,
        }
    }

    async fn find(
        &self,
        key: &str,
        before: Option<&Version>,
        is_ours: &(impl Fn(&[u8]) -> bool + Send + Sync),
    ) -> Result<Found, BucketError> {
        Ok(match self.get(key).await? {
            // The version first: an update that writes the same content again has not happened while the old one stands.
            Some(object) if before == Some(&object.version) => Found::Before,
            Some(object) if is_ours(&object.bytes) => Found::Ours(object.version),
            None if before.is_none() => Found::Before,
            _ => Found::Other,
        })
    }
}
