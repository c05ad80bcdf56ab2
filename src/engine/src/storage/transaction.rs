//! Ops for savepoints, `deleteAll` and the alarm.

use celld_storage::Savepoint;
use deno_core::{OpState, op2};
use deno_error::JsErrorBox;

use super::table::CellTable;

/// Opens a savepoint and returns its depth, from 1.
#[op2(fast)]
#[smi]
pub(super) fn op_storage_savepoint(state: &mut OpState, #[smi] cell: u32) -> Result<u32, JsErrorBox> {
    state.borrow_mut::<CellTable>().with(cell, |db| db.savepoint()).map(Savepoint::depth)
}

/// Keeps what was written since the savepoint.
#[op2(fast)]
pub(super) fn op_storage_release(
    state: &mut OpState,
    #[smi] cell: u32,
    #[smi] depth: u32,
) -> Result<(), JsErrorBox> {
    state.borrow_mut::<CellTable>().with(cell, |db| db.release(Savepoint::at(depth)))
}

/// Drops what was written since the savepoint.
#[op2(fast)]
pub(super) fn op_storage_rollback_to(
    state: &mut OpState,
    #[smi] cell: u32,
    #[smi] depth: u32,
) -> Result<(), JsErrorBox> {
    state.borrow_mut::<CellTable>().with(cell, |db| db.rollback_to(Savepoint::at(depth)))
}

/// Deletes everything; the alarm stays, unless `alarm_too`.
#[op2(fast)]
pub(super) fn op_storage_delete_all(
    state: &mut OpState,
    #[smi] cell: u32,
    alarm_too: bool,
) -> Result<(), JsErrorBox> {
    let table = state.borrow_mut::<CellTable>();
    table.with(cell, |db| {
        if db.is_empty() && !db.in_transaction() {
            return Ok(());
        }
        let alarm = db.get_alarm()?;
        db.delete_all()?;
        if alarm_too { Ok(()) } else { db.set_alarm(alarm) }
    })?;
    if alarm_too {
        table.note_alarm_change(cell);
    }
    Ok(())
}

/// Notes the bookmark that the cell is to be taken back to before its next instance begins.
#[op2(fast)]
pub(super) fn op_storage_set_rewind(
    state: &mut OpState,
    #[smi] cell: u32,
    #[string] bookmark: &str,
) -> Result<(), JsErrorBox> {
    state.borrow_mut::<CellTable>().with(cell, |db| db.set_rewind(Some(bookmark)))
}

/// The alarm's time in milliseconds since the Unix epoch; -1 when there is none.
#[op2(fast)]
#[number]
pub(super) fn op_storage_get_alarm(state: &mut OpState, #[smi] cell: u32) -> Result<i64, JsErrorBox> {
    let alarm = state.borrow_mut::<CellTable>().read(cell, |db| db.get_alarm())?;
    Ok(alarm.unwrap_or(-1))
}

/// Sets the alarm to a time in milliseconds since the Unix epoch; -1 deletes it.
#[op2(fast)]
pub(super) fn op_storage_set_alarm(
    state: &mut OpState,
    #[smi] cell: u32,
    #[number] time_ms: i64,
) -> Result<(), JsErrorBox> {
    let table = state.borrow_mut::<CellTable>();
    table.with(cell, |db| db.set_alarm((time_ms >= 0).then_some(time_ms)))?;
    table.note_alarm_change(cell);
    Ok(())
}
