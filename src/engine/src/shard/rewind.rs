//! Taking a cell back to a bookmark, before its next instance begins.

use std::rc::Rc;

use celld_ltx::Txid;
use celld_storage::{CellDb, CommittedTx};
use tokio::sync::mpsc;

use super::ShardState;
use super::cells::{Place, Resident};
use crate::host::{ActivateError, AlarmChange, ConsoleLevel, ConsoleLine, RewindError};

impl ShardState {
    /// Has the parked cell taken back, if it asked for that, and parked again; its `place` says how it went. Callable from
    /// anywhere on the shard's thread.
    pub fn rewind(&self, resident: &Rc<Resident>, db: Box<CellDb>) {
        resident.rewinds.set(false);
        // The receiver lives as long as the shard.
        let _ = self.rewinds.send((resident.clone(), db));
    }

    /// Takes cells back until the shard stops: one after the other, because each holds two states of its database.
    pub async fn rewind_cells(
        self: Rc<Self>,
        mut asked: mpsc::UnboundedReceiver<(Rc<Resident>, Box<CellDb>)>,
    ) {
        while let Some((resident, mut db)) = asked.recv().await {
            match self.rewind_parked(&resident, &mut db).await {
                Ok(()) => resident.set_place(Place::Parked(db)),
                Err(cause) => {
                    // The next event restores the cell and tries again.
                    let scope = resident.scope.clone();
                    resident.set_place(Place::Failed(ActivateError::Failed { scope, cause }));
                }
            }
        }
    }

    async fn rewind_parked(&self, resident: &Rc<Resident>, db: &mut CellDb) -> Result<(), String> {
        let failed = |error: celld_storage::StorageError| error.to_string();
        let Some(bookmark) = db.rewind().map_err(failed)? else { return Ok(()) };
        let image = db.image().map_err(failed)?;
        let tx = self.host.rewind(resident.scope.clone(), bookmark.clone(), image).await;
        match tx {
            Ok(tx) => {
                db.replace(&tx).map_err(failed)?;
                let alarm = db.get_alarm().map_err(failed)?;
                self.append(resident, tx, alarm.map_or(AlarmChange::Cleared, AlarmChange::Set));
                self.alarms.set(resident, alarm);
            }
            Err(RewindError::Never(cause)) => self.host.console(ConsoleLine {
                level: ConsoleLevel::Error,
                script: String::new(),
                text: format!("Cell {} cannot be taken back to {bookmark}: {cause}", resident.scope),
                position: None,
            }),
            Err(RewindError::Now(cause)) => {
                return Err(format!("it cannot be taken back to {bookmark}: {cause}"));
            }
        }
        // The state of that time may hold a request of its own, and one that cannot be met must not come again.
        db.set_rewind(None).map_err(failed)?;
        if let Some(tx) = db.commit().map_err(failed)? {
            self.append(resident, tx, AlarmChange::Unchanged);
        }
        db.close_idle();
        Ok(())
    }

    /// Hands the log a transaction that no turn of an isolate has made.
    pub(super) fn append(&self, resident: &Resident, tx: CommittedTx, alarm: AlarmChange) {
        let txid = Txid(resident.txid.get().0 + 1);
        let position = self.log.append(&resident.scope, resident.epoch.get(), txid, tx, alarm);
        resident.txid.set(txid);
        resident.position.set(position);
        resident.gate.set(position);
    }
}
