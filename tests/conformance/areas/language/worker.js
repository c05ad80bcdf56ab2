import { caught, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

test(
  "stack: its form",
  () => {
    const lines = new RangeError("boom").stack.split("\n");
    return [lines[0], lines.slice(1).every((line) => /^ {4}at .*worker\.js:\d+:\d+|^ {4}at .*suite\.js:\d+:\d+/.test(line))];
  },
  ["RangeError: boom", true],
);
test(
  "stack: of a nested function",
  () => {
    function inner() {
      return new Error("x").stack.split("\n")[1].replace(/\d+/g, "N");
    }
    return inner();
  },
  "    at inner (worker.js:N:N)",
);
test(
  "stack: across an await",
  async () => {
    async function inner() {
      await null;
      return new Error("x").stack.split("\n").some((line) => line.includes("async"));
    }
    return inner();
  },
  false,
);
test("Error.stackTraceLimit", () => Error.stackTraceLimit, 10);
test(
  "Error.prepareStackTrace",
  () => {
    const before = Error.prepareStackTrace;
    Error.prepareStackTrace = (error, sites) => `prepared ${sites[0].constructor.name} ${sites[0].getFileName()}`;
    const { stack } = new Error("x");
    Error.prepareStackTrace = before;
    return stack;
  },
  "prepared CallSite worker.js",
);
test("Error.prepareStackTrace by default", () => typeof Error.prepareStackTrace, "undefined");
test(
  "recursion without an end",
  () =>
    (function f() {
      return f() + 1;
    })(),
  threw("RangeError", "Maximum call stack size exceeded"),
);
test("a text that is too long", () => "x".repeat(2 ** 30), threw("RangeError", "Invalid string length"));
test("an array that is too long", () => new Array(-1), threw("RangeError", "Invalid array length"));
test("a buffer that is too large", () => new ArrayBuffer(2 ** 53), threw("RangeError", "Invalid array buffer length"));
test("null has no properties", () => null.x, threw("TypeError", "Cannot read properties of null (reading 'x')"));
test("not a function", () => undefined(), threw("TypeError", "undefined is not a function"));
test(
  "a frozen object",
  () => {
    Object.freeze({ a: 1 }).a = 2;
  },
  threw("TypeError", "Cannot assign to read only property 'a' of object '#<Object>'"),
);
test("an undeclared variable", () => notDeclared, threw("ReferenceError", "notDeclared is not defined"));
test("JSON.parse: an error", () => JSON.parse('{"a":}'), threw("SyntaxError", 'Unexpected token \'}\', "{"a":}" is not valid JSON'));
test("JSON.parse: with a source", () => JSON.parse("[1.0]", (key, value, context) => (context?.source ? `${context.source}` : value)), [
  "1.0",
]);
test("JSON.stringify: lone surrogates", () => JSON.stringify("\ud800"), '"\\ud800"');
test("Date: the zone", () => new Date(0).toString(), "Thu Jan 01 1970 00:00:00 GMT+0000 (Coordinated Universal Time)");
test(
  "Atomics.wait",
  () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1),
  threw("TypeError", "Atomics.wait cannot be called in this context"),
);
test("SharedArrayBuffer", () => new SharedArrayBuffer(4).byteLength, 4);
test("WeakRef and FinalizationRegistry", () => [typeof WeakRef, typeof FinalizationRegistry, new WeakRef({ a: 1 }).deref()], [
  "function",
  "function",
  { a: 1 },
]);
test("gc", () => typeof gc, "undefined");
test("Temporal", () => typeof Temporal, "undefined");
test(
  "using",
  () => {
    const out = [];
    {
      using first = { [Symbol.dispose]: () => out.push("first") };
      using second = { [Symbol.dispose]: () => out.push("second") };
      out.push(typeof first, typeof second);
    }
    return out;
  },
  ["object", "object", "second", "first"],
);
test(
  "await using",
  async () => {
    const out = [];
    {
      await using each = { [Symbol.asyncDispose]: async () => out.push("disposed") };
      out.push(typeof each);
    }
    return out;
  },
  ["object", "disposed"],
);
test(
  "new methods",
  () => [
    "groupBy" in Object,
    "fromAsync" in Array,
    "withResolvers" in Promise,
    "try" in Promise,
    "isWellFormed" in String.prototype,
    "union" in Set.prototype,
    "toSorted" in Array.prototype,
    "transfer" in ArrayBuffer.prototype,
    "map" in Iterator.prototype,
    "escape" in RegExp,
    "f16round" in Math,
    "sumPrecise" in Math,
    "fromBase64" in Uint8Array,
    "rawJSON" in JSON,
    "getOrInsert" in Map.prototype,
    "isError" in Error,
    "pause" in Atomics,
    typeof Float16Array,
  ],
  [true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, true, "function"],
);
test("Uint8Array.fromBase64", () => [[...Uint8Array.fromBase64("YWI=")], new Uint8Array([255]).toHex()], [[97, 98], "ff"]);
test(
  "regular expressions",
  () => ["aBc".match(/(?<x>b)/i).groups.x, "a1b2".replaceAll(/\d/g, (digit) => digit * 2), /(?<=a)b/.test("ab"), /(?i:a)B/.test("AB")],
  ["B", "a2b4", true, true],
);
test(
  "labels of classes",
  () => {
    class A {
      static #x = 1;
      static {
        this.y = A.#x;
      }
      static has(each) {
        return #z in each;
      }
      #z;
    }
    return [A.y, A.has(new A()), A.has({})];
  },
  [1, true, false],
);
test(
  "generators and async iteration",
  async () => {
    async function* numbers() {
      yield 1;
      yield 2;
    }
    const out = [];
    for await (const n of numbers()) out.push(n);
    return [out, await Array.fromAsync(numbers())];
  },
  [
    [1, 2],
    [1, 2],
  ],
);
test(
  "Promise: order",
  async () => {
    const out = [];
    const promise = Promise.resolve();
    promise.then(() => out.push(1)).then(() => out.push(4));
    (async () => {
      await promise;
      out.push(2);
      await promise;
      out.push(5);
    })();
    promise.then(() => out.push(3));
    await new Promise((resolve) => setTimeout(resolve, 2));
    return out;
  },
  [1, 2, 3, 4, 5],
);
test(
  "with, arguments.callee",
  () =>
    (function () {
      return arguments.callee;
    })(),
  threw(
    "TypeError",
    "'caller', 'callee', and 'arguments' properties may not be accessed on strict mode functions or the arguments objects for calls to them",
  ),
);
// prettier-ignore
test("Function.prototype.toString", () => (function  f( a ) { return a; }).toString(), "function  f( a ) { return a; }");
test(
  "a native function's text",
  () => [Headers, fetch, setTimeout, URL.prototype.toString].map((each) => /\[native code\]/.test(each.toString())),
  [true, true, true, true],
);
test("globalThis can be extended", () => {
  globalThis.mine = 1;
  const seen = mine;
  delete globalThis.mine;
  return seen;
}, 1);
test(
  "a global can be replaced",
  () => {
    const { fetch: before } = globalThis;
    globalThis.fetch = () => "mine";
    const seen = fetch();
    globalThis.fetch = before;
    return seen;
  },
  "mine",
);
test("a prototype can be changed", () => {
  Headers.prototype.mine = () => 5;
  const seen = new Headers().mine();
  delete Headers.prototype.mine;
  return seen;
}, 5);
test(
  "Object.prototype pollution is not seen by the platform",
  async () => {
    Object.prototype.method = "PUT";
    try {
      return new Request("http://a/").method;
    } finally {
      delete Object.prototype.method;
    }
  },
  "GET",
);
test(
  "a changed Array.prototype does not break the platform",
  async () => {
    const { push } = Array.prototype;
    Array.prototype.push = () => {
      throw new Error("broken");
    };
    try {
      return await new Response(new Blob(["a", "b"]).stream()).text();
    } finally {
      Array.prototype.push = push;
    }
  },
  "ab",
);
test(
  "a changed Promise.prototype.then",
  async () => {
    const { then } = Promise.prototype;
    Promise.prototype.then = function (...all) {
      return then.apply(this, all);
    };
    try {
      return await new Response("x").text();
    } finally {
      Promise.prototype.then = then;
    }
  },
  "x",
);
test("Symbol.species is left alone", async () => (await caught(() => structuredClone([1]).constructor)) === undefined, true);
