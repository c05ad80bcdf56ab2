//! The databases of the cells that live in one isolate, by handle.

use std::collections::VecDeque;

use celld_storage::{CellDb, StorageError};
use deno_error::JsErrorBox;

use super::error;

/// In an isolate's `OpState`: one slot for each cell it hosts.
///
/// A handle is never given out twice: JavaScript that survived its cell must not reach the next one.
#[derive(Default)]
pub struct CellTable {
    slots: Vec<Option<Box<Slot>>>,
    /// Handles of touched cells in the order of their first write; a cell may have left since.
    touched: VecDeque<u32>,
    /// Handles of cells whose storage has failed.
    failed: Vec<u32>,
}

struct Slot {
    db: CellDb,
    /// It has writes that no transaction of the log contains yet.
    is_touched: bool,
    /// Some of those writes hold back what the cell says until they are durable.
    holds_output: bool,
    /// The operation that runs next need not be confirmed.
    allows_unconfirmed: bool,
    /// The alarm was written since [`CellTable::take_alarm_change`].
    alarm_changed: bool,
    /// Why its storage cannot be used any more.
    failure: Option<String>,
}

impl CellTable {
    /// Takes a database in and returns its handle.
    pub fn insert(&mut self, db: CellDb) -> u32 {
        self.slots.push(Some(Box::new(Slot {
            db,
            is_touched: false,
            holds_output: false,
            allows_unconfirmed: false,
            alarm_changed: false,
            failure: None,
        })));
        (self.slots.len() - 1) as u32
    }

    /// Gives the database back; the handle is dead from here on.
    pub fn remove(&mut self, handle: u32) -> Option<CellDb> {
        Some(self.slots.get_mut(handle as usize)?.take()?.db)
    }

    /// The database of a live handle.
    pub fn db_mut(&mut self, handle: u32) -> Option<&mut CellDb> {
        Some(&mut self.slot_mut(handle)?.db)
    }

    /// True from a cell's first write to the commit that contains it. Writes inside an asynchronous transaction do not
    /// count before it ends.
    pub fn is_touched(&self, handle: u32) -> bool {
        self.slot(handle).is_some_and(|slot| slot.is_touched)
    }

    /// True from a cell's first write that must be confirmed to the commit that contains it.
    pub fn holds_output(&self, handle: u32) -> bool {
        self.slot(handle).is_some_and(|slot| slot.holds_output)
    }

    /// Says whether what the next operation writes may leave the cell before it is durable.
    pub(super) fn allow_unconfirmed(&mut self, handle: u32, unconfirmed: bool) {
        if let Some(slot) = self.slot_mut(handle) {
            slot.allows_unconfirmed = unconfirmed;
        }
    }

    /// Why the cell's storage failed: it has to be reset.
    pub fn failure(&self, handle: u32) -> Option<String> {
        self.slot(handle)?.failure.clone()
    }

    /// The next cell to commit, in the order of first writes. Follow with [`CellTable::committed`] or
    /// [`CellTable::failed`].
    pub fn next_touched(&mut self) -> Option<u32> {
        while let Some(handle) = self.touched.pop_front() {
            if self.is_touched(handle) {
                return Some(handle);
            }
        }
        None
    }

    /// Whether [`next_failed`](Self::next_failed) may have an answer.
    pub fn has_failed(&self) -> bool {
        !self.failed.is_empty()
    }

    /// A cell whose storage has failed since it was asked last, and why: it has to be restored.
    pub fn next_failed(&mut self) -> Option<(u32, String)> {
        while let Some(handle) = self.failed.pop() {
            if let Some(cause) = self.failure(handle) {
                return Some((handle, cause));
            }
        }
        None
    }

    /// The cell's writes are in a transaction that was handed to the log.
    pub fn committed(&mut self, handle: u32) {
        if let Some(slot) = self.slot_mut(handle) {
            slot.is_touched = false;
            slot.holds_output = false;
        }
    }

    /// The cell's writes are lost.
    pub fn failed(&mut self, handle: u32, cause: &str) {
        if let Some(slot) = self.slot_mut(handle) {
            slot.is_touched = false;
            slot.holds_output = false;
            slot.failure.get_or_insert_with(|| cause.to_owned());
            self.failed.push(handle);
        }
    }

    /// True once after the alarm was set or deleted. Its new time is in the database; look after the commit.
    pub fn take_alarm_change(&mut self, handle: u32) -> bool {
        self.slot_mut(handle).is_some_and(|slot| std::mem::take(&mut slot.alarm_changed))
    }

    /// As [`CellTable::with`], for an operation that only reads.
    pub(super) fn read<R>(
        &mut self,
        handle: u32,
        f: impl FnOnce(&mut CellDb) -> Result<R, StorageError>,
    ) -> Result<R, JsErrorBox> {
        self.allow_unconfirmed(handle, true);
        self.with(handle, f)
    }

    /// Runs `f` on the cell's database, and notes what it means for the turn: a write to commit, or a failure.
    pub(super) fn with<R>(
        &mut self,
        handle: u32,
        f: impl FnOnce(&mut CellDb) -> Result<R, StorageError>,
    ) -> Result<R, JsErrorBox> {
        let Some(slot) = self.slots.get_mut(handle as usize).and_then(Option::as_deref_mut) else {
            return Err(error::gone());
        };
        if let Some(failure) = &slot.failure {
            return Err(JsErrorBox::generic(failure.clone()));
        }
        let must_confirm = !std::mem::take(&mut slot.allows_unconfirmed);
        let result = f(&mut slot.db);
        if slot.db.in_transaction() {
            if !slot.is_touched {
                slot.is_touched = true;
                self.touched.push_back(handle);
            }
            slot.holds_output |= must_confirm;
        }
        result.map_err(|cause| {
            if cause.is_fatal() {
                slot.failure = Some(cause.to_string());
                self.failed.push(handle);
            }
            error::to_js(&cause)
        })
    }

    pub(crate) fn note_alarm_change(&mut self, handle: u32) {
        if let Some(slot) = self.slot_mut(handle) {
            slot.alarm_changed = true;
        }
    }

    fn slot(&self, handle: u32) -> Option<&Slot> {
        self.slots.get(handle as usize)?.as_deref()
    }

    fn slot_mut(&mut self, handle: u32) -> Option<&mut Slot> {
        self.slots.get_mut(handle as usize)?.as_deref_mut()
    }
}

#[cfg(test)]
mod tests {
    use celld_storage::Image;

    use super::*;

    #[test]
    fn touched_cells_come_in_order_and_once() {
        let mut table = CellTable::default();
        let [a, b, c] = std::array::from_fn(|_| {
            table.insert(CellDb::new(Image::Empty, None, Default::default()).unwrap())
        });
        for handle in [b, a, b, c] {
            table.with(handle, |db| db.kv_put("k", b"v")).unwrap();
        }
        assert!(table.remove(a).is_some());
        assert!(table.with(a, |db| db.kv_put("k", b"v")).is_err());
        assert_eq!(table.next_touched(), Some(b));
        table.committed(b);
        assert_eq!(table.next_touched(), Some(c));
        table.failed(c, "no");
        assert_eq!((table.next_touched(), table.failure(c)), (None, Some("no".to_owned())));
        assert_eq!(table.insert(CellDb::new(Image::Empty, None, Default::default()).unwrap()), 3);
    }
}
