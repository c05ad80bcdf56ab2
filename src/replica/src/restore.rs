//! Putting a cell's database together from the bucket.

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError};
use celld_ids::{CellScope, Epoch};
use celld_ltx::{ApplyError, CompactError, DecodeError, File, Image, Txid};
use futures::{FutureExt, StreamExt, stream};

use crate::history::{HistoryObject, PlanError, list_history, plan};
use crate::keys;
use crate::record::patiently;

/// Pages in the largest database that a cell can have: 10 GiB.
pub const MAX_PAGES: u32 = (10 << 30) / celld_ltx::PAGE_SIZE as u32;

/// Objects fetched ahead.
const AHEAD: usize = 8;

/// How often the history is listed anew when compaction takes objects away under our hands.
pub(crate) const LISTINGS: u32 = 5;

/// Larger files are decoded on a blocking thread.
const OFFLOAD_BYTES: usize = 256 << 10;

/// A cell's database as durable history has it.
#[derive(Debug, Clone, Default)]
pub struct Restored {
    /// The database file; empty for a cell without history.
    pub image: Vec<u8>,
    /// Its last transaction; zero for a cell without history. The next owner continues with the one after it.
    pub txid: Txid,
    /// The epoch that the last transaction was written under; `None` without history.
    pub epoch: Option<Epoch>,
    /// When the last transaction was committed, in milliseconds since the Unix epoch.
    pub timestamp_ms: i64,
    /// How many objects it was put together from.
    pub objects: usize,
}

/// Why a cell cannot be restored.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RestoreError {
    /// The store failed. Its message names the object.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// The objects that are there do not make a whole.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// An object that was listed is not there, and listing again did not help.
    #[error("{key} is missing")]
    Missing {
        /// The object.
        key: String,
    },
    /// An object is not what was written.
    #[error("{key} is damaged: {problem}")]
    Damaged {
        /// The object.
        key: String,
        /// What is wrong with it.
        problem: DecodeError,
    },
    /// An object holds other transactions than its name says.
    #[error("{key} holds transactions {min} to {max}", min = min.0, max = max.0)]
    Misnamed {
        /// The object.
        key: String,
        /// First transaction in it.
        min: Txid,
        /// Last transaction in it.
        max: Txid,
    },
    /// An object does not fit on what was restored so far.
    #[error("{key} cannot be applied: {problem}")]
    Apply {
        /// The object.
        key: String,
        /// Why not.
        problem: ApplyError,
    },
    /// Objects do not fit together.
    #[error("the history of {scope} cannot be merged: {problem}")]
    Merge {
        /// The cell.
        scope: CellScope,
        /// Why not.
        problem: CompactError,
    },
    /// A task of the process was stopped.
    #[error("the process is stopping")]
    Stopped,
}

/// Restores the cell `scope` to its last durable transaction.
///
/// Only history counts: the logs of dead sessions must have been sealed and folded ([`crate::seal_session`]), and a session that
/// restores a cell of its own folds first ([`crate::SessionLog::fold`]). Every byte is verified: objects by their checksums, the
/// chain by its transaction numbers.
pub async fn restore(bucket: &Bucket, scope: &CellScope) -> Result<Restored, RestoreError> {
    let mut listing = 1;
    loop {
        let chosen = plan(scope, &list_history(bucket, scope).await?)?;
        match replay(bucket, scope, &chosen).await {
            // Compaction deletes only what another object covers, so a new listing shows the way around.
            Err(RestoreError::Missing { key }) if listing < LISTINGS => {
                tracing::debug!(cell = %scope, key, "the history changed during the restore");
                listing += 1;
            }
            result => return result,
        }
    }
}

async fn replay(
    bucket: &Bucket,
    scope: &CellScope,
    chosen: &[HistoryObject],
) -> Result<Restored, RestoreError> {
    let mut image = Image::empty();
    let mut restored = Restored { objects: chosen.len(), ..Restored::default() };
    let mut files = stream::iter(chosen.to_vec())
        .map(|object| {
            let file = async move {
                let file = fetch(bucket, scope, &object).await;
                (object, file)
            };
            file.boxed()
        })
        .buffered(AHEAD);
    while let Some((object, file)) = files.next().await {
        let file = file?;
        image.apply(&file, MAX_PAGES).map_err(|problem| {
            let key = keys::history(scope, &object.name);
            RestoreError::Apply { key, problem }
        })?;
        restored.epoch = Some(object.name.epoch);
        restored.timestamp_ms = file.header().timestamp_ms;
    }
    restored.txid = image.txid();
    restored.image = image.into_bytes();
    Ok(restored)
}

/// Reads one object of a cell's history and verifies it.
pub(crate) async fn fetch(
    bucket: &Bucket,
    scope: &CellScope,
    object: &HistoryObject,
) -> Result<File, RestoreError> {
    let key = keys::history(scope, &object.name);
    let Some(found) = patiently(|| bucket.get(&key)).await? else {
        return Err(RestoreError::Missing { key });
    };
    let file = match decode(found.bytes).await? {
        Ok(file) => file,
        Err(problem) => return Err(RestoreError::Damaged { key, problem }),
    };
    let (min, max) = (file.header().min_txid, file.header().max_txid);
    if (min, max) != (object.name.min, object.name.max) {
        return Err(RestoreError::Misnamed { key, min, max });
    }
    Ok(file)
}

async fn decode(bytes: Bytes) -> Result<Result<File, DecodeError>, RestoreError> {
    if bytes.len() < OFFLOAD_BYTES {
        return Ok(celld_ltx::decode(&bytes));
    }
    tokio::task::spawn_blocking(move || celld_ltx::decode(&bytes)).await.map_err(|_| RestoreError::Stopped)
}
