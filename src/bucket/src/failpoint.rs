//! Crashes and faults that a test asks for by environment variables. A process without them pays one relaxed load for each point.
//!
//! * `CELLD_TEST_FAILPOINT=NAME[:COUNT]` kills the process (SIGKILL: nothing is flushed, nothing is answered) when it passes the
//!   point `NAME` for the `COUNT`-th time; the first time when there is no count.
//! * `CELLD_TEST_FAULTS=SEED` puts the faults of [`Faults::rough`](crate::Faults::rough) in front of every directory bucket.
//! * `CELLD_TEST_FOLD_MS=N` folds the log every `N` milliseconds, so that a short life gets to what follows from folding.
//!
//! All are for the crash harness (`tests/crash`). They are read once, and only from here.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use rustix::process::{Signal, getpid, kill_process};

const UNKNOWN: u8 = 0;
const OFF: u8 = 1;
const ARMED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(UNKNOWN);
static POINT: OnceLock<Option<Point>> = OnceLock::new();

struct Point {
    name: String,
    /// How often it is passed before the process dies.
    left: AtomicU64,
}

impl Point {
    /// `None` for a text that is no fail point: a count that is zero or no number.
    fn parse(text: &str) -> Option<Point> {
        let (name, count) = match text.split_once(':') {
            Some((name, count)) => (name, count.parse().ok().filter(|count| *count > 0)?),
            None => (text, 1),
        };
        Some(Point { name: name.to_owned(), left: AtomicU64::new(count) })
    }

    /// `true` when this is the pass at which the process dies.
    fn pass(&self, name: &str) -> bool {
        self.name == name && self.left.fetch_sub(1, Ordering::Relaxed) == 1
    }
}

/// Marks a place at which a crash is interesting.
#[inline]
pub fn failpoint(name: &'static str) {
    if STATE.load(Ordering::Relaxed) != OFF {
        look(name);
    }
}

#[cold]
fn look(name: &str) {
    let point = POINT.get_or_init(|| {
        let text = std::env::var("CELLD_TEST_FAILPOINT").ok()?;
        let point = Point::parse(&text);
        if point.is_none() {
            tracing::error!("CELLD_TEST_FAILPOINT={text} is not NAME or NAME:COUNT; no fail point is set");
        }
        point
    });
    STATE.store(if point.is_some() { ARMED } else { OFF }, Ordering::Relaxed);
    if point.as_ref().is_some_and(|point| point.pass(name)) {
        eprintln!("celld: killed at the fail point {name}");
        // It cannot fail for the process itself, and nothing after it runs.
        let _ = kill_process(getpid(), Signal::KILL);
    }
}

/// The seed of the faults that every directory bucket of this process gets, if any.
pub(crate) fn faults() -> Option<u64> {
    std::env::var("CELLD_TEST_FAULTS").ok()?.parse().ok()
}

/// How often a log of this process is to be folded, if not as often as usual.
pub fn fold_interval() -> Option<Duration> {
    std::env::var("CELLD_TEST_FOLD_MS").ok()?.parse().ok().map(Duration::from_millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_point_is_passed_count_times() {
        let point = Point::parse("fold:3").unwrap();
        let passes = ["fold", "seal", "fold", "fold", "fold"].map(|name| point.pass(name));
        assert_eq!(passes, [false, false, false, true, false]);
        assert!(Point::parse("fold").unwrap().pass("fold"));
        for bad in ["fold:", "fold:0", "fold:x"] {
            assert!(Point::parse(bad).is_none(), "{bad}");
        }
    }
}
