// Entrypoints of Workers: service bindings to this Worker itself and to the others of the deployment, `ctx.exports`, and the calls
// that other Workers send here.
//
// Each call makes a new instance with a context of its own, as on the platform; nothing is shared but the module's globals.

import { op_rpc_call } from "ext:core/ops";
import { currentEvent, Event, runInEvent } from "ext:celld_events/context.js";
import { noteBody } from "ext:celld_events/talkers.js";
import { fetchElsewhere } from "ext:celld_events/elsewhere.js";
import { gateBody, outputGate } from "ext:celld_events/gate.js";
import {
  assertResponse,
  fromInnerRequest,
  receiveResponse,
  takeRequest,
} from "ext:celld_events/request.js";
import { addStubKind, local, makeProperty, receiveAnswer, send } from "ext:celld_events/rpc_client.js";
import { addBase, NOBODY, Owner, run, thrownBy } from "ext:celld_events/rpc_exports.js";
import { decodeThrown } from "ext:celld_events/rpc_payload.js";
import { ServiceStub, WorkerEntrypoint } from "ext:celld_platform/cloudflare_workers.js";
import { core } from "ext:core/mod.js";

const { Request } = core.loadExtScript("ext:deno_fetch/23_request.js");

addBase(WorkerEntrypoint);

/** What main.js knows: the script's name, its exports, `env`, contexts, and how to keep an event going. */
let script = null;

function installEntrypoints(value) {
  script = value;
}

/** Whether a service binding may name this export: a class of entrypoints, or the default object of handlers. */
function hasEntrypoint(name) {
  const exported = script.namespace[name];
  if (typeof exported === "function") return exported.prototype instanceof WorkerEntrypoint;
  return name === "default" && typeof exported === "object" && exported !== null;
}

/** A new instance of the entrypoint `name`; an export that is an object of handlers stands for itself. */
function instantiate(name, event, props) {
  const exported = script.namespace[name];
  const context = script.makeContext(event, props);
  if (typeof exported === "function") return { instance: new exported(context, script.env), isClass: true, context };
  return { instance: exported, isClass: false, context };
}

/** Runs `task(event)` as a new event, which goes on until `task` calls `finish`. */
function inNewEvent(task) {
  const event = new Event(null);
  event.caller = currentEvent();
  script.hold(event);
  let open = true;
  const finish = () => {
    if (open) script.finish(event);
    open = false;
  };
  runInEvent(event, task, event, finish);
  event.caller = null;
}

/** Calls the `fetch` of an entrypoint of this script; `resolve` gets the response, `reject` the payload of what was thrown. */
function startFetch(name, props, makeRequest, resolve, reject) {
  inNewEvent((event, finish) => {
    const failed = (error) => {
      reject(thrownBy(NOBODY, error));
      finish();
    };
    event.fail = failed;
    const done = (response) => {
      try {
        assertResponse(response);
        noteBody(event, response);
        resolve(response);
      } catch (error) {
        failed(error);
        return;
      }
      finish();
    };
    try {
      const { instance, context } = instantiate(name, event, props);
      if (typeof instance?.fetch !== "function") throw new TypeError("Handler does not export a fetch() function.");
      const given = makeRequest();
      const result = instance.fetch(given, script.env, context);
      Promise.resolve(result).then(done, failed);
    } catch (error) {
      failed(error);
    }
  });
}

/** Calls a member of an entrypoint of this script; `resolve` and `reject` get payloads. */
function startCall(name, props, path, payload, resolve, reject) {
  inNewEvent((event, finish) => {
    const owner = new Owner(null, event);
    event.fail = (error) => {
      reject(thrownBy(NOBODY, error));
      finish();
    };
    try {
      const { instance, isClass } = instantiate(name, event, props);
      // An object of handlers has no methods for callers.
      run(owner, isClass ? instance : {}, path, payload, isClass, resolve, reject, finish);
    } catch (error) {
      event.fail(error);
    }
  });
}

/** Where the calls of a service's stub go: an entrypoint of the Worker `worker`, null for this one. */
class ServiceClient {
  constructor(worker, name, props) {
    this.worker = worker;
    this.name = name;
    this.props = props;
  }

  get destination() {
    return { entry: [this.worker, this.name, core.serialize(this.props)] };
  }

  call(path, args) {
    return send(path, args, async (path, payload) => {
      if (this.worker === null) {
        return local((resolve, reject) => startCall(this.name, this.props, path, payload, resolve, reject));
      }
      const { bytes, caps, rids } = payload ?? {};
      return receiveAnswer(await op_rpc_call(this.destination, path, bytes ?? null, caps ?? null, rids ?? []));
    });
  }

  async fetch(request) {
    if (this.worker !== null) {
      const answer = await fetchElsewhere(this.destination, request);
      if (answer.thrown) throw decodeThrown(answer.thrown);
      return answer.response;
    }
    return new Promise((resolve, reject) => {
      startFetch(
        this.name,
        this.props,
        () => fromInnerRequest(request, "immutable"),
        (response) => resolve(receiveResponse(response, request)),
        (payload) => reject(decodeThrown(payload)),
      );
    });
  }
}

function fetchService(client, input, init) {
  const request = init === undefined && input instanceof Request ? input : new Request(input, init);
  const taken = takeRequest(request);
  const caller = currentEvent()?.cell;
  if (caller) gateBody(caller, taken.body);
  const gate = outputGate();
  return gate === null ? client.fetch(taken) : gate.then(() => client.fetch(taken));
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

/** The stub of an entrypoint of `worker`, null for this script. A loopback is a function that gives one with other properties. */
function makeService(worker, name, props, isLoopback) {
  const client = new ServiceClient(worker, name, props);
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
    apply: (_, __, [options]) => makeService(worker, name, options?.props ?? {}, false),
  });
  services.set(stub, client);
  return stub;
}

addStubKind({
  isStub: (value) => services.has(value),
  describe(value) {
    const client = services.get(value);
    return client === undefined ? null : {
      k: "service",
      worker: client.worker ?? script.name,
      name: client.name,
      props: client.props,
    };
  },
  revive(cap) {
    if (cap.k !== "service") return null;
    return makeService(cap.worker === script.name ? null : cap.worker, cap.name, cap.props, false);
  },
});

/** `ctx.exports`: the default export, the entrypoints, and the namespaces of the classes that have storage. */
function makeExports(namespace, makeNamespace) {
  const exports = {};
  for (const name of Object.keys(namespace)) {
    const space = makeNamespace(name);
    if (space !== null) exports[name] = space;
    else if (hasEntrypoint(name)) exports[name] = makeService(null, name, {}, true);
  }
  return exports;
}

export { hasEntrypoint, installEntrypoints, makeExports, makeService, startCall, startFetch };
