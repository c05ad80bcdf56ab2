import * as workers from "cloudflare:workers";

import { canon } from "./canon.js";
import { caught, error, suite, threw } from "./suite.js";
import recorded from "./recorded.js";

// Not every runtime has every export, and an import that is missing would fail all cases.
const { DurableObject, RpcStub, RpcTarget } = workers;
const { test, handler } = suite(recorded);
export default handler;

class Counter extends RpcTarget {
  #n = 0;
  disposed = 0;
  increment(by = 1) {
    this.#n += by;
    return this.#n;
  }
  get value() {
    return this.#n;
  }
  again() {
    return this;
  }
  fails() {
    throw new RangeError("counter");
  }
}

const disposals = [];
class Disposable extends RpcTarget {
  constructor(name) {
    super();
    this.name = name;
  }
  hello() {
    return `hello ${this.name}`;
  }
  [Symbol.dispose]() {
    disposals.push(this.name);
  }
}

class Named extends Error {
  name = "Named";
  extra = 5;
}

export class Target extends DurableObject {
  #hidden = 1;
  field = 42;
  nested = { a: { b: (x) => x * 2 } };

  echo(value) {
    return value;
  }
  describe(value) {
    return JSON.stringify(canon(value));
  }
  count(...all) {
    return all.length;
  }
  async later() {
    await scheduler.wait(1);
    return "later";
  }
  nothing() {}
  get getter() {
    return "got";
  }
  static fixed() {
    return "static";
  }
  fails() {
    throw new RangeError("boom");
  }
  failsNamed() {
    throw new Named("named");
  }
  failsWith(kind) {
    const errors = {
      cause: () => new Error("outer", { cause: new TypeError("inner") }),
      dom: () => new DOMException("dom", "AbortError"),
      string: () => "text",
      object: () => ({ a: 1 }),
      undefined: () => undefined,
      own: () => Object.assign(new Error("own"), { code: 7, data: { a: 1 } }),
      aggregate: () => new AggregateError([new Error("a")], "all"),
      type: () => new TypeError("type"),
      syntax: () => new SyntaxError("syntax"),
    };
    throw errors[kind]();
  }
  returns(kind) {
    const values = {
      function: () => (a, b) => a + b,
      counter: () => new Counter(),
      nested: () => ({ deep: { counter: new Counter(), f: () => "deep" } }),
      array: () => [() => 1, () => 2],
      response: () => new Response("body", { status: 201, headers: { "x-a": "1" } }),
      request: () => new Request("http://a/b", { method: "POST", body: "req", headers: { "x-a": "1" } }),
      headers: () => new Headers({ a: "1" }),
      readable: () => new Blob(["stream"]).stream(),
      map: () => new Map([[1, { a: new Date(0) }]]),
      class: () =>
        new (class Point {
          x = 1;
        })(),
      symbol: () => Symbol("x"),
      url: () => new URL("http://a/"),
      blob: () => new Blob(["b"], { type: "t/u" }),
      error: () => new RangeError("as a value"),
      promise: () => Promise.resolve({ in: Promise.resolve(1) }),
      disposable: () => new Disposable("result"),
      weakmap: () => new WeakMap(),
      regexp: () => /x/g,
      typed: () => new Float32Array([1.5]),
      dataview: () => new DataView(new ArrayBuffer(2)),
      null: () => null,
      sparse: () => [1, , 3],
      proto: () => Object.create({ inherited: 1 }),
      nullproto: () => Object.assign(Object.create(null), { a: 1 }),
    };
    return values[kind]();
  }
  async call(f, ...all) {
    return f(...all);
  }
  async callMethod(target, name, ...all) {
    return target[name](...all);
  }
  async read(stream) {
    return new Response(stream).text();
  }
  async write(stream, ...parts) {
    const writer = stream.getWriter();
    for (const part of parts) await writer.write(new TextEncoder().encode(part));
    await writer.close();
  }
  async bodyOf(value) {
    return `${value.constructor.name} ${value.url ?? value.status} ${await value.text()}`;
  }
  async keep(stub) {
    this.kept = stub.dup();
  }
  async useKept() {
    return this.kept();
  }
  fetch(request) {
    return new Response(`fetch ${request.method}`);
  }
  alarm() {}
  constructorName() {
    return this.constructor.name;
  }
  _underscore() {
    return "underscore";
  }
}

const target = (env, name = "one") => env.TARGET.get(env.TARGET.idFromName(name));
const values = {
  undefined: undefined,
  null: null,
  true: true,
  number: 1.5,
  NaN,
  "-0": -0,
  text: "é",
  BigInt: 5n,
  date: new Date(0),
  regexp: /a/g,
  array: [1, [2]],
  object: { a: { b: 1 } },
  map: new Map([[1, 2]]),
  set: new Set([1]),
  bytes: new Uint8Array([1, 2]),
  buffer: new Uint8Array([1]).buffer,
  "an undefined property": { a: undefined },
};
for (const [name, value] of Object.entries(values)) {
  test(`argument and result: ${name}`, ({ env }) => target(env).echo(value), value);
}
test("argument: an error", ({ env }) => target(env).echo(new RangeError("r")), error("RangeError", "r"));
test(
  "argument: a class instance",
  ({ env }) =>
    target(env).echo(
      new (class Point {
        x = 1;
      })(),
    ),
  threw("DOMException", 'Could not serialize object of type "Point". This type does not support serialization.', "DataCloneError"),
);
test(
  "argument: a symbol",
  ({ env }) => target(env).echo(Symbol("x")),
  threw("DOMException", "Symbol(x) could not be cloned.", "DataCloneError"),
);
test(
  "argument: a WeakMap",
  ({ env }) => target(env).echo(new WeakMap()),
  threw("DOMException", "#<WeakMap> could not be cloned.", "DataCloneError"),
);
test(
  "argument: a URL",
  ({ env }) => target(env).echo(new URL("http://a/")),
  threw("DOMException", 'Could not serialize object of type "URL". This type does not support serialization.', "DataCloneError"),
);
test(
  "argument: a promise",
  ({ env }) => target(env).describe(Promise.resolve(1)),
  threw("DOMException", "#<Promise> could not be cloned.", "DataCloneError"),
);
test("arguments: how many", ({ env }) => target(env).count(1, undefined, 3), 3);
test("arguments: none", ({ env }) => target(env).count(), 0);
test(
  "arguments: a copy",
  async ({ env }) => {
    const object = { a: 1 };
    const calling = target(env).echo(object);
    object.a = 2;
    return calling;
  },
  { a: 1 },
);
test("result: of an async method", ({ env }) => target(env).later(), "later");
test("result: nothing", ({ env }) => target(env).nothing(), undefined);
for (const kind of ["map", "class", "symbol", "url", "weakmap", "regexp", "typed", "null", "sparse", "proto", "nullproto", "promise"]) {
  test(`result: ${kind}`, async ({ env }) => target(env).returns(kind));
}
test("result: an error as a value", ({ env }) => target(env).returns("error"), error("RangeError", "as a value"));
test(
  "result: a Response",
  async ({ env }) => {
    const response = await target(env).returns("response");
    return [response.constructor.name, response.status, response.headers.get("x-a"), await response.text()];
  },
  ["Response", 201, "1", "body"],
);
test(
  "result: a Request",
  async ({ env }) => {
    const request = await target(env).returns("request");
    return [request.constructor.name, request.url, request.method, request.headers.get("x-a"), await request.text()];
  },
  ["Request", "http://a/b", "POST", "1", "req"],
);
test("result: Headers", async ({ env }) => [...(await target(env).returns("headers"))], [["a", "1"]]);
test("result: a ReadableStream", async ({ env }) => new Response(await target(env).returns("readable")).text(), "stream");
test(
  "result: a Blob",
  async ({ env }) => {
    const blob = await target(env).returns("blob");
    return [blob.type, await blob.text()];
  },
  ["t/u", "b"],
);
test("argument: a Response", ({ env }) => target(env).bodyOf(new Response("b", { status: 202 })), "Response  b");
test(
  "argument: a Request",
  ({ env }) => target(env).bodyOf(new Request("http://a/", { method: "POST", body: "b" })),
  "Request http://a/ b",
);
test("argument: a ReadableStream", ({ env }) => target(env).read(new Blob(["stream"]).stream()), "stream");
test(
  "argument: a ReadableStream of texts",
  ({ env }) =>
    target(env).read(
      new ReadableStream({
        start(controller) {
          controller.enqueue("text");
          controller.close();
        },
      }),
    ),
  "text",
);
test(
  "argument: a WritableStream",
  async ({ env }) => {
    const out = [];
    await target(env).write(
      new WritableStream({
        write(chunk) {
          out.push(new TextDecoder().decode(chunk));
        },
        close() {
          out.push("close");
        },
      }),
      "a",
      "b",
    );
    return out;
  },
  ["a", "b", "close"],
);

// Properties
test("property: a getter of the prototype", async ({ env }) => await target(env).getter, "got");
test(
  "property: an own field",
  async ({ env }) => await target(env).field,
  threw("TypeError", 'The RPC receiver does not implement the method "field".', "TypeError", { remote: true }),
);
test(
  "property: an own field with methods",
  ({ env }) => target(env).nested.a.b(4),
  threw("TypeError", 'The RPC receiver does not implement the method "nested".', "TypeError", { remote: true }),
);
test(
  "property: absent",
  async ({ env }) => await target(env).absent,
  threw("TypeError", 'The RPC receiver does not implement the method "absent".', "TypeError", { remote: true }),
);
test(
  "method: absent",
  ({ env }) => target(env).absent(),
  threw("TypeError", 'The RPC receiver does not implement the method "absent".', "TypeError", { remote: true }),
);
test("method: private by its name", ({ env }) => target(env)._underscore(), "underscore");
test(
  "method: static",
  ({ env }) => target(env).fixed(),
  threw("TypeError", 'The RPC receiver does not implement the method "fixed".', "TypeError", { remote: true }),
);
test("method: constructor", async ({ env }) => (await target(env).constructor).name, "DurableObject");
test("method: toString", ({ env }) => target(env).toString(), "[object DurableObject]");
test("method: hasOwnProperty", ({ env }) => target(env).hasOwnProperty("field"), false);
test(
  "method: alarm",
  ({ env }) => target(env).alarm(),
  threw("TypeError", "'alarm' is a reserved method and cannot be called over RPC.", "TypeError", { remote: true }),
);
test("method: fetch is HTTP", async ({ env }) => (await target(env).fetch("http://a/", { method: "PUT" })).text(), "fetch PUT");
test("method: a symbol", ({ env }) => typeof target(env)[Symbol("x")], "undefined");
test("method: then is no method", async ({ env }) => typeof (await target(env)).echo, "function");
test(
  "a method that is no method: ctx",
  async ({ env }) => await target(env).ctx,
  threw("TypeError", 'The RPC receiver does not implement the method "ctx".', "TypeError", { remote: true }),
);
test(
  "a method that is no method: env",
  async ({ env }) => await target(env).env,
  threw("TypeError", 'The RPC receiver does not implement the method "env".', "TypeError", { remote: true }),
);
test("kind of a stub's member", ({ env }) => [typeof target(env).echo, typeof target(env).absent], ["function", "function"]);
test("a method taken from its stub", async ({ env }) => {
  const { echo } = target(env);
  return echo(1);
}, 1);
test("method: dup", ({ env }) => typeof target(env).dup, "function");
test("delete of a member", ({ env }) => delete target(env).echo, true);
test(
  "setting a member",
  ({ env }) => {
    target(env).echo = 1;
  },
  undefined,
);

// Functions and targets
test("function: as an argument", async ({ env }) => target(env).call((a, b) => a * b, 3, 4), 12);
test("function: an async one", async ({ env }) => target(env).call(async (a) => a + 1, 1), 2);
test(
  "function: its exception",
  ({ env }) =>
    target(env).call(() => {
      throw new RangeError("callback");
    }),
  threw("RangeError", "callback", "RangeError", { remote: true, durableObjectId: "ID" }),
);
test(
  "function: as a result",
  async ({ env }) => {
    const add = await target(env).returns("function");
    return [typeof add, await add(1, 2)];
  },
  ["function", 3],
);
test(
  "function: its name and length",
  async ({ env }) => {
    const add = await target(env).returns("function");
    return [await add.name, await add.length];
  },
  ["", 2],
);
test(
  "functions in an array",
  async ({ env }) => {
    const [one, two] = await target(env).returns("array");
    return [await one(), await two()];
  },
  [1, 2],
);
test(
  "RpcTarget: as a result",
  async ({ env }) => {
    const counter = await target(env).returns("counter");
    return [await counter.increment(), await counter.increment(4), await counter.value];
  },
  [1, 5, 5],
);
test(
  "RpcTarget: own fields are not visible",
  async ({ env }) => {
    const counter = await target(env).returns("counter");
    return caught(async () => await counter.disposed);
  },
  error("TypeError", 'The RPC receiver does not implement the method "disposed".', "TypeError", { remote: true, durableObjectId: "ID" }),
);
test(
  "RpcTarget: as an argument",
  async ({ env }) => {
    const counter = new Counter();
    const result = await target(env).callMethod(counter, "increment", 3);
    return [result, counter.value];
  },
  [3, 3],
);
test(
  "RpcTarget: its exception",
  async ({ env }) => {
    const counter = await target(env).returns("counter");
    return counter.fails();
  },
  threw("RangeError", "counter", "RangeError", { durableObjectId: "ID", remote: true }),
);
test(
  "RpcTarget: comes back as itself",
  async ({ env }) => {
    const counter = new Counter();
    return (await target(env).echo(counter)) === counter;
  },
  false,
);
test(
  "RpcTarget: nested in an object",
  async ({ env }) => {
    const { deep } = await target(env).returns("nested");
    return [await deep.counter.increment(), await deep.f()];
  },
  [1, "deep"],
);
test("RpcTarget: instanceof", async ({ env }) => (await target(env).returns("counter")) instanceof RpcTarget, false);
test("RpcTarget: is an RpcStub", async ({ env }) => (await target(env).returns("counter")) instanceof RpcStub, true);
test("RpcTarget: tag", async ({ env }) => Object.prototype.toString.call(await target(env).returns("counter")), "[object JsRpcStub]");
test(
  "a class instance with methods that is no RpcTarget",
  ({ env }) =>
    target(env).echo(
      new (class {
        hello() {}
      })(),
    ),
  threw("DOMException", 'Could not serialize object of type "Object". This type does not support serialization.', "DataCloneError"),
);

// Pipelining
test("pipelining: a method of a result", ({ env }) => target(env).returns("counter").increment(7), 7);
test("pipelining: a property of a result", async ({ env }) => await target(env).returns("nested").deep.f(), "deep");
test("pipelining: a function", ({ env }) => target(env).returns("function")(2, 3), 5);
test("pipelining: two levels", ({ env }) => target(env).returns("counter").again().increment(2), 2);
test(
  "pipelining: as an argument",
  async ({ env }) => {
    const counter = target(env).returns("counter");
    return target(env).callMethod(counter, "increment", 2);
  },
  threw("DOMException", 'Could not serialize object of type "RpcPromise". This type does not support serialization.', "DataCloneError"),
);
test(
  "pipelining: of a call that fails",
  ({ env }) => target(env).fails().anything(),
  threw("RangeError", "boom", "RangeError", { durableObjectId: "ID", remote: true }),
);
test("pipelining: a property of a plain result", async ({ env }) => await target(env).echo({ a: { b: 5 } }).a.b, 5);
test(
  "a promise of a call",
  ({ env }) => {
    const promise = target(env).nothing();
    return [
      typeof promise,
      Object.prototype.toString.call(promise),
      promise instanceof Promise,
      typeof promise.then,
      typeof promise.catch,
      typeof promise.finally,
    ];
  },
  ["function", "[object JsRpcPromise]", false, "function", "function", "function"],
);
test(
  "promise: catch",
  async ({ env }) =>
    target(env)
      .fails()
      .catch((each) => each.message),
  "boom",
);
test(
  "promise: finally",
  async ({ env }) => {
    let ran = false;
    await target(env)
      .nothing()
      .finally(() => (ran = true));
    return ran;
  },
  true,
);
test(
  "order: calls arrive in order",
  async ({ env }) => {
    const counter = await target(env).returns("counter");
    return Promise.all([1, 2, 3, 4].map(() => counter.increment()));
  },
  [1, 2, 3, 4],
);

// Disposal
test(
  "dispose: a result's target",
  async ({ env }) => {
    disposals.length = 0;
    const result = await target(env).returns("disposable");
    const hello = await result.hello();
    result[Symbol.dispose]();
    for (let i = 0; i < 50 && !disposals.length; i++) await scheduler.wait(10);
    return [hello, disposals];
  },
  ["hello result", ["result"]],
);
test(
  "dispose: use afterwards",
  async ({ env }) => {
    const counter = await target(env).returns("counter");
    counter[Symbol.dispose]();
    return counter.increment();
  },
  threw("Error", "RPC stub used after being disposed."),
);
test("dispose: a duplicate lives on", async ({ env }) => {
  const counter = await target(env).returns("counter");
  const second = counter.dup();
  counter[Symbol.dispose]();
  return second.increment();
}, 1);
test("dispose: a plain result has it", async ({ env }) => typeof (await target(env).echo({ a: 1 }))[Symbol.dispose], "function");
test(
  "dispose: an argument's stub ends with the call",
  async ({ env }) => {
    disposals.length = 0;
    const mine = new Disposable("argument");
    const result = await target(env).callMethod(mine, "hello");
    for (let i = 0; i < 50 && !disposals.length; i++) await scheduler.wait(10);
    return [result, disposals];
  },
  ["hello argument", ["argument"]],
);
test(
  "dup: keeps an argument",
  async ({ env }) => {
    await target(env, "keep").keep(() => "kept");
    return target(env, "keep").useKept();
  },
  "kept",
);
test(
  "RpcStub: made by hand",
  async () => {
    const stub = new RpcStub(new Counter());
    return [await stub.increment(), await stub.value, stub instanceof RpcStub];
  },
  [1, 1, true],
);
test("RpcStub: of a function", async () => new RpcStub((a) => a + 1)(1), 2);
test("RpcStub: of an object", () => typeof new RpcStub({ a: () => 1 }), "function");

// Errors
test(
  "error: class and message",
  ({ env }) => target(env).fails(),
  threw("RangeError", "boom", "RangeError", { durableObjectId: "ID", remote: true }),
);
test(
  "error: a class of its own",
  ({ env }) => target(env).failsNamed(),
  threw("Error", "named", "Named", { extra: 5, durableObjectId: "ID", remote: true }),
);
for (const kind of ["cause", "dom", "string", "object", "undefined", "own", "aggregate", "type", "syntax"])
  test(`error: ${kind}`, ({ env }) => target(env).failsWith(kind));
test("error: instanceof", async ({ env }) => (await caught(() => target(env).fails())) instanceof RangeError, true);
test("error: remote", async ({ env }) => (await caught(() => target(env).fails())).remote, true);
test("error: the stack", async ({ env }) => typeof (await caught(() => target(env).fails())).stack, "string");
test(
  "error: retryable and overloaded",
  async ({ env }) => {
    const failure = await caught(() => target(env).fails());
    return [failure.retryable, failure.overloaded, failure.durableObjectReset];
  },
  [undefined, undefined, undefined],
);
test("a result of 1 MB", async ({ env }) => (await target(env).echo(new Uint8Array(1 << 20))).length, 1 << 20);
test(
  "a result of 40 MB",
  async ({ env }) => (await target(env).echo(new Uint8Array(40 << 20))).length,
  threw("Error", "Serialized RPC arguments or return values are limited to 32MiB, but the size of this value was: 41943060 bytes."),
);
test("an RpcTarget made by hand", () => [String(new RpcTarget()), typeof RpcTarget], ["[object JsRpcTarget]", "function"]);
