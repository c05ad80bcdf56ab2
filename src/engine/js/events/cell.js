// The cells of this isolate: one record for each, the queue in front of it, and the order in which deliveries reach user code.
//
// Invariant: a delivery starts only when the microtask queue is empty. Storage operations settle in microtasks, so between two
// of them no other event of the same cell can run, which is what the platform's input gate promises.

import { core, primordials } from "ext:core/mod.js";
import {
  op_cell_acquire,
  op_cell_active,
  op_cell_hold,
  op_cell_idle,
  op_cell_next_released,
  op_cell_reset,
  op_delivery_queued,
  op_report_uncaught,
} from "ext:core/ops";
import { Event, runInEvent } from "ext:celld_events/context.js";
import { toError } from "ext:celld_events/errors.js";
import { closeSocket } from "ext:celld_socket/websocket.js";

const { SafeMap } = primordials;
const { getAsyncContext, setAsyncContext } = core;
const drain = core.__drainNextTickAndMacrotasks;

const STARTING = 0;
const READY = 1;
const GONE = 2;

/** The code by which a client learns that it may connect again. */
const RESTART = 1012;

/** Every cell whose instance lives in this isolate, by class and by ID. */
const cells = new SafeMap();

/** Deliveries that may run as soon as the microtask queue is empty, oldest first. */
const ready = [];
let readyHead = 0;

/** The record of a cell that is here; undefined if it is not. */
function findCell(className, id) {
  return cells.get(className)?.get(id);
}

function* allCells() {
  for (const ofClass of cells.values()) yield* ofClass.values();
}

class Cell {
  constructor(className, id, name) {
    this.className = className;
    this.id = id;
    this.name = name;
    /** Index of the cell's slot in Rust; -1 until the cell is acquired. */
    this.handle = -1;
    this.phase = STARTING;
    this.instance = null;
    this.state = null;
    /** How many `blockConcurrencyWhile` callbacks keep other events out. */
    this.blocked = 0;
    /** Deliveries that wait for the constructor or for `blocked` to reach zero. */
    this.queue = [];
    /** Deliveries and `waitUntil` promises that have not settled. */
    this.active = 0;
    /** `fetch` deliveries that have not settled or not started. */
    this.fetches = 0;
    /** The functions that fail what is in flight when the cell is reset. */
    this.inflight = new Set();
    /** The open sockets whose handlers run in the instance. */
    this.sockets = new Set();
    /** The functions that break bodies which the instance makes. */
    this.bodies = new Set();
    /** Timers that are pending and that have fired. */
    this.timers = 0;
    this.firedTimers = 0;
    /** The objects of parked sockets that the instance has seen. */
    this.parked = null;
    /** The alarm handler runs, and has not said when the next alarm is. */
    this.firing = false;
    /** Milliseconds of processor time since the last delivery; the host adds to it. */
    this.cpu = 0;
    /** What sockets send while the output gate is closed, oldest first; null while it is open. */
    this.outbox = null;
  }

  /** Also while the constructor runs, which may set an alarm. */
  hasAlarmHandler() {
    return typeof classes.get(this.className)?.prototype?.alarm === "function";
  }
}

/** What runs inside a cell, and how to fail it when the cell goes away first. */
class Delivery {
  constructor(cell, run, fail) {
    this.cell = cell;
    this.run = run;
    this.fail = fail;
  }
}

function push(delivery) {
  ready.push(delivery);
  op_delivery_queued();
}

/** Hands `run(cell)` to the cell once it is ready; `fail(error)` is called instead if it never will be. */
function deliver(cell, run, fail) {
  const delivery = new Delivery(cell, run, fail);
  if (cell.phase === READY && cell.blocked === 0 && cell.queue.length === 0) push(delivery);
  else cell.queue.push(delivery);
}

/** Runs the oldest delivery. Called by the host with an empty microtask queue, once for each `op_delivery_queued`. */
function deliverNext() {
  const delivery = ready[readyHead];
  ready[readyHead++] = undefined;
  if (readyHead === ready.length) {
    ready.length = 0;
    readyHead = 0;
  }
  const cell = delivery.cell;
  if (cell.phase === GONE) {
    delivery.fail(gone());
    return;
  }
  if (cell.phase === STARTING || cell.blocked > 0) {
    cell.queue.push(delivery);
    return;
  }
  cell.cpu = 0;
  runInEvent(new Event(cell), delivery.run, cell);
}

function gone() {
  const error = new Error("The Durable Object was reset while this event waited for it.");
  error.retryable = true;
  error.durableObjectReset = true;
  return error;
}

function openGate(cell) {
  const queue = cell.queue;
  cell.queue = [];
  for (let i = 0; i < queue.length; i++) push(queue[i]);
}

/** Counts an activity of the cell until the returned promise settles. */
function begin(cell) {
  if (cell.active++ === 0 && cell.handle >= 0) op_cell_active(cell.handle);
}

function end(cell) {
  if (--cell.active === 0 && cell.phase === READY) op_cell_idle(cell.handle);
}

/** What an output gate holds back, and the event that it is part of. */
class Held {
  constructor(value, resolve, reject) {
    this.value = value;
    this.resolve = resolve;
    this.reject = reject;
    this.context = getAsyncContext();
  }
}

/** All that is held back, by the number that the host knows it by. */
const held = [];

/** Calls `resolve(value)`, but not before every write that the value can reveal is durable; `reject(error)` if they never will be. */
function throughGate(cell, value, resolve, reject) {
  const number = op_cell_hold(cell.handle);
  if (number < 0) resolve(value);
  else held[number] = new Held(value, resolve, reject);
}

function takeHeld(number) {
  const taken = held[number];
  held[number] = undefined;
  return taken;
}

/** Lets go of whatever is held back by nothing any more, one after the other, with everything that follows from each in between. */
function releaseHeld() {
  for (let number = op_cell_next_released(); number >= 0; number = op_cell_next_released()) {
    const { value, resolve, context } = takeHeld(number);
    setAsyncContext(context);
    try {
      resolve(value);
    } catch (error) {
      // What is next must not wait for it.
      op_report_uncaught(error, "output gate");
    }
    setAsyncContext(undefined);
    drain();
  }
}

/** What is held back as `number` will never be let go. */
function loseHeld(number, message) {
  const { reject, context } = takeHeld(number);
  setAsyncContext(context);
  try {
    reject(new Error(message));
  } catch (error) {
    op_report_uncaught(error, "output gate");
  }
  setAsyncContext(undefined);
}

/** The constructor of `className`, set by `install`. */
const classes = new Map();
let makeState = null;

function install(exportsOf, stateFactory) {
  for (const [name, value] of exportsOf) classes.set(name, value);
  makeState = stateFactory;
}

/** The record of a cell of this shard, started if it is not there yet. */
function cellFor(className, id, name) {
  let cell = findCell(className, id);
  if (cell === undefined) {
    cell = new Cell(className, id, name);
    let ofClass = cells.get(className);
    if (ofClass === undefined) cells.set(className, ofClass = new SafeMap());
    ofClass.set(id, cell);
    start(cell);
  } else if (cell.name === undefined && name !== undefined) {
    cell.name = name;
  }
  return cell;
}

async function start(cell) {
  try {
    cell.handle = await op_cell_acquire(cell.className, cell.id);
  } catch (error) {
    drop(cell, error);
    return;
  }
  op_cell_active(cell.handle);
  cell.active++;
  const construct = () => {
    const Class = classes.get(cell.className);
    const { state, env } = makeState(cell);
    cell.state = state;
    cell.instance = new Class(state, env);
  };
  try {
    runInEvent(new Event(cell), construct);
  } catch (error) {
    op_report_uncaught(error, `constructor of ${cell.className}`);
    const handle = cell.handle;
    drop(cell, error);
    op_cell_reset(handle);
    return;
  }
  if (cell.phase === GONE) return;
  cell.phase = READY;
  end(cell);
  if (cell.blocked === 0) openGate(cell);
}

/** Takes the cell out of this isolate and fails whatever it was doing or about to do. */
function drop(cell, error) {
  cell.phase = GONE;
  cell.firing = false;
  const ofClass = cells.get(cell.className);
  if (ofClass.get(cell.id) === cell) ofClass.delete(cell.id);
  const queue = cell.queue;
  cell.queue = [];
  for (const delivery of queue) delivery.fail(error);
  const inflight = [...cell.inflight];
  cell.inflight.clear();
  for (const fail of inflight) fail(error);
  const bodies = [...cell.bodies];
  cell.bodies.clear();
  for (const fail of bodies) fail(error);
  const sockets = [...cell.sockets];
  cell.sockets.clear();
  for (const socket of sockets) closeSocket(socket, RESTART, "The Durable Object is restarting.");
}

/** The host's order to give a cell up: for a new deployment, for memory, or because its storage failed. */
function evict(className, id, reason) {
  const cell = findCell(className, id);
  if (cell === undefined) return;
  drop(cell, reason === undefined ? gone() : Object.assign(new Error(reason), { durableObjectReset: true }));
}

/** Runs `callback` while no event is delivered to the cell; settles as it does. */
async function exclusively(cell, callback) {
  cell.blocked++;
  begin(cell);
  try {
    return await callback();
  } finally {
    cell.blocked--;
    end(cell);
    if (cell.blocked === 0 && cell.phase === READY) openGate(cell);
  }
}

/** `ctx.blockConcurrencyWhile`: events wait until the callback has settled; a failure resets the cell. */
function blockConcurrencyWhile(cell, callback) {
  return exclusively(cell, async () => {
    try {
      return await callback();
    } catch (error) {
      resetCell(cell, error);
      throw error;
    }
  });
}

/** Throws the instance away; the next event constructs a new one from durable storage. */
function resetCell(cell, error) {
  if (cell.phase === GONE) return;
  const handle = cell.handle;
  const reset = toError(error);
  if (Object.isExtensible(reset)) Object.assign(reset, { remote: true, durableObjectReset: true });
  drop(cell, reset);
  op_cell_reset(handle);
}

export {
  allCells,
  begin,
  blockConcurrencyWhile,
  cellFor,
  deliver,
  deliverNext,
  end,
  evict,
  exclusively,
  findCell,
  GONE,
  install,
  loseHeld,
  releaseHeld,
  resetCell,
  throughGate,
};
