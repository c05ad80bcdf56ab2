import { DurableObject, RpcTarget } from "cloudflare:workers";

import { caught, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

export class Throws extends DurableObject {
  constructor(state, env) {
    super(state, env);
    throw new RangeError("constructor");
  }
  hello() {}
}
export class Blocks extends DurableObject {
  constructor(state, env) {
    super(state, env);
    state.blockConcurrencyWhile(async () => {
      await scheduler.wait(1);
      throw new RangeError("blocked");
    });
  }
  hello() {}
}
let built = 0;
/** Its first construction fails. */
export class Once extends DurableObject {
  constructor(state, env) {
    super(state, env);
    if (built++ === 0) throw new RangeError("first");
  }
  hello() {
    return "second";
  }
}
/** Not derived from DurableObject: no RPC. */
export class Plain {
  constructor(state, env) {
    this.state = state;
    this.kinds = [typeof state.storage.get, Object.keys(env).length];
  }
  async fetch() {
    return Response.json(this.kinds);
  }
  hello() {
    return "hello";
  }
}
export class Old {
  constructor(state) {
    this.state = state;
  }
}

class Held extends RpcTarget {
  constructor(storage) {
    super();
    this.storage = storage;
  }
  read(key) {
    return this.storage.get(key);
  }
}

export class Life extends DurableObject {
  log = [];
  get(key) {
    return this.ctx.storage.get(key);
  }
  keys() {
    return this.ctx.storage.list().then((all) => [...all.keys()]);
  }
  readLog() {
    return this.log;
  }
  putWithoutAwait(key, value) {
    this.ctx.storage.put(key, value);
    return "returned";
  }
  putThenThrow(key, value) {
    this.ctx.storage.put(key, value);
    throw new RangeError("after the write");
  }
  async putAwaitThrow(key, value) {
    await this.ctx.storage.put(key, value);
    throw new RangeError("after the write");
  }
  putThenAbort(key, value) {
    this.ctx.storage.put(key, value);
    this.ctx.abort("abort");
  }
  async syncThenAbort(key, value) {
    this.ctx.storage.put(key, value);
    await this.ctx.storage.sync();
    this.ctx.abort("abort");
  }
  sqlThenThrow() {
    this.ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS t (x)");
    this.ctx.storage.sql.exec("INSERT INTO t VALUES (1)");
    throw new RangeError("after the write");
  }
  rows() {
    return this.ctx.storage.sql.exec("SELECT count(*) AS n FROM t").one().n;
  }
  async call(name, method, ...all) {
    return this.env.LIFE.getByName(name)[method](...all);
  }
  async callSelf() {
    return this.env.LIFE.get(this.ctx.id).answer();
  }
  answer() {
    return "answer";
  }
  async pingPong(other, left) {
    if (left === 0) return "done";
    return this.env.LIFE.getByName(other).pingPong(this.ctx.id.name, left - 1);
  }
  async waitFor(ms, name) {
    this.log.push(`begin ${name}`);
    await scheduler.wait(ms);
    this.log.push(`end ${name}`);
  }
  /** Other events come in while a call to another object is awaited. */
  async callOut(name) {
    this.log.push(`begin ${name}`);
    await this.env.LIFE.getByName("elsewhere").answer();
    this.log.push(`end ${name}`);
  }
  async blockAndCallSelf() {
    return this.ctx.blockConcurrencyWhile(() =>
      Promise.race([this.env.LIFE.get(this.ctx.id).answer(), scheduler.wait(200).then(() => "kept out")]),
    );
  }
  async blockAndTimer() {
    const out = [];
    await this.ctx.blockConcurrencyWhile(async () => {
      setTimeout(() => out.push("timer"), 1);
      await scheduler.wait(20);
      out.push("inside");
    });
    return out;
  }
  timerLater() {
    setTimeout(() => this.ctx.storage.put("timer", "ran"), 5);
  }
  memory() {
    return (this.n = (this.n ?? 0) + 1);
  }
  held() {
    return new Held(this.ctx.storage);
  }
  give() {
    kept = this.ctx.storage;
  }
  async deleteAll() {
    await this.ctx.storage.put("a", 1);
    this.ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS gone (x)");
    await this.ctx.storage.deleteAll();
    return [
      [...(await this.ctx.storage.list()).keys()],
      this.ctx.storage.sql.exec("SELECT name FROM sqlite_master WHERE name = 'gone'").toArray(),
    ];
  }
  reject() {
    Promise.reject(new Error("ignore me"));
    return "fine";
  }
  waitUntilRejects() {
    this.ctx.waitUntil(Promise.reject(new Error("ignore me")));
    return "fine";
  }
  unawaitedFailure() {
    this.ctx.storage.put("f", () => {});
    return "returned";
  }
  env_() {
    return Object.keys(this.env).sort();
  }
}
let kept;

const life = (env, name) => env.LIFE.getByName(name);
test(
  "constructor: throws",
  ({ env }) => env.THROWS.getByName("a").hello(),
  threw("RangeError", "constructor", "RangeError", { durableObjectReset: true }),
);
test(
  "constructor: throws, by fetch",
  ({ env }) => env.THROWS.getByName("b").fetch("http://a/"),
  threw("RangeError", "constructor", "RangeError", { remote: true, durableObjectReset: true }),
);
test(
  "constructor: blockConcurrencyWhile rejects",
  ({ env }) => env.BLOCKS.getByName("a").hello(),
  threw("RangeError", "blocked", "RangeError", { durableObjectReset: true }),
);
test(
  "constructor: the next call tries again",
  async ({ env }) => [(await caught(() => env.ONCE.getByName("a").hello()))?.message, await env.ONCE.getByName("a").hello()],
  ["first", "second"],
);
test("a plain class: fetch", async ({ env }) => (await env.PLAIN.getByName("a").fetch("http://a/")).json(), ["function", 6]);
test(
  "a plain class: RPC",
  ({ env }) => env.PLAIN.getByName("a").hello(),
  threw(
    "TypeError",
    'The receiving Durable Object does not support RPC, because its class was not declared with `extends DurableObject`. In order to enable RPC, make sure your class extends the special class `DurableObject`, which can be imported from the module "cloudflare:workers".',
    "TypeError",
    { remote: true },
  ),
);
test(
  "a class without fetch",
  ({ env }) => env.FUNCTION.getByName("a").fetch("http://a/"),
  threw("Error", "Handler does not export a fetch() function.", "Error", { remote: true }),
);
test(
  "an object without fetch",
  ({ env }) => env.ONCE.getByName("a").fetch("http://a/"),
  threw("Error", "Handler does not export a fetch() function.", "Error", { remote: true }),
);

test("a write without await is there", async ({ env }) => [await life(env, "1").putWithoutAwait("a", 1), await life(env, "1").get("a")], [
  "returned",
  1,
]);
test(
  "a write before an exception stays",
  async ({ env }) => [(await caught(() => life(env, "2").putThenThrow("a", 1))).message, await life(env, "2").get("a")],
  ["after the write", 1],
);
test(
  "an awaited write before an exception stays",
  async ({ env }) => [(await caught(() => life(env, "3").putAwaitThrow("a", 1))).message, await life(env, "3").get("a")],
  ["after the write", 1],
);
test(
  "a write before an abort is lost",
  async ({ env }) => [(await caught(() => life(env, "4").putThenAbort("a", 1))).message, await life(env, "4").get("a")],
  ["abort", undefined],
);
test(
  "a synced write before an abort stays",
  async ({ env }) => [(await caught(() => life(env, "5").syncThenAbort("a", 1))).message, await life(env, "5").get("a")],
  ["abort", 1],
);
test(
  "SQL before an exception stays",
  async ({ env }) => [(await caught(() => life(env, "6").sqlThenThrow())).message, await life(env, "6").rows()],
  ["after the write", 1],
);
test(
  "a failed write that nobody awaits",
  async ({ env }) => [await caught(() => life(env, "7").unawaitedFailure()), await life(env, "7").answer()],
  [undefined, "answer"],
);
test("deleteAll", ({ env }) => life(env, "8").deleteAll(), [[], []]);

test("an object calls another", ({ env }) => life(env, "a").call("b", "answer"), "answer");
test("an object calls itself", ({ env }) => life(env, "a").callSelf(), "answer");
test("two objects call each other ten times", ({ env }) => life(env, "ping").pingPong("pong", 10), "done");
test(
  "an exception passes two objects",
  ({ env }) => life(env, "a").call("b", "putThenThrow", "x", 1),
  threw("RangeError", "after the write", "RangeError", { durableObjectId: "ID", remote: true }),
);
test("an object's own call is kept out by blockConcurrencyWhile", ({ env }) => life(env, "c").blockAndCallSelf(), "kept out");
test("timers run within blockConcurrencyWhile", ({ env }) => life(env, "d").blockAndTimer(), ["timer", "inside"]);
test(
  "events come in while a call is awaited",
  async ({ env }) => {
    await life(env, "elsewhere").answer();
    await Promise.all([life(env, "e").callOut(1), life(env, "e").callOut(2)]);
    const log = await life(env, "e").readLog();
    return [log[0], log.length];
  },
  ["begin 1", 4],
);
test(
  "objects do not wait for each other",
  async ({ env }) => {
    const out = [];
    await Promise.all([
      life(env, "f")
        .waitFor(30, 1)
        .then(() => out.push("slow")),
      life(env, "g")
        .waitFor(1, 2)
        .then(() => out.push("fast")),
    ]);
    return out;
  },
  ["fast", "slow"],
);
test(
  "a timer after the answer",
  async ({ env }) => {
    await life(env, "h").timerLater();
    for (let i = 0; i < 50 && !(await life(env, "h").get("timer")); i++) await scheduler.wait(10);
    return life(env, "h").get("timer");
  },
  "ran",
);
test(
  "memory is per object",
  async ({ env }) => [await life(env, "i").memory(), await life(env, "j").memory(), await life(env, "i").memory()],
  [1, 1, 2],
);
test("an unhandled rejection", async ({ env }) => [await life(env, "k").reject(), await life(env, "k").memory()], ["fine", 1]);
test("a rejection in waitUntil", async ({ env }) => [await life(env, "l").waitUntilRejects(), await life(env, "l").memory()], ["fine", 1]);
test("a target reads its object's storage", async ({ env }) => {
  await life(env, "m").putWithoutAwait("a", 5);
  const held = await life(env, "m").held();
  return held.read("a");
}, 5);
test(
  "storage used outside its object",
  async ({ env }) => {
    await life(env, "n").give();
    return kept.get("a");
  },
  threw(
    "Error",
    "Cannot perform I/O on behalf of a different request. I/O objects (such as streams, request/response bodies, and others) created in the context of one request handler cannot be accessed from a different request's handler. This is a limitation of Cloudflare Workers which allows us to improve overall performance. (I/O type: ActorCacheInterface)",
  ),
);
test(
  "a call to many objects at a time",
  async ({ env }) => (await Promise.all(Array.from({ length: 50 }, (_, i) => life(env, `many${i}`).memory()))).reduce((a, b) => a + b),
  50,
);
test(
  "many calls to one object",
  async ({ env }) => (await Promise.all(Array.from({ length: 100 }, () => life(env, "one").memory()))).at(-1),
  100,
);
test("env of an object", ({ env }) => life(env, "o").env_(), ["BLOCKS", "FUNCTION", "LIFE", "ONCE", "PLAIN", "THROWS"]);
