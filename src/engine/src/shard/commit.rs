//! What a turn leaves in the databases of an isolate's cells: transactions for the log, failures, and databases that move out.

use std::rc::Rc;

use celld_ltx::Txid;
use celld_storage::CellDb;
use deno_core::JsRuntime;

use super::cells::{Place, Resident};
use super::isolate::{IsolateState, ScriptIsolate};
use super::values::{call, text};
use crate::host::{ActivateError, AlarmChange, ConsoleLevel, ConsoleLine};
use crate::storage::table::CellTable;

/// Moves the database of `handle` out of the isolate's table and parks it.
pub(super) fn unhost(state: &IsolateState, runtime: &mut JsRuntime, handle: u32) {
    let op_state = runtime.op_state();
    let mut op_state = op_state.borrow_mut();
    park(state, op_state.borrow_mut::<CellTable>(), handle);
}

/// Moves the database of `handle` out of `table`, without what was not committed, and parks it with its resident.
pub(super) fn park(state: &IsolateState, table: &mut CellTable, handle: u32) {
    let Some(mut db) = table.remove(handle) else { return };
    let resident = state.hosted.borrow_mut().get_mut(handle as usize).and_then(Option::take);
    let Some(resident) = resident else { return };
    resident.active.set(false);
    resident.set_place(match db.rollback() {
        Ok(()) => Place::Parked(Box::new(db)),
        Err(error) => Place::Failed(ActivateError::Failed {
            scope: resident.scope.clone(),
            cause: format!("its uncommitted writes cannot be rolled back: {error}"),
        }),
    });
}

/// Ends the turn: the writes of each cell become one transaction, in the order in which the cells first wrote.
pub(super) fn commit(state: &IsolateState, runtime: &mut JsRuntime) {
    let op_state = runtime.op_state();
    let mut op_state = op_state.borrow_mut();
    let table = op_state.borrow_mut::<CellTable>();
    while let Some(handle) = table.next_touched() {
        let Some(resident) = state.resident(handle) else { continue };
        let alarm_changed = table.take_alarm_change(handle);
        let holds_output = table.holds_output(handle);
        let Some(db) = table.db_mut(handle) else { continue };
        match commit_cell(state, &resident, db, alarm_changed, holds_output) {
            Ok(Committed::All) => table.committed(handle),
            // An asynchronous transaction goes on; its alarm counts when it ends.
            Ok(Committed::Nothing) => {
                table.committed(handle);
                if alarm_changed {
                    table.note_alarm_change(handle);
                }
            }
            Err(cause) => {
                state.shard.host.console(ConsoleLine {
                    level: ConsoleLevel::Error,
                    script: state.script.clone(),
                    text: format!("The writes of cell {} were rolled back: {cause}", resident.scope),
                    position: None,
                });
                table.failed(handle, &cause);
            }
        }
        resident.changed.notify_waiters();
    }
    state.gates.committed(|handle| table.failure(handle));
}

/// Whether there is something for [`discard_failed`].
pub(super) fn has_failed(runtime: &mut JsRuntime) -> bool {
    runtime.op_state().borrow().borrow::<CellTable>().has_failed()
}

/// Takes cells whose storage has failed out of the isolate, instance and database: the next event restores them from history.
pub(super) fn discard_failed(isolate: &ScriptIsolate, runtime: &mut JsRuntime) {
    loop {
        let state = runtime.op_state();
        let failed = state.borrow_mut().borrow_mut::<CellTable>().next_failed();
        let Some((handle, cause)) = failed else { return };
        let resident = isolate.state.hosted.borrow_mut().get_mut(handle as usize).and_then(Option::take);
        drop(state.borrow_mut().borrow_mut::<CellTable>().remove(handle));
        let Some(resident) = resident else { continue };
        isolate.state.shard.forget(&resident.scope);
        {
            deno_core::scope!(scope, runtime);
            let args = [
                text(scope, resident.scope.class()),
                text(scope, resident.scope.id()),
                text(scope, &format!("The Durable Object was reset because its storage failed: {cause}")),
            ];
            call(scope, &isolate.hooks.evict, &args);
            scope.perform_microtask_checkpoint();
        }
        resident.active.set(false);
        resident.set_place(Place::Failed(ActivateError::Failed { scope: resident.scope.clone(), cause }));
    }
}

enum Committed {
    All,
    Nothing,
}

fn commit_cell(
    state: &IsolateState,
    resident: &Rc<Resident>,
    db: &mut CellDb,
    alarm_changed: bool,
    holds_output: bool,
) -> Result<Committed, String> {
    let Some(tx) = db.commit().map_err(|e| e.to_string())? else { return Ok(Committed::Nothing) };
    let alarm = if alarm_changed { Some(db.get_alarm().map_err(|e| e.to_string())?) } else { None };
    let change = match alarm {
        None => AlarmChange::Unchanged,
        Some(None) => AlarmChange::Cleared,
        Some(Some(time)) => AlarmChange::Set(time),
    };
    let txid = Txid(resident.txid.get().0 + 1);
    let position = state.shard.log.append(&resident.scope, resident.epoch.get(), txid, tx, change);
    resident.txid.set(txid);
    resident.position.set(position);
    if holds_output {
        resident.gate.set(position);
    }
    if let Some(time) = alarm {
        state.shard.alarms.set(resident, time);
    }
    Ok(Committed::All)
}
