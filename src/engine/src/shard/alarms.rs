//! The alarms of a shard's cells: which is due next, and what happens when a handler fails.
//!
//! The time of an alarm stays in the cell's database until its handler has returned, so a run that is cut short happens again:
//! at least once, as on the platform.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use celld_ids::CellScope;
use celld_storage::{CellDb, StorageError};
use parking_lot::Mutex;
use tokio::sync::{Notify, oneshot};

use super::ShardState;
use super::cells::Resident;
use super::events::{AlarmOutcome, Event, Reply};
use super::run::Shard;
use crate::host::AlarmChange;

/// The wait before the first repetition; each further one doubles it. As on the platform.
const FIRST_RETRY_MS: i64 = 2_000;

/// The clock is looked at this often at least: it may be set, or the machine may sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Milliseconds since the Unix epoch.
fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    i64::try_from(now).unwrap_or(i64::MAX)
}

/// A time in the queue, in milliseconds since the Unix epoch, and a number that tells apart those which are due together.
pub(crate) type Slot = (i64, u64);

/// When residents are to be looked at. Each is in the queue once at most, however often its alarm moves.
#[derive(Default)]
pub(crate) struct Alarms {
    due: RefCell<BTreeMap<Slot, Rc<Resident>>>,
    number: Cell<u64>,
    /// The earliest time has changed.
    changed: Notify,
}

impl Alarms {
    /// The resident's database holds this alarm from now on.
    pub fn set(&self, resident: &Rc<Resident>, time: Option<i64>) {
        resident.alarm.time.set(time);
        resident.alarm.failures.set(0);
        match time {
            Some(at_ms) => self.look_at(resident, at_ms),
            None => self.pass_over(resident),
        }
    }

    /// The resident's database has been found with this alarm, whose handler has failed so often.
    pub fn found(&self, resident: &Rc<Resident>, time: Option<i64>, failures: u32) {
        self.set(resident, time);
        if let Some(at_ms) = time
            && failures > 0
        {
            resident.alarm.failures.set(failures);
            self.look_at(resident, at_ms.max(Self::retry_at(now_ms(), failures)));
        }
    }

    fn look_at(&self, resident: &Rc<Resident>, at_ms: i64) {
        self.pass_over(resident);
        let slot = (at_ms, self.number.get());
        self.number.set(slot.1 + 1);
        resident.alarm.slot.set(Some(slot));
        let mut due = self.due.borrow_mut();
        due.insert(slot, resident.clone());
        if due.first_key_value().is_some_and(|(first, _)| *first == slot) {
            self.changed.notify_one();
        }
    }

    fn pass_over(&self, resident: &Resident) {
        if let Some(slot) = resident.alarm.slot.take() {
            self.due.borrow_mut().remove(&slot);
        }
    }

    /// Takes the next resident whose time has come, or says how long to wait.
    fn next(&self, now: i64) -> Result<Rc<Resident>, Duration> {
        let mut due = self.due.borrow_mut();
        let Some(first) = due.first_entry() else { return Err(LONGEST_SLEEP) };
        let at_ms = first.key().0;
        if at_ms > now {
            return Err(Duration::from_millis(at_ms.abs_diff(now)).min(LONGEST_SLEEP));
        }
        let resident = first.remove();
        resident.alarm.slot.set(None);
        Ok(resident)
    }

    /// When the handler may run again after `failures` failed runs.
    fn retry_at(now: i64, failures: u32) -> i64 {
        now + (FIRST_RETRY_MS << (failures.saturating_sub(1)).min(16))
    }
}

/// One run of an alarm's handler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AlarmRun {
    /// The alarm's time, in milliseconds since the Unix epoch.
    pub time: i64,
    /// Runs for this time that have failed before.
    pub failures: u32,
}

/// The runs of all shards, so that a run which costs its shard is known to have failed: otherwise its alarm would be due at once, for
/// ever, and cost one shard after the other.
#[derive(Default)]
pub(crate) struct AlarmRuns {
    /// By cell, with the shard.
    running: Mutex<HashMap<CellScope, (usize, AlarmRun)>>,
    failed: Mutex<HashMap<CellScope, AlarmRun>>,
}

impl AlarmRuns {
    fn begin(&self, scope: &CellScope, shard: usize, run: AlarmRun) {
        self.running.lock().insert(scope.clone(), (shard, run));
    }

    fn end(&self, scope: &CellScope) {
        self.running.lock().remove(scope);
    }

    /// The shard is lost, and what ran there has failed.
    pub fn shard_lost(&self, index: usize) {
        let lost = |_: &CellScope, (shard, _): &mut (usize, AlarmRun)| *shard == index;
        let failed = self.running.lock().extract_if(lost).collect::<Vec<_>>();
        let failed = failed.into_iter().map(|(scope, (_, run))| {
            let failures = run.failures.saturating_add(1);
            (scope, AlarmRun { failures, ..run })
        });
        self.failed.lock().extend(failed);
    }

    /// What has failed of the cell's runs with a shard.
    fn failed(&self, scope: &CellScope) -> Option<AlarmRun> {
        self.failed.lock().get(scope).copied()
    }

    /// The cell's database knows of it, or need not.
    fn forget(&self, scope: &CellScope) {
        self.failed.lock().remove(scope);
    }
}

impl ShardState {
    /// The alarm that the database of a cell holds, and how often its handler has failed. A failure that cost a shard is put into the
    /// database: it may cost the process next.
    pub(super) fn find_alarm(
        &self,
        resident: &Resident,
        db: &mut CellDb,
    ) -> Result<(Option<i64>, u32), StorageError> {
        let Some(time) = db.get_alarm()? else {
            self.alarm_runs.forget(&resident.scope);
            return Ok((None, 0));
        };
        let Some(run) = self.alarm_runs.failed(&resident.scope) else {
            return Ok((Some(time), db.alarm_failures(time)?));
        };
        let failures = if run.time == time { run.failures } else { 0 };
        db.set_alarm_failures(run.time, run.failures)?;
        if let Some(tx) = db.commit()? {
            self.append(resident, tx, AlarmChange::Unchanged);
        }
        self.alarm_runs.forget(&resident.scope);
        Ok((Some(time), failures))
    }
}

impl Shard {
    /// Fires alarms until the shard stops.
    pub(super) async fn fire_alarms(self: Rc<Self>) {
        let alarms = &self.state().alarms;
        while !self.is_stopping() {
            match alarms.next(now_ms()) {
                Ok(resident) => self.fire(resident),
                Err(wait) => {
                    // Nothing depends on which of the two it was.
                    let _ = tokio::time::timeout(wait, alarms.changed.notified()).await;
                }
            }
        }
    }

    fn fire(self: &Rc<Self>, resident: Rc<Resident>) {
        let alarm = &resident.alarm;
        let Some(time) = alarm.time.get() else { return };
        if time > now_ms() || alarm.is_running.get() {
            return;
        }
        let Some(isolate) = self.isolate_of(&resident.scope) else {
            // The class may come back with the next deployment.
            self.state().alarms.look_at(&resident, now_ms() + FIRST_RETRY_MS);
            return;
        };
        alarm.is_running.set(true);
        let run = AlarmRun { time, failures: alarm.failures.get() };
        self.state().alarm_runs.begin(&resident.scope, self.state().index, run);
        let (to, settled) = oneshot::channel();
        let event = Event { headers: Default::default(), body: None, reply: Reply::Alarm(to) };
        let id = isolate.state.events.borrow_mut().insert(event);
        isolate.deliver_alarm(id, &resident.scope, time, run.failures);
        let shard = self.clone();
        tokio::task::spawn_local(async move {
            let outcome = settled.await.unwrap_or(AlarmOutcome::Failed);
            shard.alarm_settled(&resident, time, outcome);
        });
    }

    fn alarm_settled(&self, resident: &Rc<Resident>, time: i64, outcome: AlarmOutcome) {
        let alarm = &resident.alarm;
        alarm.is_running.set(false);
        self.state().alarm_runs.end(&resident.scope);
        let Some(next) = alarm.time.get() else { return };
        if next == time && outcome == AlarmOutcome::Failed {
            alarm.failures.set(alarm.failures.get() + 1);
            self.state().alarms.look_at(resident, Alarms::retry_at(now_ms(), alarm.failures.get()));
        } else {
            // Set anew meanwhile, maybe to the same time; it may have been passed over because the handler ran.
            self.state().alarms.look_at(resident, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resident(id: &str) -> Rc<Resident> {
        Rc::new(Resident::activating(CellScope::new("Room", id).unwrap()))
    }

    #[test]
    fn the_earliest_comes_first() {
        let alarms = Alarms::default();
        for (id, time) in [("b", 200), ("a", 100), ("c", 300)] {
            alarms.set(&resident(id), Some(time));
        }
        let next = |now| alarms.next(now).map(|resident| resident.scope.id().to_owned());
        assert_eq!(next(250), Ok("a".to_owned()));
        assert_eq!(next(250), Ok("b".to_owned()));
        assert_eq!(next(250), Err(Duration::from_millis(50)));
        assert_eq!(next(300), Ok("c".to_owned()));
        assert_eq!(next(300), Err(LONGEST_SLEEP));
    }

    #[test]
    fn an_alarm_that_moves_is_in_the_queue_once() {
        let alarms = Alarms::default();
        let (busy, other) = (resident("busy"), resident("other"));
        for time in (100..2000).rev() {
            alarms.set(&busy, Some(time));
        }
        // Two that are due together have a place each.
        alarms.set(&other, Some(100));
        assert_eq!(alarms.due.borrow().len(), 2);
        assert_eq!(alarms.next(100).map(|resident| resident.scope.id().to_owned()), Ok("busy".to_owned()));
        alarms.set(&other, None);
        assert_eq!(alarms.next(i64::MAX).map(|_| ()), Err(LONGEST_SLEEP));
        alarms.set(&busy, Some(300));
        assert_eq!(alarms.next(300).map(|resident| resident.scope.id().to_owned()), Ok("busy".to_owned()));
        assert!(alarms.due.borrow().is_empty());
    }

    #[test]
    fn what_ran_on_a_lost_shard_has_failed() {
        let runs = AlarmRuns::default();
        let scopes = ["a", "b", "c"].map(|id| CellScope::new("Room", id).unwrap());
        for (shard, scope) in scopes.iter().enumerate() {
            runs.begin(scope, shard % 2, AlarmRun { time: 100, failures: 2 });
        }
        runs.end(&scopes[0]);
        runs.shard_lost(0);
        assert_eq!(runs.failed(&scopes[0]), None, "it had settled");
        assert_eq!(runs.failed(&scopes[1]), None, "its shard goes on");
        assert_eq!(runs.failed(&scopes[2]), Some(AlarmRun { time: 100, failures: 3 }));
        runs.forget(&scopes[2]);
        assert_eq!(runs.failed(&scopes[2]), None);
    }

    #[test]
    fn an_alarm_that_has_failed_waits() {
        let alarms = Alarms::default();
        let (failed, later) = (resident("failed"), resident("later"));
        alarms.found(&failed, Some(100), 3);
        assert!(alarms.next(now_ms() + 7000).is_err());
        assert!(alarms.next(now_ms() + 9000).is_ok());
        assert_eq!(failed.alarm.failures.get(), 3);
        let far = now_ms() + 1_000_000;
        alarms.found(&later, Some(far), 1);
        assert!(alarms.next(far - 1).is_err());
    }

    #[test]
    fn repetitions_are_further_and_further_apart() {
        let waits: Vec<i64> = (1..=6).map(|failures| Alarms::retry_at(0, failures)).collect();
        assert_eq!(waits, [2000, 4000, 8000, 16_000, 32_000, 64_000]);
    }
}
