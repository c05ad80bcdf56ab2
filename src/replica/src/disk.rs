//! The writer of a log on this machine's own disk: a thread that writes one entry after the other.
//!
//! A disk has no use for many entries at once, each of which it must flush: what is committed while one entry is being flushed is
//! the next entry. The thread makes the system calls itself, because handing each entry to other threads and back would cost more
//! than the calls do, and it waits with a precision that a timer of the runtime does not have.
//!
//! The first rule of the proof holds of itself: an entry is sent only after the one before it stands.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use celld_bucket::{WriteOutcome, failpoint};
use tokio::runtime::Handle;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::entry::EntryNo;
use crate::fold::Request;
use crate::keys;
use crate::log::{CellTx, LogError, Position, Shared, take_batch, weight};
use crate::pacing::BUSY;
use crate::publish::publish;
use crate::writer::{Encoded, encode, hand_to_fold};

/// The least distance between entries while transactions share them: keeps a disk that flushes in no time from being given an
/// entry for every few of them.
const SPACING: Duration = Duration::from_micros(500);

/// How often [`watch`] looks.
const LOOK: Duration = Duration::from_secs(1);

pub(crate) struct DiskWriter {
    pub shared: Arc<Shared>,
    pub fold: mpsc::UnboundedSender<Request>,
    /// For what is not done at the first attempt.
    pub runtime: Handle,
    /// The next entry to write.
    next: EntryNo,
    /// Everything taken from the queue so far.
    taken: Position,
    /// Average transactions per entry.
    fill: f64,
    last: Option<std::time::Instant>,
}

impl DiskWriter {
    pub(crate) fn new(
        shared: Arc<Shared>,
        fold: mpsc::UnboundedSender<Request>,
        runtime: Handle,
    ) -> DiskWriter {
        DiskWriter { shared, fold, runtime, next: EntryNo(1), taken: Position(0), fill: 1.0, last: None }
    }

    /// Runs until the log fails, or is closed and empty.
    pub(crate) fn run(mut self) {
        while let Some(batch) = self.batch() {
            self.last = Some(std::time::Instant::now());
            self.fill = self.fill * 0.8 + batch.len() as f64 * 0.2;
            self.taken.0 += batch.len() as u64;
            let weight = weight(&batch);
            *self.shared.writing.lock() = Some(Instant::now());
            let written = self.write(batch);
            *self.shared.writing.lock() = None;
            self.shared.backlog.fetch_sub(weight, Ordering::Relaxed);
            match written {
                // A log that has failed meanwhile has told everybody so.
                Ok(_) if self.shared.has_failed() => return,
                Ok(entry) => {
                    hand_to_fold(&self.shared, &self.fold, self.next, entry);
                    self.next = self.next.next();
                    self.shared.frontier.advance(self.taken);
                }
                Err(error) => {
                    self.shared.fail(error);
                    return;
                }
            }
        }
    }

    /// Waits for the transactions of the next entry. `None` when there will be none.
    fn batch(&self) -> Option<Vec<CellTx>> {
        let mut queue = self.shared.queue.lock();
        loop {
            if queue.waiting.is_empty() {
                if queue.closed {
                    return None;
                }
                self.shared.arrived.wait(&mut queue);
                continue;
            }
            match self.last.map(|last| last + SPACING) {
                Some(due) if self.fill > BUSY && !queue.closed && std::time::Instant::now() < due => {
                    self.shared.arrived.wait_until(&mut queue, due);
                }
                _ => return Some(take_batch(&mut queue, self.shared.options.entry_bytes)),
            }
        }
    }

    fn write(&self, batch: Vec<CellTx>) -> Result<Encoded, LogError> {
        let shared = &self.shared;
        let entry = encode(&shared.session, self.next, batch)?;
        let key = keys::log(&shared.session, self.next);
        match shared.bucket.create_blocking(&key, &entry.bytes) {
            Some(WriteOutcome::Done(_)) => {}
            first => {
                let published = publish(
                    &shared.bucket,
                    &shared.session,
                    self.next,
                    &entry.bytes,
                    &shared.hedge,
                    shared.patience(),
                    first,
                );
                self.runtime.block_on(published)?;
            }
        }
        failpoint("upload");
        Ok(entry)
    }
}

/// Fails the log when the disk does not come back from a write: the thread that waits for it cannot.
pub(crate) async fn watch(shared: Arc<Shared>) {
    while !shared.has_failed() {
        tokio::time::sleep(LOOK).await;
        let since = *shared.writing.lock();
        if since.is_some_and(|since| since.elapsed() > shared.options.durability_timeout + 2 * LOOK) {
            let key = keys::log_dir(&shared.session);
            shared.fail(LogError::Unresolved { key, problem: "the disk does not answer".into() });
        }
    }
}

#[cfg(test)]
mod tests {
    use celld_bucket::Bucket;
    use celld_ltx::Txid;

    use crate::log::{LogError, LogOptions, SessionLog};
    use crate::proof::{expected, scope, session, transaction};
    use crate::{Position, restore, seal_session};

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn a_log_on_disk_is_written_sealed_and_restored() {
        let directory = tempfile::tempdir().unwrap();
        let bucket = Bucket::local(directory.path()).unwrap();
        let old = session("old.1");
        let log = SessionLog::start(bucket.clone(), old.clone(), LogOptions::default()).await.unwrap();
        for txid in 1..=200 {
            for cell in 0..3 {
                log.append(transaction(cell, txid));
            }
            if txid % 50 == 0 {
                log.wait(log.appended()).await.unwrap();
            }
        }
        assert_eq!(log.durable(), Position(600));
        assert_eq!(log.backlog_bytes(), 0);
        assert!(log.entries() < 600, "transactions that wait share an entry");
        // Another process takes over; the thread meets the seal.
        seal_session(&bucket, &old, &session("new.1")).await.unwrap();
        let error = log.wait(log.append(transaction(0, 201))).await.unwrap_err();
        assert!(matches!(&*error, LogError::Sealed { .. } | LogError::Claimed), "{error}");
        for cell in 0..3 {
            let restored = restore(&bucket, &scope(cell)).await.unwrap();
            assert_eq!((restored.txid, restored.image), (Txid(200), expected(cell, 200)));
        }
    }

    #[tokio::test]
    async fn closing_writes_what_waits_and_dropping_does_not() {
        let directory = tempfile::tempdir().unwrap();
        let bucket = Bucket::local(directory.path()).unwrap();
        let log = SessionLog::start(bucket.clone(), session("one.1"), LogOptions::default()).await.unwrap();
        for txid in 1..=50 {
            log.append(transaction(0, txid));
        }
        log.close().await.unwrap();
        assert_eq!(log.append(transaction(0, 51)), Position::NEVER);
        drop(log);
        assert_eq!(restore(&bucket, &scope(0)).await.unwrap().txid, Txid(50));
        let log = SessionLog::start(bucket.clone(), session("two.1"), LogOptions::default()).await.unwrap();
        let shared = std::sync::Arc::downgrade(&log.shared_for_tests());
        drop(log);
        // The thread and the tasks let go of it.
        while shared.strong_count() > 0 {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }
}
