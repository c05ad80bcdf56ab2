//! The engine's view of the session log: positions, and who waits for which.

use std::collections::BTreeMap;
use std::sync::Arc;

use celld_engine::host::{AlarmChange, CommitLog, LogFailed, Position};
use celld_ids::{CellScope, Epoch};
use celld_ltx::Txid;
use celld_replica::{CellTx, SessionLog};
use celld_storage::CommittedTx;
use futures::FutureExt;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::lease::now_ms;

/// The log, with its waiters sorted by position: a step of the frontier wakes those it reaches and nobody else.
pub(crate) struct DurableLog {
    log: SessionLog,
    /// `CELLD_OUTPUT_GATE=0`: nobody waits.
    gate: bool,
    waiters: Mutex<Waiters>,
}

#[derive(Default)]
struct Waiters {
    by_position: BTreeMap<u64, Vec<oneshot::Sender<Result<(), LogFailed>>>>,
    /// Set once the log has failed; waiting is over.
    failed: Option<LogFailed>,
}

impl DurableLog {
    /// Wraps `log` and follows its frontier on the current runtime.
    pub fn follow(log: SessionLog, gate: bool) -> Arc<DurableLog> {
        let durable = Arc::new(DurableLog { log, gate, waiters: Mutex::default() });
        tokio::spawn(durable.clone().wake());
        durable
    }

    pub fn log(&self) -> &SessionLog {
        &self.log
    }

    async fn wake(self: Arc<Self>) {
        let mut frontier = self.log.frontier();
        loop {
            let (durable, failed) = {
                let frontier = frontier.borrow_and_update();
                let failed = frontier.failed.as_ref().map(|error| LogFailed(error.to_string().into()));
                (frontier.durable.0, failed)
            };
            let reached = {
                let mut waiters = self.waiters.lock();
                let beyond = waiters.by_position.split_off(&(durable + 1));
                std::mem::replace(&mut waiters.by_position, beyond)
            };
            for waiter in reached.into_values().flatten() {
                // Whoever waited may have gone.
                let _ = waiter.send(Ok(()));
            }
            if let Some(failed) = failed {
                let lost = {
                    let mut waiters = self.waiters.lock();
                    waiters.failed = Some(failed.clone());
                    std::mem::take(&mut waiters.by_position)
                };
                for waiter in lost.into_values().flatten() {
                    let _ = waiter.send(Err(failed.clone()));
                }
                return;
            }
            if frontier.changed().await.is_err() {
                return;
            }
        }
    }

    /// Why the log stopped, if it did.
    pub fn failure(&self) -> Option<String> {
        self.waiters.lock().failed.as_ref().map(|failed| failed.0.to_string())
    }
}

impl CommitLog for DurableLog {
    fn append(
        &self,
        scope: &CellScope,
        epoch: Epoch,
        txid: Txid,
        tx: CommittedTx,
        alarm: AlarmChange,
    ) -> Position {
        let CommittedTx { commit, pages } = tx;
        let timestamp_ms = i64::try_from(now_ms()).unwrap_or(i64::MAX);
        let alarm = match alarm {
            AlarmChange::Unchanged => celld_replica::AlarmChange::Unchanged,
            AlarmChange::Cleared => celld_replica::AlarmChange::Cleared,
            AlarmChange::Set(time) => celld_replica::AlarmChange::Set(time),
        };
        let tx = CellTx { scope: scope.clone(), epoch, txid, commit, pages, timestamp_ms, alarm };
        Position(self.log.append(tx).0)
    }

    fn durable(&self) -> Position {
        if self.gate { Position(self.log.durable().0) } else { Position(u64::MAX) }
    }

    fn is_congested(&self) -> bool {
        self.log.is_congested()
    }

    fn wait(&self, position: Position) -> BoxFuture<'static, Result<(), LogFailed>> {
        if position <= self.durable() {
            return std::future::ready(Ok(())).boxed();
        }
        let (waiter, reached) = oneshot::channel();
        {
            let mut waiters = self.waiters.lock();
            if let Some(failed) = &waiters.failed {
                return std::future::ready(Err(failed.clone())).boxed();
            }
            // The frontier may have passed since the first look; `wake` takes the lock after it moved.
            if position <= self.durable() {
                return std::future::ready(Ok(())).boxed();
            }
            waiters.by_position.entry(position.0).or_default().push(waiter);
        }
        async move { reached.await.unwrap_or_else(|_| Err(LogFailed("the log is closed".into()))) }.boxed()
    }
}
