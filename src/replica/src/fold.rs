//! Moving acknowledged entries from the log into their cells' history, in the background.
//!
//! The order carries the proof: first the history, then the mark in the session record (only while no successor has claimed
//! it), and only then the entries' objects are deleted.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, failpoint};
use celld_ids::{CellScope, Epoch, SessionId};
use celld_ltx::{File, Header, Txid};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use tokio::sync::{mpsc, oneshot};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::compact::compact_cell;
use crate::entry::{Entry, EntryNo, LogObject};
use crate::json::RecordError;
use crate::keys::{self, HistoryName, Level};
use crate::log::{LogError, MAX_FOLDED_CELLS, Shared};
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

/// An entry that stands in the bucket and may be folded.
pub(crate) struct Acknowledged {
    pub number: EntryNo,
    /// Bytes of the object.
    pub size: u64,
    /// The object, unless it must be read back.
    pub bytes: Option<Bytes>,
}

/// What the fold task is asked.
pub(crate) enum Request {
    /// One more entry, in order.
    Acknowledged(Acknowledged),
    /// Fold everything that came before this request, then answer.
    Flush(oneshot::Sender<Result<(), FoldError>>),
    /// Let an object of the history end with this transaction.
    Keep(CellScope, Txid),
    /// A cell was restored from so many objects.
    Found(CellScope, Epoch, usize),
}

/// Transactions that must stay restorable by themselves: nothing is merged over them on the way into the history.
pub(crate) type Kept = BTreeSet<(CellScope, Txid)>;

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
    waiting: VecDeque<Acknowledged>,
    waiting_bytes: u64,
    /// When to fold what waits.
    due: Option<Instant>,
    /// Entries below the mark whose objects could not be deleted.
    undeleted: Vec<EntryNo>,
    tallies: HashMap<(CellScope, Epoch), Tally>,
    compactions: JoinSet<()>,
    wakes: Wakes,
    kept: Kept,
}

impl Folder {
    pub(crate) fn new(shared: Arc<Shared>, requests: mpsc::UnboundedReceiver<Request>) -> Folder {
        Folder {
            shared,
            requests,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            due: None,
            undeleted: Vec::new(),
            tallies: HashMap::new(),
            compactions: JoinSet::new(),
            wakes: Wakes::default(),
            kept: Kept::new(),
        }
    }

    /// Runs until the handle is dropped or a successor claims the session.
    pub(crate) async fn run(mut self) {
        loop {
            let due = self.due;
            tokio::select! {
                request = self.requests.recv() => match request {
                    None => return,
                    Some(Request::Acknowledged(entry)) => self.take(entry),
                    Some(Request::Keep(scope, txid)) => self.keep(scope, txid),
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
                            self.due = Some(Instant::now() + RETRY);
                        }
                    }
                }
                Some(_) = self.compactions.join_next() => {}
            }
        }
    }

    fn take(&mut self, entry: Acknowledged) {
        self.waiting_bytes += entry.size;
        self.waiting.push_back(entry);
        let options = &self.shared.options;
        let now = Instant::now();
        if self.waiting.len() >= options.fold_entries || self.waiting_bytes >= options.fold_bytes {
            self.due = Some(self.due.map_or(now, |due| due.min(now)));
        } else if self.due.is_none() {
            self.due = Some(now + options.fold_interval);
        }
    }

    fn keep(&mut self, scope: CellScope, txid: Txid) {
        if self.kept.len() >= MAX_TALLIES {
            self.kept.pop_first();
        }
        self.kept.insert((scope, txid));
    }

    /// A long chain of objects is compacted soon, also when each of its owners added only a few.
    fn found(&mut self, scope: CellScope, epoch: Epoch, objects: usize) {
        let share = self.shared.options.compact_txids.div_ceil(LONG_CHAIN);
        self.tallies.entry((scope, epoch)).or_default().txids += share * objects as u64;
    }

    /// Folds everything that waits, in bounded batches.
    async fn fold_all(&mut self) -> Result<(), FoldError> {
        while !self.waiting.is_empty() {
            if let Err(error) = self.fold_batch().await {
                if matches!(error, FoldError::Claimed) {
                    self.shared.fail(LogError::Claimed);
                }
                return Err(error);
            }
        }
        self.due = None;
        Ok(())
    }

    async fn fold_batch(&mut self) -> Result<(), FoldError> {
        let shared = self.shared.clone();
        let mut bytes = 0;
        let batch: Vec<(EntryNo, Option<Bytes>)> = self
            .waiting
            .iter()
            .take(shared.options.fold_entries.max(1))
            .take_while(|entry| {
                let first = bytes == 0;
                bytes += entry.size;
                first || bytes <= shared.options.fold_bytes
            })
            .map(|entry| (entry.number, entry.bytes.clone()))
            .collect();
        let Some(last) = batch.last().map(|(number, _)| *number) else { return Ok(()) };
        let count = batch.len();
        let entries: Vec<Entry> = stream::iter(batch)
            .map(|(number, kept)| load(&shared.bucket, &shared.session, number, kept).boxed())
            .buffered(PARALLEL)
            .try_collect()
            .await?;

        self.wakes.follow(&shared.bucket, &entries).await?;
        let written = write_history(&shared.bucket, entries, self.kept.clone()).await?;
        for Written { scope, name, .. } in &written {
            self.kept.remove(&(scope.clone(), name.max));
        }
        #[cfg(test)]
        if shared.options.broken == crate::proof::Broken::DeleteBeforeMark {
            self.undeleted.extend(self.waiting.iter().take(count).map(|entry| entry.number));
            self.delete().await;
        }
        match record::raise_mark(&shared.bucket, &shared.session, last).await? {
            Raised::Yes => {}
            #[cfg(test)]
            Raised::Claimed if shared.options.broken == crate::proof::Broken::DeleteWhileClaimed => {}
            Raised::Claimed => return Err(FoldError::Claimed),
        }
        failpoint("mark");
        for entry in self.waiting.drain(..count) {
            self.waiting_bytes -= entry.size;
            if let Some(bytes) = entry.bytes {
                shared.kept.fetch_sub(bytes.len() as u64, Ordering::Relaxed);
            }
            self.undeleted.push(entry.number);
        }
        self.delete().await;
        self.tally(written);
        Ok(())
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

/// Writes the transactions of `entries` (in order) to their cells' history: one L0 object per cell and epoch, more only when its
/// transactions have a hole or some are to be `kept` apart.
///
/// May be repeated, also by another process with other batches: the same transactions give objects that agree.
pub(crate) async fn write_history(
    bucket: &Bucket,
    entries: Vec<Entry>,
    kept: Kept,
) -> Result<Vec<Written>, FoldError> {
    let merged = tokio::task::spawn_blocking(move || merge(entries, &kept));
    let objects = merged.await.map_err(|_| FoldError::Stopped)??;
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

type HistoryObject = (CellScope, HistoryName, Bytes);

/// Groups transactions by cell and epoch and merges each group into one file.
fn merge(entries: Vec<Entry>, kept: &Kept) -> Result<Vec<HistoryObject>, FoldError> {
    let mut groups: BTreeMap<(CellScope, Epoch), Vec<(Bytes, String)>> = BTreeMap::new();
    for entry in entries {
        for tx in entry.transactions {
            let origin = keys::log(&entry.session, entry.number);
            groups.entry((tx.scope, tx.epoch)).or_default().push((tx.ltx, origin));
        }
    }
    let mut objects = Vec::with_capacity(groups.len());
    for ((scope, epoch), files) in groups {
        let damaged = |key: &str, problem: String| FoldError::Damaged { key: key.to_owned(), problem };
        if let [(bytes, key)] = &files[..] {
            let header = Header::parse(bytes).map_err(|error| damaged(key, error.to_string()))?;
            objects.push((scope, HistoryName::of(epoch, Level::L0, &header), bytes.clone()));
            continue;
        }
        let mut runs: Vec<Vec<File>> = Vec::new();
        for (bytes, key) in &files {
            let file = celld_ltx::decode(bytes).map_err(|error| damaged(key, error.to_string()))?;
            match runs.last_mut() {
                Some(run) if follows(run, &file) && !ends(run, &scope, kept) => run.push(file),
                previous => {
                    // Never expected of one session. Each piece is folded as it is: a restore will name the hole.
                    if previous.is_some_and(|run| !follows(run, &file)) {
                        tracing::error!(cell = %scope, key, "the transactions in the log have a hole");
                    }
                    runs.push(vec![file]);
                }
            }
        }
        for run in runs {
            let file = celld_ltx::compact(&run).map_err(|error| damaged(&files[0].1, error.to_string()))?;
            let name = HistoryName::of(epoch, Level::L0, file.header());
            objects.push((scope.clone(), name, celld_ltx::encode(&file).into()));
        }
    }
    Ok(objects)
}

/// `true` when the run must end where it does.
fn ends(run: &[File], scope: &CellScope, kept: &Kept) -> bool {
    !kept.is_empty() && run.last().is_some_and(|last| kept.contains(&(scope.clone(), last.header().max_txid)))
}

fn follows(run: &[File], file: &File) -> bool {
    run.last().is_some_and(|last| file.header().min_txid == last.header().max_txid.next())
}
