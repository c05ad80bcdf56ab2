// What travels by RPC: a structured clone, with capabilities beside it.
//
// A payload is `{ bytes, caps, rids }`. `bytes` is V8's serialization of the value; where the value has a function, a target, a
// stub, a stream, an error or one of the classes of fetch, it has a marker, and `caps` says what marker `i` stands for. `rids` are
// the resources behind the streams. Nothing in a payload belongs to its maker any more, so it may go to another thread.

import { core } from "ext:core/mod.js";
import { resourceForStream } from "ext:celld_events/made.js";
import { bodyToRid } from "ext:celld_events/request.js";

const { Headers, headerListFromHeaders, headersFromHeaderList } = core.loadExtScript("ext:deno_fetch/20_headers.js");
const { InnerBody } = core.loadExtScript("ext:deno_fetch/22_body.js");
const { fromInnerRequest, Request, toInnerRequest } = core.loadExtScript("ext:deno_fetch/23_request.js");
const { fromInnerResponse, newInnerResponse, Response, toInnerResponse, wireHeaderList } = core.loadExtScript(
  "ext:deno_fetch/23_response.js",
);
const { readableStreamForRid, ReadableStream, WritableStream } = core.loadExtScript(
  "ext:deno_web/06_streams.js",
);
const { DOMException } = core.loadExtScript("ext:deno_web/01_dom_exception.js");

/** As on the platform. */
const MAX_BYTES = 32 << 20;

/** Deeper values take the careful way. */
const PLAIN_DEPTH = 16;

const ERRORS = { AggregateError, Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

/** Built-in classes that V8 clones, or refuses with its own words. */
const NATIVE = [
  ArrayBuffer, BigInt, Boolean, DataView, Date, Number, Promise, RegExp, String, WeakMap, WeakRef, WeakSet,
  Object.getPrototypeOf(Uint8Array),
];

const isPrimitive = (value) => value === null || (typeof value !== "object" && typeof value !== "function" && typeof value !== "symbol");

/** True for a value that certainly has no capability in it and no cycle. */
function isPlain(value, depth) {
  if (isPrimitive(value)) return true;
  if (typeof value !== "object" || depth === 0) return false;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) if (!isPlain(value[i], depth - 1)) return false;
    return true;
  }
  const proto = Object.getPrototypeOf(value);
  if (proto === Object.prototype) {
    for (const name in value) if (!isPlain(value[name], depth - 1)) return false;
    return !(core.hostObjectBrand in value);
  }
  return proto === Uint8Array.prototype || proto === Date.prototype || proto === ArrayBuffer.prototype;
}

const unclonable = (message) => new DOMException(message, "DataCloneError");

/** The refusal of an object whose class is `name`. */
const unsupported = (name) => unclonable(`Could not serialize object of type "${name}". This type does not support serialization.`);

function serialize(value, options) {
  const bytes = core.serialize(value, options, (message) => {
    throw unclonable(message);
  });
  if (bytes.length > MAX_BYTES) {
    throw new Error(
      `Serialized RPC arguments or return values are limited to 32MiB, but the size of this value was: ${bytes.length} bytes.`,
    );
  }
  return bytes;
}

/** Set by rpc_client.js and rpc_exports.js, which need this module themselves. */
let stubs = null;

function setStubs(value) {
  stubs = value;
}

class Encoder {
  caps = [];
  rids = [];
  markers = [];
  /** Own properties of errors, by marker: they may hold anything. */
  fills = [];
  #copies = new Map();
  #owner;

  constructor(owner) {
    this.#owner = owner;
  }

  #mark(value, cap) {
    const marker = { [core.hostObjectBrand]: 0 };
    this.#copies.set(value, marker);
    this.markers.push(marker);
    this.caps.push(cap);
    return marker;
  }

  #stream(stream, length) {
    this.rids.push(length === undefined ? resourceForStream(this.#gated(stream)) : stream);
    return this.rids.length - 1;
  }

  #gated(stream) {
    return stubs.gateStream(this.#owner, stream);
  }

  #body(body) {
    if (body === null) return -1;
    if (body.unusable()) throw new TypeError("Body has already been used. It can only be used once. Use tee() first if you need to read it twice.");
    stubs.gateBody(this.#owner, body);
    return this.#stream(bodyToRid(body), body.length ?? -1);
  }

  visit(value) {
    if (isPrimitive(value)) return value;
    if (typeof value === "symbol") throw unclonable(`${String(value)} could not be cloned.`);
    const seen = this.#copies.get(value);
    if (seen !== undefined) return seen;
    const stub = stubs.describe(value);
    if (stub !== null) return this.#mark(value, stub);
    if (typeof value === "function" || stubs.isTarget(value)) {
      return this.#mark(value, { k: "stub", at: stubs.export(value, this.#owner), f: typeof value === "function" });
    }
    if (Array.isArray(value)) {
      const copy = new Array(value.length);
      this.#copies.set(value, copy);
      for (const name of Object.keys(value)) copy[name] = this.visit(value[name]);
      return copy;
    }
    if (value instanceof DOMException) {
      return this.#mark(value, { k: "dom", name: value.name, message: value.message });
    }
    if (core.isNativeError(value)) return this.#error(value);
    if (value instanceof Map) {
      const copy = new Map();
      this.#copies.set(value, copy);
      for (const [key, each] of value) copy.set(this.visit(key), this.visit(each));
      return copy;
    }
    if (value instanceof Set) {
      const copy = new Set();
      this.#copies.set(value, copy);
      for (const each of value) copy.add(this.visit(each));
      return copy;
    }
    if (Object.getPrototypeOf(value) === Object.prototype) {
      const copy = {};
      this.#copies.set(value, copy);
      for (const name of Object.keys(value)) copy[name] = this.visit(value[name]);
      return copy;
    }
    return this.#object(value);
  }

  #error(error) {
    let type = "Error";
    for (const name in ERRORS) if (error instanceof ERRORS[name] && (type === "Error" || name !== "Error")) type = name;
    const marker = this.#mark(error, { k: "error", type, message: String(error.message), stack: error.stack });
    const index = this.markers.length - 1;
    const fill = {};
    for (const name of Object.getOwnPropertyNames(error)) {
      if (name === "stack" || name === "message") continue;
      fill[name] = this.visit(error[name]);
    }
    if (type === "Error" && !Object.hasOwn(error, "name") && typeof error.name === "string" && error.name !== "Error") {
      fill.name = error.name;
    }
    this.fills.push([index, fill]);
    return marker;
  }

  #object(value) {
    if (value instanceof ReadableStream) {
      if (value.locked) throw new TypeError("The ReadableStream has been locked to a reader.");
      return this.#mark(value, { k: "readable", stream: this.#stream(value) });
    }
    if (value instanceof WritableStream) {
      return this.#mark(value, { k: "writable", at: stubs.export(stubs.sink(value), this.#owner) });
    }
    if (value instanceof Headers) return this.#mark(value, { k: "headers", list: headerListFromHeaders(value) });
    if (value instanceof Request) {
      const inner = toInnerRequest(value);
      const cap = { k: "request", method: inner.method, url: inner.url(), headers: inner.headerList, redirect: inner.redirectMode };
      return this.#mark(value, { ...cap, body: this.#body(inner.body), length: inner.body?.length ?? -1 });
    }
    if (value instanceof Response) {
      const inner = toInnerResponse(value);
      if (inner.status === 101) throw unsupported("Response");
      const cap = { k: "response", status: inner.status, text: inner.statusMessage, headers: wireHeaderList(inner) };
      return this.#mark(value, { ...cap, body: this.#body(inner.body), length: inner.body?.length ?? -1 });
    }
    if (NATIVE.some((Class) => value instanceof Class)) return value;
    throw unsupported(Object.getPrototypeOf(value)?.constructor?.name || "Object");
  }
}

/** Takes `value` apart; functions and targets in it become capabilities of `owner` (rpc_exports.js). */
function encode(value, owner) {
  if (isPlain(value, PLAIN_DEPTH)) return { bytes: serialize(value), caps: null, rids: null };
  const encoder = new Encoder(owner);
  const graph = encoder.visit(value);
  if (encoder.caps.length === 0) return { bytes: serialize(graph), caps: null, rids: null };
  const bytes = serialize([graph, encoder.fills], { hostObjects: encoder.markers });
  return { bytes, caps: core.serialize(encoder.caps), rids: encoder.rids.length === 0 ? null : encoder.rids };
}

function bodyOf(cap, rids) {
  if (cap.body < 0) return null;
  const body = new InnerBody(readableStreamForRid(rids[cap.body]));
  if (cap.length >= 0) body.length = cap.length;
  return body;
}

/** What a marker stands for; stubs are noted in `received`. */
function revive(cap, rids, received) {
  switch (cap.k) {
    case "error": {
      const Class = ERRORS[cap.type];
      const error = cap.type === "AggregateError" ? new Class([], cap.message) : new Class(cap.message);
      if (typeof cap.stack === "string") {
        Object.defineProperty(error, "stack", { value: cap.stack, writable: true, configurable: true });
      }
      return error;
    }
    case "dom":
      return new DOMException(cap.message, cap.name);
    case "readable":
      return readableStreamForRid(rids[cap.stream]);
    case "writable":
      return stubs.writable(cap.at);
    case "headers":
      return headersFromHeaderList(cap.list, "none");
    case "request": {
      // The list of headers and the body are put in afterwards: neither is for the constructor to judge again.
      const request = new Request(cap.url, { method: cap.method, redirect: cap.redirect });
      const inner = toInnerRequest(request);
      inner.headerList.push(...cap.headers);
      inner.body = bodyOf(cap, rids);
      return fromInnerRequest(inner, "none");
    }
    case "response": {
      const inner = newInnerResponse(cap.status, cap.text);
      inner.headerList.push(...cap.headers);
      inner.body = bodyOf(cap, rids);
      return fromInnerResponse(inner, "none");
    }
    default: {
      const stub = stubs.revive(cap);
      received.push(stub);
      return stub;
    }
  }
}

/** Puts a value together. `received` are the stubs in it: whoever gets the value disposes of them. */
function decode({ bytes, caps, rids }) {
  const received = [];
  if (caps === null || caps === undefined) return { value: core.deserialize(bytes), received };
  const objects = core.deserialize(caps).map((cap) => revive(cap, rids, received));
  const [value, fills] = core.deserialize(bytes, { hostObjects: objects });
  for (const [index, fill] of fills) {
    for (const name of Object.keys(fill)) {
      const isHidden = name === "cause" || name === "errors";
      Object.defineProperty(objects[index], name, {
        value: fill[name],
        writable: true,
        enumerable: !isHidden,
        configurable: true,
      });
    }
  }
  return { value, received };
}

/** Takes apart what is thrown at a caller, who finds `marks` on it. What the callee has is left as it is. */
function encodeThrown(error, owner, marks = {}) {
  return encode({ error, marks }, owner);
}

/** What was thrown elsewhere. */
function decodeThrown(payload) {
  const { error, marks } = decode(payload).value;
  return isPrimitive(error) ? error : Object.assign(error, marks);
}

export { decode, decodeThrown, encode, encodeThrown, isPrimitive, setStubs, unsupported };
