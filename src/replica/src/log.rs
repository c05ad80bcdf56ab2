//! The session log: the one way from a committed transaction to a proof that it is durable.
//!
//! [`SessionLog`] is the handle; `writer` is the task behind it that turns what was appended into entries; `fold` is the task that
//! moves acknowledged entries into their cells' history.

use std::collections::{HashSet, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use celld_bucket::{Bucket, BucketError, failpoint, fold_interval};
use celld_ids::{CellScope, Epoch, SessionId};
use celld_ltx::{InvalidFile, PAGE_SIZE, Page, Txid};
use parking_lot::{Condvar, Mutex};
use tokio::runtime::Handle;
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;
use tokio::time::Instant;

use crate::disk::{self, DiskWriter};
use crate::entry::AlarmChange;
use crate::fold::{Call, FoldError, Folder, Request};
use crate::frontier::{Frontier, Waiting};
use crate::hedge::Hedge;
use crate::json::RecordError;
use crate::keys;
use crate::pending::Pending;
use crate::publish::Patience;
use crate::seal::{SealError, seal_session};
use crate::writer::Writer;
use crate::{record, writer};

/// How many transactions have been appended up to and including this one: the order in which a session commits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct Position(pub u64);

impl Position {
    /// Where nothing gets: the position of what a closed or failed log did not take.
    pub const NEVER: Position = Position(u64::MAX);
}

/// One committed transaction of one cell.
#[derive(Debug, Clone)]
pub struct CellTx {
    /// The cell.
    pub scope: CellScope,
    /// The epoch under which this session owns it.
    pub epoch: Epoch,
    /// One more than the cell's last transaction; 1 for a cell that was empty.
    pub txid: Txid,
    /// Pages in the database afterwards.
    pub commit: u32,
    /// The changed pages, ascending.
    pub pages: Vec<Page>,
    /// When it was committed, in milliseconds since the Unix epoch.
    pub timestamp_ms: i64,
    /// What it does to the cell's alarm.
    pub alarm: AlarmChange,
}

impl CellTx {
    /// Bytes that the transaction occupies while it waits.
    fn weight(&self) -> u64 {
        (self.pages.len() * (PAGE_SIZE + size_of::<Page>()) + size_of::<CellTx>()) as u64
    }
}

/// How many times [`LogOptions::durability_timeout`] a transaction may wait behind others before its own upload starts.
pub const WAIT_BUDGETS: u32 = 6;

/// Why a session's log ended. The process must stop serving: another session may own its cells already.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// A successor has sealed the log.
    #[error("session {by} has sealed the log of this one")]
    Sealed {
        /// The successor.
        by: SessionId,
    },
    /// A successor is about to seal the log.
    #[error("another session is taking over the cells of this one")]
    Claimed,
    /// Nobody could say in time whether an entry stands in the bucket.
    #[error("no proof that {key} was written: {problem}")]
    Unresolved {
        /// The entry's object.
        key: String,
        /// What the store said last.
        problem: String,
    },
    /// An entry was not written, certainly not, and did not get written in time: the disk is full, access is denied.
    #[error("the log cannot go on: {cause}")]
    NotWritten {
        /// What the store said last. Its message names the object.
        cause: BucketError,
    },
    /// Something that celld did not write, or damaged bytes, at a place of this session's log.
    #[error("{key} holds something that this session did not write")]
    Foreign {
        /// The object.
        key: String,
    },
    /// The committed pages cannot be a transaction: a defect of the storage layer.
    #[error("transaction {txid} of {scope} is malformed: {problem}", txid = txid.0)]
    Malformed {
        /// The cell.
        scope: CellScope,
        /// The transaction.
        txid: Txid,
        /// What is wrong with it.
        problem: InvalidFile,
    },
    /// A transaction waited for its turn to be uploaded so long that its writer must be told.
    #[error("transactions have waited {} s for those before them: the store takes them too slowly", waited.as_secs())]
    Overdue {
        /// How long the oldest has waited.
        waited: Duration,
    },
    /// The log was closed, or its tasks are gone with their runtime.
    #[error("the log is closed")]
    Closed,
}

/// Why a log cannot be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The session ID has been used before.
    #[error("session {0} has lived before; a session ID is used once")]
    Used(SessionId),
    /// The session record cannot be written.
    #[error(transparent)]
    Record(#[from] RecordError),
}

/// Why a log did not close cleanly. Nothing is lost: a successor seals and folds it.
#[derive(Debug, thiserror::Error)]
pub enum CloseError {
    /// The log had failed before.
    #[error(transparent)]
    Log(Arc<LogError>),
    /// The last entries could not be folded.
    #[error(transparent)]
    Fold(#[from] FoldError),
    /// The log could not be sealed.
    #[error(transparent)]
    Seal(#[from] SealError),
}

/// What can be set about a log. The defaults are the measured ones.
#[derive(Debug, Clone)]
pub struct LogOptions {
    /// Entries on their way to the bucket at once.
    pub depth: usize,
    /// Page bytes (uncompressed) in one entry; one transaction may exceed it.
    pub entry_bytes: u64,
    /// How long an entry may stay unproven before the log fails, from the moment at which its upload starts. A transaction waits
    /// for that moment at most [`WAIT_BUDGETS`] times as long.
    pub durability_timeout: Duration,
    /// Send a create that is unusually slow a second time (`hedge`).
    pub hedge: bool,
    /// How long one call to the store may take before its outcome counts as unknown.
    pub attempt_timeout: Duration,
    /// Page bytes (uncompressed) that may wait for their proof before the log is congested.
    pub backlog_bytes: u64,
    /// Fold when this many entries wait (in a directory, whose log has more and smaller ones, four times as many),
    pub fold_entries: usize,
    /// … or this many bytes of them,
    pub fold_bytes: u64,
    /// … or the oldest has waited this long.
    pub fold_interval: Duration,
    /// Bytes of the pages of acknowledged entries that are merged in memory, each in its last version, until they are folded.
    pub merge_bytes: u64,
    /// Beyond, bytes of the entries themselves that are kept in memory. Those after them are read back from the bucket.
    pub keep_bytes: u64,
    /// Shorten the cells' histories in the background. Without it they only grow, and nothing of them is ever deleted.
    pub compaction: bool,
    /// Merge a cell's L0 objects when its transactions since the last merge reach this distance,
    pub compact_txids: u64,
    /// … or their objects this size in bytes.
    pub compact_bytes: u64,
    /// Cells whose histories are shortened at once.
    pub compactions: usize,
    /// How far back from its last transaction a cell can be restored to an earlier moment; what only that needs is deleted then.
    pub retention: Duration,
    /// Breaks one rule, to show that the tests would notice.
    #[cfg(test)]
    pub(crate) broken: crate::proof::Broken,
}

/// How many entries of a log in a directory weigh as much as one in a store: it has a thousand a second rather than a hundred, and each
/// costs its reader an open file, not a round trip.
pub(crate) const DISK_ENTRIES: usize = 4;

impl Default for LogOptions {
    fn default() -> Self {
        LogOptions {
            depth: 8,
            entry_bytes: 8 << 20,
            durability_timeout: Duration::from_secs(10),
            hedge: true,
            attempt_timeout: Duration::from_secs(3),
            backlog_bytes: 128 << 20,
            fold_entries: 512,
            fold_bytes: 16 << 20,
            fold_interval: Duration::from_secs(10),
            merge_bytes: 32 << 20,
            keep_bytes: 64 << 20,
            compact_txids: 256,
            compact_bytes: 32 << 20,
            compaction: true,
            compactions: 2,
            retention: Duration::from_secs(24 * 3600),
            #[cfg(test)]
            broken: crate::proof::Broken::None,
        }
    }
}

/// The log of this process's session. Cheap to clone; when the last clone is dropped, the log stops where it stands, as in a
/// crash: use [`SessionLog::close`] for a clean stop.
#[derive(Clone)]
pub struct SessionLog {
    inner: Arc<Inner>,
}

struct Inner {
    shared: Arc<Shared>,
    fold: mpsc::UnboundedSender<Request>,
    tasks: [JoinHandle<()>; 2],
}

impl Drop for Inner {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
        self.shared.stop();
    }
}

/// What the handle and the tasks share.
pub(crate) struct Shared {
    pub bucket: Bucket,
    pub session: SessionId,
    pub options: LogOptions,
    pub queue: Mutex<Queue>,
    /// Told when the queue is no longer empty, or closed.
    pub wake: Notify,
    /// The same for a writer that is a thread.
    pub arrived: Condvar,
    /// Since when such a writer has been busy with an entry.
    pub writing: Mutex<Option<Instant>>,
    pub frontier: Frontier,
    pub hedge: Hedge,
    /// Weight of the transactions that are not yet durable.
    pub backlog: AtomicU64,
    /// Acknowledged entries: the number of the last one.
    pub entries: AtomicU64,
    /// What the fold task has been told of them.
    pub call: Call,
    /// What is acknowledged and not folded.
    pub pending: Mutex<Pending>,
    /// Cells that this session has added to the history of, up to [`MAX_FOLDED_CELLS`].
    pub folded_cells: Mutex<HashSet<CellScope>>,
}

/// Cells that a session remembers to have folded. With more, the rest keeps the history that it has when the session stops.
pub(crate) const MAX_FOLDED_CELLS: usize = 10_000;

/// Transactions that no entry has taken yet.
#[derive(Default)]
pub(crate) struct Queue {
    /// Each with the time at which it came.
    pub waiting: VecDeque<(Instant, CellTx)>,
    appended: u64,
    pub closed: bool,
}

impl Shared {
    /// Ends the log because it cannot do its work any more.
    pub(crate) fn fail(&self, error: LogError) {
        tracing::error!(session = %self.session, %error, "the session log has failed");
        self.end(error);
    }

    /// Takes nothing more, and drops what no entry has taken.
    fn stop(&self) {
        {
            let mut queue = self.queue.lock();
            queue.closed = true;
            queue.waiting.clear();
        }
        self.wake.notify_one();
        self.arrived.notify_one();
    }

    /// Ends the log: what is not durable now never will be. The first error stays.
    fn end(&self, error: LogError) {
        self.stop();
        self.frontier.fail(error);
    }

    /// How long to try with an entry.
    pub(crate) fn patience(&self) -> Patience {
        Patience {
            attempt: self.options.attempt_timeout,
            total: self.options.durability_timeout,
            #[cfg(test)]
            broken: self.options.broken,
        }
    }

    pub(crate) fn has_failed(&self) -> bool {
        self.frontier.failed().is_some()
    }
}

impl SessionLog {
    /// Starts the log of `session`, which has never lived before: creates its record in the bucket and spawns the log's tasks on
    /// the current tokio runtime.
    pub async fn start(
        bucket: Bucket,
        session: SessionId,
        options: LogOptions,
    ) -> Result<SessionLog, StartError> {
        // Before the record, which is how others learn of the log's place.
        let place = keys::log_dir(&session);
        let journal = bucket.begin_journal(&place).await.unwrap_or_else(|error| {
            tracing::warn!(%error, "the log has no journal; each of its entries is an object of its own");
            false
        });
        let created = record::create(&bucket, &session).await;
        if !matches!(created, Ok(true)) {
            if journal && let Err(error) = bucket.end_journal(&place).await {
                tracing::warn!(%error, "an empty journal stays");
            }
            created?;
            return Err(StartError::Used(session));
        }
        let mut options = options;
        if bucket.is_on_disk() {
            options.fold_entries = options.fold_entries.saturating_mul(DISK_ENTRIES);
        }
        options.fold_interval = fold_interval().unwrap_or(options.fold_interval);
        let hedge = options.hedge;
        let shared = Arc::new(Shared {
            bucket,
            session,
            options,
            queue: Mutex::default(),
            wake: Notify::new(),
            arrived: Condvar::new(),
            writing: Mutex::new(None),
            frontier: Frontier::default(),
            hedge: Hedge::new(hedge),
            backlog: AtomicU64::new(0),
            entries: AtomicU64::new(0),
            call: Call::default(),
            pending: Mutex::default(),
            folded_cells: Mutex::default(),
        });
        let (fold, requests) = mpsc::unbounded_channel();
        let tasks = [spawn_writer(&shared, &fold), tokio::spawn(Folder::new(shared.clone(), requests).run())];
        Ok(SessionLog { inner: Arc::new(Inner { shared, fold, tasks }) })
    }

    /// Whose log this is.
    pub fn session(&self) -> &SessionId {
        &self.inner.shared.session
    }

    /// Puts a committed transaction into the log. Never blocks; may be called from any thread. The order of the calls is the
    /// order of the log: a cell's transactions must be appended in the order of their numbers.
    ///
    /// The transaction is durable when the frontier reaches the position returned. A log that has failed or is closing takes
    /// nothing and returns [`Position::NEVER`]; [`SessionLog::failed`] says why, at the latest when it is closed.
    pub fn append(&self, tx: CellTx) -> Position {
        failpoint("commit");
        let shared = &self.inner.shared;
        let weight = tx.weight();
        let now = Instant::now();
        let mut queue = shared.queue.lock();
        if queue.closed {
            return Position::NEVER;
        }
        queue.appended += 1;
        let position = Position(queue.appended);
        let was_empty = queue.waiting.is_empty();
        queue.waiting.push_back((now, tx));
        shared.backlog.fetch_add(weight, Ordering::Relaxed);
        drop(queue);
        if was_empty {
            shared.wake.notify_one();
            shared.arrived.notify_one();
        }
        position
    }

    /// Everything up to here is durable: one atomic load.
    pub fn durable(&self) -> Position {
        self.inner.shared.frontier.durable()
    }

    /// The position of the last transaction that was appended.
    pub fn appended(&self) -> Position {
        Position(self.inner.shared.queue.lock().appended)
    }

    /// Why the log can make nothing more durable, if so. What lies beyond [`SessionLog::durable`] then has an unknown fate.
    pub fn failed(&self) -> Option<Arc<LogError>> {
        self.inner.shared.frontier.failed()
    }

    /// Completes when the log can make nothing more durable.
    pub async fn failure(&self) -> Arc<LogError> {
        let mut failure = self.inner.shared.frontier.failure();
        let failed = failure.wait_for(Option::is_some).await.ok().and_then(|failed| failed.clone());
        failed.unwrap_or_else(|| Arc::new(LogError::Closed))
    }

    /// Waits until everything up to `position` is durable.
    pub fn wait(&self, position: Position) -> Waiting {
        self.inner.shared.frontier.wait(position)
    }

    #[cfg(test)]
    pub(crate) fn shared_for_tests(&self) -> Arc<Shared> {
        self.inner.shared.clone()
    }

    /// How many entries are acknowledged so far.
    pub fn entries(&self) -> u64 {
        self.inner.shared.entries.load(Ordering::Relaxed)
    }

    /// Bytes in memory that wait for their proof.
    pub fn backlog_bytes(&self) -> u64 {
        self.inner.shared.backlog.load(Ordering::Relaxed)
    }

    /// `true` while cells commit faster than the bucket takes: more waits than [`LogOptions::backlog_bytes`]. Whoever starts what
    /// may write then refuses or delays it ([`SessionLog::ready`]); what runs already is taken all the same. One atomic load.
    pub fn is_congested(&self) -> bool {
        self.backlog_bytes() > self.inner.shared.options.backlog_bytes
    }

    /// Waits until the log is not congested.
    pub async fn ready(&self) -> Result<(), Arc<LogError>> {
        while self.is_congested() {
            // Whatever shortens the backlog is a step of the frontier.
            let step = self.inner.shared.frontier.step();
            if let Some(error) = self.failed() {
                return Err(error);
            }
            if self.is_congested() {
                step.await;
            }
        }
        Ok(())
    }

    /// Makes everything that was appended so far durable and part of its cells' history, so that a restore finds it. For a cell
    /// that is about to be handed over, or to be opened again from the bucket.
    pub async fn fold(&self) -> Result<(), CloseError> {
        self.wait(self.appended()).await.map_err(CloseError::Log)?;
        let (reply, folded) = tokio::sync::oneshot::channel();
        if self.inner.fold.send(Request::Flush(reply)).is_err() {
            return Err(self.ended());
        }
        match folded.await {
            Ok(result) => Ok(result?),
            Err(_) => Err(self.ended()),
        }
    }

    /// Lets the cell be taken back to exactly its transaction `txid`, which was the last one appended when this is called: no object
    /// of the history will reach over it. For a bookmark that was handed out. A session that crashes before it has folded the
    /// transaction may still have it merged with those of the next seconds.
    pub fn keep_point(&self, scope: &CellScope, txid: Txid) {
        self.inner.shared.pending.lock().keep(scope.clone(), txid);
    }

    /// Tells how many objects a restore of the cell has read ([`crate::Restored::objects`]), so that a long history is shortened
    /// soon although this session may add little to it.
    pub fn found_history(&self, scope: &CellScope, epoch: Epoch, objects: usize) {
        let _ = self.inner.fold.send(Request::Found(scope.clone(), epoch, objects));
    }

    /// The cells that this session has added to the history of, ten thousand at most: those whose history a clean stop may shorten.
    pub fn folded_cells(&self) -> Vec<CellScope> {
        self.inner.shared.folded_cells.lock().iter().cloned().collect()
    }

    /// A clean stop: refuses further transactions, waits for those that were appended, folds everything and seals the log, so
    /// that a successor finds nothing to do.
    pub async fn close(&self) -> Result<(), CloseError> {
        let shared = &self.inner.shared;
        shared.queue.lock().closed = true;
        shared.wake.notify_one();
        shared.arrived.notify_one();
        let result = self.fold_and_seal().await;
        shared.end(LogError::Closed);
        result
    }

    async fn fold_and_seal(&self) -> Result<(), CloseError> {
        self.fold().await?;
        let shared = &self.inner.shared;
        // Empty by now. The seal stays for ever, and needs no journal around it.
        shared.bucket.end_journal(&keys::log_dir(&shared.session)).await.map_err(SealError::from)?;
        seal_session(&shared.bucket, &shared.session, &shared.session).await?;
        Ok(())
    }

    /// Why the tasks are gone.
    fn ended(&self) -> CloseError {
        CloseError::Log(self.failed().unwrap_or_else(|| Arc::new(LogError::Closed)))
    }
}

/// Starts the writer that suits the store; returns the task to abort when nobody needs it any more.
fn spawn_writer(shared: &Arc<Shared>, fold: &mpsc::UnboundedSender<Request>) -> JoinHandle<()> {
    if shared.bucket.is_on_disk() {
        let writer = DiskWriter::new(shared.clone(), fold.clone(), Handle::current());
        match std::thread::Builder::new().name("celld-log".into()).spawn(move || writer.run()) {
            Ok(_) => return tokio::spawn(disk::watch(shared.clone())),
            Err(error) => tracing::warn!(%error, "no thread for the log; its entries are written by tasks"),
        }
    }
    tokio::spawn(Writer::new(shared.clone(), fold.clone()).run())
}

impl std::fmt::Debug for SessionLog {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "SessionLog({}, durable up to {})", self.session(), self.durable().0)
    }
}

/// Takes transactions for one entry from the queue: as many as fit into `entry_bytes`, at least one.
pub(crate) fn take_batch(queue: &mut Queue, entry_bytes: u64) -> Vec<CellTx> {
    let mut weight = 0;
    let fits = queue
        .waiting
        .iter()
        .take(writer::MAX_TRANSACTIONS)
        .take_while(|(_, tx)| {
            let first = weight == 0;
            weight += tx.weight();
            first || weight <= entry_bytes
        })
        .count();
    queue.waiting.drain(..fits).map(|(_, tx)| tx).collect()
}

/// What a batch adds to the backlog.
pub(crate) fn weight(batch: &[CellTx]) -> u64 {
    batch.iter().map(CellTx::weight).sum()
}
