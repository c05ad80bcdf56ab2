//! The alarms of a shard's cells: which is due next, and what happens when a handler fails.
//!
//! The time of an alarm stays in the cell's database until its handler has returned, so a run that is cut short happens again:
//! at least once, as on the platform.

use std::cell::RefCell;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{Notify, oneshot};

use super::cells::Resident;
use super::events::{AlarmOutcome, Event, Reply};
use super::run::Shard;

/// The wait before the first repetition; each further one doubles it. As on the platform.
const FIRST_RETRY_MS: i64 = 2_000;

/// The clock is looked at this often at least: it may be set, or the machine may sleep.
const LONGEST_SLEEP: Duration = Duration::from_secs(1);

/// Milliseconds since the Unix epoch.
fn now_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    i64::try_from(now).unwrap_or(i64::MAX)
}

/// The times at which residents are to be looked at. A time that the alarm no longer has is skipped.
#[derive(Default)]
pub(crate) struct Alarms {
    due: RefCell<BinaryHeap<Reverse<Due>>>,
    /// The earliest time has changed.
    changed: Notify,
}

struct Due {
    at_ms: i64,
    resident: Rc<Resident>,
}

impl PartialEq for Due {
    fn eq(&self, other: &Due) -> bool {
        self.at_ms == other.at_ms
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Due) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Due) -> std::cmp::Ordering {
        self.at_ms.cmp(&other.at_ms)
    }
}

impl Alarms {
    /// The resident's database holds this alarm from now on.
    pub fn set(&self, resident: &Rc<Resident>, time: Option<i64>) {
        resident.alarm.time.set(time);
        resident.alarm.failures.set(0);
        if let Some(at_ms) = time {
            self.look_at(resident, at_ms);
        }
    }

    fn look_at(&self, resident: &Rc<Resident>, at_ms: i64) {
        let mut due = self.due.borrow_mut();
        let is_first = due.peek().is_none_or(|Reverse(first)| at_ms < first.at_ms);
        due.push(Reverse(Due { at_ms, resident: resident.clone() }));
        if is_first {
            self.changed.notify_one();
        }
    }

    /// Takes the next resident whose time has come, or says how long to wait.
    fn next(&self, now: i64) -> Result<Rc<Resident>, Duration> {
        let mut due = self.due.borrow_mut();
        match due.peek() {
            None => Err(LONGEST_SLEEP),
            Some(Reverse(first)) if first.at_ms > now => {
                Err(Duration::from_millis(first.at_ms.abs_diff(now)).min(LONGEST_SLEEP))
            }
            Some(_) => due.pop().map(|Reverse(due)| due.resident).ok_or(LONGEST_SLEEP),
        }
    }

    /// When the handler may run again after `failures` failed runs.
    fn retry_at(now: i64, failures: u32) -> i64 {
        now + (FIRST_RETRY_MS << (failures.saturating_sub(1)).min(16))
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
        let isolate = self
            .busy_host(&resident.scope)
            .or_else(|| self.serving())
            .filter(|isolate| isolate.deployment.script.classes().contains(&resident.scope.class()));
        let Some(isolate) = isolate else {
            // The class may come back with the next deployment.
            self.state().alarms.look_at(&resident, now_ms() + FIRST_RETRY_MS);
            return;
        };
        alarm.is_running.set(true);
        let (to, settled) = oneshot::channel();
        let event = Event { headers: Default::default(), body: None, reply: Reply::Alarm(to) };
        let id = isolate.state.events.borrow_mut().insert(event);
        isolate.deliver_alarm(id, &resident.scope, time, alarm.failures.get());
        let shard = self.clone();
        tokio::task::spawn_local(async move {
            let outcome = settled.await.unwrap_or(AlarmOutcome::Failed);
            shard.alarm_settled(&resident, time, outcome);
        });
    }

    fn alarm_settled(&self, resident: &Rc<Resident>, time: i64, outcome: AlarmOutcome) {
        let alarm = &resident.alarm;
        alarm.is_running.set(false);
        let Some(next) = alarm.time.get() else { return };
        if next != time {
            // Set anew meanwhile; it may have been passed over because the handler ran.
            self.state().alarms.look_at(resident, next);
        } else if outcome == AlarmOutcome::Failed {
            alarm.failures.set(alarm.failures.get() + 1);
            self.state().alarms.look_at(resident, Alarms::retry_at(now_ms(), alarm.failures.get()));
        } else {
            // The handler set the same time again.
            self.state().alarms.look_at(resident, next);
        }
    }
}

#[cfg(test)]
mod tests {
    use celld_ids::CellScope;

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
    fn repetitions_are_further_and_further_apart() {
        let waits: Vec<i64> = (1..=6).map(|failures| Alarms::retry_at(0, failures)).collect();
        assert_eq!(waits, [2000, 4000, 8000, 16_000, 32_000, 64_000]);
    }
}
