// Where the host enters JavaScript: one function for each kind of event. Loaded into the startup snapshot.

import { core, internals } from "ext:core/mod.js";
import {
  op_event_failed,
  op_report_uncaught,
  op_respond_error,
  op_respond_value,
} from "ext:core/ops";
import "ext:celld_events/tick.js";
import { deliverAlarm } from "ext:celld_events/alarms.js";
import { cellFor, cells, deliverNext, evict, install as installCells, resetCell } from "ext:celld_events/cell.js";
import { currentEvent, Event, leaveEvent, runInEvent } from "ext:celld_events/context.js";
import { makeId } from "ext:celld_events/durable_id.js";
import { describeError } from "ext:celld_events/errors.js";
import { assertResponse, fromInnerRequest, HostRequest, respond } from "ext:celld_events/request.js";
import { deliverSocket, installSockets } from "ext:celld_events/sockets.js";
import { DurableObjectState } from "ext:celld_events/state.js";
import { callInCell, DurableObjectNamespace, fetchInCell, serialize, setRpcBase } from "ext:celld_events/stub.js";
import { configure as configureSockets } from "ext:celld_socket/websocket.js";
import { DurableObject, setEnv, setWaitUntil, WorkerEntrypoint } from "ext:celld_platform/cloudflare_workers.js";

/** Events of stateless code that have not been answered or still have work behind them. */
let live = 0;

function hold(event) {
  if (event.waiting++ === 0) live++;
}

function finish(event) {
  if (--event.waiting === 0) live--;
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

  waitUntil(promise) {
    waitUntil(this.#event, promise);
  }

  // The platform forwards to an origin when the Worker throws; there is none behind celld.
  passThroughOnException() {}
}

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
let handleFetch = null;

/** Builds `env` and checks that the script exports what its configuration names. Throws an error that names what is missing. */
function install(namespace, config) {
  env = {};
  for (const { name, kind, value } of config.bindings) {
    env[name] = kind === "durable_object" ? new DurableObjectNamespace(value) : value;
  }
  setEnv(env);
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
    state: new DurableObjectState(cell, makeId(cell.className, cell.id, cell.name), undefined),
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
  if (config.populateProcessEnv) populateProcessEnv();
}

/** `process.env` of `node:process`: the variables that are text, as the platform fills it. */
function populateProcessEnv() {
  const { env: variables } = core.loadExtScript("ext:deno_os/30_os.js");
  for (const [name, value] of Object.entries(env)) {
    if (typeof value === "string") variables.set(name, value);
  }
}

function fetchHandler(entry) {
  if (typeof entry === "function") {
    if (entry.prototype instanceof WorkerEntrypoint) {
      return (request, context) => new entry(context, env).fetch(request);
    }
    throw new Error("The default export is a function or class; it must be an object of handlers or a WorkerEntrypoint.");
  }
  if (typeof entry?.fetch === "function") return (request, context) => entry.fetch(request, env, context);
  return null;
}

/** A request of the public listener. */
function dispatchFetch(id, method, url, hasBody) {
  const event = new Event(null);
  event.waiting = 1;
  live++;
  runInEvent(event, startFetch, event, new HostRequest(id, method, url, hasBody), id);
}

function startFetch(event, inner, id) {
  event.request = inner;
  event.id = id;
  let result;
  try {
    if (handleFetch === null) throw new TypeError("Handler does not export a fetch() function.");
    result = handleFetch(fromInnerRequest(inner, "immutable"), new ExecutionContext(event, undefined));
  } catch (error) {
    fail(id, event, error);
    return;
  }
  if (typeof result?.then === "function") {
    Promise.resolve(result).then((response) => answer(id, event, response), (error) => fail(id, event, error));
  } else {
    answer(id, event, result);
  }
}

function answer(id, event, response) {
  try {
    assertResponse(response);
    // Work behind the response may still look at the request, which the host is about to forget.
    if (event.waiting > 1) event.request.materialize();
    respond(id, response);
  } catch (error) {
    fail(id, event, error);
    return;
  }
  finish(event);
}

function fail(id, event, error) {
  op_event_failed(id, error);
  finish(event);
}

/** A `fetch` for a cell of this isolate from elsewhere: another thread, another isolate, another node. */
function deliverFetch(id, className, cellId, name, method, url, hasBody) {
  const inner = new HostRequest(id, method, url, hasBody);
  fetchInCell(
    cellFor(className, cellId, name),
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
    (error) => op_respond_error(id, describeError(error)),
  );
}

/** An RPC call for a cell of this isolate from elsewhere. */
function deliverRpc(id, className, cellId, name, method, args) {
  callInCell(
    cellFor(className, cellId, name),
    method,
    () => core.deserialize(args),
    (value) => {
      try {
        op_respond_value(id, serialize(value));
      } catch (error) {
        op_respond_error(id, describeError(error));
      }
    },
    (error) => op_respond_error(id, describeError(error)),
  );
}

/**
 * The host has ended the code that ran; the event that it belonged to fails. False when it was ended in a microtask: V8 has then
 * dropped all that were waiting, so no event of this isolate may hope to go on. Its active cells are reset here, the rest is the
 * host's to fail.
 */
function terminated(message) {
  const event = currentEvent();
  leaveEvent();
  const error = new Error(message);
  if (event === null) {
    for (const cell of [...cells.values()]) if (cell.active > 0) resetCell(cell, error);
    return false;
  }
  if (event.cell !== null) resetCell(event.cell, error);
  else if (event.request !== null && event.waiting > 0) fail(event.id, event, error);
  return true;
}

/** How many stateless events are not finished. */
function liveEvents() {
  return live;
}

internals.celldEvents = {
  deliverAlarm,
  deliverFetch,
  deliverNext,
  deliverRpc,
  deliverSocket,
  dispatchFetch,
  evict,
  install,
  liveEvents,
  terminated,
};
