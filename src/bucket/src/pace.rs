//! How fast a store wants to be asked.

use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::Instant;

/// The pause before attempt `attempt + 2`: up to 50 ms, 100 ms, 200 ms … 5 s, and at least half of it. The random part keeps
/// the nodes of a fleet, which meet the same trouble in the same instant, from coming back together.
pub(crate) fn backoff(attempt: u32) -> Duration {
    jitter(Duration::from_millis(50).saturating_mul(1 << attempt.min(7)).min(SLOWEST))
}

fn jitter(full: Duration) -> Duration {
    let mut random = [0; 2];
    // Without randomness the full pause is right too.
    if getrandom::fill(&mut random).is_err() {
        return full;
    }
    full.mul_f64(0.5 + f64::from(u16::from_le_bytes(random)) / f64::from(u16::MAX) / 2.0)
}

const SLOWEST: Duration = Duration::from_secs(5);

/// After a "slow down" everybody who uses the bucket waits, not only the one who was told: otherwise the other requests keep
/// the store as busy as before. The pause doubles with each such answer and halves with each good one.
pub(crate) struct Pace(Mutex<State>);

#[derive(Clone, Copy)]
struct State {
    pause: Duration,
    until: Option<Instant>,
}

impl Pace {
    pub(crate) fn new() -> Pace {
        Pace(Mutex::new(State { pause: Duration::ZERO, until: None }))
    }

    /// Waits until the store may be asked again.
    pub(crate) async fn wait(&self) {
        let State { pause, until } = *self.0.lock();
        if let Some(until) = until
            && until > Instant::now()
        {
            // Not all at once: that would be the burst again.
            tokio::time::sleep_until(until + jitter(pause) / 2).await;
        }
    }

    /// The store has asked us to slow down.
    pub(crate) fn slow_down(&self) {
        let now = Instant::now();
        let mut state = self.0.lock();
        // Requests that were under way together are told together: that counts once.
        if state.until.is_some_and(|until| until > now) {
            return;
        }
        state.pause = (state.pause * 2).clamp(Duration::from_millis(50), SLOWEST);
        state.until = Some(now + jitter(state.pause));
    }

    /// The store has carried out a request.
    pub(crate) fn answered(&self) {
        let mut state = self.0.lock();
        if state.until.is_some_and(|until| until <= Instant::now()) {
            state.pause /= 2;
            if state.pause < Duration::from_millis(10) {
                *state = State { pause: Duration::ZERO, until: None };
            }
        }
    }
}
