//! Waiting for something that another process does.

use std::time::{Duration, Instant};

/// How long anything may take on a loaded machine before a test fails. No test measures time.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Asks until there is an answer.
///
/// # Panics
/// After [`PATIENCE`], naming `what`.
pub fn eventually<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(Instant::now() < deadline, "not within {} s: {what}", PATIENCE.as_secs());
        std::thread::sleep(Duration::from_millis(5));
    }
}
