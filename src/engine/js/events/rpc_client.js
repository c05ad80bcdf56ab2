// The calling side of RPC: stubs, the promises of calls, and what is pipelined on them.
//
// A *client* is where a stub's calls go: `call(path, args)` gives a promise of the result, `args` null for a property. The proxies
// here give it the shape that user code sees.

import { core } from "ext:core/mod.js";
import { op_rpc_call, op_rpc_post } from "ext:core/ops";
import { currentEvent } from "ext:celld_events/context.js";
import { remoteError } from "ext:celld_events/errors.js";
import { gateBody, gateStream, outputGate } from "ext:celld_events/gate.js";
import { callExport, count, exportTarget, isHere, ownerOf, setStubKind } from "ext:celld_events/rpc_exports.js";
import { decode, decodeThrown, encode, setStubs, unsupported } from "ext:celld_events/rpc_payload.js";
import { RpcPromise, RpcProperty, RpcStub, RpcTarget, setStubFactory } from "ext:celld_platform/cloudflare_workers.js";

const { WritableStream } = core.loadExtScript("ext:deno_web/06_streams.js");

/** What stands behind each proxy: `{ client, path, ref, promise }`. */
const backing = new WeakMap();

/** A result as its receiver gets it: disposing of it disposes of the stubs in it. */
function receive(payload) {
  const { value, received } = decode(payload);
  if (typeof value === "object" && value !== null && !(Symbol.dispose in value)) {
    Object.defineProperty(value, Symbol.dispose, {
      value: () => {
        for (const stub of received) stub[Symbol.dispose]?.();
      },
      writable: true,
      enumerable: false,
      configurable: true,
    });
  }
  return value;
}

/** The answer of a call to another isolate. */
function receiveAnswer(answer) {
  if (answer.error) throw remoteError(answer.error);
  const payload = { bytes: answer.bytes, caps: answer.caps ?? null, rids: answer.rids };
  if (answer.thrown) throw decodeThrown(payload);
  return receive(payload);
}

/** Sends `payload` once everything that the caller has written is durable. */
async function send(path, args, go) {
  const payload = args === null ? null : encode(args, ownerOf(currentEvent()));
  const gate = outputGate();
  if (gate !== null) await gate;
  return go(path, payload);
}

/** A call that this isolate answers itself: `run(resolve, reject)` settles with payloads. */
function local(run) {
  return new Promise((resolve, reject) => {
    run((payload) => {
      try {
        resolve(receive(payload));
      } catch (error) {
        reject(error);
      }
    }, (payload) => reject(decodeThrown(payload)));
  });
}

/** The client of something that was handed out. */
class ExportClient {
  constructor(at) {
    this.at = at;
  }

  call(path, args) {
    return send(path, args, async (path, payload) => {
      const at = this.at;
      if (isHere(at)) return local((resolve, reject) => callExport(at[2], path, payload, resolve, reject));
      return receiveAnswer(
        await op_rpc_call({ export: at }, path, payload?.bytes ?? null, payload?.caps ?? null, payload?.rids ?? []),
      );
    });
  }
}

function post(at, change) {
  if (isHere(at)) count(at[2], change);
  else op_rpc_post(at[0], at[1], at[2], change);
}

/** One hold on something that was handed out, shared by a stub and its duplicates. */
class Ref {
  constructor(at) {
    this.at = at;
    this.stubs = 0;
  }

  drop() {
    if (--this.stubs === 0) post(this.at, -1);
  }
}

/** Stubs that nobody disposes of go with the garbage. */
const forgotten = new FinalizationRegistry((ref) => ref.drop());

const disposed = () => new Error("RPC stub used after being disposed.");

function makeStub(at, ref = new Ref(at)) {
  ref.stubs++;
  const target = () => {};
  Object.setPrototypeOf(target, RpcStub.prototype);
  const state = { client: new ExportClient(at), path: [], ref, isDisposed: false };
  const proxy = new Proxy(target, {
    get(_, name) {
      if (name === Symbol.dispose) return () => dispose(state);
      if (name === "dup") {
        return () => {
          if (state.isDisposed) throw disposed();
          return makeStub(at, ref);
        };
      }
      // A stub is no promise, or awaiting it would call what is behind it.
      if (typeof name === "symbol" || name === "then" || name === "constructor") return Reflect.get(target, name);
      return makeProperty(clientOf(state), [name]);
    },
    apply: (_, __, args) => makeCall(clientOf(state), [], args),
    has: (_, name) => typeof name === "string" || name in target,
  });
  backing.set(proxy, { kind: "stub", state, at });
  forgotten.register(proxy, ref, state);
  return proxy;
}

function clientOf(state) {
  return state.isDisposed ? { call: () => Promise.reject(disposed()) } : state.client;
}

function dispose(state) {
  if (state.isDisposed) return;
  state.isDisposed = true;
  forgotten.unregister(state);
  state.ref.drop();
}

/** A member of something remote: to be called, awaited, or walked on from. */
function makeProperty(client, path) {
  const target = () => {};
  Object.setPrototypeOf(target, RpcProperty.prototype);
  const proxy = new Proxy(target, {
    get(_, name) {
      if (name === "then" || name === "catch" || name === "finally") return settling(() => client.call(path, null), name);
      if (typeof name === "symbol" || name === "constructor") return Reflect.get(target, name);
      return makeProperty(client, [...path, name]);
    },
    apply: (_, __, args) => makeCall(client, path, args),
  });
  backing.set(proxy, { kind: "property" });
  return proxy;
}

function settling(start, name) {
  return (...args) => {
    const promise = start();
    return promise[name](...args);
  };
}

/** Starts a call. What is asked of its promise is asked of its result. */
function makeCall(client, path, args) {
  const promise = client.call(path, args);
  // Whoever only pipelines on the call gets its failure there.
  promise.catch(() => {});
  const pipeline = {
    call: (path, args) => promise.then((value) => walk(value, path, args)),
  };
  const target = () => {};
  Object.setPrototypeOf(target, RpcPromise.prototype);
  const proxy = new Proxy(target, {
    get(_, name) {
      if (name === "then" || name === "catch" || name === "finally") return promise[name].bind(promise);
      if (name === Symbol.dispose) return () => void promise.then((value) => value?.[Symbol.dispose]?.(), () => {});
      if (typeof name === "symbol" || name === "constructor") return Reflect.get(target, name);
      return makeProperty(pipeline, [name]);
    },
    apply: (_, __, args) => makeCall(pipeline, [], args),
  });
  backing.set(proxy, { kind: "promise" });
  return proxy;
}

/** True for what stands for something elsewhere. */
const isRemote = (value) => backing.has(value) || extraKinds.some((kind) => kind.isStub(value));

/** Goes on from a result that has arrived. */
function walk(value, path, args) {
  let receiver;
  for (const name of path) {
    receiver = value;
    const sees = value !== null && value !== undefined && (isRemote(value) || Object.hasOwn(Object(value), name));
    if (!sees) throw new TypeError(`The RPC receiver does not implement the method "${name}".`);
    value = value[name];
  }
  return args === null ? value : isRemote(value) ? value(...args) : Reflect.apply(value, receiver, args);
}

/** The receiving end of a `WritableStream` that was sent. */
function sink(stream) {
  const writer = stream.getWriter();
  return {
    write: (chunk) => writer.write(chunk),
    close: () => writer.close(),
    abort: (reason) => writer.abort(reason),
    [Symbol.dispose]() {
      writer.close().catch(() => {});
    },
  };
}

function writable(at) {
  const stub = makeStub(at);
  return new WritableStream({
    write: (chunk) => stub.write(chunk),
    async close() {
      await stub.close();
      stub[Symbol.dispose]();
    },
    async abort(reason) {
      await stub.abort(reason);
      stub[Symbol.dispose]();
    },
  });
}

const extraKinds = [];

/** Adds another kind of stub: `describe(value)` gives its description or null, `revive(description)` the stub or null. */
function addStubKind(kind) {
  extraKinds.push(kind);
}

setStubs({
  gateBody: (owner, body) => owner.cell !== null && gateBody(owner.cell, body),
  gateStream: (owner, stream) => owner.cell === null ? stream : gateStream(owner.cell, stream),
  isTarget: (value) => value instanceof RpcTarget,
  export: exportTarget,
  sink,
  writable,
  describe(value) {
    const known = backing.get(value);
    if (known === undefined) {
      for (const kind of extraKinds) {
        const described = kind.describe(value);
        if (described !== null) return described;
      }
      return null;
    }
    if (known.kind !== "stub") {
      const name = known.kind === "promise" ? "RpcPromise" : "RpcProperty";
      throw unsupported(name);
    }
    if (known.state.isDisposed) throw disposed();
    post(known.at, 1);
    return { k: "stub", at: known.at };
  },
  revive(cap) {
    if (cap.k === "stub") return makeStub(cap.at);
    for (const kind of extraKinds) {
      const stub = kind.revive(cap);
      if (stub !== null) return stub;
    }
    throw new TypeError(`A capability of an unknown kind (${cap.k}) was received.`);
  },
});

setStubKind({ isStub: isRemote });

// `new RpcStub(target)`.
setStubFactory((target) => makeStub(exportTarget(target, ownerOf(currentEvent()))));

export { addStubKind, local, makeProperty, receiveAnswer, send };
