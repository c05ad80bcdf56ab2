//! When a create that is unusually slow is sent a second time.
//!
//! One slow create holds up every acknowledgement behind it. A store answers one request in a hundred ten times later than the
//! others, for reasons that a second request most often does not meet; it carries the same bytes and the same condition, so at most
//! one of the two makes the object. What is slow because the whole store is slow must not get twice the work: second requests are
//! at most one in twenty, and a store that is always slower only moves the expectation.

use std::time::Duration;

use parking_lot::Mutex;

/// A store faster than this, in seconds, is a disk, whose slow moments every request meets alike.
const FAST: f64 = 0.005;

/// How much one answer earns towards a second request.
const EARNED: f64 = 0.05;

/// Second requests that may be sent in a row.
const CREDIT: f64 = 4.0;

/// What has been learned about the store.
pub(crate) struct Hedge {
    on: bool,
    state: Mutex<State>,
}

struct State {
    /// Average time of a create, in seconds; zero before the first answer.
    mean: f64,
    /// Average distance from it.
    deviation: f64,
    credit: f64,
}

impl Hedge {
    /// With `on` false nothing is ever sent twice.
    pub(crate) fn new(on: bool) -> Hedge {
        Hedge { on, state: Mutex::new(State { mean: 0.0, deviation: 0.0, credit: 1.0 }) }
    }

    /// How long to wait for an answer before asking a second time; `None` when that would not help.
    pub(crate) fn after(&self) -> Option<Duration> {
        let state = self.state.lock();
        if !self.on || state.mean < FAST || state.credit < 1.0 {
            return None;
        }
        let usual = (state.mean + 4.0 * state.deviation).max(2.0 * state.mean);
        Some(Duration::from_secs_f64(usual))
    }

    /// Takes the right to send one second request.
    pub(crate) fn spend(&self) -> bool {
        let mut state = self.state.lock();
        let may = state.credit >= 1.0;
        if may {
            state.credit -= 1.0;
        }
        may
    }

    /// A create was done after `took`, be it by its first or its second request.
    pub(crate) fn answered(&self, took: Duration) {
        let mut state = self.state.lock();
        state.credit = (state.credit + EARNED).min(CREDIT);
        let took = took.as_secs_f64();
        if state.mean == 0.0 {
            state.mean = took;
            return;
        }
        // What is far out must not move the expectation far: it would be usual the next time.
        let took = took.min(4.0 * state.mean);
        state.deviation += 0.1 * ((took - state.mean).abs() - state.deviation);
        state.mean += 0.1 * (took - state.mean);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_unusual_is_sent_twice_and_not_often() {
        let hedge = Hedge::new(true);
        assert_eq!(hedge.after(), None, "nothing is known yet");
        for _ in 0..100 {
            hedge.answered(Duration::from_millis(20));
        }
        let after = hedge.after().unwrap();
        assert!((39..=60).contains(&after.as_millis()), "{after:?}");
        let mut sent = 0;
        for _ in 0..1000 {
            hedge.answered(Duration::from_millis(400));
            sent += u32::from(hedge.spend());
        }
        assert!(sent <= 55, "{sent} of 1000");
        for _ in 0..100 {
            hedge.answered(Duration::from_millis(400));
        }
        assert!(hedge.after().unwrap() >= Duration::from_millis(800), "a slow store is no slow request");
    }

    #[test]
    fn a_disk_is_asked_once() {
        let hedge = Hedge::new(true);
        for _ in 0..10 {
            hedge.answered(Duration::from_micros(400));
        }
        assert_eq!(hedge.after(), None);
    }
}
