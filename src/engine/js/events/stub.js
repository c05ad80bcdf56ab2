// Calls into cells: `stub.fetch` and RPC methods. A cell of this isolate is called directly; every other one through the host.

import { core } from "ext:core/mod.js";
import {
  op_cell_is_here,
  op_cell_request_limit,
  op_proxy_target,
  op_rpc_call,
} from "ext:core/ops";
import { begin, cellFor, deliver, end, findCell, throughGate } from "ext:celld_events/cell.js";
import { currentEvent } from "ext:celld_events/context.js";
import { fetchElsewhere } from "ext:celld_events/elsewhere.js";
import { toError } from "ext:celld_events/errors.js";
import { gateBody, outputGate } from "ext:celld_events/gate.js";
import {
  assertResponse,
  fromInnerRequest,
  receiveResponse,
  Response,
  takeRequest,
} from "ext:celld_events/request.js";
import { classOf, idFromString, isId, makeId, NamedIds, newUniqueId } from "ext:celld_events/durable_id.js";
import { addStubKind, local, makeProperty, receiveAnswer, send } from "ext:celld_events/rpc_client.js";
import { addBase, NOBODY, Owner, run, thrownBy } from "ext:celld_events/rpc_exports.js";
import { decodeThrown, encodeThrown } from "ext:celld_events/rpc_payload.js";

const { Request } = core.loadExtScript("ext:deno_fetch/23_request.js");
const { getInnerResponse } = core.loadExtScript("ext:deno_fetch/23_response.js");

/** The answer to a call that there is no room for, in the cell or in the node's log: nothing has been started. */
function overloaded(what) {
  const reason = what === "cell"
    ? "The cell has reached its limit of concurrent requests.\n"
    : "The node has more writes than its storage takes.\n";
  return new Response(reason, { status: 503, headers: { "retry-after": "1", "x-celld-overload": what } });
}

function congested() {
  const error = new Error("The node has more writes than its storage takes; try again later.");
  return Object.assign(error, { overloaded: true, retryable: true });
}

/** The record of a cell that this isolate holds or may hold; null if another thread or isolate has it. */
function localCell(className, id, name) {
  return findCell(className, id) ??
    (op_cell_is_here(className, id) ? cellFor(className, id, name) : null);
}

/** Settles with the response of the cell's `fetch` handler; the cell must be one of this isolate. */
function fetchInCell(cell, makeRequest, resolve, reject) {
  const limit = op_cell_request_limit();
  if (cell.fetches >= limit) {
    resolve(overloaded(limit < 0 ? "log" : "cell"));
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

function fetchCell(client, request) {
  if (client.broken !== null) return Promise.reject(client.broken());
  const gate = outputGate();
  const taken = takeRequest(request);
  const caller = currentEvent()?.cell;
  if (caller) gateBody(caller, taken.body);
  if (gate === null) return fetchCellNow(client, taken);
  return gate.then(() => fetchCellNow(client, taken));
}

function fetchCellNow(client, inner) {
  const cell = localCell(client.className, client.id, client.name);
  if (cell === null) return fetchRemote(client, inner);
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
      (error) => reject(client.note(decodeThrown(thrownBy(NOBODY, error)))),
    );
  });
}

async function fetchRemote(client, inner) {
  const answer = await fetchElsewhere({ cell: [client.className, client.id, client.name ?? null] }, inner);
  if (answer.thrown) throw client.note(decodeThrown(answer.thrown));
  return answer.response;
}

let rpcBase = null;

/** The class that makes a Durable Object callable by RPC. */
function setRpcBase(Base) {
  rpcBase = Base;
  addBase(Base);
}

/** A call of a cell of this isolate, with payloads as its outcome. */
function callInCell(cell, path, payload, resolve, reject) {
  if (op_cell_request_limit() < 0) {
    reject(encodeThrown(congested(), NOBODY));
    return;
  }
  const owner = new Owner(cell, null);
  begin(cell);
  let open = true;
  const fail = (error) => {
    if (!open) return;
    open = false;
    cell.inflight.delete(fail);
    end(cell);
    reject(encodeThrown(toError(error), NOBODY, { remote: true }));
  };
  cell.inflight.add(fail);
  deliver(cell, () => {
    if (!(cell.instance instanceof rpcBase)) {
      fail(
        new TypeError(
          "The receiving Durable Object does not support RPC, because its class was not declared with " +
            "`extends DurableObject`. In order to enable RPC, make sure your class extends the special " +
            'class `DurableObject`, which can be imported from the module "cloudflare:workers".',
        ),
      );
      return;
    }
    const settle = (outcome) => (value) => {
      if (open) owner.leave(value, outcome, reject);
      open = false;
    };
    run(owner, cell.instance, path, payload, true, settle(resolve), settle(reject), () => {
      cell.inflight.delete(fail);
      if (open) end(cell);
    });
  }, fail);
}

/** Where the calls of a stub go. */
class CellClient {
  constructor(className, id, name) {
    this.className = className;
    this.id = id;
    this.name = name;
    /** Makes the error of every further call, once the object was reset under one: the caller is to make a new stub. */
    this.broken = null;
  }

  /** Takes note of what a call has thrown, and gives it back. */
  note(error) {
    if (error?.durableObjectReset === true) {
      const { message, retryable } = error;
      this.broken = () => {
        const again = Object.assign(new Error(message), { durableObjectReset: true });
        return retryable === true ? Object.assign(again, { retryable }) : again;
      };
    }
    return error;
  }

  call(path, args) {
    if (this.broken !== null) return Promise.reject(this.broken());
    return send(path, args, async (path, payload) => {
      const { className, id, name } = this;
      const cell = localCell(className, id, name);
      try {
        if (cell !== null) {
          return await local((resolve, reject) => callInCell(cell, path, payload, resolve, reject));
        }
        return receiveAnswer(
          await op_rpc_call(
            { cell: [className, id, name ?? null] },
            path,
            payload?.bytes ?? null,
            payload?.caps ?? null,
            payload?.rids ?? [],
          ),
        );
      } catch (error) {
        throw this.note(error);
      }
    });
  }
}

class DurableObjectStub {
  #id;
  #client;

  constructor(id) {
    if (!isId(id)) throw new TypeError("Illegal constructor");
    this.#id = id;
    this.#client = new CellClient(classOf(id), id.toString(), id.name);
  }

  get id() {
    return this.#id;
  }

  get name() {
    return this.#id.name;
  }

  fetch(input, init) {
    let request;
    try {
      request = init === undefined && input instanceof Request ? input : new Request(input, init);
      return fetchCell(this.#client, request);
    } catch (error) {
      return Promise.reject(error);
    }
  }

  static clientOf(stub) {
    return stub.#client;
  }
}

const clientOf = DurableObjectStub.clientOf;
delete DurableObjectStub.clientOf;
// As the platform names it.
Object.defineProperty(DurableObjectStub, "name", { value: "DurableObject" });
Object.defineProperty(DurableObjectStub.prototype, Symbol.toStringTag, { value: "DurableObject", configurable: true });

/** Any property that the stub does not have itself is a member of the object behind it. */
const stubHandler = {
  get(stub, property) {
    if (typeof property === "symbol" || property in stub) {
      const value = Reflect.get(stub, property, stub);
      return property === "fetch" && typeof value === "function" ? (input, init) => value.call(stub, input, init) : value;
    }
    // A stub must not look like a promise, or awaiting it would call the object.
    if (property === "then") return undefined;
    if (property === "dup") return () => makeStub(stub.id);
    return makeProperty(clientOf(stub), [property]);
  },
};

const makeStub = (id) => new Proxy(new DurableObjectStub(id), stubHandler);

/** The object behind `value` if that is a stub. A table of stubs would cost more: few are ever asked for. */
const behind = (value) => op_proxy_target(value, stubHandler);

addStubKind({
  isStub: (value) => behind(value) !== undefined,
  describe(value) {
    const stub = behind(value);
    if (stub === undefined) return null;
    const { className, id, name } = clientOf(stub);
    return { k: "cell", className, id, name };
  },
  revive: (cap) => cap.k === "cell" ? makeStub(makeId(cap.className, cap.id, cap.name)) : null,
});

const notAString = (method) =>
  new TypeError(`Failed to execute '${method}' on 'DurableObjectNamespace': parameter 1 is not of type 'string'.`);

/** `env.NAME` of a Durable Object binding. */
class DurableObjectNamespace {
  #className;
  #names;

  constructor(className) {
    this.#className = className;
    this.#names = new NamedIds(className);
  }

  idFromName(name) {
    if (name === undefined) throw notAString("idFromName");
    return this.#names.of(name);
  }

  idFromString(text) {
    if (text === undefined) throw notAString("idFromString");
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
    return makeStub(this.#names.of(name));
  }

  jurisdiction(name) {
    if (name === undefined || name === null) return this;
    throw new Error("Jurisdiction restrictions are not implemented in celld.");
  }
}

Object.defineProperty(DurableObjectNamespace.prototype, Symbol.toStringTag, {
  value: "DurableObjectNamespace",
  configurable: true,
});

export { callInCell, DurableObjectNamespace, DurableObjectStub, fetchInCell, setRpcBase };
