//! Taking over from a session that is dead, or thought to be: the fence, and the rescue of what it had acknowledged.
//!
//! The session record leads through the phases, each entered by compare-and-swap, so any process can carry on where another one
//! stopped:
//!
//! 1. **Claimed**: from here on the folded mark stands still, so every entry after it is still there.
//! 2. A walk from the mark finds the first place without an entry and creates the seal there. The old session acknowledges by
//!    prefix, so it can acknowledge nothing at or after the seal; what landed beyond was never acknowledged and does not count.
//! 3. **Sealed**: the entries between mark and seal are folded into their cells' history.
//! 4. **Folded**: now, not earlier, they are deleted. The seal stays for ever: a create that was delayed on its way must still
//!    find the place taken.
//! 5. **Closed**: nothing is left to do.
//!
//! The record decides, not the walk: a walk that was overtaken by another process can meet places whose entries that process has
//! deleted. Its own compare-and-swap then fails, and what the record says holds.

use std::sync::Arc;

use celld_bucket::{Bucket, BucketError, WriteOutcome, failpoint};
use celld_ids::SessionId;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};

use crate::entry::{EntryError, EntryNo, HEAD, Kind, Seal};
use crate::fold::{FoldError, PARALLEL, load, merge, write_history};
use crate::json::RecordError;
use crate::keys;
use crate::merged::Kept;
use crate::record::{self, Phase, SessionRecord, Step, backoff, patiently};
use crate::wakes::Wakes;

/// Places whose objects are listed at once.
const LISTING: usize = 1000;

/// Entries folded at once: by number, and by the size of their objects in bytes.
const BATCH_ENTRIES: usize = 512;
const BATCH_BYTES: u64 = 32 << 20;

/// How often the creation of one seal is tried while the store does not answer.
const ATTEMPTS: u32 = 8;

/// What a sealed log amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SealedTail {
    /// Entries up to here were folded by the session itself.
    pub mark: EntryNo,
    /// Where the seal stands: every entry before it is in its cell's history now, and none after it counts.
    pub seal: EntryNo,
}

/// Why a log could not be sealed or its entries not be saved. Calling again carries on.
#[derive(Debug, Clone, thiserror::Error)]
pub enum SealError {
    /// There is no record of the session: it never wrote anything.
    #[error("there is no record of session {0}")]
    NoSession(SessionId),
    /// The session record cannot be read or changed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The store failed. Its message names the object.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// An entry cannot be moved to its cells' history.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// An object in the log is none of ours.
    #[error("{key} is damaged: {problem}")]
    Damaged {
        /// The object.
        key: String,
        /// What is wrong with it.
        problem: EntryError,
    },
    /// An object in the log came and went, or nobody could say whether a seal stands.
    #[error("{key} cannot be sealed: {problem}")]
    Unresolved {
        /// The object.
        key: String,
        /// What happened last.
        problem: String,
    },
}

/// Seals the log of `session` on behalf of the session `by` and moves what it had acknowledged into its cells' history.
///
/// When this returns, `session` can acknowledge nothing more, and everything it ever acknowledged is found by
/// [`crate::restore`]. May be called for a session that still lives, by several processes at once, and again after a crash.
pub async fn seal_session(
    bucket: &Bucket,
    session: &SessionId,
    by: &SessionId,
) -> Result<SealedTail, SealError> {
    loop {
        let found = record::read(bucket, session).await?;
        let Some(found) = found.map(|found| found.record) else {
            return Err(SealError::NoSession(session.clone()));
        };
        let mark = EntryNo(found.folded);
        match found.phase {
            Phase::Open => claim(bucket, session, by).await?,
            Phase::Claimed { .. } => {
                let at = walk(bucket, session, by, mark).await?;
                failpoint("seal");
                advance(bucket, session, Phase::Sealed { at: at.0 }).await?;
            }
            Phase::Sealed { at } => {
                if fold_tail(bucket, session, mark, EntryNo(at)).await? {
                    advance(bucket, session, Phase::Folded { at }).await?;
                }
            }
            Phase::Folded { at } => {
                clear(bucket, session, EntryNo(at)).await?;
                advance(bucket, session, Phase::Closed { at }).await?;
            }
            Phase::Closed { at } => return Ok(SealedTail { mark, seal: EntryNo(at) }),
        }
    }
}

/// How far a phase is. Phases only move forward.
fn rank(phase: &Phase) -> u8 {
    match phase {
        Phase::Open => 0,
        Phase::Claimed { .. } => 1,
        Phase::Sealed { .. } => 2,
        Phase::Folded { .. } => 3,
        Phase::Closed { .. } => 4,
    }
}

/// Step 1: stops the folded mark.
pub(crate) async fn claim(bucket: &Bucket, session: &SessionId, by: &SessionId) -> Result<(), SealError> {
    advance(bucket, session, Phase::Claimed { by: by.clone() }).await
}

/// Moves the record to `next`, unless it is there or further already.
async fn advance(bucket: &Bucket, session: &SessionId, next: Phase) -> Result<(), SealError> {
    let changed = record::change(bucket, session, |found| {
        if rank(&found.phase) >= rank(&next) {
            return Step::Leave(());
        }
        Step::Write(SessionRecord { phase: next.clone(), ..found.clone() })
    });
    changed.await?.ok_or_else(|| SealError::NoSession(session.clone()))
}

/// Step 2: finds the first place after `mark` that holds no entry, and makes sure that a seal stands there.
pub(crate) async fn walk(
    bucket: &Bucket,
    session: &SessionId,
    by: &SessionId,
    mark: EntryNo,
) -> Result<EntryNo, SealError> {
    // A listing saves one refused create for every entry. It is only a hint: what it shows has been there, and what it does not
    // show is tried.
    let mut next = mark.next();
    let listed = occupied(bucket, session, mark).await?;
    let run = listed.into_iter().zip(next.0..).take_while(|(number, expected)| number.0 == *expected);
    let run: Vec<EntryNo> = run.map(|(number, _)| number).collect();
    let mut kinds = stream::iter(run)
        .map(|number| async move { (number, kind(bucket, session, number).await) }.boxed())
        .buffered(PARALLEL);
    while let Some((number, kind)) = kinds.next().await {
        match kind? {
            Some(Kind::Entry) => next = number.next(),
            Some(Kind::Seal) => return Ok(number),
            // Listed and gone: another process is ahead of us. The record will tell.
            None => break,
        }
    }
    loop {
        match place(bucket, session, by, next).await? {
            Kind::Seal => return Ok(next),
            Kind::Entry => next = next.next(),
        }
    }
}

/// Tries to create the seal at `number` and says what stands there.
async fn place(
    bucket: &Bucket,
    session: &SessionId,
    by: &SessionId,
    number: EntryNo,
) -> Result<Kind, SealError> {
    let key = keys::log(session, number);
    let seal = Seal { session: session.clone(), number, by: by.clone() }.encode();
    let mut problem = String::from("it came and went");
    for attempt in 0..ATTEMPTS {
        match bucket.create(&key, seal.clone()).await {
            WriteOutcome::Done(_) => return Ok(Kind::Seal),
            WriteOutcome::Refused => {}
            WriteOutcome::Unknown(error) => problem = error.to_string(),
            WriteOutcome::Failed(error) if error.is_transient() => problem = error.to_string(),
            WriteOutcome::Failed(error) => return Err(error.into()),
        }
        // Nothing is assumed: what stands there is read.
        match kind(bucket, session, number).await {
            Ok(Some(kind)) => return Ok(kind),
            Ok(None) => {}
            Err(SealError::Bucket(error)) if error.is_transient() => problem = error.to_string(),
            Err(error) => return Err(error),
        }
        backoff(attempt).await;
    }
    Err(SealError::Unresolved { key, problem })
}

/// What kind of object stands at `number`.
async fn kind(bucket: &Bucket, session: &SessionId, number: EntryNo) -> Result<Option<Kind>, SealError> {
    let key = keys::log(session, number);
    let Some(head) = patiently(|| bucket.get_range(&key, 0..HEAD)).await? else { return Ok(None) };
    match Kind::peek(&head) {
        Ok(kind) => Ok(Some(kind)),
        Err(problem) => Err(SealError::Damaged { key, problem }),
    }
}

/// Step 3: folds the entries between `mark` and `seal`. `false` when another process was faster.
async fn fold_tail(
    bucket: &Bucket,
    session: &SessionId,
    mark: EntryNo,
    seal: EntryNo,
) -> Result<bool, SealError> {
    let mut next = mark.next();
    let mut wakes = Wakes::default();
    while next < seal {
        // Loaded in small groups, so that few large entries fill a batch as well as many small ones.
        let mut entries = Vec::new();
        let mut bytes = 0;
        while next < seal && entries.len() < BATCH_ENTRIES && bytes < BATCH_BYTES {
            let group: Vec<EntryNo> = (next.0..seal.0).take(PARALLEL).map(EntryNo).collect();
            next = EntryNo(next.0 + group.len() as u64);
            let loaded: Result<Vec<_>, FoldError> = stream::iter(group)
                .map(|number| load(bucket, session, number, None).boxed())
                .buffered(PARALLEL)
                .try_collect()
                .await;
            let loaded = match loaded {
                Ok(loaded) => loaded,
                Err(error @ FoldError::Missing { .. }) => {
                    // Deleted by a process that has folded it, or lost: the record knows.
                    let now = record::read(bucket, session).await?;
                    let ahead = now.is_some_and(|now| rank(&now.record.phase) > 2);
                    return if ahead { Ok(false) } else { Err(error.into()) };
                }
                Err(error) => return Err(error.into()),
            };
            bytes += loaded.iter().flat_map(|e| &e.transactions).map(|tx| tx.ltx.len() as u64).sum::<u64>();
            entries.extend(loaded);
        }
        let merged = Arc::new(merge(entries, Arc::new(Kept::new())).await?);
        wakes.follow(bucket, merged.alarms()).await?;
        write_history(bucket, merged).await?;
    }
    Ok(true)
}

/// Step 4: deletes the entries before the seal, also those that the session had folded but not deleted. Never a seal.
async fn clear(bucket: &Bucket, session: &SessionId, seal: EntryNo) -> Result<(), SealError> {
    let numbers = occupied(bucket, session, EntryNo(0)).await?;
    let numbers: Vec<EntryNo> = numbers.into_iter().filter(|number| *number < seal).collect();
    stream::iter(numbers)
        .map(|number| {
            let clear = async move {
                if kind(bucket, session, number).await? == Some(Kind::Entry) {
                    let key = keys::log(session, number);
                    patiently(|| bucket.delete(&key)).await?;
                }
                Ok(())
            };
            clear.boxed()
        })
        .buffer_unordered(PARALLEL)
        .try_collect()
        .await
}

/// The places after `after` that hold something, ascending.
pub(crate) async fn occupied(
    bucket: &Bucket,
    session: &SessionId,
    after: EntryNo,
) -> Result<Vec<EntryNo>, BucketError> {
    let dir = keys::log_dir(session);
    let mut last = keys::log(session, after);
    let mut numbers = Vec::new();
    loop {
        let page = patiently(|| bucket.list(&dir, Some(&last), LISTING)).await?;
        numbers.extend(page.iter().filter_map(|listed| keys::parse_log(session, &listed.key)));
        match page.last() {
            Some(listed) if page.len() == LISTING => last = listed.key.clone(),
            _ => return Ok(numbers),
        }
    }
}
