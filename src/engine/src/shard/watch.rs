//! The watchdog: ends JavaScript that does not give its thread back.
//!
//! One thread looks at all shards. It counts how often it has seen the same turn, so a process that was stopped and continued, or a
//! machine that was asleep, ends nothing. What an event uses in many turns is counted by samples (`platform::guard`).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::platform::fatal::{self, ThreadId};
use crate::platform::guard::IsolateGuard;

/// Time between two looks.
const LOOK: Duration = Duration::from_millis(50);
/// Time between two attempts to end code.
const TRY: Duration = Duration::from_millis(1);
/// Code that was ended and still runs after this time never looks at what is asked of it: it is in a function of V8's own.
const DEAF_AFTER: Duration = Duration::from_secs(10);
/// The number that stands for "no JavaScript runs".
const IDLE: u64 = 0;

/// What the watchdog sees of one shard.
#[derive(Default)]
pub(crate) struct Watch {
    /// The thread will do nothing more for anybody: V8 gave up on it and it is parked, or it does not come back from V8 and will be
    /// parked if it ever does.
    pub lost: AtomicBool,
    /// The shard's thread.
    thread: Mutex<Option<ThreadId>>,
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
    /// Says that the calling thread is the shard's.
    pub fn adopt_thread(&self) {
        *self.thread.lock() = Some(fatal::this_thread());
    }

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
        {
            // Under the lock, so that what the watchdog wants of the last turn is not wanted of this one.
            let mut current = self.isolate.lock();
            isolate.begin();
            *current = Some(isolate.clone());
        }
        self.limit_ms.store(limit.as_millis() as u64, Ordering::Relaxed);
        self.turn.store(turn, Ordering::Release);
        Turn { watch: self }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // Under the lock, so that a termination that has been decided on is not sent into the next turn.
        let isolate = self.watch.isolate.lock();
        self.watch.turn.store(IDLE, Ordering::Release);
        drop(isolate);
        // Another thread has this one's place: what the turn has written must not be committed, nor anything be answered.
        if self.watch.lost.load(Ordering::Acquire) {
            fatal::park();
        }
    }
}

/// Why a thread was given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Loss {
    /// V8 could not go on.
    Fatal,
    /// What it runs cannot be ended.
    Deaf,
}

/// What the watchdog remembers of one shard.
#[derive(Default, Clone, Copy)]
struct Seen {
    /// The turn that it was at.
    turn: u64,
    /// How often it was seen there since it began, or since it was ended last.
    times: u32,
    /// How often it was seen there after it was ended.
    after_end: Option<u32>,
    /// The process's resident memory when it was seen there first, in bytes.
    resident: Option<u64>,
}

/// The process's resident memory in bytes.
fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * fatal::page_size())
}

/// How many looks make `time`.
const fn looks(time: Duration) -> u32 {
    (time.as_millis() / LOOK.as_millis()) as u32
}

/// The body of the watchdog's thread; returns when `stop` is set. `replace` starts a thread in the place of one that was lost.
pub(crate) fn run(
    mut shards: Vec<Arc<Watch>>,
    stop: &AtomicBool,
    replace: impl Fn(usize, Loss) -> Arc<Watch>,
) {
    let mut seen = vec![Seen::default(); shards.len()];
    let count = shards.len() as u32;
    let mut waited = Duration::ZERO;
    while !stop.load(Ordering::Relaxed) {
        let tries = shards.iter().fold(false, |tries, watch| try_again(watch) | tries);
        let pause = if tries { TRY } else { LOOK - waited };
        std::thread::sleep(pause);
        waited += pause;
        if waited < LOOK {
            continue;
        }
        waited = Duration::ZERO;
        for (index, (watch, seen)) in shards.iter_mut().zip(&mut seen).enumerate() {
            let loss = match watch.lost.load(Ordering::Acquire) {
                true => Some(Loss::Fatal),
                false => look(watch, seen, count),
            };
            if let Some(loss) = loss {
                *watch = replace(index, loss);
                *seen = Seen::default();
            }
        }
    }
}

/// Whether the shard runs code that is to be ended; tries it.
fn try_again(watch: &Watch) -> bool {
    if watch.turn.load(Ordering::Acquire) == IDLE {
        return false;
    }
    let isolate = watch.isolate.lock();
    // Whether the turn is the same is no matter: each begins with nothing to be ended.
    isolate.as_ref().is_some_and(|isolate| isolate.try_again())
}

/// Looks at one shard, and ends what has run too long.
fn look(watch: &Watch, seen: &mut Seen, shards: u32) -> Option<Loss> {
    let now = watch.turn.load(Ordering::Acquire);
    if now == seen.turn {
        seen.times += 1;
    } else {
        *seen = Seen { turn: now, ..Seen::default() };
    }
    if now == IDLE {
        return None;
    }
    let isolate = watch.isolate.lock();
    let isolate = isolate.as_ref().filter(|_| watch.turn.load(Ordering::Acquire) == now)?;
    isolate.sample(LOOK);
    // Each shard may have its share of what the process has grown by.
    match (seen.resident, resident()) {
        (Some(before), Some(resident)) => {
            if isolate.is_beyond_counting(resident.saturating_sub(before) / u64::from(shards)) {
                isolate.exceed();
                seen.resident = Some(resident);
                seen.after_end.get_or_insert(0);
            }
        }
        (_, resident) => seen.resident = resident,
    }
    if let Some(after) = &mut seen.after_end {
        *after += 1;
        if *after >= looks(DEAF_AFTER) {
            // Still under the lock: the turn either has ended or sees this when it does.
            watch.lost.store(true, Ordering::Release);
            if let Some(thread) = *watch.thread.lock() {
                fatal::step_back(thread);
            }
            return Some(Loss::Deaf);
        }
    }
    if u64::from(seen.times) * LOOK.as_millis() as u64 >= watch.limit_ms.load(Ordering::Relaxed) {
        watch.ended.store(true, Ordering::Release);
        watch.interrupt.store(true, Ordering::Relaxed);
        isolate.end();
        seen.times = 0;
        seen.after_end.get_or_insert(0);
    }
    None
}
