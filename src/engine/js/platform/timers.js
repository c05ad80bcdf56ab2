// The timers under setTimeout, those of `node:timers` and AbortSignal.timeout: which one is due is kept by the host (timers.rs), its
// callback here. Evaluated before everything that sets timers, and put in the place of deno_core's own, whose lists do not survive it
// when the host ends the code that works on them.

import { core, internals, primordials } from "ext:core/mod.js";
import {
  op_celld_timer_start, op_celld_timer_stop, op_set_captured_bootstrap, op_timer_track, op_timer_untrack,
} from "ext:core/ops";

const {
  MapPrototypeDelete, MapPrototypeGet, MapPrototypeSet, MathMax, MathMin, MathTrunc, ObjectAssign, ObjectFreeze, ReflectApply, SafeMap,
} = primordials;
const { runNextTicks } = core;

/** The longest time in milliseconds: 25 days. */
const LONGEST = 2 ** 31 - 1;

/** The timers that are pending, by number. */
const pending = new SafeMap();
let lastId = 0;

/** Counts one more timer, and throws if there are too many. Returns what it counts for: it has `timers` and `firedTimers`. Null: nothing. */
let countTimer = () => null;

internals.celldSetTimerCount = (count) => {
  countTimer = count;
};

class Timer {
  constructor(callback, delay, args, repeats) {
    this._timerId = ++lastId;
    this.callback = callback;
    this.delay = delay;
    this.args = args;
    this.repeats = repeats;
    this.isCancelled = false;
    /** What it is counted for, while it is. */
    this.owner = undefined;
  }
}

/** `isLate`: the time counts from when the timers that are due now were looked up. */
function start(timer, isLate) {
  const id = timer._timerId;
  if (timer.owner === undefined) timer.owner = countTimer();
  MapPrototypeSet(pending, id, timer);
  // The evaluation of modules waits for timers that deno_core knows of.
  op_timer_track(id, timer.repeats, false);
  op_celld_timer_start(id, timer.delay, isLate);
}

/** Counts `timer` no longer. */
function uncount(timer, isFired) {
  const { owner } = timer;
  timer.owner = undefined;
  if (owner == null) return;
  owner.timers--;
  if (isFired) owner.firedTimers++;
}

/** `delay`, whatever it is, as whole milliseconds. */
function milliseconds(delay) {
  delay = +delay;
  return delay > 0 ? MathTrunc(MathMin(delay, LONGEST)) : 0;
}

function createTimer(callback, after, args, repeats) {
  after = milliseconds(after);
  // An interval of nothing would keep the thread busy.
  const timer = new Timer(callback, repeats ? MathMax(after, 1) : after, args, !!repeats);
  start(timer, false);
  return timer;
}

function cancelTimer(timer) {
  timer.isCancelled = true;
  uncount(timer, false);
  if (MapPrototypeDelete(pending, timer._timerId)) {
    op_timer_untrack(timer._timerId);
    op_celld_timer_stop(timer._timerId);
  }
}

/** Begins anew, even when it is over. */
function refreshTimer(timer) {
  start(timer, false);
}

/** Whether a timer counts as pending makes no difference here: nothing ends when none is. */
function ignore() {}

const ours = {
  __proto__: null,
  createTimer,
  cancelTimer,
  refreshTimer,
  refTimer: ignore,
  unrefTimer: ignore,
  createSystemTimer: (callback, after) => createTimer(callback, after, undefined, false),
  createSystemInterval: (callback, interval) => createTimer(callback, interval, undefined, true),
};
// `core` is frozen. This is what the scripts of Deno's crates see of it, now and when they are loaded later.
globalThis.__bootstrap.core = ObjectFreeze(ObjectAssign({ __proto__: null }, core, ours));
op_set_captured_bootstrap({
  __proto__: null,
  primordials,
  internals,
  core: ObjectAssign({ __proto__: null }, core, ours, { ops: ObjectAssign({ __proto__: null }, core.ops) }),
});

/** Runs a timer that is due, and what that makes ready. */
internals.celldFireTimer = function fire(id) {
  const timer = MapPrototypeGet(pending, id);
  if (timer === undefined) return;
  MapPrototypeDelete(pending, id);
  op_timer_untrack(id);
  if (!timer.repeats) uncount(timer, true);
  try {
    if (timer.args === undefined) timer.callback();
    else ReflectApply(timer.callback, timer, timer.args);
  } catch (error) {
    core.__reportException(error);
  }
  if (timer.repeats && !timer.isCancelled && MapPrototypeGet(pending, id) === undefined) start(timer, true);
  runNextTicks();
};
