import { error, suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const round = (value) => structuredClone(value);
const values = {
  undefined: undefined,
  null: null,
  true: true,
  "-0": -0,
  NaN,
  text: "é😀",
  BigInt: 12345678901234567890n,
  date: new Date(0),
  "bad date": new Date(NaN),
  regexp: /a\/b/gi,
  array: [1, [2], "x"],
  object: { a: { b: 1 }, c: undefined },
  map: new Map([["a", new Map([[1, 2]])]]),
  set: new Set([1, "a"]),
  bytes: new Uint8Array([1, 2, 3]),
  ArrayBuffer: new Uint8Array([1, 2]).buffer,
  float64: new Float64Array([1.5]),
  bigint64: new BigInt64Array([1n]),
  dataview: new DataView(new ArrayBuffer(2)),
};
for (const [name, value] of Object.entries(values)) test(`value: ${name}`, () => round(value), value);
test(
  "a sparse array",
  () => {
    const copy = round([1, , 3]);
    return [copy.length, 1 in copy];
  },
  [3, false],
);
test(
  "boxed values",
  () => [Object(1), Object("a"), Object(true), Object(1n)].map((value) => [typeof round(value), round(value).valueOf()]),
  [
    ["object", 1],
    ["object", "a"],
    ["object", true],
    ["object", 1n],
  ],
);
test(
  "cycles",
  () => {
    const value = { a: {} };
    value.a.up = value;
    const copy = round(value);
    return [copy.a.up === copy, copy !== value];
  },
  [true, true],
);
test(
  "identity within one value",
  () => {
    const shared = {};
    const copy = round([shared, shared]);
    return copy[0] === copy[1];
  },
  true,
);
test(
  "a class instance",
  () => {
    class Point {
      x = 1;
      get y() {
        return 2;
      }
    }
    const copy = round(new Point());
    return [copy, copy.constructor === Object];
  },
  [{ x: 1 }, true],
);
test(
  "getters are called",
  () =>
    round({
      get a() {
        return 1;
      },
    }),
  { a: 1 },
);
test("symbol keys are left out", () => Object.getOwnPropertySymbols(round({ [Symbol("a")]: 1 })).length, 0);
test("a null prototype", () => Object.getPrototypeOf(round(Object.create(null))) === Object.prototype, true);
test("lastIndex of a RegExp", () => {
  const pattern = /a/g;
  pattern.lastIndex = 3;
  return round(pattern).lastIndex;
}, 0);
for (const Type of [Error, TypeError, RangeError, SyntaxError, EvalError, ReferenceError, URIError]) {
  test(`error: ${Type.name}`, () => round(new Type("m")), error(Type.name, "m"));
}
test("error: cause", () => round(new Error("m", { cause: { a: 1 } })).cause);
test("error: own properties", () => round(Object.assign(new Error("m"), { code: 5 })).code);
test("error: a subclass", () => {
  class Mine extends Error {
    name = "Mine";
  }
  const copy = round(new Mine("m"));
  return [copy.name, copy.constructor.name, copy.message];
});
test("error: stack", () => typeof round(new Error("m")).stack, "string");
test("AggregateError", () => {
  const copy = round(new AggregateError([1], "m"));
  return [copy.constructor.name, copy.name, copy.errors];
});
for (const [name, make] of Object.entries({
  function: () => () => {},
  symbol: () => Symbol("a"),
  WeakMap: () => new WeakMap(),
  WeakRef: () => new WeakRef({}),
  Promise: () => Promise.resolve(),
  generator: () => (function* () {})(),
  Proxy: () => new Proxy({}, {}),
  "a function inside": () => ({ a: () => {} }),
  Request: () => new Request("http://a"),
  Response: () => new Response(),
  Headers: () => new Headers(),
  URL: () => new URL("http://a"),
  Blob: () => new Blob(["a"]),
  File: () => new File(["a"], "b"),
  FormData: () => new FormData(),
  URLSearchParams: () => new URLSearchParams(),
  ReadableStream: () => new ReadableStream(),
  AbortSignal: () => new AbortController().signal,
  Event: () => new Event("a"),
  TextEncoder: () => new TextEncoder(),
  DOMException: () => new DOMException("m", "AbortError"),
  CryptoKey: () => crypto.subtle.importKey("raw", new Uint8Array(16), "AES-GCM", true, ["encrypt"]),
  "WebAssembly.Memory": () => new WebAssembly.Memory({ initial: 1 }),
}))
  test(`clone: ${name}`, async () => round(await make()));
test(
  "transfer: an ArrayBuffer",
  () => {
    const buffer = new Uint8Array([1, 2]).buffer;
    const copy = structuredClone(buffer, { transfer: [buffer] });
    return [buffer.byteLength, copy.byteLength, buffer.detached];
  },
  [0, 2, true],
);
test("transfer: twice", () => {
  const buffer = new ArrayBuffer(1);
  return structuredClone(buffer, { transfer: [buffer, buffer] }).byteLength;
});
test("transfer: what cannot be", () => structuredClone({}, { transfer: [{}] }));
test("transfer: a ReadableStream", () => {
  const stream = new ReadableStream();
  return String(structuredClone(stream, { transfer: [stream] }));
});
test("a detached buffer", () => {
  const buffer = new ArrayBuffer(1);
  structuredClone(buffer, { transfer: [buffer] });
  return structuredClone(buffer);
});
test("without arguments", () => structuredClone());
test(
  "a subarray keeps its buffer",
  () => {
    const copy = round(new Uint8Array([1, 2, 3, 4]).subarray(1, 3));
    return [copy.length, copy.buffer.byteLength, copy.byteOffset];
  },
  [2, 4, 1],
);
test(
  "a resizable buffer",
  () => {
    const copy = round(new ArrayBuffer(1, { maxByteLength: 4 }));
    return [copy.resizable, copy.maxByteLength];
  },
  [true, 4],
);

test(
  "DOMException: properties",
  () => {
    const { name, message, code } = new DOMException("m", "NotFoundError");
    return { name, message, code };
  },
  { name: "NotFoundError", message: "m", code: 8 },
);
test(
  "DOMException: defaults",
  () => {
    const { name, message, code } = new DOMException();
    return { name, message, code };
  },
  { name: "Error", message: "", code: 0 },
);
test(
  "DOMException: is an Error",
  () => [
    new DOMException() instanceof Error,
    String(new DOMException("m", "AbortError")),
    Object.prototype.toString.call(new DOMException()),
  ],
  [true, "AbortError: m", "[object DOMException]"],
);
test("DOMException: stack", () => typeof new DOMException("m").stack, "string");
test(
  "DOMException: codes",
  () =>
    [
      "IndexSizeError",
      "HierarchyRequestError",
      "NotSupportedError",
      "InvalidStateError",
      "SyntaxError",
      "SecurityError",
      "NetworkError",
      "AbortError",
      "QuotaExceededError",
      "TimeoutError",
      "DataCloneError",
      "OperationError",
      "Other",
    ].map((name) => new DOMException("", name).code),
  [1, 3, 9, 11, 12, 18, 19, 20, 22, 23, 25, 0, 0],
);
test("DOMException: constants", () => [DOMException.ABORT_ERR, DOMException.DATA_CLONE_ERR, new DOMException().TIMEOUT_ERR], [20, 25, 23]);
test("DOMException: cause", () => new DOMException("m", { name: "X", cause: 1 }).cause);
test("DOMException: without new", () => DOMException());
test(
  "Error.captureStackTrace",
  () => {
    const target = {};
    Error.captureStackTrace(target);
    return typeof target.stack;
  },
  "string",
);
test("a stack trace names the module", () => /worker\.js:\d+:\d+/.test(new Error("x").stack), true);
test("Error.isError", () => [Error.isError(new Error()), Error.isError({}), Error.isError(new DOMException())]);
