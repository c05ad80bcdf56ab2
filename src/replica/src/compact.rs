//! Keeping a cell's history short: L0 objects are merged into L1, and now and then a snapshot replaces everything before it.
//!
//! Invariant: an object is deleted only after the one that covers all of it stands in the bucket. A restore that runs meanwhile
//! lists again when an object is gone.

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, failpoint};
use celld_ids::{CellScope, Epoch};
use celld_ltx::{ApplyError, CompactError, Image, InvalidFile, Txid};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};

use crate::fold::PARALLEL;
use crate::history::{HistoryObject, list_history};
use crate::keys::{self, HistoryName, Level};
use crate::restore::{RestoreError, fetch, restore};

/// Bytes of L0 objects that one L1 object takes in at most.
const MERGE_BYTES: u64 = 64 << 20;

/// History that is worth a snapshot: this many bytes after the last one, or twice its size, whichever is more …
const SNAPSHOT_BYTES: u64 = 8 << 20;

/// … or this many objects.
const SNAPSHOT_OBJECTS: usize = 64;

/// Objects of more bytes than this are not replaced by a snapshot in the background: it would hold the whole database in memory.
const SNAPSHOT_LIMIT: u64 = 256 << 20;

/// Why a history was not shortened. It is as good as before.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CompactionError {
    /// The store failed. Its message names the object.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// An object cannot be read, or the database cannot be put together.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The objects do not follow each other.
    #[error("the history of {scope} cannot be merged: {problem}")]
    Merge {
        /// The cell.
        scope: CellScope,
        /// Why not.
        problem: CompactError,
    },
    /// The image is none, or is no database of whole pages.
    #[error("a snapshot of {scope} is impossible: {problem}")]
    Snapshot {
        /// The cell.
        scope: CellScope,
        /// Why.
        problem: String,
    },
    /// A task of the process was stopped.
    #[error("the process is stopping")]
    Stopped,
}

/// Shortens the history of a cell in one epoch: merges L0 into L1, and takes a snapshot when the history has outgrown the database.
pub async fn compact_cell(bucket: &Bucket, scope: &CellScope, epoch: Epoch) -> Result<(), CompactionError> {
    merge_l0(bucket, scope, epoch).await?;
    let objects = list_history(bucket, scope).await?;
    if outgrown(&objects) {
        let restored = restore(bucket, scope).await?;
        // The history may have gone on under another owner: the snapshot belongs where its last transaction does.
        let epoch = restored.epoch.unwrap_or(epoch);
        write_snapshot(bucket, scope, epoch, restored.image, restored.txid, restored.timestamp_ms).await?;
    }
    Ok(())
}

/// `true` when what follows the last snapshot is large compared with it, or is many objects.
fn outgrown(objects: &[HistoryObject]) -> bool {
    let total: u64 = objects.iter().map(|object| object.size).sum();
    if total > SNAPSHOT_LIMIT {
        return false;
    }
    let snapshot =
        objects.iter().filter(|object| object.name.min == Txid(1)).max_by_key(|object| object.name.max);
    let (reached, size) = snapshot.map_or((Txid::ZERO, 0), |object| (object.name.max, object.size));
    let after = objects.iter().filter(|object| object.name.max > reached);
    let (count, bytes) = after.fold((0, 0), |(count, bytes), object| (count + 1, bytes + object.size));
    count >= SNAPSHOT_OBJECTS || bytes >= SNAPSHOT_BYTES.max(2 * size)
}

/// Merges the L0 objects of one epoch that no L1 object covers yet into one, and deletes what is covered.
async fn merge_l0(bucket: &Bucket, scope: &CellScope, epoch: Epoch) -> Result<(), CompactionError> {
    let mut objects = list_history(bucket, scope).await?;
    objects.retain(|object| object.name.epoch == epoch);
    let chosen = choose(&objects);
    if let [first, .., last] = &chosen[..] {
        let name = HistoryName { level: Level::L1, min: first.name.min, ..last.name };
        let files: Vec<_> = stream::iter(chosen.clone())
            .map(|object| async move { fetch(bucket, scope, &object).await }.boxed())
            .buffered(PARALLEL)
            .try_collect()
            .await?;
        let merged = tokio::task::spawn_blocking(move || {
            celld_ltx::compact(&files).map(|file| Bytes::from(celld_ltx::encode(&file)))
        });
        let merged = merged.await.map_err(|_| CompactionError::Stopped)?;
        let bytes = merged.map_err(|problem| CompactionError::Merge { scope: scope.clone(), problem })?;
        let size = bytes.len() as u64;
        bucket.put(&keys::history(scope, &name), bytes).await?;
        failpoint("compaction");
        objects.push(HistoryObject { name, size });
    }
    let l1: Vec<HistoryName> =
        objects.iter().map(|object| object.name).filter(|name| name.level == Level::L1).collect();
    let covered = objects.iter().map(|object| object.name).filter(|name| {
        name.level == Level::L0 && l1.iter().any(|by| by.min <= name.min && name.max <= by.max)
    });
    delete(bucket, scope, covered.collect()).await
}

/// A run of L0 objects without a hole that starts after the last L1 object, up to [`MERGE_BYTES`].
fn choose(objects: &[HistoryObject]) -> Vec<HistoryObject> {
    let level = |level| objects.iter().filter(move |object| object.name.level == level);
    let merged = level(Level::L1).map(|object| object.name.max).max().unwrap_or(Txid::ZERO);
    let start = level(Level::L0).filter(|o| o.name.max > merged).map(|o| o.name.min).min();
    let Some(mut next) = start else { return Vec::new() };
    let mut chosen = Vec::new();
    let mut bytes = 0;
    while let Some(best) = level(Level::L0)
        .filter(|object| object.name.min <= next && object.name.max >= next)
        .max_by_key(|object| object.name.max)
    {
        bytes += best.size;
        if bytes > MERGE_BYTES && !chosen.is_empty() {
            break;
        }
        chosen.push(best.clone());
        next = best.name.max.next();
    }
    chosen
}

/// Writes the database `image`, which stands at `txid`, as a snapshot, and deletes all history that it covers. For a cell that is
/// handed over: its next owner reads one object.
///
/// Everything up to `txid` must be durable: a snapshot of an unacknowledged transaction would bring it back from the dead.
pub async fn write_snapshot(
    bucket: &Bucket,
    scope: &CellScope,
    epoch: Epoch,
    image: Vec<u8>,
    txid: Txid,
    timestamp_ms: i64,
) -> Result<(), CompactionError> {
    let failed = |problem: String| CompactionError::Snapshot { scope: scope.clone(), problem };
    let encoded = tokio::task::spawn_blocking(move || encode_snapshot(image, txid, timestamp_ms));
    let bytes = encoded.await.map_err(|_| CompactionError::Stopped)?.map_err(|e| failed(e.to_string()))?;
    let timestamp_ms = u64::try_from(timestamp_ms).unwrap_or(0);
    let name = HistoryName { epoch, level: Level::L9, min: Txid(1), max: txid, timestamp_ms };
    bucket.put(&keys::history(scope, &name), bytes).await?;
    failpoint("snapshot");
    let objects = list_history(bucket, scope).await?;
    let covered =
        objects.iter().map(|object| object.name).filter(|other| *other != name && other.max <= txid);
    delete(bucket, scope, covered.collect()).await
}

#[derive(Debug, thiserror::Error)]
enum SnapshotError {
    #[error(transparent)]
    Image(#[from] ApplyError),
    #[error(transparent)]
    File(#[from] InvalidFile),
}

fn encode_snapshot(image: Vec<u8>, txid: Txid, timestamp_ms: i64) -> Result<Bytes, SnapshotError> {
    let file = celld_ltx::File::snapshot(&Image::new(image, txid)?, timestamp_ms)?;
    Ok(celld_ltx::encode(&file).into())
}

async fn delete(bucket: &Bucket, scope: &CellScope, names: Vec<HistoryName>) -> Result<(), CompactionError> {
    stream::iter(names)
        .map(|name| async move { bucket.delete(&keys::history(scope, &name)).await }.boxed())
        .buffer_unordered(PARALLEL)
        .try_collect::<()>()
        .await?;
    Ok(())
}
