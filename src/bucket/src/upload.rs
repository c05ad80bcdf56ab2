//! Writing an object in pieces, in bounded memory.

use std::fmt;

use async_trait::async_trait;
use bytes::Bytes;

use crate::BucketError;

/// An object that is being written. Nobody sees anything of it before [`Upload::finish`]; when it is dropped before, nothing
/// changes (a store may keep the pieces for a while: a lifecycle rule for incomplete multipart uploads removes them).
///
/// It holds a few pieces of 8 MiB at most, whatever the object's size.
pub struct Upload(pub(crate) Box<dyn Pieces>);

impl Upload {
    /// Appends `bytes`. Waits while too much is on its way.
    ///
    /// Errors: the store does not take the pieces. The upload is of no use after that.
    pub async fn write(&mut self, bytes: Bytes) -> Result<(), BucketError> {
        if bytes.is_empty() {
            return Ok(());
        }
        self.0.write(bytes).await
    }

    /// Makes the object from everything that was written, whatever is there, as [`Bucket::put`](crate::Bucket::put) does: an
    /// error leaves it open whether that happened.
    pub async fn finish(mut self) -> Result<(), BucketError> {
        self.0.finish().await
    }
}

impl fmt::Debug for Upload {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upload")
    }
}

/// What a store does for an [`Upload`]. Dropping it gives the object up.
#[async_trait]
pub(crate) trait Pieces: Send {
    /// Appends a piece that is not empty.
    async fn write(&mut self, bytes: Bytes) -> Result<(), BucketError>;
    /// Called once, after the last piece.
    async fn finish(&mut self) -> Result<(), BucketError>;
}
