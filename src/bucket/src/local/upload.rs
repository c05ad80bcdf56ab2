//! An object that is written in pieces: a staged file that gets its name at the end.

use async_trait::async_trait;
use bytes::Bytes;

use super::object::{Nonce, ObjectWriter};
use super::staged::Staged;
use super::store::LocalStore;
use crate::BucketError;
use crate::upload::Pieces;

/// A staged file and the checksum of what it holds so far.
pub(super) struct Unfinished {
    pub(super) staged: Staged,
    pub(super) writer: ObjectWriter,
    pub(super) nonce: Nonce,
}

pub(super) struct LocalUpload {
    store: LocalStore,
    key: String,
    /// `None` before the first piece, and after a piece that failed.
    file: Option<Unfinished>,
    failed: bool,
}

impl LocalUpload {
    pub(super) fn new(store: LocalStore, key: &str) -> LocalUpload {
        LocalUpload { store, key: key.to_owned(), file: None, failed: false }
    }

    fn useless(&self) -> BucketError {
        let detail = "a piece of it could not be written".to_owned();
        BucketError::Other { at: self.store.at("write", &self.key), detail }
    }
}

#[async_trait]
impl Pieces for LocalUpload {
    async fn write(&mut self, bytes: Bytes) -> Result<(), BucketError> {
        if std::mem::replace(&mut self.failed, true) {
            return Err(self.useless());
        }
        self.file = Some(self.store.append(&self.key, self.file.take(), bytes).await?);
        self.failed = false;
        Ok(())
    }

    async fn finish(&mut self) -> Result<(), BucketError> {
        if self.failed {
            return Err(self.useless());
        }
        self.store.name(&self.key, self.file.take()).await
    }
}
