import { DurableObject } from "cloudflare:workers";

import { cells } from "./cell.js";
import { caught, error, seen, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;
const { Cell, inside } = cells(test);
export { Cell };

/** What code did that is to have no result. */
const went = [];

export class Other extends DurableObject {
  log = [];
  started = 0;

  constructor(state, env) {
    super(state, env);
    state.blockConcurrencyWhile(async () => {
      await scheduler.wait(2);
      this.started = 1;
    });
  }

  async fetch(request) {
    const url = new URL(request.url);
    const act = this[`do_${url.pathname.slice(1)}`];
    return act
      ? act.call(this, request, url)
      : Response.json({ method: request.method, url: request.url, body: await request.text(), header: request.headers.get("x-a") });
  }
  do_started() {
    return Response.json(this.started);
  }
  do_throw() {
    throw new RangeError("boom");
  }
  do_throw_string() {
    throw "text";
  }
  do_nothing() {}
  do_stream() {
    return new Response(new Blob(["streamed"]).stream());
  }
  do_abort() {
    this.ctx.abort("abort reason");
  }
  do_abort_timer() {
    setTimeout(() => this.ctx.abort("abort in a timer"), 2);
    return Response.json("before");
  }
  do_abort_waiting() {
    return new Promise(() => setTimeout(() => this.ctx.abort("abort in a timer"), 2));
  }
  do_abort_caught() {
    try {
      this.ctx.abort("abort reason");
    } catch {
      went.push("caught");
    }
    went.push("after");
  }
  do_abort_error() {
    this.ctx.abort(new RangeError("abort error"));
  }
  async do_wait(request, url) {
    this.log.push(`begin ${url.searchParams.get("n")}`);
    await scheduler.wait(2);
    this.log.push(`end ${url.searchParams.get("n")}`);
    return Response.json(this.log);
  }
  async do_store(request, url) {
    const n = url.searchParams.get("n");
    this.log.push(`begin ${n}`);
    await this.ctx.storage.get("a");
    this.log.push(`read ${n}`);
    await this.ctx.storage.put("a", n);
    this.log.push(`wrote ${n}`);
    return Response.json(this.log);
  }
  async do_block(request, url) {
    const n = url.searchParams.get("n");
    this.log.push(`begin ${n}`);
    await this.ctx.blockConcurrencyWhile(async () => {
      await scheduler.wait(2);
      this.log.push(`inside ${n}`);
    });
    this.log.push(`end ${n}`);
    return Response.json(this.log);
  }
  async do_block_throw() {
    await this.ctx.blockConcurrencyWhile(async () => {
      throw new RangeError("blocked");
    });
  }
  async do_increment() {
    const n = (await this.ctx.storage.get("n")) ?? 0;
    await this.ctx.storage.put("n", n + 1);
    return Response.json(n + 1);
  }
  do_memory() {
    this.count = (this.count ?? 0) + 1;
    return Response.json(this.count);
  }
  async do_persist() {
    await this.ctx.storage.put("kept", 5);
    return Response.json(1);
  }
  async do_kept() {
    return Response.json(await this.ctx.storage.get("kept"));
  }
  do_id() {
    return Response.json([this.ctx.id.toString(), this.ctx.id.name ?? null]);
  }
  do_waituntil() {
    this.ctx.waitUntil(scheduler.wait(2).then(() => this.log.push("late")));
    return Response.json(this.log);
  }
  do_log() {
    return Response.json(this.log);
  }
  do_env() {
    return Response.json(Object.keys(this.env).sort());
  }
}

const stub = (env, name) => env.OTHER.get(env.OTHER.idFromName(name));
const ask = async (target, path, init) => (await target.fetch(`http://o/${path}`, init)).json();

// IDs
test("id: 64 hexadecimal digits", ({ env }) => /^[0-9a-f]{64}$/.test(env.OTHER.idFromName("a").toString()), true);
test(
  "id: of the same name",
  ({ env }) => [
    env.OTHER.idFromName("a").toString() === env.OTHER.idFromName("a").toString(),
    env.OTHER.idFromName("a").toString() === env.OTHER.idFromName("b").toString(),
  ],
  [true, false],
);
test("id: of another class", ({ env }) => env.OTHER.idFromName("a").toString() === env.CELL.idFromName("a").toString(), false);
test(
  "id: the digits of a name",
  ({ env }) => env.OTHER.idFromName("a").toString(),
  "d49c50074f26e4040cede274be53f54f35bb70fcc66d3c7c30301bd0151e4fcb",
);
test(
  "id: equals",
  ({ env }) => {
    const id = env.OTHER.idFromName("a");
    return [id.equals(env.OTHER.idFromName("a")), id.equals(env.OTHER.idFromName("b")), id.equals(env.OTHER.idFromString(id.toString()))];
  },
  [true, false, true],
);
test(
  "id: equals of something",
  ({ env }) => env.OTHER.idFromName("a").equals("x"),
  threw("TypeError", "Failed to execute 'equals' on 'DurableObjectId': parameter 1 is not of type 'DurableObjectId'."),
);
test(
  "id: name",
  ({ env }) => [
    env.OTHER.idFromName("a").name,
    env.OTHER.newUniqueId().name,
    env.OTHER.idFromString(env.OTHER.idFromName("a").toString()).name,
  ],
  ["a", undefined, undefined],
);
test("id: newUniqueId differs", ({ env }) => env.OTHER.newUniqueId().toString() === env.OTHER.newUniqueId().toString(), false);
test(
  "id: idFromString of a short text",
  ({ env }) => env.OTHER.idFromString("abc"),
  threw("TypeError", "Invalid Durable Object ID: must be 64 hex digits"),
);
test(
  "id: idFromString of another class",
  ({ env }) => env.OTHER.idFromString(env.CELL.idFromName("a").toString()),
  threw("TypeError", "Durable Object ID is not valid for this namespace."),
);
test(
  "id: idFromString of capitals",
  ({ env }) =>
    env.OTHER.idFromString(env.OTHER.idFromName("a").toString().toUpperCase()).toString() === env.OTHER.idFromName("a").toString(),
  true,
);
test(
  "id: idFromString of 64 zeros",
  ({ env }) => env.OTHER.idFromString("0".repeat(64)).toString(),
  threw("TypeError", "Durable Object ID is not valid for this namespace."),
);
test(
  "id: idFromName of nothing",
  ({ env }) => env.OTHER.idFromName(),
  threw("TypeError", "Failed to execute 'idFromName' on 'DurableObjectNamespace': parameter 1 is not of type 'string'."),
);
test("id: idFromName of an empty name", ({ env }) => env.OTHER.idFromName("").toString().length, 64);
test("id: idFromName of a number", ({ env }) => env.OTHER.idFromName(5).name, "5");
test("id: JSON", ({ env }) => JSON.stringify(env.OTHER.idFromName("a")), '{"name":"a"}');
test("id: text", ({ env }) => `${env.OTHER.idFromName("a")}` === env.OTHER.idFromName("a").toString(), true);
test(
  "id: inside the object",
  async ({ env }) => {
    const id = env.OTHER.idFromName("inside");
    const [text, name] = await ask(env.OTHER.get(id), "id");
    return [text === id.toString(), name];
  },
  [true, "inside"],
);
test(
  "id: inside one made by newUniqueId",
  async ({ env }) => {
    const id = env.OTHER.newUniqueId();
    const [text, name] = await ask(env.OTHER.get(id), "id");
    return [text === id.toString(), name];
  },
  [true, null],
);
test(
  "jurisdiction",
  ({ env }) => typeof env.OTHER.jurisdiction("eu"),
  threw("Error", "Jurisdiction restrictions are not implemented in workerd."),
);
test(
  "newUniqueId with a jurisdiction",
  ({ env }) => env.OTHER.newUniqueId({ jurisdiction: "eu" }).toString().length,
  threw("Error", "Jurisdiction restrictions are not implemented in workerd."),
);
test(
  "namespace: members",
  ({ env }) =>
    ["get", "getByName", "idFromName", "idFromString", "newUniqueId", "jurisdiction", "getExisting"].map(
      (name) => `${name} ${typeof env.OTHER[name]}`,
    ),
  [
    "get function",
    "getByName function",
    "idFromName function",
    "idFromString function",
    "newUniqueId function",
    "jurisdiction function",
    "getExisting undefined",
  ],
);
test("namespace: tag", ({ env }) => Object.prototype.toString.call(env.OTHER), "[object DurableObjectNamespace]");
test(
  "get: of a text",
  ({ env }) => env.OTHER.get("a"),
  threw("TypeError", "Failed to execute 'get' on 'DurableObjectNamespace': parameter 1 is not of type 'DurableObjectId'."),
);
test("get: an ID of another class", ({ env }) => String(env.OTHER.get(env.CELL.idFromName("a"))), "[object DurableObject]");
test("get: options", ({ env }) => typeof env.OTHER.get(env.OTHER.idFromName("a"), { locationHint: "weur" }), "object");
test("get: a wrong locationHint", ({ env }) => typeof env.OTHER.get(env.OTHER.idFromName("a"), { locationHint: "nope" }), "object");
test(
  "getByName",
  async ({ env }) => {
    const [text, name] = await ask(env.OTHER.getByName("byname"), "id");
    return [text === env.OTHER.idFromName("byname").toString(), name];
  },
  [true, "byname"],
);
test("stub: id and name", ({ env }) => [stub(env, "a").id.toString() === env.OTHER.idFromName("a").toString(), stub(env, "a").name], [
  true,
  "a",
]);
test("stub: tag", ({ env }) => Object.prototype.toString.call(stub(env, "a")), "[object DurableObject]");
test("stub: typeof", ({ env }) => typeof stub(env, "a"), "object");
test("stub: typeof a method", ({ env }) => [typeof stub(env, "a").anything, typeof stub(env, "a").fetch], ["function", "function"]);

// fetch
test(
  "fetch: method, body and headers",
  async ({ env }) => ask(stub(env, "f"), "x?y=1", { method: "POST", body: "hi", headers: { "x-a": "1" } }),
  { method: "POST", url: "http://o/x?y=1", body: "hi", header: "1" },
);
test(
  "fetch: of a Request",
  async ({ env }) => (await stub(env, "f").fetch(new Request("http://o/y", { method: "PUT", body: "b" }))).json(),
  { method: "PUT", url: "http://o/y", body: "b", header: null },
);
test("fetch: a relative URL", ({ env }) => stub(env, "f").fetch("/x"), threw("TypeError", "Invalid URL: /x"));
test("fetch: https", async ({ env }) => (await (await stub(env, "f").fetch("https://host:8443/x")).json()).url, "https://host:8443/x");
test("fetch: the response", async ({ env }) => seen(await stub(env, "f").fetch("http://o/started")), {
  status: 200,
  statusText: "OK",
  headers: [["content-type", "application/json"]],
  body: "1",
});
test("fetch: a stream", async ({ env }) => (await stub(env, "f").fetch("http://o/stream")).text(), "streamed");
test(
  "fetch: an exception reaches the caller",
  ({ env }) => stub(env, "f").fetch("http://o/throw"),
  threw("RangeError", "boom", "RangeError", { remote: true }),
);
test(
  "fetch: a text is thrown",
  ({ env }) => stub(env, "f").fetch("http://o/throw_string"),
  threw("Error", "text", "Error", { remote: true }),
);
test(
  "fetch: nothing is returned",
  ({ env }) => stub(env, "f").fetch("http://o/nothing"),
  threw("TypeError", "Incorrect type for Promise: the Promise did not resolve to 'Response'.", "TypeError", { remote: true }),
);
test(
  "fetch: properties of the error",
  async ({ env }) => {
    const error = await caught(() => stub(env, "f").fetch("http://o/throw"));
    return [error instanceof RangeError, error.remote, error.retryable, error.overloaded, error.durableObjectReset];
  },
  [true, true, undefined, undefined, undefined],
);
test("the object lives on after an exception", async ({ env }) => {
  const object = stub(env, "lives");
  await ask(object, "memory");
  await caught(() => object.fetch("http://o/throw"));
  return ask(object, "memory");
}, 2);
test("the constructor's blockConcurrencyWhile comes first", ({ env }) => ask(stub(env, "fresh"), "started"), 1);
test("two stubs of one object", async ({ env }) => {
  await ask(stub(env, "shared"), "memory");
  return ask(stub(env, "shared"), "memory");
}, 2);
test("env of the object", ({ env }) => ask(stub(env, "f"), "env"), ["CELL", "OTHER"]);

// Order
test(
  "order: events interleave at awaits",
  async ({ env }) => {
    const object = stub(env, "interleave");
    const [, log] = await Promise.all([1, 2].map((n) => ask(object, `wait?n=${n}`)));
    return log;
  },
  ["begin 1", "begin 2", "end 1", "end 2"],
);
test(
  "order: storage operations keep other events out",
  async ({ env }) => {
    const object = stub(env, "store");
    await ask(object, "started");
    await Promise.all([1, 2, 3].map((n) => ask(object, `store?n=${n}`)));
    return ask(object, "log");
  },
  ["begin 1", "read 1", "wrote 1", "begin 2", "read 2", "wrote 2", "begin 3", "read 3", "wrote 3"],
);
test(
  "order: increments are not lost",
  async ({ env }) => {
    const object = stub(env, "increment");
    const all = await Promise.all(Array.from({ length: 10 }, () => ask(object, "increment")));
    return all.sort((a, b) => a - b);
  },
  [1, 2, 3, 4, 5, 6, 7, 8, 9, 10],
);
test(
  "order: blockConcurrencyWhile keeps other events out",
  async ({ env }) => {
    const object = stub(env, "block");
    await Promise.all([1, 2].map((n) => ask(object, `block?n=${n}`)));
    return ask(object, "log");
  },
  ["begin 1", "inside 1", "end 1", "begin 2", "inside 2", "end 2"],
);
test(
  "order: calls of one caller arrive in order",
  async ({ env }) => {
    const object = stub(env, "arrive");
    await Promise.all([1, 2, 3, 4].map((n) => ask(object, `wait?n=${n}`)));
    return (await ask(object, "log")).filter((each) => each.startsWith("begin"));
  },
  ["begin 1", "begin 2", "begin 3", "begin 4"],
);
test(
  "waitUntil of the state",
  async ({ env }) => {
    const object = stub(env, "waituntil");
    await ask(object, "waituntil");
    for (let i = 0; i < 50 && !(await ask(object, "log")).length; i++) await scheduler.wait(10);
    return ask(object, "log");
  },
  ["late"],
);
test(
  "blockConcurrencyWhile that throws resets the object",
  async ({ env }) => {
    const object = stub(env, "blockthrow");
    await ask(object, "memory");
    const error = await caught(() => object.fetch("http://o/block_throw"));
    return [error, await ask(stub(env, "blockthrow"), "memory")];
  },
  [error("RangeError", "blocked", "RangeError", { remote: true, durableObjectReset: true }), 1],
);
inside("blockConcurrencyWhile gives the value", (state) => state.blockConcurrencyWhile(async () => 5), 5);
inside(
  "blockConcurrencyWhile of no function",
  (state) => state.blockConcurrencyWhile(5),
  threw("TypeError", "Failed to execute 'blockConcurrencyWhile' on 'DurableObjectState': parameter 1 is not of type 'function'."),
);

// abort
test(
  "abort: the caller's error",
  ({ env }) => stub(env, "abort1").fetch("http://o/abort"),
  threw("Error", "abort reason", "Error", { remote: true, durableObjectReset: true }),
);
test(
  "abort: in a timer",
  async ({ env }) => {
    const before = await ask(stub(env, "abort6"), "memory");
    await ask(stub(env, "abort6"), "abort_timer");
    await scheduler.wait(20);
    return [before, await ask(stub(env, "abort6"), "memory")];
  },
  [1, 1],
);
test(
  "abort: in a timer, while an event waits",
  ({ env }) => stub(env, "abort7").fetch("http://o/abort_waiting"),
  threw("Error", "abort in a timer", "Error", { remote: true, durableObjectReset: true }),
);
test(
  "abort: nothing comes after it",
  async ({ env }) => {
    await caught(() => stub(env, "abort8").fetch("http://o/abort_caught"));
    return went;
  },
  [],
);
test(
  "abort: with an error",
  ({ env }) => stub(env, "abort2").fetch("http://o/abort_error"),
  threw("Error", "RangeError: abort error", "Error", { remote: true, durableObjectReset: true }),
);
test(
  "abort: memory is gone, storage is not",
  async ({ env }) => {
    await ask(stub(env, "abort3"), "memory");
    await ask(stub(env, "abort3"), "persist");
    await caught(() => stub(env, "abort3").fetch("http://o/abort"));
    return [await ask(stub(env, "abort3"), "memory"), await ask(stub(env, "abort3"), "kept")];
  },
  [1, 5],
);
test(
  "abort: the stub is broken afterwards",
  async ({ env }) => {
    const object = stub(env, "abort4");
    await caught(() => object.fetch("http://o/abort"));
    return caught(() => ask(object, "memory"));
  },
  error("Error", "abort reason", "Error", { durableObjectReset: true }),
);
inside("state.exports", (state) => typeof state.exports, "object");
inside("DurableObject: ctx and env", (state, object) => [object.ctx === state, typeof object.env, object instanceof DurableObject], [
  true,
  "object",
  true,
]);
test(
  "a DurableObject made by hand",
  () => typeof new DurableObject({}, {}),
  threw("TypeError", "Failed to construct 'DurableObjectBase': constructor parameter 1 is not of type 'DurableObjectState'."),
);
test("WebSocket upgrade without an upgrade header", async ({ env }) => (await stub(env, "f").fetch("http://o/started")).webSocket, null);
