// `caches`: the Cache API in front of the process's store (src/web/cache).

import { core } from "ext:core/mod.js";
import { bytesOf } from "ext:celld_web/chunk.js";
import { decodeFields, encodeFields } from "ext:celld_web/fields.js";
import { op_cache_delete, op_cache_limit, op_cache_match, op_cache_put } from "ext:core/ops";

const { Request, RequestPrototype, toInnerRequest } = core.loadExtScript("ext:deno_fetch/23_request.js");
const { fromInnerResponse, newInnerResponse, ResponsePrototype, toInnerResponse, wireHeaderList } = core.loadExtScript(
  "ext:deno_fetch/23_response.js",
);
const { InnerBody } = core.loadExtScript("ext:deno_fetch/22_body.js");

/** What a caller that may have unproven writes waits for, set by js/events: null or a promise. */
let outputGate = () => null;

function setCacheGate(gate) {
  outputGate = gate;
}

const constructible = { allowed: false };

function make(Class, ...values) {
  const before = constructible.allowed;
  constructible.allowed = true;
  try {
    return new Class(...values);
  } finally {
    // One may be made while another is.
    constructible.allowed = before;
  }
}

function refuseConstruction() {
  if (!constructible.allowed) throw new TypeError("Illegal constructor");
}

const wrongType = (method, position, type, owner = "Cache") =>
  new TypeError(`Failed to execute '${method}' on '${owner}': parameter ${position} is not of type '${type}'.`);

/** What is asked for: `{ url, method, headers }`. The fragment of a URL never leaves the client. */
function readRequest(input, method) {
  if (input === undefined) throw wrongType(method, 1, "Request or string");
  let request;
  if (typeof input === "object" && input !== null && RequestPrototype.isPrototypeOf(input)) request = input;
  else {
    try {
      request = new Request(input);
    } catch {
      throw new TypeError(`Invalid URL: ${input}`);
    }
  }
  const inner = toInnerRequest(request);
  const url = inner.url();
  const fragment = url.indexOf("#");
  return { url: fragment < 0 ? url : url.slice(0, fragment), method: inner.method, headers: encodeFields(inner.headerList) };
}

/** All bytes of a response, or null when they are more than `limit`. */
async function collect(response, limit) {
  if (response.body === null) return new Uint8Array();
  const reader = response.body.getReader();
  const chunks = [];
  let size = 0;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const chunk = bytesOf(value);
    size += chunk.byteLength;
    if (size <= limit) chunks.push(chunk);
    // The rest is read all the same: the other branch of a tee may depend on it.
    else chunks.length = 0;
  }
  if (size > limit) return null;
  const bytes = new Uint8Array(size);
  let offset = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, offset);
    offset += chunk.byteLength;
  }
  return bytes;
}

/** Refuses what the platform refuses of `CacheQueryOptions`. */
function checkOptions(options) {
  for (const name of ["ignoreSearch", "ignoreVary"]) {
    if (options?.[name]) throw new Error(`The '${name}' field on 'CacheQueryOptions' is not implemented.`);
  }
}

function unimplemented(method, owner) {
  return Promise.reject(new Error(`Failed to execute '${method}' on '${owner}': the method is not implemented.`));
}

class Cache {
  #name;

  constructor(name) {
    refuseConstruction();
    this.#name = name;
  }

  async match(request, options = undefined) {
    const { url, method, headers } = readRequest(request, "match");
    checkOptions(options);
    if (method !== "GET" && !options?.ignoreMethod) return undefined;
    const found = op_cache_match(this.#name, url, headers);
    if (found === null) return undefined;
    const inner = newInnerResponse(found.status);
    inner.headerList = decodeFields(found.headers);
    inner.headerList.push(["cf-cache-status", "HIT"]);
    if (found.status !== 304) {
      inner.body = new InnerBody({ body: found.body, consumed: false });
      inner.body.length = found.body.byteLength;
    }
    return fromInnerResponse(inner, "immutable");
  }

  async put(request, response) {
    const { url, method, headers } = readRequest(request, "put");
    if (!(typeof response === "object" && response !== null && ResponsePrototype.isPrototypeOf(response))) {
      throw wrongType("put", 2, "Response");
    }
    if (method !== "GET") throw new TypeError("Cannot cache response to non-GET request.");
    if (response.status === 206) {
      throw new TypeError("Cannot cache response to a range request (206 Partial Content).");
    }
    if (response.headers.get("vary")?.split(",").some((name) => name.trim() === "*")) {
      throw new TypeError("Cannot cache response with 'Vary: *' header.");
    }
    if (response.bodyUsed || response.body?.locked) {
      throw new TypeError(
        "Body has already been used. It can only be used once. Use tee() first if you need to read it twice.",
      );
    }
    const inner = toInnerResponse(response);
    const list = wireHeaderList(inner).filter(([name]) => name.toLowerCase() !== "cf-cache-status");
    const { status } = inner;
    const body = await collect(response, op_cache_limit());
    await outputGate();
    if (body !== null) op_cache_put(this.#name, url, headers, status, encodeFields(list), body);
  }

  async delete(request, options = undefined) {
    const { url, method } = readRequest(request, "delete");
    checkOptions(options);
    if (method !== "GET" && !options?.ignoreMethod) return false;
    await outputGate();
    return op_cache_delete(this.#name, url);
  }

  add() {
    return unimplemented("add", "Cache");
  }

  addAll() {
    return unimplemented("addAll", "Cache");
  }

  keys() {
    return unimplemented("keys", "Cache");
  }

  matchAll() {
    return unimplemented("matchAll", "Cache");
  }
}

class CacheStorage {
  constructor() {
    refuseConstruction();
    // The cache that is always there.
    Object.defineProperty(this, "default", { value: make(Cache, ""), enumerable: true, configurable: true });
  }

  async open(name) {
    if (name === undefined) throw wrongType("open", 1, "string", "CacheStorage");
    // No name that a Worker gives can be that of the default cache.
    return make(Cache, `open:${name}`);
  }

  delete() {
    return unimplemented("delete", "CacheStorage");
  }

  has() {
    return unimplemented("has", "CacheStorage");
  }

  keys() {
    return unimplemented("keys", "CacheStorage");
  }

  match() {
    return unimplemented("match", "CacheStorage");
  }
}

for (const Class of [Cache, CacheStorage]) {
  for (const name of Object.getOwnPropertyNames(Class.prototype)) {
    if (name !== "constructor") Object.defineProperty(Class.prototype, name, { enumerable: true });
  }
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: Class.name, configurable: true });
  Object.defineProperty(Class, "length", { value: 0 });
}

const caches = make(CacheStorage);

export { Cache, caches, CacheStorage, setCacheGate };
