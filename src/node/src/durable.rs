//! The engine's view of the session log.

use std::sync::Arc;

use celld_engine::host::{AlarmChange, CommitLog, LogFailed, Position};
use celld_ids::{CellScope, Epoch};
use celld_ltx::Txid;
use celld_replica::{CellTx, SessionLog};
use celld_storage::CommittedTx;
use futures::FutureExt;
use futures::future::BoxFuture;

use crate::lease::now_ms;

/// The log, as shards see it.
pub(crate) struct DurableLog {
    log: SessionLog,
    /// `CELLD_OUTPUT_GATE=0`: nobody waits.
    gate: bool,
}

impl DurableLog {
    pub fn new(log: SessionLog, gate: bool) -> Arc<DurableLog> {
        Arc::new(DurableLog { log, gate })
    }

    pub fn log(&self) -> &SessionLog {
        &self.log
    }

    /// Why the log stopped, if it did.
    pub fn failure(&self) -> Option<String> {
        self.log.failed().map(|error| error.to_string())
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
        let waiting = self.log.wait(celld_replica::Position(position.0));
        async move { waiting.await.map_err(|error| LogFailed(error.to_string().into())) }.boxed()
    }
}
