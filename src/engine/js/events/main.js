// Where the host enters JavaScript: one function for each kind of event. Loaded into the startup snapshot.

import { core, internals } from "ext:core/mod.js";
import {
  op_event_failed,
  op_report_uncaught,
  op_respond_error,
  op_respond_payload,
} from "ext:core/ops";
import "ext:celld_events/tick.js";
import { deliverAlarm } from "ext:celld_events/alarms.js";
import {
  allCells,
  cellFor,
  deliverNext,
  evict,
  install as installCells,
  loseHeld,
  releaseHeld,
  resetCell,
} from "ext:celld_events/cell.js";
import { currentEvent, Event, kEvent, leaveEvent, runInEvent } from "ext:celld_events/context.js";
import { makeId } from "ext:celld_events/durable_id.js";
import {
  hasEntrypoint,
  installEntrypoints,
  makeExports,
  makeService,
  startCall,
  startFetch as startEntryFetch,
} from "ext:celld_events/entrypoints.js";
import { describeError } from "ext:celld_events/errors.js";
import { assertResponse, fromInnerRequest, HostRequest, respond } from "ext:celld_events/request.js";
import { deliverSocket, installSockets } from "ext:celld_events/sockets.js";
import { DurableObjectState, setDeletesAlarm } from "ext:celld_events/state.js";
import { callExport, count, isHeld, NOBODY, thrownBy } from "ext:celld_events/rpc_exports.js";
import { noteBody, silence, silenceAll } from "ext:celld_events/talkers.js";
import { callInCell, DurableObjectNamespace, fetchInCell, setRpcBase } from "ext:celld_events/stub.js";
import { configure as configureSockets } from "ext:celld_socket/websocket.js";
import { DurableObject, setEnv, setExports, setWaitUntil, WorkerEntrypoint } from "ext:celld_platform/cloudflare_workers.js";

/** Events of stateless code that have not been answered or still have work behind them. */
let live = 0;
/** How often all of them were given up: those of before are not counted in `live` any more. */
let generation = 0;

function hold(event) {
  if (event.waiting++ === 0) {
    event.generation = generation;
    live++;
  }
}

function finish(event) {
  if (--event.waiting === 0 && event.generation === generation) live--;
}

installSockets(hold, finish);

/** `ctx` of a stateless handler. */
class ExecutionContext {
  #event;
  #props;

  constructor(event, props) {
    this.#event = event;
    this.#props = props;
  }

  get props() {
    return this.#props;
  }

  get exports() {
    return exportsOfScript;
  }

  waitUntil(promise) {
    if (arguments.length === 0) throw notAPromise();
    if (!(#event in this)) throw new TypeError("Illegal invocation");
    waitUntil(this.#event, promise);
  }

  // The platform forwards to an origin when the Worker throws; there is none behind celld.
  passThroughOnException() {}
}

Object.defineProperty(ExecutionContext.prototype, Symbol.toStringTag, { value: "ExecutionContext", configurable: true });

const notAPromise = () =>
  new TypeError("Failed to execute 'waitUntil' on 'ExecutionContext': parameter 1 is not of type 'Promise'.");

function waitUntil(event, promise) {
  event.waiting++;
  Promise.resolve(promise).then(
    () => finish(event),
    (error) => {
      finish(event);
      op_report_uncaught(error, "waitUntil");
    },
  );
}

let env = {};
let exportsOfScript = {};
let handleFetch = null;

/** Builds `env`, before the script is evaluated: modules may read it while they are. Services follow when the exports are known. */
function prepare(config) {
  env = {};
  for (const { name, kind, value } of config.bindings) {
    if (kind === "durable_object") env[name] = new DurableObjectNamespace(value);
    // The host makes objects without a prototype.
    else if (kind !== "service") env[name] = JSON.parse(JSON.stringify(value));
  }
  setEnv(env);
  setDeletesAlarm(config.deleteAllDeletesAlarm);
  if (config.populateProcessEnv) populateProcessEnv(config.bindings);
}

/** Completes `env` and checks that the script exports what its configuration names. Throws an error that names what is missing. */
function install(namespace, config) {
  installEntrypoints({
    name: config.script,
    namespace,
    env,
    makeContext: (event, props) => new ExecutionContext(event, props),
    hold,
    finish,
  });
  for (const { name, kind, value } of config.bindings) {
    if (kind === "service") env[name] = serviceOf(name, value, config.main);
  }
  exportsOfScript = makeExports(
    namespace,
    (name) => config.classes.includes(name) ? new DurableObjectNamespace(name) : null,
  );
  setExports(exportsOfScript);
  setWaitUntil((promise) => {
    const event = currentEvent();
    if (event === null) throw new Error("waitUntil() can only be called while an event is handled.");
    if (event.cell !== null) event.cell.state.waitUntil(promise);
    else waitUntil(event, promise);
  });
  setRpcBase(DurableObject);
  configureSockets(config.sockets);

  const classes = [];
  for (const className of config.classes) {
    const Class = namespace[className];
    if (typeof Class !== "function") {
      throw new Error(
        `The configuration names the Durable Object class ${className}, but ${config.main} does not export ` +
          (Class === undefined ? "it." : "a class of that name."),
      );
    }
    classes.push([className, Class]);
  }
  installCells(classes, (cell) => ({
    state: new DurableObjectState(cell, makeId(cell.className, cell.id, cell.name), {}, exportsOfScript),
    env,
  }));

  handleFetch = fetchHandler(namespace.default);
  const handlers = ["fetch", "scheduled", "queue", "email", "tail", "trace", "test"];
  const handlesNothing = handleFetch === null && !handlers.some((name) => typeof namespace.default?.[name] === "function");
  if (handlesNothing && classes.length === 0) {
    throw new Error(
      `${config.main} exports no event handlers: it needs a default export with a fetch() function, or a class that a ` +
        "binding names.",
    );
  }
}

/** `env.NAME` of a service binding. The host checks the entrypoints of other Workers once all of them have started. */
function serviceOf(name, { script, entrypoint, props }, main) {
  // A plain object, whatever the host made it of.
  props = JSON.parse(JSON.stringify(props));
  if (script !== null) return makeService(script, entrypoint, props, false);
  if (!hasEntrypoint(entrypoint)) {
    throw new Error(
      `The service binding ${name} names the entrypoint ${entrypoint}, but ${main} does not export a class of that name ` +
        "that extends WorkerEntrypoint.",
    );
  }
  return makeService(null, entrypoint, props, false);
}

/** `process.env` of `node:process`: the variables, those that are not text as JSON. */
function populateProcessEnv(bindings) {
  const { env: variables } = core.loadExtScript("ext:deno_os/30_os.js");
  for (const { name, kind, value } of bindings) {
    if (kind === "json") variables.set(name, typeof value === "string" ? value : JSON.stringify(value));
  }
}

function fetchHandler(entry) {
  if (typeof entry === "function") {
    if (entry.prototype instanceof WorkerEntrypoint) {
      return (request, context) => new entry(context, env).fetch(request, env, context);
    }
    throw new Error("The default export is a function or class; it must be an object of handlers or a WorkerEntrypoint.");
  }
  if (typeof entry?.fetch === "function") return (request, context) => entry.fetch(request, env, context);
  return null;
}

/** Public requests whose handler has returned a promise that has not settled, by the host's number. */
const pending = new Map();

/** A request of the public listener. */
function dispatchFetch(id, method, url, hasBody) {
  const event = new Event(null);
  hold(event);
  runInEvent(event, startFetch, event, new HostRequest(id, method, url, hasBody), id);
}

function startFetch(event, inner, id) {
  event.request = inner;
  event.id = id;
  let result;
  try {
    if (handleFetch === null) throw new TypeError("Handler does not export a fetch() function.");
    result = handleFetch(fromInnerRequest(inner, "immutable"), new ExecutionContext(event, {}));
  } catch (error) {
    fail(id, event, error);
    return;
  }
  if (typeof result?.then === "function") {
    pending.set(id, event);
    Promise.resolve(result).then((response) => answer(id, event, response), (error) => fail(id, event, error));
  } else {
    answer(id, event, result);
  }
}

function answer(id, event, response) {
  pending.delete(id);
  try {
    assertResponse(response);
    // Work behind the response may still look at the request, which the host is about to forget.
    if (event.waiting > 1) event.request.materialize();
    noteBody(event, response);
    respond(id, response, true);
    event.isAnswered = true;
  } catch (error) {
    fail(id, event, error);
    return;
  }
  finish(event);
}

function fail(id, event, error) {
  pending.delete(id);
  event.isAnswered = true;
  op_event_failed(id, error);
  finish(event);
}

/** A `fetch` for a cell of this isolate from elsewhere: another thread, another isolate, another node. */
function deliverFetch(id, className, cellId, name, method, url, hasBody) {
  const inner = new HostRequest(id, method, url, hasBody);
  const cell = cellFor(className, cellId, name);
  fetchInCell(
    cell,
    () => {
      inner.materialize();
      return fromInnerRequest(inner, "immutable");
    },
    (response) => {
      try {
        respond(id, response);
      } catch (error) {
        op_respond_error(id, describeError(error));
      }
    },
    (error) => answerWith(id, true)(thrownBy(NOBODY, error)),
  );
}

/** The outcome of an RPC call, or what a `fetch` handler has thrown, on its way to another isolate. */
function answerWith(id, isThrown) {
  return ({ bytes, caps, rids }) => op_respond_payload(id, bytes, caps, rids ?? [], isThrown);
}

const payloadOf = (bytes, caps, rids) => bytes === undefined ? null : { bytes, caps: caps ?? null, rids };

/** An RPC call for a cell of this isolate from elsewhere; without `bytes` a property is asked for. */
function deliverRpc(id, className, cellId, name, path, bytes, caps, rids) {
  const payload = payloadOf(bytes, caps, rids);
  callInCell(cellFor(className, cellId, name), path, payload, answerWith(id, false), answerWith(id, true));
}

/** A `fetch` from another Worker for an entrypoint of this one. */
function deliverEntryFetch(id, entrypoint, props, method, url, hasBody) {
  const inner = new HostRequest(id, method, url, hasBody);
  startEntryFetch(
    entrypoint,
    core.deserialize(props),
    () => {
      inner.materialize();
      return fromInnerRequest(inner, "immutable");
    },
    (response) => respond(id, response),
    answerWith(id, true),
  );
}

/** An RPC call from another Worker for an entrypoint of this one. */
function deliverEntryRpc(id, entrypoint, props, path, bytes, caps, rids) {
  const payload = payloadOf(bytes, caps, rids);
  startCall(entrypoint, core.deserialize(props), path, payload, answerWith(id, false), answerWith(id, true));
}

/** An RPC call from elsewhere for something that this isolate has handed out. */
function deliverExport(id, target, path, bytes, caps, rids) {
  callExport(target, path, payloadOf(bytes, caps, rids), answerWith(id, false), answerWith(id, true));
}

/** Waits for no event any more. */
function giveUp() {
  pending.clear();
  generation++;
  live = 0;
}

/** Fails a public request, and forgets what its event waits for. */
function abandon(event, error) {
  if (event.isAnswered) op_event_failed(event.id, error);
  else fail(event.id, event, error);
  if (event.waiting > 0) {
    event.waiting = 1;
    finish(event);
  }
}

/**
 * The host has ended the code that ran; the event that it belonged to fails. False when it was ended in a microtask: V8 has then
 * dropped all that were waiting, so no event of this isolate may hope to go on. Its active cells are reset here, the rest is the
 * host's to fail.
 */
function terminated(message, messageOfCell) {
  const event = currentEvent();
  leaveEvent();
  const error = new Error(message);
  const errorOfCell = new Error(messageOfCell);
  if (event === null) {
    for (const cell of [...allCells()]) if (cell.active > 0) resetCell(cell, errorOfCell);
    silenceAll(error);
    giveUp();
    return false;
  }
  for (let ended = event; ended !== null; ended = ended.caller) {
    if (ended.cell !== null) resetCell(ended.cell, errorOfCell);
    else if (ended.fail !== null) ended.fail(error);
    else if (ended.request !== null) abandon(ended, error);
    silence(ended, error);
  }
  return true;
}

/**
 * Nothing is left that could go on by itself: fails the requests that still wait. A cell may wait for its next event, and whoever
 * calls it with it. True when everything else that waits has hung too: calls of entrypoints, whose failure is the host's.
 */
function hung(message) {
  for (const cell of allCells()) if (cell.active > 0) return false;
  // Whoever holds a function of ours may call it.
  if (isHeld()) return false;
  for (const [id, event] of [...pending]) fail(id, event, new Error(message));
  giveUp();
  return true;
}

/** How many stateless events are not finished. */
function liveEvents() {
  return live;
}

internals.celldEvents = {
  countExport: count,
  deliverAlarm,
  deliverEntryFetch,
  deliverEntryRpc,
  deliverExport,
  deliverFetch,
  deliverNext,
  deliverRpc,
  deliverSocket,
  dispatchFetch,
  evict,
  hasEntrypoint,
  eventKey: kEvent,
  hung,
  install,
  liveEvents,
  loseHeld,
  prepare,
  releaseHeld,
  terminated,
};
