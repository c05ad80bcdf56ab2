//! Faults of an object that is written in pieces: its fate is drawn when it begins and shows when it ends.

use async_trait::async_trait;
use bytes::Bytes;

use crate::upload::Pieces;
use crate::{BucketError, Fate};

pub(crate) struct FaultUpload {
    /// `None` once it is finished, perhaps later than its writer thinks.
    inner: Option<Box<dyn Pieces>>,
    fate: Fate,
    /// What the writer is told unless all goes well.
    error: BucketError,
}

impl FaultUpload {
    pub(crate) fn new(inner: Box<dyn Pieces>, fate: Fate, error: BucketError) -> FaultUpload {
        FaultUpload { inner: Some(inner), fate, error }
    }
}

#[async_trait]
impl Pieces for FaultUpload {
    async fn write(&mut self, bytes: Bytes) -> Result<(), BucketError> {
        match &mut self.inner {
            Some(inner) => inner.write(bytes).await,
            None => Err(self.error.clone()),
        }
    }

    async fn finish(&mut self) -> Result<(), BucketError> {
        let Some(mut inner) = self.inner.take() else { return Err(self.error.clone()) };
        match self.fate {
            Fate::Good | Fate::Slow(_) => inner.finish().await,
            // What is written in pieces is whole or not there at all, whatever else a store does.
            Fate::LostRequest | Fate::Throttled | Fate::Full | Fate::Torn => Err(self.error.clone()),
            Fate::Late(late_by) => {
                tokio::spawn(async move {
                    tokio::time::sleep(late_by).await;
                    inner.finish().await
                });
                Err(self.error.clone())
            }
            Fate::LostResponse => {
                inner.finish().await?;
                Err(self.error.clone())
            }
        }
    }
}
