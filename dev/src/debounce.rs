//! When a burst of file events becomes one build. No clock of its own: the caller says what time it is.

use std::time::{Duration, Instant};

/// A build starts this long after the last event: editors write a file in several steps within a millisecond or two.
const QUIET: Duration = Duration::from_millis(10);

/// A build starts at the latest this long after the first event, however long the burst lasts (a checkout, a formatter).
const LONGEST: Duration = Duration::from_millis(200);

/// The pending burst, if any.
#[derive(Debug, Default)]
pub(crate) struct Debounce {
    burst: Option<Burst>,
}

#[derive(Debug, Clone, Copy)]
struct Burst {
    first: Instant,
    last: Instant,
}

impl Debounce {
    /// An event happened at `now`.
    pub(crate) fn record(&mut self, now: Instant) {
        let first = self.burst.map_or(now, |burst| burst.first);
        self.burst = Some(Burst { first, last: now });
    }

    /// When the pending burst is over, unless another event extends it.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.burst.map(|burst| (burst.last + QUIET).min(burst.first + LONGEST))
    }

    /// Ends the pending burst if its deadline has passed at `now`.
    pub(crate) fn take(&mut self, now: Instant) -> bool {
        let over = self.deadline().is_some_and(|deadline| deadline <= now);
        if over {
            self.burst = None;
        }
        over
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_burst_is_one_change_once_it_is_quiet() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        assert_eq!(debounce.deadline(), None);
        debounce.record(start);
        debounce.record(start + 6 * MS);
        assert!(!debounce.take(start + 12 * MS));
        assert_eq!(debounce.deadline(), Some(start + 16 * MS));
        assert!(debounce.take(start + 16 * MS));
        assert!(!debounce.take(start + 400 * MS), "one burst, one change");
    }

    #[test]
    fn an_endless_burst_does_not_put_the_build_off_for_ever() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        for step in 0..=40 {
            debounce.record(start + 5 * step * MS);
        }
        assert_eq!(debounce.deadline(), Some(start + LONGEST));
        assert!(debounce.take(start + LONGEST));
        debounce.record(start + LONGEST + MS);
        assert_eq!(debounce.deadline(), Some(start + LONGEST + MS + QUIET), "the next burst starts anew");
    }
}
