//! The cells of a shard: which isolate holds the instance of each, how a cell gets here and how it leaves an isolate.
//!
//! Invariant: a cell's database is in exactly one place: parked here, or in the [`CellTable`] of the one isolate that runs the
//! cell's code.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use celld_ids::{CellScope, Epoch};
use celld_ltx::Txid;
use celld_storage::CellDb;
use tokio::sync::Notify;

use super::alarms::Slot;
use crate::host::{ActivateError, Position};
use crate::socket::parked::ParkedSockets;

/// One cell that this process owns and this shard serves.
pub(crate) struct Resident {
    pub scope: CellScope,
    pub epoch: Cell<Epoch>,
    /// The last transaction that was handed to the log.
    pub txid: Cell<Txid>,
    /// The log position of that transaction.
    pub position: Cell<Position>,
    /// The log position that what the cell says waits for: that of the last transaction which must be confirmed.
    pub gate: Cell<Position>,
    pub place: RefCell<Place>,
    /// Signals every change of `place` and every commit.
    pub changed: Notify,
    /// Something of it runs or waits in its isolate.
    pub active: Cell<bool>,
    /// When it last became idle.
    pub idle_since: Cell<Instant>,
    /// It waits to have its connection closed.
    pub in_idle_queue: Cell<bool>,
    /// Its hibernatable sockets.
    pub sockets: ParkedSockets,
    /// It may have asked to be taken back to a bookmark before its next instance begins.
    pub rewinds: Cell<bool>,
    /// Its alarm, as the last commit left it.
    pub alarm: Alarm,
}

/// The alarm of a resident.
#[derive(Default)]
pub(crate) struct Alarm {
    /// When it is due, in milliseconds since the Unix epoch.
    pub time: Cell<Option<i64>>,
    /// Runs of the handler for this time that failed.
    pub failures: Cell<u32>,
    /// The handler was called and has not settled.
    pub is_running: Cell<bool>,
    /// Its place in the queue of the shard's alarms.
    pub slot: Cell<Option<Slot>>,
}

/// Where a cell's database is.
pub(crate) enum Place {
    /// On its way from the bucket.
    Activating,
    /// The activation failed; the next event tries again.
    Failed(ActivateError),
    /// In nobody's hands: no instance exists.
    Parked(Box<CellDb>),
    /// In the table of the isolate with this serial number, at this index.
    Hosted { isolate: u64, handle: u32 },
}

impl Resident {
    pub fn activating(scope: CellScope) -> Resident {
        Resident {
            scope,
            epoch: Cell::new(Epoch::FIRST),
            txid: Cell::new(Txid(0)),
            position: Cell::new(Position(0)),
            gate: Cell::new(Position(0)),
            place: RefCell::new(Place::Activating),
            changed: Notify::new(),
            active: Cell::new(false),
            idle_since: Cell::new(Instant::now()),
            in_idle_queue: Cell::new(false),
            sockets: ParkedSockets::default(),
            rewinds: Cell::new(false),
            alarm: Alarm::default(),
        }
    }

    pub fn set_place(&self, place: Place) {
        *self.place.borrow_mut() = place;
        self.changed.notify_waiters();
    }

    /// The isolate that runs the cell's code, if one does.
    pub fn host(&self) -> Option<u64> {
        match &*self.place.borrow() {
            Place::Hosted { isolate, .. } => Some(*isolate),
            _ => None,
        }
    }

    /// How long it has been idle; `None` while it is active or has no instance.
    pub fn idle_for(&self, now: Instant) -> Option<Duration> {
        (!self.active.get() && self.host().is_some()).then(|| now.duration_since(self.idle_since.get()))
    }
}

/// The residents of a shard by scope.
#[derive(Default)]
pub(crate) struct Residents {
    cells: RefCell<HashMap<CellScope, Rc<Resident>>>,
}

impl Residents {
    /// The resident, and whether this call made it: then the caller activates it.
    pub fn get_or_start(&self, scope: &CellScope) -> (Rc<Resident>, bool) {
        let mut cells = self.cells.borrow_mut();
        if let Some(resident) = cells.get(scope) {
            return (resident.clone(), false);
        }
        let resident = Rc::new(Resident::activating(scope.clone()));
        cells.insert(scope.clone(), resident.clone());
        (resident, true)
    }

    pub fn get(&self, scope: &CellScope) -> Option<Rc<Resident>> {
        self.cells.borrow().get(scope).cloned()
    }

    /// Takes a cell out ([`super::ShardState::forget`]).
    pub fn remove(&self, scope: &CellScope) -> Option<Rc<Resident>> {
        self.cells.borrow_mut().remove(scope)
    }

    pub fn len(&self) -> usize {
        self.cells.borrow().len()
    }

    pub fn all(&self) -> Vec<Rc<Resident>> {
        self.cells.borrow().values().cloned().collect()
    }

    /// Those whose instance lives in the isolate with this serial number.
    pub fn hosted_by(&self, isolate: u64) -> Vec<Rc<Resident>> {
        self.cells.borrow().values().filter(|r| r.host() == Some(isolate)).cloned().collect()
    }
}

/// The shard that serves `scope`, of `count`.
pub fn shard_of(class: &str, id: &str, count: usize) -> usize {
    // FNV-1a, then the finalizer of MurmurHash3, because FNV alone leaves the high bits of similar texts alike. Stable over
    // builds, so that logs of two runs can be compared.
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in class.bytes().chain(std::iter::once(b':')).chain(id.bytes()) {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
    }
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    ((hash ^ (hash >> 33)) % count.max(1) as u64) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_spread_over_the_shards() {
        let mut counts = [0usize; 4];
        for n in 0..4000 {
            counts[shard_of("Room", &format!("{n:064x}"), 4)] += 1;
        }
        assert!(counts.iter().all(|c| (800..1200).contains(c)), "{counts:?}");
        assert_eq!(shard_of("Room", "x", 1), 0);
    }
}
