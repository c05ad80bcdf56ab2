//! The task that turns appended transactions into entries and moves the frontier.
//!
//! The first rule of the proof lives here: a transaction is acknowledged only when its entry *and every entry before it*
//! stand in the bucket, however many are on the way at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use celld_bucket::failpoint;
use celld_ltx::File;
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};

use crate::entry::{EntryNo, encode_entry};
use crate::fold::Request;
use crate::log::{CellTx, LogError, Position, Shared, WAIT_BUDGETS, take_batch, weight};
use crate::merged::Logged;
use crate::pacing::{Pacing, Send};
use crate::publish::publish;

/// Transactions in one entry at most: bounds the time to encode it, and the count on the wire.
pub(crate) const MAX_TRANSACTIONS: usize = 4096;

/// From this many pages on an entry is compressed on a blocking thread (about 3 µs a page).
const OFFLOAD_PAGES: usize = 64;

pub(crate) struct Writer {
    shared: Arc<Shared>,
    fold: mpsc::UnboundedSender<Request>,
    pacing: Pacing,
    /// Entries on their way.
    flights: JoinSet<Landed>,
    /// Entries that were answered while an earlier one was not.
    landed: BTreeMap<EntryNo, Landed>,
    /// The next entry to send.
    next: EntryNo,
    /// The first entry that is not acknowledged.
    prefix: EntryNo,
    /// Everything taken from the queue so far.
    taken: Position,
    /// Set when an entry failed: nothing is sent after it, and the frontier stops before it.
    broken: bool,
}

/// How an entry ended.
struct Landed {
    number: EntryNo,
    /// Position of its last transaction.
    last: Position,
    weight: u64,
    outcome: Result<Published, LogError>,
}

struct Published {
    entry: Encoded,
    took: Duration,
}

/// An entry.
pub(crate) struct Encoded {
    pub bytes: Bytes,
    /// What it consists of.
    pub transactions: Vec<Logged>,
}

impl Writer {
    pub(crate) fn new(shared: Arc<Shared>, fold: mpsc::UnboundedSender<Request>) -> Writer {
        let pacing = Pacing::new(shared.options.depth);
        Writer {
            shared,
            fold,
            pacing,
            flights: JoinSet::new(),
            landed: BTreeMap::new(),
            next: EntryNo(1),
            prefix: EntryNo(1),
            taken: Position(0),
            broken: false,
        }
    }

    /// Runs until the log fails, or is closed and empty.
    pub(crate) async fn run(mut self) {
        loop {
            let (since, closed) = {
                let queue = self.shared.queue.lock();
                (queue.waiting.front().map(|(came, _)| *came), queue.closed)
            };
            let waiting = since.is_some();
            if self.shared.has_failed() || (closed && !waiting && self.flights.is_empty()) {
                return;
            }
            let mut due = None;
            if waiting && !self.broken {
                match self.pacing.next(Instant::now(), self.flights.len()) {
                    Send::Now => {
                        self.send();
                        continue;
                    }
                    Send::At(time) => due = Some(time),
                    Send::Full => {}
                }
                let patience = self.shared.options.durability_timeout * WAIT_BUDGETS;
                if let Some(since) = since {
                    let waited = since.elapsed();
                    if waited >= patience {
                        self.shared.fail(LogError::Overdue { waited });
                        return;
                    }
                    due = Some(due.map_or(since + patience, |due: Instant| due.min(since + patience)));
                }
            }
            let shared = self.shared.clone();
            tokio::select! {
                Some(landed) = self.flights.join_next() => match landed {
                    Ok(landed) => self.land(landed),
                    // A task that panicked or was aborted proves nothing.
                    Err(error) => {
                        tracing::error!(%error, "an entry's task ended without an answer");
                        self.shared.fail(LogError::Closed);
                        return;
                    }
                },
                () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {}
                // More transactions make no difference while some wait already.
                () = shared.wake.notified(), if !waiting || closed => {}
            }
        }
    }

    /// Sends one entry.
    fn send(&mut self) {
        let batch = take_batch(&mut self.shared.queue.lock(), self.shared.options.entry_bytes);
        self.taken.0 += batch.len() as u64;
        self.pacing.sent(Instant::now(), batch.len());
        let (number, last, weight) = (self.next, self.taken, weight(&batch));
        self.next = number.next();
        let shared = self.shared.clone();
        self.flights.spawn(async move {
            let outcome = write(&shared, number, batch).await;
            Landed { number, last, weight, outcome }
        });
    }

    /// Takes note of one entry's end and acknowledges the prefix.
    fn land(&mut self, landed: Landed) {
        match &landed.outcome {
            Ok(published) => self.pacing.answered(published.took),
            Err(_) => self.broken = true,
        }
        #[cfg(test)]
        if self.shared.options.broken == crate::proof::Broken::AckAnyOrder && landed.outcome.is_ok() {
            self.shared.frontier.advance(landed.last);
        }
        self.landed.insert(landed.number, landed);
        let mut reached = None;
        while let Some(landed) = self.landed.remove(&self.prefix) {
            self.shared.backlog.fetch_sub(landed.weight, Ordering::Relaxed);
            match landed.outcome {
                Ok(published) => {
                    hand_to_fold(&self.shared, &self.fold, landed.number, published.entry);
                    self.prefix = self.prefix.next();
                    reached = Some(landed.last);
                }
                Err(error) => {
                    if let Some(position) = reached {
                        self.shared.frontier.advance(position);
                    }
                    self.shared.fail(error);
                    return;
                }
            }
        }
        if let Some(position) = reached {
            self.shared.frontier.advance(position);
        }
    }
}

/// Before the frontier moves: whoever waits for a position and then asks for a fold gets that position folded.
pub(crate) fn hand_to_fold(
    shared: &Shared,
    fold: &mpsc::UnboundedSender<Request>,
    number: EntryNo,
    entry: Encoded,
) {
    let options = &shared.options;
    let (entries, bytes) = {
        let mut pending = shared.pending.lock();
        pending.take(number, entry, options);
        pending.waiting()
    };
    shared.entries.store(number.0, Ordering::SeqCst);
    if shared.call.is_news(entries >= options.fold_entries || bytes >= options.fold_bytes) {
        // The fold task ends before the writer only when the log has failed.
        let _ = fold.send(Request::Acknowledged);
    }
}

/// Encodes and publishes one entry.
async fn write(shared: &Arc<Shared>, number: EntryNo, batch: Vec<CellTx>) -> Result<Published, LogError> {
    let pages: usize = batch.iter().map(|tx| tx.pages.len()).sum();
    let session = shared.session.clone();
    let entry = if pages < OFFLOAD_PAGES {
        encode(&session, number, batch)?
    } else {
        tokio::task::spawn_blocking(move || encode(&session, number, batch))
            .await
            .map_err(|_| LogError::Closed)??
    };
    let start = Instant::now();
    publish(&shared.bucket, &shared.session, number, &entry.bytes, &shared.hedge, shared.patience(), None)
        .await?;
    failpoint("upload");
    Ok(Published { entry, took: start.elapsed() })
}

pub(crate) fn encode(
    session: &celld_ids::SessionId,
    number: EntryNo,
    batch: Vec<CellTx>,
) -> Result<Encoded, LogError> {
    let mut transactions = Vec::with_capacity(batch.len());
    for tx in batch {
        let CellTx { scope, epoch, txid, commit, pages, timestamp_ms, alarm } = tx;
        match File::transaction(txid, commit, pages, timestamp_ms) {
            Ok(file) => transactions.push(Logged { scope, epoch, alarm, file }),
            Err(problem) => return Err(LogError::Malformed { scope, txid, problem }),
        }
    }
    Ok(Encoded { bytes: encode_entry(session, number, &transactions), transactions })
}
