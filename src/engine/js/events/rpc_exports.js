// The receiving side of RPC: what a caller may reach on an object, and the table of functions and targets that were handed out.

import { op_rpc_here } from "ext:core/ops";
import { begin, deliver, end, GONE, throughGate } from "ext:celld_events/cell.js";
import { Event, runInEvent } from "ext:celld_events/context.js";
import { decode, encode, encodeThrown } from "ext:celld_events/rpc_payload.js";
import { RpcTarget } from "ext:celld_platform/cloudflare_workers.js";

/** Methods that the platform calls itself, or that mean something else on a stub. */
const RESERVED = new Set(["alarm", "connect", "constructor", "dup", "fetch", "webSocketClose", "webSocketError", "webSocketMessage"]);

/** Errors of the platform: they do not come from the object. */
const refusals = new WeakSet();

function refusal(message) {
  const error = new TypeError(message);
  refusals.add(error);
  return error;
}

const absent = (name) => refusal(`The RPC receiver does not implement the method "${name}".`);

/** The member of an entrypoint or target: what its class has, never what the instance has. */
function memberOfClass(instance, name) {
  if (RESERVED.has(name)) throw refusal(`'${name}' is a reserved method and cannot be called over RPC.`);
  if (!Object.hasOwn(instance, name)) {
    for (let proto = Object.getPrototypeOf(instance); proto && !isBase(proto); proto = Object.getPrototypeOf(proto)) {
      const property = Object.getOwnPropertyDescriptor(proto, name);
      if (property !== undefined) return property.get ? property.get.call(instance) : property.value;
    }
  }
  throw absent(name);
}

const bases = new Set([Object.prototype, RpcTarget.prototype]);

/** Members of this class are the platform's and not for callers. */
function addBase(Class) {
  bases.add(Class.prototype);
}

const isBase = (proto) => bases.has(proto);

/** Walks `path` from `root`; `isEntry` when the root is an entrypoint. Gives the last value and the object that it is a member of. */
function resolve(root, path, isEntry) {
  let receiver;
  let value = root;
  for (let i = 0; i < path.length; i++) {
    const name = path[i];
    receiver = value;
    if ((i === 0 && isEntry) || value instanceof RpcTarget) {
      value = memberOfClass(receiver, name);
    } else if (value !== null && (typeof value === "object" || typeof value === "function") && canSee(value, name)) {
      value = value[name];
    } else {
      throw absent(name);
    }
  }
  return { receiver, value };
}

/** Members of a plain object or a function are its own ones; a stub has whatever is asked of it. */
function canSee(value, name) {
  return Object.hasOwn(value, name) || stubKind.isStub(value);
}

let stubKind = { isStub: () => false };

function setStubKind(kind) {
  stubKind = kind;
}

/** Does what a caller asks of `root`. `args` is null for a property. May give a promise. */
function perform(root, path, args, isEntry) {
  const { receiver, value } = resolve(root, path, isEntry);
  if (args === null) return value;
  if (typeof value !== "function") {
    throw refusal(path.length === 0 ? "The RPC target is not a function." : `"${path.at(-1)}" is not a function.`);
  }
  return Reflect.apply(value, receiver, args);
}

/** Runs one call and hands its outcome on as payloads. `finish` is called once, before the outcome is known to anybody. */
function run(owner, root, path, payload, isEntry, resolve, reject, finish) {
  let received = [];
  const over = () => {
    // The callee keeps the stubs it has duplicated.
    for (const stub of received) stub[Symbol.dispose]?.();
    finish();
  };
  const failed = (error) => {
    const thrown = thrownBy(owner, error);
    over();
    reject(thrown);
  };
  const done = (value) => {
    let result;
    try {
      result = encode(value, owner);
    } catch (error) {
      failed(error);
      return;
    }
    over();
    resolve(result);
  };
  let result;
  try {
    let args = null;
    if (payload !== null) ({ value: args, received } = decode(payload));
    result = perform(root, path, args, isEntry);
  } catch (error) {
    failed(error);
    return;
  }
  // No stub is a promise, but the promise of another call is one.
  if (typeof result?.then === "function") Promise.resolve(result).then(done, failed);
  else done(result);
}

/** The payload of what the owner's code has thrown. */
function thrownBy(owner, error) {
  // What the platform writes onto an error that a caller gets, and onto one that leaves a Durable Object. What is no object becomes an
  // error only on the way.
  if (typeof error !== "object" || error === null) return encodeThrown(new Error(String(error)), owner, { remote: true });
  const leaves = owner.cell !== null && !refusals.has(error);
  const marks = leaves ? { durableObjectId: owner.cell.id, remote: true } : { remote: true };
  try {
    return encodeThrown(error, owner, error instanceof DOMException ? {} : marks);
  } catch {
    // Something in it cannot be cloned.
    return encodeThrown(new Error(String(error.message ?? error)), owner, marks);
  }
}

/** Whoever hands out capabilities: a cell, or the event of a stateless Worker. */
class Owner {
  constructor(cell, event) {
    this.cell = cell;
    this.event = event;
  }

  /** Runs `task` where the owner's code runs; `fail(error)` instead if that place is gone. */
  enter(task, fail) {
    if (this.cell !== null) deliver(this.cell, () => task(), fail);
    else runInEvent(this.event ?? new Event(null), task);
  }

  hold() {
    if (this.cell !== null) begin(this.cell);
  }

  release() {
    if (this.cell !== null && this.cell.phase !== GONE) end(this.cell);
  }

  /** Hands on an outcome, not before what it can reveal is durable. */
  leave(value, resolve, reject) {
    if (this.cell !== null && this.cell.handle >= 0) throughGate(this.cell, value, resolve, (error) => reject(encodeThrown(error, NOBODY)));
    else resolve(value);
  }
}

const NOBODY = new Owner(null, null);

function ownerOf(event) {
  return event === null ? NOBODY : new Owner(event.cell, event);
}

const exported = new Map();
let lastId = 0;
let here = null;

/** Where this isolate is: its shard and its serial number. */
function address(id) {
  here ??= op_rpc_here();
  return [here[0], here[1], id];
}

function isHere(at) {
  here ??= op_rpc_here();
  return at[0] === here[0] && at[1] === here[1];
}

/** Hands `target` out once; its owner stays alive until it is released. */
function exportTarget(target, owner) {
  const id = ++lastId;
  exported.set(id, { target, owner, holders: 1 });
  owner.hold();
  return address(id);
}

/** One holder more (`change` 1) or less (-1). The last one disposes of the target. */
function count(id, change) {
  const entry = exported.get(id);
  if (entry === undefined) return;
  entry.holders += change;
  if (entry.holders > 0) return;
  exported.delete(id);
  const { target, owner } = entry;
  owner.enter(() => {
    try {
      target[Symbol.dispose]?.();
    } finally {
      owner.release();
    }
  }, () => owner.release());
}

const gone = () => Object.assign(new Error("The destination of this RPC stub is gone."), { remote: true });

/** A call of what was handed out as `id`, with payloads as its outcome. */
function callExport(id, path, payload, resolve, reject) {
  const entry = exported.get(id);
  const refuse = (error) => reject(encodeThrown(error, NOBODY));
  if (entry === undefined || entry.owner.cell?.phase === GONE) {
    refuse(gone());
    return;
  }
  const { target, owner } = entry;
  const cell = owner.cell;
  let open = true;
  const fail = (error) => {
    if (!open) return;
    open = false;
    cell?.inflight.delete(fail);
    owner.release();
    refuse(error);
  };
  owner.hold();
  cell?.inflight.add(fail);
  owner.enter(() => {
    run(owner, target, path, payload, false, (value) => {
      if (open) owner.leave(value, resolve, reject);
      open = false;
    }, (thrown) => {
      if (open) owner.leave(thrown, reject, reject);
      open = false;
    }, () => {
      cell?.inflight.delete(fail);
      if (open) owner.release();
    });
  }, fail);
}

/** Whether anything that was handed out has a holder. */
function isHeld() {
  return exported.size > 0;
}

export { addBase, callExport, count, exportTarget, isHeld, isHere, NOBODY, Owner, ownerOf, run, setStubKind, thrownBy };
