//! The watchdog: ends JavaScript that does not give its thread back.
//!
//! One thread looks at all shards. It counts how often it has seen the same turn, so a process that was stopped and continued, or a
//! machine that was asleep, ends nothing. What an event uses in many turns is counted by samples (`platform::guard`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::platform::guard::IsolateGuard;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// The number that stands for "no JavaScript runs".
const IDLE: u64 = 0;

/// What the watchdog sees of one shard.
#[derive(Default)]
pub(crate) struct Watch {
    /// V8 gave up on the thread, which is parked for good.
    pub lost: AtomicBool,
    /// The number of the turn that runs, or [`IDLE`].
    turn: AtomicU64,
    /// How long the turn may take, in milliseconds.
    limit_ms: AtomicU64,
    /// The isolate that the turn runs in.
    isolate: Mutex<Option<Arc<IsolateGuard>>>,
    /// The last number given.
    last: AtomicU64,
    /// The watchdog has ended a turn and nobody has asked yet.
    ended: AtomicBool,
    /// Set while a turn is being ended: SQLite, which V8 cannot interrupt, looks at it.
    interrupt: Arc<AtomicBool>,
}

/// A turn that runs; it ends when this is dropped.
pub(crate) struct Turn<'a> {
    watch: &'a Watch,
}

impl Watch {
    /// Whether the watchdog has ended a turn since this was asked last. V8 itself forgets a termination as soon as no JavaScript is
    /// left on the stack.
    pub fn take_ended(&self) -> bool {
        let ended = self.ended.load(Ordering::Relaxed) && self.ended.swap(false, Ordering::Acquire);
        if ended {
            self.interrupt.store(false, Ordering::Relaxed);
        }
        ended
    }

    /// The flag by which a query that takes too long is interrupted.
    pub fn interrupt(&self) -> Arc<AtomicBool> {
        self.interrupt.clone()
    }

    /// Says that JavaScript runs in `isolate` from now on. The caller is the shard's own thread.
    pub fn begin(&self, isolate: &Arc<IsolateGuard>, limit: Duration) -> Turn<'_> {
        let turn = self.last.fetch_add(1, Ordering::Relaxed) + 1;
        *self.isolate.lock() = Some(isolate.clone());
        self.limit_ms.store(limit.as_millis() as u64, Ordering::Relaxed);
        self.turn.store(turn, Ordering::Release);
        Turn { watch: self }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Under the lock, so that a termination that has been decided on is not sent into the next turn.
        let _isolate = self.watch.isolate.lock();
        self.watch.turn.store(IDLE, Ordering::Release);
    }
}

/// The body of the watchdog's thread; returns when `stop` is set. `replace` starts a thread in the place of one that was lost.
pub(crate) fn run(mut shards: Vec<Arc<Watch>>, stop: &AtomicBool, replace: impl Fn(usize) -> Arc<Watch>) {
    // The turn that each shard was at, and how often it was seen.
    let mut seen = vec![(IDLE, 0u64); shards.len()];
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(LOOK);
        for (index, (watch, (turn, times))) in shards.iter_mut().zip(&mut seen).enumerate() {
            if watch.lost.load(Ordering::Acquire) {
                *watch = replace(index);
                (*turn, *times) = (IDLE, 0);
                continue;
            }
            let now = watch.turn.load(Ordering::Acquire);
            *times = if now == *turn { *times + 1 } else { 0 };
            *turn = now;
            if now == IDLE {
                continue;
            }
            let limit = watch.limit_ms.load(Ordering::Relaxed);
            let isolate = watch.isolate.lock();
            let Some(isolate) = isolate.as_ref().filter(|_| watch.turn.load(Ordering::Acquire) == now) else {
                continue;
            };
            isolate.sample(LOOK);
            if *times * (LOOK.as_millis() as u64) >= limit {
                watch.ended.store(true, Ordering::Release);
                watch.interrupt.store(true, Ordering::Relaxed);
                isolate.terminate();
                *times = 0;
            }
        }
    }
}
