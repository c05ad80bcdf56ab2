// The event that the running code belongs to. It travels in the continuation-preserved embedder data, so it survives every
// await, timer and callback; user code has no way to reach it.

import { core, internals } from "ext:core/mod.js";

const { getAsyncContext, setAsyncContext } = core;
const { DOMException } = core.loadExtScript("ext:deno_web/01_dom_exception.js");
const kEvent = Symbol("event");

/** The most timers that may be pending of an event or a cell, as on the platform. */
const MAX_TIMERS = 10_000;

/** One delivery to user code: a request, an RPC call, an alarm. */
class Event {
  /** @param {Cell | null} cell the cell that the event runs in, null for a stateless Worker */
  constructor(cell) {
    this.cell = cell;
    /** Promises, the answer among them, that keep the event going. */
    this.waiting = 0;
    /** What it counts in while it waits (main.js). */
    this.generation = 0;
    /** The request of a stateless event, and the number that the host knows it by. */
    this.request = null;
    this.id = 0;
    /** How to fail it when the host ends its code, if it is neither a public request nor a cell's. */
    this.fail = null;
    /** The event whose code is on the stack below this one's first piece: what ends the one ends the other. */
    this.caller = null;
    /** A public request has its answer. */
    this.isAnswered = false;
    /** The body of the answer, if code of the event makes it. */
    this.stream = null;
    /** The open sockets whose handlers are part of the event. */
    this.sockets = null;
    /** Milliseconds of processor time; the host adds to it. */
    this.cpu = 0;
    /** Timers that are pending and that have fired, unless they count for the cell. */
    this.timers = 0;
    this.firedTimers = 0;
  }
}

/** The embedder data of an event's code. It inherits nothing; a literal without a prototype would be a dictionary, which is slow. */
function AsyncContext(event) {
  this[kEvent] = event;
}
AsyncContext.prototype = Object.freeze({ __proto__: null });

/** Runs `f(a, b, c)` as part of `event`; what it starts stays part of it. */
function runInEvent(event, f, a, b, c) {
  const previous = getAsyncContext();
  setAsyncContext(new AsyncContext(event));
  try {
    return f(a, b, c);
  } finally {
    setAsyncContext(previous);
  }
}

/** @returns {Event | null} */
function currentEvent() {
  return getAsyncContext()?.[kEvent] ?? null;
}

internals.celldSetTimerCount(() => {
  const event = currentEvent();
  if (event === null) return null;
  const owner = event.cell ?? event;
  if (owner.timers >= MAX_TIMERS) {
    throw new DOMException(
      `You have exceeded the number of active timeouts you may set. max active timeouts: ${MAX_TIMERS}, ` +
        `current active timeouts: ${owner.timers}, finished timeouts: ${owner.firedTimers}`,
      "QuotaExceededError",
    );
  }
  owner.timers++;
  return owner;
});

/** Forgets the event that code was part of when the host ended it: its `finally` did not run. */
function leaveEvent() {
  setAsyncContext(undefined);
}

export { currentEvent, Event, kEvent, leaveEvent, runInEvent };
