//! When which timer is due. The callbacks are in `js/platform/timers.js`.
//!
//! Each timer is fired by a call of its own. So when the host ends the code of one, the others are still here.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Waker};
use std::time::Duration;

use deno_core::{JsRuntime, OpState, op2, v8};
use tokio::time::{Instant, Sleep};

deno_core::extension!(
    celld_timers,
    ops = [op_celld_timer_start, op_celld_timer_stop],
    esm_entry_point = "ext:celld_timers/timers.js",
    esm = [dir "js/platform", "timers.js"],
    state = |state| state.put(Rc::new(Timers::default())),
);

/// The pending timers of one isolate.
#[derive(Default)]
pub(super) struct Timers {
    /// By time; those of one time in the order in which they were set.
    due: RefCell<BTreeSet<Entry>>,
    /// Where each is in `due`.
    entries: RefCell<HashMap<i32, Entry>>,
    /// How many were set.
    count: Cell<u64>,
    /// When the timers that are due were looked up last.
    looked: Cell<Option<Instant>>,
    /// Until the first is due.
    sleep: RefCell<Option<Pin<Box<Sleep>>>>,
    /// Of the task that fires them.
    waker: RefCell<Option<Waker>>,
    /// Fires a timer.
    fire: RefCell<Option<v8::Global<v8::Function>>>,
}

/// When a timer is due, the how-manieth it was that was set, and its number.
type Entry = (Instant, u64, i32);

impl Timers {
    fn start(&self, id: i32, delay: Duration, is_late: bool) {
        self.stop(id);
        let from = self.looked.get().filter(|_| is_late).unwrap_or_else(Instant::now);
        let entry = (from + delay, self.count.get(), id);
        self.count.set(entry.1 + 1);
        self.entries.borrow_mut().insert(id, entry);
        let mut due = self.due.borrow_mut();
        due.insert(entry);
        if due.first() == Some(&entry)
            && let Some(waker) = &*self.waker.borrow()
        {
            self.wake_at(entry.0, &mut Context::from_waker(waker));
        }
    }

    fn stop(&self, id: i32) {
        if let Some(entry) = self.entries.borrow_mut().remove(&id) {
            self.due.borrow_mut().remove(&entry);
        }
    }

    /// Takes a timer that is due at `now`.
    fn take_due(&self, now: Instant) -> Option<i32> {
        let mut due = self.due.borrow_mut();
        if due.first()?.0 > now {
            return None;
        }
        let (_, _, id) = due.pop_first()?;
        self.entries.borrow_mut().remove(&id);
        Some(id)
    }

    /// Has the task of `cx` woken at `at`.
    fn wake_at(&self, at: Instant, cx: &mut Context<'_>) {
        // A sleep takes a millisecond at least.
        if at <= Instant::now() {
            return cx.waker().wake_by_ref();
        }
        let mut sleep = self.sleep.borrow_mut();
        let sleep = sleep.get_or_insert_with(|| Box::pin(tokio::time::sleep_until(at)));
        if sleep.deadline() != at {
            sleep.as_mut().reset(at);
        }
        if sleep.as_mut().poll(cx).is_ready() {
            cx.waker().wake_by_ref();
        }
    }
}

fn timers(runtime: &mut JsRuntime) -> Rc<Timers> {
    runtime.op_state().borrow().borrow::<Rc<Timers>>().clone()
}

/// Has timers fired by `fire` from now on.
pub(super) fn install(runtime: &mut JsRuntime, fire: v8::Global<v8::Function>) {
    *timers(runtime).fire.borrow_mut() = Some(fire);
}

/// Whether a timer is pending.
pub(super) fn is_any_pending(runtime: &mut JsRuntime) -> bool {
    !timers(runtime).due.borrow().is_empty()
}

/// Fires the timers that are due, and has the task of `cx` woken when the next one is.
///
/// `is_ended` says whether the host has ended the code that ran last: the rest is left for the next turn then, and the result is false.
pub(super) fn run(runtime: &mut JsRuntime, cx: &mut Context<'_>, is_ended: impl Fn() -> bool) -> bool {
    let timers = timers(runtime);
    let is_same = timers.waker.borrow().as_ref().is_some_and(|waker| waker.will_wake(cx.waker()));
    if !is_same {
        *timers.waker.borrow_mut() = Some(cx.waker().clone());
    }
    if timers.due.borrow().is_empty() {
        return true;
    }
    // What these set is due later, however short.
    let now = Instant::now();
    timers.looked.set(Some(now));
    while let Some(id) = timers.take_due(now) {
        fire(runtime, &timers, id);
        if is_ended() {
            cx.waker().wake_by_ref();
            return false;
        }
    }
    timers.looked.set(None);
    let next = timers.due.borrow().first().map(|(at, ..)| *at);
    if let Some(next) = next {
        timers.wake_at(next, cx);
    }
    true
}

fn fire(runtime: &mut JsRuntime, timers: &Timers, id: i32) {
    let fire = timers.fire.borrow();
    let Some(fire) = &*fire else { return };
    deno_core::scope!(scope, runtime);
    v8::tc_scope!(scope, scope);
    let fire = v8::Local::new(scope, fire);
    let (this, id) = (v8::undefined(scope), v8::Integer::new(scope, id));
    // It reports what the callback throws; it has no result.
    fire.call(scope, this.into(), &[id.into()]);
}

/// Starts timer `id`, or starts it anew: it is due in `delay` milliseconds.
#[op2(fast)]
fn op_celld_timer_start(state: &mut OpState, #[smi] id: i32, delay: f64, is_late: bool) {
    state.borrow::<Rc<Timers>>().start(id, Duration::from_secs_f64(delay / 1000.0), is_late);
}

/// Stops timer `id`.
#[op2(fast)]
fn op_celld_timer_stop(state: &mut OpState, #[smi] id: i32) {
    state.borrow::<Rc<Timers>>().stop(id);
}
