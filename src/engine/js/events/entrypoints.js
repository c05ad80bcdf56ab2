// Entrypoints of this script, reached from itself: service bindings to the own Worker, and `ctx.exports`.
//
// Each call makes a new instance with a context of its own, as on the platform; nothing is shared but the module's globals.

import { currentEvent, Event, runInEvent } from "ext:celld_events/context.js";
import { gateBody, outputGate } from "ext:celld_events/gate.js";
import {
  assertResponse,
  fromInnerRequest,
  receiveResponse,
  takeRequest,
} from "ext:celld_events/request.js";
import { addStubKind, local, makeProperty, send } from "ext:celld_events/rpc_client.js";
import { addBase, NOBODY, Owner, run, thrownBy } from "ext:celld_events/rpc_exports.js";
import { decodeThrown } from "ext:celld_events/rpc_payload.js";
import { ServiceStub, WorkerEntrypoint } from "ext:celld_platform/cloudflare_workers.js";
import { core } from "ext:core/mod.js";

const { Request } = core.loadExtScript("ext:deno_fetch/23_request.js");

addBase(WorkerEntrypoint);

/** What main.js knows: the exports of the script, `env`, contexts, and how to keep an event going. */
let script = null;

function installEntrypoints(value) {
  script = value;
}

/** A new instance of the entrypoint `name`; an export that is an object of handlers stands for itself. */
function instantiate(name, event, props) {
  const exported = script.namespace[name];
  const context = script.makeContext(event, props);
  if (typeof exported === "function") return { instance: new exported(context, script.env), isClass: true };
  return { instance: exported, isClass: false, context };
}

/** Runs `task(event)` as a new event, which goes on until `task` calls `finish`. */
function inNewEvent(task) {
  const event = new Event(null);
  script.hold(event);
  let open = true;
  const finish = () => {
    if (open) script.finish(event);
    open = false;
  };
  runInEvent(event, task, event, finish);
}

function fetchEntrypoint(name, props, request) {
  return new Promise((resolve, reject) => {
    inNewEvent((event, finish) => {
      const failed = (error) => {
        reject(decodeThrown(thrownBy(NOBODY, error)));
        finish();
      };
      const done = (response) => {
        try {
          assertResponse(response);
          resolve(receiveResponse(response, request));
        } catch (error) {
          failed(error);
          return;
        }
        finish();
      };
      try {
        const { instance, isClass, context } = instantiate(name, event, props);
        if (typeof instance?.fetch !== "function") throw new TypeError("Handler does not export a fetch() function.");
        const given = fromInnerRequest(request, "immutable");
        const result = isClass ? instance.fetch(given) : instance.fetch(given, script.env, context);
        Promise.resolve(result).then(done, failed);
      } catch (error) {
        failed(error);
      }
    });
  });
}

/** Where the calls of a service's stub go. */
class ServiceClient {
  constructor(name, props) {
    this.name = name;
    this.props = props;
  }

  call(path, args) {
    return send(path, args, (path, payload) =>
      local((resolve, reject) => {
        inNewEvent((event, finish) => {
          const owner = new Owner(null, event);
          try {
            const { instance, isClass } = instantiate(this.name, event, this.props);
            // An object of handlers has no methods for callers.
            run(owner, isClass ? instance : {}, path, payload, isClass, resolve, reject, finish);
          } catch (error) {
            reject(thrownBy(NOBODY, error));
            finish();
          }
        });
      }));
  }
}

function fetchService(client, input, init) {
  const request = init === undefined && input instanceof Request ? input : new Request(input, init);
  const taken = takeRequest(request);
  const caller = currentEvent()?.cell;
  if (caller) gateBody(caller, taken.body);
  const gate = outputGate();
  const go = () => fetchEntrypoint(client.name, client.props, taken);
  return gate === null ? go() : gate.then(go);
}

const services = new WeakMap();

/** Members that every service has. */
function memberOf(client, name) {
  switch (name) {
    case "fetch":
      return async (input, init) => fetchService(client, input, init);
    case "connect":
      return () => {
        throw new Error("connect() to a Worker is not available in celld.");
      };
    default:
      return makeProperty(client, [name]);
  }
}

/** The stub of an entrypoint of this script. With `props` it is a function that gives one with other properties. */
function makeService(name, props, isLoopback) {
  const client = new ServiceClient(name, props);
  const target = isLoopback ? () => {} : {};
  Object.setPrototypeOf(target, ServiceStub.prototype);
  const stub = new Proxy(target, {
    get(_, member) {
      if (typeof member === "symbol" || member === "constructor") return Reflect.get(target, member);
      // A service is no promise.
      if (member === "then") return undefined;
      return memberOf(client, member);
    },
    has: (_, member) => typeof member === "string" || member in target,
    apply: (_, __, [options]) => makeService(name, options?.props ?? {}, false),
  });
  services.set(stub, client);
  return stub;
}

addStubKind({
  isStub: (value) => services.has(value),
  describe(value) {
    const client = services.get(value);
    return client === undefined ? null : { k: "service", name: client.name, props: client.props };
  },
  revive: (cap) => cap.k === "service" ? makeService(cap.name, cap.props, false) : null,
});

/** `ctx.exports`: the default export, the entrypoints, and the namespaces of the classes that have storage. */
function makeExports(namespace, makeNamespace) {
  const exports = {};
  for (const name of Object.keys(namespace)) {
    const value = namespace[name];
    const isEntrypoint = typeof value === "function" && value.prototype instanceof WorkerEntrypoint;
    const space = makeNamespace(name);
    if (space !== null) exports[name] = space;
    else if (isEntrypoint || (name === "default" && typeof value === "object" && value !== null)) {
      exports[name] = makeService(name, {}, true);
    }
  }
  return exports;
}

export { installEntrypoints, makeExports, makeService };
