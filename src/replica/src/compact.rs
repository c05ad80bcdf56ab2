//! Keeping a cell's history short: L0 objects are merged into L1, L1 objects into longer ones, and now and then a snapshot
//! replaces everything before it.
//!
//! Invariant: an object is deleted only after one that covers all of it stands in the bucket. A restore that runs meanwhile
//! lists again when an object is gone. Nothing is held in memory but a few windows of each input.

use std::time::Duration;

use celld_bucket::{Bucket, BucketError, failpoint};
use celld_ids::{CellScope, Epoch};
use celld_ltx::Txid;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};

use crate::fold::PARALLEL;
use crate::history::{HistoryObject, Listing, PlanError, list_all, list_history, plan};
use crate::keys::{self, HistoryName, Level};
use crate::pages::Source;
use crate::record::patiently;
use crate::restore::RestoreError;
use crate::retention::garbage;
use crate::store::write_merged;
use crate::sums::{MIN_OBJECT_BYTES, sums_key};

/// Bytes of L0 objects, and their number, that one L1 object takes in at most.
const MERGE_BYTES: u64 = 64 << 20;
const MERGE_OBJECTS: usize = 256;

/// L1 objects of one epoch after the last snapshot that are worth merging, and how many must be of similar size for it.
const LONG_RUN: usize = 32;
const SIMILAR: usize = 8;

/// History that is worth a snapshot: this many bytes after the last one, or twice its size, whichever is more …
const SNAPSHOT_BYTES: u64 = 8 << 20;

/// … or this many objects, when they weigh half of what a snapshot does or a snapshot is small …
const SNAPSHOT_OBJECTS: usize = 64;

/// … or this many whatever they weigh.
const TOO_MANY_OBJECTS: usize = 512;

/// Merges in one go; what is left is for the next time.
const STEPS: usize = 4;

/// Why a history was not shortened. It is as good as before.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CompactionError {
    /// The store failed. Its message names the object.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// An object is damaged, or the objects do not make a whole.
    #[error(transparent)]
    Restore(#[from] RestoreError),
}

impl From<PlanError> for CompactionError {
    fn from(error: PlanError) -> CompactionError {
        RestoreError::from(error).into()
    }
}

/// Shortens the history of a cell: merges the L0 objects of `epoch` into L1, takes a snapshot when the history has outgrown the
/// database, and deletes what is superseded, except what restoring a moment of the last `retention` before the cell's last
/// transaction needs (zero: nothing).
pub async fn compact_cell(
    bucket: &Bucket,
    scope: &CellScope,
    epoch: Epoch,
    retention: Duration,
) -> Result<(), CompactionError> {
    let mut listing = list_all(bucket, scope).await?;
    for _ in 0..STEPS {
        match next_step(scope, &listing.objects, epoch)? {
            Step::Nothing => break,
            Step::Merge(chosen) => merge(bucket, scope, epoch, Level::L1, chosen).await?,
            Step::Snapshot { chain, epoch } => merge(bucket, scope, epoch, Level::L9, chain).await?,
        }
        listing = list_all(bucket, scope).await?;
    }
    collect(bucket, scope, listing, retention).await
}

async fn merge(
    bucket: &Bucket,
    scope: &CellScope,
    epoch: Epoch,
    level: Level,
    objects: Vec<HistoryObject>,
) -> Result<(), CompactionError> {
    let sources: Vec<Source> = objects.into_iter().map(Source::Object).collect();
    write_merged(bucket, scope, epoch, level, &sources).await?;
    failpoint(if level == Level::L9 { "snapshot" } else { "compaction" });
    Ok(())
}

/// What to do next about a history.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    Nothing,
    /// Make one L1 object of these.
    Merge(Vec<HistoryObject>),
    /// Make one snapshot of these. It belongs to the epoch of the last transaction, which need not be the caller's.
    Snapshot {
        chain: Vec<HistoryObject>,
        epoch: Epoch,
    },
}

fn next_step(scope: &CellScope, objects: &[HistoryObject], epoch: Epoch) -> Result<Step, PlanError> {
    let fresh = fresh_l0(objects, epoch);
    if fresh.len() > 1 {
        return Ok(Step::Merge(fresh));
    }
    let chain = plan(scope, objects)?;
    let (base, after) = match &chain[..] {
        [first, after @ ..] if first.name.min == Txid(1) => (first.size, after),
        all => (0, all),
    };
    let (Some(last), bytes) = (after.last(), after.iter().map(|object| object.size).sum::<u64>()) else {
        return Ok(Step::Nothing);
    };
    let outgrown = bytes >= SNAPSHOT_BYTES.max(2 * base);
    let many = after.len() >= SNAPSHOT_OBJECTS && (base <= SNAPSHOT_BYTES || bytes >= base / 2);
    if outgrown || many || after.len() >= TOO_MANY_OBJECTS {
        let epoch = last.name.epoch;
        return Ok(Step::Snapshot { chain, epoch });
    }
    let run: Vec<&HistoryObject> =
        after.iter().filter(|object| object.name.level == Level::L1 && object.name.epoch == epoch).collect();
    // A small database is rewritten soon enough, and each snapshot is a moment to go back to.
    let similar = if base > SNAPSHOT_BYTES { similar_l1(&run) } else { Vec::new() };
    Ok(if similar.is_empty() { Step::Nothing } else { Step::Merge(similar) })
}

/// The L0 objects of one epoch that nothing longer covers: a run without a hole.
fn fresh_l0(objects: &[HistoryObject], epoch: Epoch) -> Vec<HistoryObject> {
    let level =
        |level| objects.iter().filter(move |object| object.name.level == level && object.name.epoch == epoch);
    let merged = level(Level::L1).chain(level(Level::L9)).map(|object| object.name.max).max();
    let merged = merged.unwrap_or(Txid::ZERO);
    let start = level(Level::L0).filter(|o| o.name.max > merged).map(|o| o.name.min).min();
    let Some(mut next) = start else { return Vec::new() };
    let mut chosen: Vec<HistoryObject> = Vec::new();
    let mut bytes = 0;
    while let Some(best) = level(Level::L0)
        .filter(|object| object.name.min <= next && object.name.max >= next)
        .max_by_key(|object| object.name.max)
    {
        bytes += best.size;
        if !chosen.is_empty() && (bytes > MERGE_BYTES || chosen.len() >= MERGE_OBJECTS) {
            break;
        }
        chosen.push(best.clone());
        next = best.name.max.next();
    }
    chosen
}

/// The end of a long run of L1 objects that is worth merging: back from the last one, each that weighs no more than all after it
/// together. So every byte is merged again only a few times, however long the history of a large database grows.
fn similar_l1(run: &[&HistoryObject]) -> Vec<HistoryObject> {
    if run.len() < LONG_RUN {
        return Vec::new();
    }
    let mut bytes = 0;
    let mut chosen: Vec<HistoryObject> = Vec::new();
    for object in run.iter().rev() {
        let follows = chosen.last().is_none_or(|after| after.name.min <= object.name.max.next());
        if !follows || (!chosen.is_empty() && object.size > bytes + SNAPSHOT_BYTES / 8) {
            break;
        }
        bytes += object.size;
        chosen.push((*object).clone());
    }
    chosen.reverse();
    if chosen.len() < SIMILAR { Vec::new() } else { chosen }
}

/// Deletes what is superseded and not kept for restoring a moment of the last `retention`.
async fn collect(
    bucket: &Bucket,
    scope: &CellScope,
    listing: Listing,
    retention: Duration,
) -> Result<(), CompactionError> {
    let window_ms = u64::try_from(retention.as_millis()).unwrap_or(u64::MAX);
    let names: Vec<HistoryName> = listing.objects.iter().map(|object| object.name).collect();
    let objects = garbage(&listing.objects, &names, window_ms);
    // Page checksums whose object is gone, or never came.
    let left = listing.sums.into_iter().filter(|name| !names.contains(name)).collect::<Vec<_>>();
    let orphans = garbage(&listing.objects, &left, window_ms);
    let large = |name: &HistoryName| {
        listing.objects.iter().any(|object| object.name == *name && object.size >= MIN_OBJECT_BYTES)
    };
    let keys = objects.into_iter().map(|name| {
        let sums = large(&name).then(|| sums_key(scope, &name));
        (Some(keys::history(scope, &name)), sums)
    });
    let keys = keys.chain(orphans.into_iter().map(|name| (None, Some(sums_key(scope, &name)))));
    stream::iter(keys.collect::<Vec<_>>())
        .map(|(object, sums)| {
            let delete = async move {
                for key in [object, sums].into_iter().flatten() {
                    patiently(|| bucket.delete(&key)).await?;
                }
                Ok::<(), BucketError>(())
            };
            delete.boxed()
        })
        .buffer_unordered(PARALLEL)
        .try_collect::<()>()
        .await?;
    Ok(())
}

/// What [`snapshot_at_stop`] did about a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StopSnapshot {
    /// The next owner reads one object.
    Written,
    /// It reads a few objects already.
    Short,
    /// The history is larger than a stop can wait for: the next owner reads all of it.
    TooLarge,
}

/// Objects that a restore fetches at once anyway.
const SHORT: usize = 4;

/// Bytes for each second of a deadline that a snapshot may have: 80 MiB in ten seconds.
const BYTES_PER_SECOND: u64 = 8 << 20;

/// Replaces a cell's history by one snapshot, for a node that stops and has `deadline` left for this cell. To be called after
/// everything was folded ([`crate::SessionLog::close`]); reads the history itself, so it needs no local image.
///
/// What it replaces is kept for `retention`, as in [`compact_cell`].
pub async fn snapshot_at_stop(
    bucket: &Bucket,
    scope: &CellScope,
    deadline: Duration,
    retention: Duration,
) -> Result<StopSnapshot, CompactionError> {
    let chain = plan(scope, &list_history(bucket, scope).await?)?;
    let bytes: u64 = chain.iter().map(|object| object.size).sum();
    let Some(last) = chain.last().filter(|_| chain.len() > SHORT) else { return Ok(StopSnapshot::Short) };
    let fits = u128::from(BYTES_PER_SECOND) * deadline.as_millis() / 1000;
    if u128::from(bytes) > fits {
        return Ok(StopSnapshot::TooLarge);
    }
    let epoch = last.name.epoch;
    merge(bucket, scope, epoch, Level::L9, chain).await?;
    collect(bucket, scope, list_all(bucket, scope).await?, retention).await?;
    Ok(StopSnapshot::Written)
}
