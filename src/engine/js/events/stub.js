// Calls into cells: `stub.fetch` and RPC methods. A cell of this isolate is called directly; every other one through the host.

import { core } from "ext:core/mod.js";
import {
  op_cell_fetch,
  op_cell_is_here,
  op_cell_rpc,
  op_cell_request_limit,
} from "ext:core/ops";
import { begin, cellFor, cells, cellKey, deliver, end, throughGate } from "ext:celld_events/cell.js";
import { currentEvent } from "ext:celld_events/context.js";
import { describeError, remoteError } from "ext:celld_events/errors.js";
import { gateBody, outputGate } from "ext:celld_events/gate.js";
import {
  assertResponse,
  bodyToRid,
  encodeHeaders,
  fromInnerRequest,
  NO_BODY,
  receiveResponse,
  Response,
  responseFromHost,
  takeRequest,
} from "ext:celld_events/request.js";
import { classOf, idFromName, idFromString, isId, newUniqueId } from "ext:celld_events/durable_id.js";

const { Request } = core.loadExtScript("ext:deno_fetch/23_request.js");
const { getInnerResponse } = core.loadExtScript("ext:deno_fetch/23_response.js");

/** The answer to a call that the cell has no room for: nothing has been started. */
function overloaded() {
  return new Response("The cell has reached its limit of concurrent requests.\n", {
    status: 503,
    headers: { "retry-after": "1", "x-celld-overload": "cell" },
  });
}

/** The record of a cell that this isolate holds or may hold; null if another thread or isolate has it. */
function localCell(className, id, name) {
  return cells.get(cellKey(className, id)) ??
    (op_cell_is_here(className, id) ? cellFor(className, id, name) : null);
}

/** Settles with the response of the cell's `fetch` handler; the cell must be one of this isolate. */
function fetchInCell(cell, makeRequest, resolve, reject) {
  if (cell.fetches >= op_cell_request_limit()) {
    resolve(overloaded());
    return;
  }
  cell.fetches++;
  begin(cell);
  let open = true;
  const settle = (outcome, value) => {
    if (!open) return;
    open = false;
    cell.inflight.delete(fail);
    cell.fetches--;
    end(cell);
    if (cell.handle >= 0) throughGate(cell, value, outcome, reject);
    else outcome(value);
  };
  const fail = (error) => settle(reject, error);
  const done = (response) => {
    try {
      assertResponse(response);
    } catch (error) {
      fail(error);
      return;
    }
    gateBody(cell, getInnerResponse(response)?.body);
    settle(resolve, response);
  };
  cell.inflight.add(fail);
  deliver(cell, (cell) => {
    if (typeof cell.instance.fetch !== "function") {
      fail(new TypeError("Handler does not export a fetch() function."));
      return;
    }
    let result;
    try {
      result = cell.instance.fetch(makeRequest());
    } catch (error) {
      fail(error);
      return;
    }
    if (typeof result?.then === "function") Promise.resolve(result).then(done, fail);
    else done(result);
  }, fail);
}

function fetchCell(className, id, name, request) {
  const gate = outputGate();
  const taken = takeRequest(request);
  const caller = currentEvent()?.cell;
  if (caller) gateBody(caller, taken.body);
  if (gate === null) return fetchCellNow(className, id, name, taken);
  return gate.then(() => fetchCellNow(className, id, name, taken));
}

function fetchCellNow(className, id, name, inner) {
  const cell = localCell(className, id, name);
  if (cell === null) return fetchRemote(className, id, name, inner);
  return new Promise((resolve, reject) => {
    fetchInCell(
      cell,
      () => fromInnerRequest(inner, "immutable"),
      (response) => {
        try {
          resolve(receiveResponse(response, inner));
        } catch (error) {
          reject(error);
        }
      },
      (error) => reject(remoteError(describeError(error))),
    );
  });
}

async function fetchRemote(className, id, name, inner) {
  const rid = inner.body === null ? NO_BODY : bodyToRid(inner.body);
  const answer = await op_cell_fetch(
    className,
    id,
    name ?? null,
    inner.method,
    inner.url(),
    encodeHeaders(inner.headerList),
    rid,
  );
  if (answer.error) throw remoteError(answer.error);
  return responseFromHost(answer.status, answer.statusText, answer.headers, answer.body, answer.length, answer.socket);
}

const RESERVED_METHODS = new Set([
  "constructor",
  "fetch",
  "alarm",
  "webSocketMessage",
  "webSocketClose",
  "webSocketError",
  "dup",
]);

/** The property that `name` means for a caller, by the platform's rule: what the class has, never what the instance has. */
function rpcProperty(instance, name, Base) {
  if (!(instance instanceof Base)) {
    throw new TypeError(
      "The receiving Durable Object does not support RPC, because its class was not declared with " +
        "`extends DurableObject`. In order to enable RPC, make sure your class extends the special " +
        'class `DurableObject`, which can be imported from the module "cloudflare:workers".',
    );
  }
  let value;
  if (!RESERVED_METHODS.has(name) && !Object.hasOwn(instance, name)) {
    for (let p = Object.getPrototypeOf(instance); p && p !== Object.prototype && p !== Base.prototype;) {
      const property = Object.getOwnPropertyDescriptor(p, name);
      if (property !== undefined) {
        value = property.get ? property.get.call(instance) : property.value;
        break;
      }
      p = Object.getPrototypeOf(p);
    }
  }
  if (value === undefined) {
    throw new TypeError(`The RPC receiver does not implement the method "${name}".`);
  }
  return value;
}

/** What a call of `name` runs. */
function rpcMethod(instance, name, Base) {
  const method = rpcProperty(instance, name, Base);
  if (typeof method !== "function") {
    throw new TypeError(`"${name}" is not a function.`);
  }
  return method;
}

let rpcBase = null;

/** The class that makes a Durable Object callable by RPC. */
function setRpcBase(Base) {
  rpcBase = Base;
}

const isPlain = (value) => value === null || (typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol");

/** A copy of `value` that shares nothing with it, as the structured clone algorithm makes it. */
function copy(value) {
  return isPlain(value) ? value : core.deserialize(serialize(value));
}

function serialize(value) {
  return core.serialize(value, undefined, (message) => {
    throw new DOMException(message, "DataCloneError");
  });
}

/**
 * Settles with the (not yet copied) result of an RPC method, or with a property when `makeArgs` makes null; the cell must be one
 * of this isolate.
 */
function callInCell(cell, name, makeArgs, resolve, reject) {
  begin(cell);
  let open = true;
  const settle = (outcome, value) => {
    if (!open) return;
    open = false;
    cell.inflight.delete(fail);
    end(cell);
    if (cell.handle >= 0) throughGate(cell, value, outcome, reject);
    else outcome(value);
  };
  const fail = (error) => settle(reject, error);
  const done = (value) => settle(resolve, value);
  cell.inflight.add(fail);
  deliver(cell, (cell) => {
    let result;
    try {
      const args = makeArgs();
      result = args === null
        ? rpcProperty(cell.instance, name, rpcBase)
        : Reflect.apply(rpcMethod(cell.instance, name, rpcBase), cell.instance, args);
    } catch (error) {
      fail(error);
      return;
    }
    if (typeof result?.then === "function") Promise.resolve(result).then(done, fail);
    else done(result);
  }, fail);
}

/** Calls a method of a cell, or reads a property of it when `args` is null. */
async function callCell(className, id, name, method, args) {
  const bytes = args === null || args.every(isPlain) ? null : serialize(args);
  const gate = outputGate();
  if (gate !== null) await gate;
  const cell = localCell(className, id, name);
  if (cell !== null) {
    return new Promise((resolve, reject) => {
      callInCell(
        cell,
        method,
        () => bytes === null ? args : core.deserialize(bytes),
        (value) => {
          try {
            resolve(copy(value));
          } catch (error) {
            reject(error);
          }
        },
        (error) => reject(remoteError(describeError(error))),
      );
    });
  }
  const answer = await op_cell_rpc(className, id, name ?? null, method, bytes ?? serialize(args));
  if (answer.error) throw remoteError(answer.error);
  return core.deserialize(answer.value);
}

class DurableObjectStub {
  #id;
  #className;
  #name;

  constructor(id) {
    if (!isId(id)) throw new TypeError("Illegal constructor");
    this.#id = id;
    this.#className = classOf(id);
    this.#name = id.name;
  }

  get id() {
    return this.#id;
  }

  get name() {
    return this.#name;
  }

  fetch(input, init) {
    let request;
    try {
      request = init === undefined && input instanceof Request ? input : new Request(input, init);
      return fetchCell(this.#className, this.#id.toString(), this.#name, request);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  static call(stub, method, args) {
    return callCell(stub.#className, stub.#id.toString(), stub.#name, method, args);
  }
}

const callStub = DurableObjectStub.call;
delete DurableObjectStub.call;

/** Any property that the stub does not have itself is an RPC method of the object behind it. */
const stubHandler = {
  get(stub, property) {
    if (typeof property === "symbol" || property in stub) {
      const value = Reflect.get(stub, property, stub);
      return typeof value === "function" ? bound(stub, property, value) : value;
    }
    // A stub must not look like a promise, or awaiting it would call the object.
    if (property === "then") return undefined;
    const method = (...args) => callStub(stub, property, args);
    // Awaited instead of called, it is the property itself.
    method.then = (resolve, reject) => callStub(stub, property, null).then(resolve, reject);
    return method;
  },
  set() {
    throw new TypeError("Cannot assign to a property of a Durable Object stub.");
  },
};

function bound(stub, property, value) {
  if (property !== "fetch") return value;
  return (input, init) => value.call(stub, input, init);
}

function makeStub(id) {
  return new Proxy(new DurableObjectStub(id), stubHandler);
}

/** `env.NAME` of a Durable Object binding. */
class DurableObjectNamespace {
  #className;

  constructor(className) {
    this.#className = className;
  }

  idFromName(name) {
    if (arguments.length < 1) throw new TypeError("Failed to execute 'idFromName': 1 argument required.");
    return idFromName(this.#className, name);
  }

  idFromString(text) {
    if (arguments.length < 1) throw new TypeError("Failed to execute 'idFromString': 1 argument required.");
    return idFromString(this.#className, text);
  }

  newUniqueId(options) {
    if (options?.jurisdiction !== undefined && options.jurisdiction !== null) {
      throw new Error("Jurisdiction restrictions are not implemented in celld.");
    }
    return newUniqueId(this.#className);
  }

  get(id) {
    if (!isId(id)) {
      throw new TypeError(
        "Failed to execute 'get' on 'DurableObjectNamespace': parameter 1 is not of type 'DurableObjectId'.",
      );
    }
    if (classOf(id) !== this.#className) {
      throw new TypeError("get called with an ID of a different namespace.");
    }
    return makeStub(id);
  }

  getByName(name) {
    return makeStub(idFromName(this.#className, name));
  }

  jurisdiction(name) {
    if (name === undefined || name === null) return this;
    throw new Error("Jurisdiction restrictions are not implemented in celld.");
  }
}

export { callInCell, DurableObjectNamespace, DurableObjectStub, fetchInCell, serialize, setRpcBase };
