//! Moving acknowledged entries from the log into their cells' history, in the background.
//!
//! The order carries the proof: first the history, then the mark in the session record (only while no successor has claimed
//! it), and only then the entries' objects are deleted.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::time::Duration;

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, failpoint};
use celld_ids::{CellScope, Epoch, SessionId};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::compact::compact_cell;
use crate::entry::{Entry, EntryNo, EntryTx, LogObject};
use crate::json::RecordError;
use crate::keys::{self, HistoryName};
use crate::log::{LogError, MAX_FOLDED_CELLS, Shared};
use crate::merged::{Kept, Logged, Merged};
use crate::pending::{Given, Late};
use crate::record::{self, Raised, patiently};
use crate::store::write_object;
use crate::wakes::Wakes;

/// Calls to the store at once.
pub(crate) const PARALLEL: usize = 16;

/// Cells whose distance to the next compaction is remembered. Beyond, all are forgotten: they are compacted later.
const MAX_TALLIES: usize = 100_000;

/// Objects of which a restore finds so many that the next fold of the cell compacts it.
const LONG_CHAIN: u64 = 64;

/// Waits after a fold that failed.
const RETRY: Duration = Duration::from_secs(1);

/// Why entries could not be folded. They stay in the log.
#[derive(Debug, Clone, thiserror::Error)]
pub enum FoldError {
    /// The store failed. Its message names the object.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// The session record cannot be read or changed.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// An entry is not what was written.
    #[error("{key} is damaged: {problem}")]
    Damaged {
        /// The object.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// An entry is gone before it was folded.
    #[error("{key} is missing")]
    Missing {
        /// The object.
        key: String,
    },
    /// A successor has claimed the session and folds in its place.
    #[error("another session is taking over the log")]
    Claimed,
    /// A task of the process was stopped.
    #[error("the process is stopping")]
    Stopped,
}

/// What the fold task is asked.
pub(crate) enum Request {
    /// Entries are acknowledged, and pending. Sent when that is news ([`Call`]).
    Acknowledged,
    /// Fold everything that came before this request, then answer.
    Flush(oneshot::Sender<Result<(), FoldError>>),
    /// A cell was restored from so many objects.
    Found(CellScope, Epoch, usize),
}

/// What the fold task knows of the acknowledged entries: a message for each of a thousand a second would wake it for nothing.
#[derive(Default)]
pub(crate) struct Call(AtomicU8);

impl Call {
    /// It does not know that any wait.
    const QUIET: u8 = 0;
    /// It will fold in its time.
    const WAITING: u8 = 1;
    /// It is time.
    const DUE: u8 = 2;

    /// Another entry waits, and is visible to the fold task; `due`: there are enough now. Whether the task must be told.
    pub fn is_news(&self, due: bool) -> bool {
        let call = if due { Call::DUE } else { Call::WAITING };
        // The last one to look sees what the other one has written: this and the number of the entry.
        self.0.load(Ordering::SeqCst) < call && self.0.fetch_max(call, Ordering::SeqCst) < call
    }

    /// The fold task looks for itself after this.
    fn forget(&self) {
        self.0.store(Call::QUIET, Ordering::SeqCst);
    }
}

/// What a cell has accumulated in L0 since its last compaction.
#[derive(Default)]
struct Tally {
    txids: u64,
    bytes: u64,
}

/// The fold task.
pub(crate) struct Folder {
    shared: Arc<Shared>,
    requests: mpsc::UnboundedReceiver<Request>,
    /// The last entry that is history.
    folded: EntryNo,
    /// What is being folded; it stays until that has succeeded.
    chosen: Option<Chosen>,
    /// When to fold what waits.
    due: Option<Instant>,
    /// When to try again after a failure; before, only who asks for a fold gets one.
    retry: Option<Instant>,
    /// Entries below the mark whose objects could not be deleted.
    undeleted: Vec<EntryNo>,
    tallies: HashMap<(CellScope, Epoch), Tally>,
    compactions: JoinSet<()>,
    wakes: Wakes,
}

/// What is being folded.
#[derive(Clone)]
enum Chosen {
    /// Entries that have to be merged first.
    Late(Arc<[Late]>),
    /// Transactions.
    Batch(Batch),
}

/// Transactions on their way into the history.
#[derive(Clone)]
struct Batch {
    /// The entry of the last.
    last: EntryNo,
    merged: Arc<Merged>,
}

impl Folder {
    pub(crate) fn new(shared: Arc<Shared>, requests: mpsc::UnboundedReceiver<Request>) -> Folder {
        Folder {
            shared,
            requests,
            folded: EntryNo(0),
            chosen: None,
            due: None,
            retry: None,
            undeleted: Vec::new(),
            tallies: HashMap::new(),
            compactions: JoinSet::new(),
            wakes: Wakes::default(),
        }
    }

    /// Runs until the handle is dropped or a successor claims the session.
    pub(crate) async fn run(mut self) {
        loop {
            let due = self.due;
            tokio::select! {
                request = self.requests.recv() => match request {
                    None => return,
                    Some(Request::Acknowledged) => self.acknowledge(),
                    Some(Request::Found(scope, epoch, objects)) => self.found(scope, epoch, objects),
                    Some(Request::Flush(reply)) => {
                        let result = self.fold_all().await;
                        let claimed = matches!(result, Err(FoldError::Claimed));
                        // The asker may have given up waiting.
                        let _ = reply.send(result);
                        if claimed {
                            return;
                        }
                    }
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                    match self.fold_all().await {
                        Ok(()) => {}
                        Err(FoldError::Claimed) => return,
                        Err(error) => {
                            tracing::warn!(session = %self.shared.session, %error, "folding the log failed; trying again");
                            self.retry = Some(Instant::now() + RETRY);
                            self.due = self.retry;
                        }
                    }
                }
                Some(_) = self.compactions.join_next() => {}
            }
        }
    }

    /// The last entry that is acknowledged.
    fn acknowledged(&self) -> EntryNo {
        EntryNo(self.shared.entries.load(Ordering::SeqCst))
    }

    /// Sees to it that what waits is folded in time.
    fn acknowledge(&mut self) {
        if self.acknowledged() <= self.folded {
            // The echo of a fold. The next entry is news again; one that came before this was said has to be looked for.
            self.shared.call.forget();
            if self.acknowledged() <= self.folded {
                return;
            }
        }
        let options = &self.shared.options;
        let (entries, bytes) = self.shared.pending.lock().waiting();
        let now = Instant::now();
        if entries >= options.fold_entries || bytes >= options.fold_bytes {
            let earliest = self.retry.map_or(now, |retry| retry.max(now));
            self.due = Some(self.due.map_or(earliest, |due| due.min(earliest)));
        } else if self.due.is_none() {
            self.due = Some(now + options.fold_interval);
        }
    }

    /// A long chain of objects is compacted soon, also when each of its owners added only a few.
    fn found(&mut self, scope: CellScope, epoch: Epoch, objects: usize) {
        let share = self.shared.options.compact_txids.div_ceil(LONG_CHAIN);
        self.tallies.entry((scope, epoch)).or_default().txids += share * objects as u64;
    }

    /// Folds everything that is acknowledged so far, in bounded batches.
    async fn fold_all(&mut self) -> Result<(), FoldError> {
        let until = self.acknowledged();
        while self.folded < until {
            if let Err(error) = self.fold_batch().await {
                if matches!(error, FoldError::Claimed) {
                    self.shared.fail(LogError::Claimed);
                }
                return Err(error);
            }
        }
        (self.due, self.retry) = (None, None);
        self.shared.call.forget();
        self.acknowledge();
        Ok(())
    }

    async fn fold_batch(&mut self) -> Result<(), FoldError> {
        let shared = self.shared.clone();
        let Batch { last, merged } = self.next_batch().await?;
        self.wakes.follow(&shared.bucket, merged.alarms()).await?;
        let written = write_history(&shared.bucket, merged).await?;
        let numbers = (self.folded.0 + 1..=last.0).map(EntryNo);
        #[cfg(test)]
        if shared.options.broken == crate::proof::Broken::DeleteBeforeMark {
            self.undeleted.extend(numbers.clone());
            self.delete().await;
        }
        match record::raise_mark(&shared.bucket, &shared.session, last).await? {
            Raised::Yes => {}
            #[cfg(test)]
            Raised::Claimed if shared.options.broken == crate::proof::Broken::DeleteWhileClaimed => {}
            Raised::Claimed => return Err(FoldError::Claimed),
        }
        failpoint("mark");
        self.undeleted.extend(numbers);
        self.folded = last;
        self.chosen = None;
        shared.pending.lock().folded(&written);
        self.delete().await;
        self.tally(written);
        Ok(())
    }

    /// What to fold next: what could not be folded before, or what comes next in the log.
    async fn next_batch(&mut self) -> Result<Batch, FoldError> {
        let shared = self.shared.clone();
        let chosen = match &self.chosen {
            Some(chosen) => chosen.clone(),
            None => match shared.pending.lock().give(&shared.options) {
                Some(Given::Merged(last, merged)) => Chosen::Batch(Batch { last, merged: Arc::new(merged) }),
                Some(Given::Late(entries)) => Chosen::Late(entries.into()),
                // Every acknowledged entry is pending.
                None => {
                    let key = keys::log(&shared.session, self.folded.next());
                    return Err(FoldError::Missing { key });
                }
            },
        };
        self.chosen = Some(chosen.clone());
        let batch = match chosen {
            Chosen::Batch(batch) => return Ok(batch),
            Chosen::Late(entries) => self.merge_late(&entries).await?,
        };
        shared.pending.lock().merged_late(&batch.merged);
        self.chosen = Some(Chosen::Batch(batch.clone()));
        Ok(batch)
    }

    /// Merges entries for which there was no room when they came.
    async fn merge_late(&self, late: &[Late]) -> Result<Batch, FoldError> {
        let shared = &self.shared;
        let last = late.last().map_or(self.folded, |entry| entry.number);
        let parts: Vec<(EntryNo, Option<Bytes>)> =
            late.iter().map(|entry| (entry.number, entry.kept.clone())).collect();
        let entries: Vec<Entry> = stream::iter(parts)
            .map(|(number, kept)| load(&shared.bucket, &shared.session, number, kept).boxed())
            .buffered(PARALLEL)
            .try_collect()
            .await?;
        let kept = shared.pending.lock().kept();
        Ok(Batch { last, merged: Arc::new(merge(entries, kept).await?) })
    }

    /// Deletes what lies below the mark. What cannot be deleted now is tried again with the next batch.
    async fn delete(&mut self) {
        let shared = &self.shared;
        let numbers = std::mem::take(&mut self.undeleted);
        let keys = numbers.iter().map(|number| keys::log(&shared.session, *number)).collect();
        for (key, error) in shared.bucket.delete_many(keys).await {
            tracing::debug!(%error, "a folded entry stays for now");
            self.undeleted.extend(keys::parse_log(&shared.session, &key));
        }
    }

    /// Counts what was folded, and compacts the cells that have gone far enough.
    fn tally(&mut self, written: Vec<Written>) {
        let options = &self.shared.options;
        {
            let mut cells = self.shared.folded_cells.lock();
            for Written { scope, .. } in &written {
                if cells.len() < MAX_FOLDED_CELLS {
                    cells.insert(scope.clone());
                }
            }
        }
        if !options.compaction {
            return;
        }
        let retention = options.retention;
        if self.tallies.len() > MAX_TALLIES {
            self.tallies.clear();
        }
        for Written { scope, name, size } in written {
            let key = (scope, name.epoch);
            let tally = self.tallies.entry(key.clone()).or_default();
            tally.txids += name.max.0 - name.min.0 + 1;
            tally.bytes += size;
            let due = tally.txids >= options.compact_txids || tally.bytes >= options.compact_bytes;
            // A cell that finds no place keeps its tally and is next when it folds again.
            if due && self.compactions.len() < options.compactions {
                self.tallies.remove(&key);
                let (bucket, (scope, epoch)) = (self.shared.bucket.clone(), key);
                self.compactions.spawn(async move {
                    if let Err(error) = compact_cell(&bucket, &scope, epoch, retention).await {
                        tracing::warn!(cell = %scope, %error, "compaction failed; the history stays as it is");
                    }
                });
            }
        }
    }
}

/// One object that was written to a cell's history.
pub(crate) struct Written {
    pub scope: CellScope,
    pub name: HistoryName,
    pub size: u64,
}

/// Reads an entry, from memory when it was kept.
pub(crate) async fn load(
    bucket: &Bucket,
    session: &SessionId,
    number: EntryNo,
    kept: Option<Bytes>,
) -> Result<Entry, FoldError> {
    let key = keys::log(session, number);
    let bytes = match kept {
        Some(bytes) => bytes,
        None => match patiently(|| bucket.get(&key)).await? {
            Some(object) => object.bytes,
            None => return Err(FoldError::Missing { key }),
        },
    };
    match LogObject::decode(&bytes) {
        Ok(object) if !object.stands_at(session, number) => {
            Err(FoldError::Damaged { key, problem: "it belongs to another place".into() })
        }
        Ok(LogObject::Entry(entry)) => Ok(entry),
        Ok(LogObject::Seal(_)) => Err(FoldError::Damaged { key, problem: "it is a seal".into() }),
        Err(error) => Err(FoldError::Damaged { key, problem: error.to_string() }),
    }
}

/// Merges the transactions of `entries`, which are in order.
pub(crate) async fn merge(entries: Vec<Entry>, kept: Arc<Kept>) -> Result<Merged, FoldError> {
    let merged = tokio::task::spawn_blocking(move || {
        let mut merged = Merged::default();
        for Entry { session, number, transactions } in entries {
            for EntryTx { scope, epoch, alarm, ltx } in transactions {
                let file = celld_ltx::decode(&ltx).map_err(|error| FoldError::Damaged {
                    key: keys::log(&session, number),
                    problem: format!("{scope}: {error}"),
                })?;
                merged.add(Logged { scope, epoch, alarm, file }, &kept);
            }
        }
        Ok(merged)
    });
    merged.await.map_err(|_| FoldError::Stopped)?
}

/// Writes transactions to their cells' history: one L0 object per cell and epoch, more only when its transactions have a hole or some
/// are to be kept apart.
///
/// May be repeated, also by another process with other batches: the same transactions give objects that agree.
pub(crate) async fn write_history(bucket: &Bucket, merged: Arc<Merged>) -> Result<Vec<Written>, FoldError> {
    let objects = tokio::task::spawn_blocking(move || merged.objects());
    let objects = objects.await.map_err(|_| FoldError::Stopped)?;
    let objects = objects.map_err(|(scope, error)| FoldError::Damaged {
        key: format!("the log of {scope}"),
        problem: error.to_string(),
    })?;
    stream::iter(objects)
        .map(|(scope, name, bytes)| {
            let write = async move {
                let size = bytes.len() as u64;
                write_object(bucket, &scope, &name, bytes).await?;
                failpoint("fold");
                Ok(Written { scope, name, size })
            };
            write.boxed()
        })
        .buffer_unordered(PARALLEL)
        .try_collect()
        .await
}
