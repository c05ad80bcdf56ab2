//! A clean stop: everything durable, nothing left for a successor to do, and its start made cheap.

use std::sync::Arc;
use std::time::Duration;

use celld_bucket::Bucket;
use celld_engine::{Engine, StoppedCell};
use celld_images::{CleanCell, Images};
use celld_replica::{SessionLog, StopSnapshot, snapshot_at_stop};
use futures::StreamExt;
use futures::stream;
use tokio::time::Instant;

/// Snapshots that are written at a time.
const PARALLEL: usize = 8;

/// What a stop needs.
pub(crate) struct Stop<'a> {
    pub engine: &'a Engine,
    pub log: &'a SessionLog,
    pub bucket: &'a Bucket,
    pub images: Arc<Images>,
    /// How long it may take in all.
    pub total: Duration,
    /// How long what a snapshot replaces is kept.
    pub retention: Duration,
}

impl Stop<'_> {
    /// Lets the requests finish, then makes everything durable. What is left of half of the time goes into making the next start
    /// cheap: long histories become snapshots, and the files of large cells are vouched for.
    pub async fn finish(self) {
        let start = Instant::now();
        let closed = tokio::time::timeout(self.total, async {
            let cells = self.engine.stop().await;
            match self.log.close().await {
                Ok(()) => Some(cells),
                Err(error) => {
                    tracing::warn!(%error, "the log was not closed cleanly; the next session does it");
                    None
                }
            }
        });
        match closed.await {
            Ok(Some(cells)) => self.prepare(cells, start + self.total / 2).await,
            Ok(None) => {}
            Err(_) => {
                tracing::warn!(limit_ms = self.total.as_millis(), "the stop took too long and was cut short");
            }
        }
    }

    async fn prepare(&self, cells: Vec<StoppedCell>, deadline: Instant) {
        // The files first: they are what a restart of this node has to wait for.
        let (images, session) = (self.images.clone(), self.log.session().clone());
        let cells = cells.into_iter().map(|StoppedCell { scope, epoch, txid, file }| CleanCell {
            scope,
            epoch,
            txid,
            file,
        });
        let cells: Vec<CleanCell> = cells.collect();
        let until = deadline.into_std();
        match tokio::task::spawn_blocking(move || images.clean_stop(&session, cells, until)).await {
            Ok(Ok(stopped)) => tracing::debug!(
                kept = stopped.kept,
                left_out = stopped.left_out,
                "image files are vouched for"
            ),
            Ok(Err(error)) => {
                tracing::warn!(%error, "no image file is vouched for; the next session restores them")
            }
            Err(_) => {}
        }
        let snapshots =
            stream::iter(self.log.folded_cells()).for_each_concurrent(PARALLEL, |scope| async move {
                let left = deadline.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return;
                }
                match snapshot_at_stop(self.bucket, &scope, left, self.retention).await {
                    Ok(StopSnapshot::Written) => {
                        tracing::debug!(cell = %scope, "its history is one snapshot now")
                    }
                    Ok(StopSnapshot::Short | StopSnapshot::TooLarge) => {}
                    Err(error) => tracing::debug!(cell = %scope, %error, "its history stays as it is"),
                }
            });
        // A snapshot that is cut short has replaced nothing.
        let _ = tokio::time::timeout_at(deadline, snapshots).await;
    }
}
