import assert from "node:assert";
import { StringDecoder } from "node:string_decoder";
import util, { inspect } from "node:util";

import { caught, suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

class Foo {
  a = 1;
  #b = 2;
  get c() {
    return 3;
  }
}
const circular = { a: 1 };
circular.self = circular;
const inspected = {
  number: 1,
  "-0": -0,
  text: "it's",
  BigInt: 5n,
  symbol: Symbol("x"),
  undefined: undefined,
  null: null,
  function: function named() {},
  arrow: () => {},
  class: Foo,
  "class that extends": class extends Foo {},
  instance: new Foo(),
  array: [1, [2, [3, [4]]]],
  sparse: [1, , 3],
  "array with more": Object.assign([1], { x: 2 }),
  object: { a: { b: { c: { d: 1 } } } },
  "odd keys": { "a-b": 1, [Symbol("s")]: 2, 5: 3 },
  map: new Map([["a", { b: 1 }]]),
  set: new Set([1, "a"]),
  date: new Date(0),
  "bad date": new Date(NaN),
  regexp: /a/g,
  bytes: new Uint8Array([1, 2]),
  buffer: new Uint8Array([1, 2]).buffer,
  promise: Promise.resolve(5),
  pending: new Promise(() => {}),
  weakmap: new WeakMap(),
  circular,
  "null prototype": Object.assign(Object.create(null), { a: 1 }),
  getter: {
    get a() {
      return 1;
    },
    set a(_) {},
    get b() {
      return 2;
    },
    set c(_) {},
  },
  boxed: [Object(1), Object("a"), Object(true)],
  generator: (function* () {})(),
  "long text": "x".repeat(200),
  "many items": Array.from({ length: 120 }, (_, i) => i),
  "long object": Object.fromEntries(Array.from({ length: 30 }, (_, i) => [`key${i}`, i])),
  multiline: "a\nb",
  quotes: "'\"`",
  proxy: new Proxy({ a: 1 }, {}),
  tagged: { [Symbol.toStringTag]: "Tag", a: 1 },
  custom: { [Symbol.for("nodejs.util.inspect.custom")]: () => "custom!" },
  arguments: (function () {
    return arguments;
  })(1, 2),
  Buffer: Buffer.from("ab"),
  Headers: new Headers({ a: "1" }),
  URL: new URL("http://a/b?c#d"),
  URLSearchParams: new URLSearchParams("a=1"),
  iterator: new Map([[1, 2]]).entries(),
  DataView: new DataView(new ArrayBuffer(2)),
  module: Math,
  empty: [{}, [], new Map(), new Set(), ""],
};
for (const [name, value] of Object.entries(inspected)) test(`inspect: ${name}`, () => inspect(value));
test("inspect: an error", () => inspect(new RangeError("boom")).split("\n")[0]);
test("inspect: an error with properties", () => inspect(Object.assign(new Error("boom"), { code: "E", stack: "Error: boom\n    at x" })));
test("inspect: an error with a cause", () => inspect(Object.assign(new Error("a", { cause: "b" }), { stack: "Error: a\n    at x" })));
test("inspect: depth", () => [inspect({ a: { b: { c: {} } } }, { depth: 0 }), inspect({ a: { b: { c: { d: {} } } } }, { depth: null })]);
test("inspect: options", () => [
  inspect([3, 1, 2], { compact: false }),
  inspect({ b: 1, a: 2 }, { sorted: true }),
  inspect("x".repeat(20), { maxStringLength: 5 }),
  inspect([1, 2, 3], { maxArrayLength: 1 }),
  inspect(
    {
      get a() {
        return 1;
      },
    },
    { getters: true },
  ),
  inspect(123456789.123, { numericSeparator: true }),
  inspect({ a: 1, b: 2 }, { breakLength: 5 }),
  inspect([1], { showHidden: true }),
]);
test("inspect: colours", () => inspect({ a: 1, b: "x", c: null, d: undefined, e: /a/, f: new Date(0), g: Symbol("s") }, { colors: true }));
test("inspect.custom", () => inspect.custom.toString());
test("inspect.defaultOptions", () => ({ ...inspect.defaultOptions }));
const formats = [
  ["%s %d %i %f", "a", "1.5", "1.5", "1.5"],
  ["%j", { a: 1 }],
  ["%o", { a: [1] }],
  ["%O", { a: { b: { c: {} } } }],
  ["%%", 1],
  ["%s", {}],
  ["%s", [1, 2]],
  ["%s", 5n],
  ["%s", Symbol("x")],
  ["%s", null, undefined],
  ["%d", 5n],
  ["%d", "x"],
  ["%c x", "css"],
  ["no", "format", { a: 1 }],
  [{ a: 1 }, "x"],
  ["%s"],
  ["%s %s", 1],
  ["%x", 1],
  [],
  [1, 2],
  ["%s", () => 5],
  ["%s", class A {}],
  ["%s", new Error("e").message],
  ["%i", 42.9],
  ["%f", "x"],
];
for (const all of formats)
  test(`format: ${all.map((each) => (typeof each === "string" ? each : typeof each)).join(" ") || "nothing"} ${formats.indexOf(all)}`, () =>
    util.format(...all));
const cases = {
  promisify: async () => util.promisify((a, done) => done(null, a + 1))(1),
  "promisify: an error": () => util.promisify((done) => done(new RangeError("boom")))(),
  "promisify: custom": () => {
    const f = () => {};
    f[util.promisify.custom] = () => "custom";
    return util.promisify(f)();
  },
  "promisify: of a text": () => util.promisify("x"),
  callbackify: () => new Promise((resolve) => util.callbackify(async (a) => a)(5, (...all) => resolve(all))),
  "callbackify: a null reason": () =>
    new Promise((resolve) => util.callbackify(() => Promise.reject(null))((error) => resolve([error.code, error.message]))),
  deprecate: () => util.deprecate((a) => a, "old", "DEP1")(5),
  inherits: () => {
    function A() {}
    function B() {}
    util.inherits(A, B);
    return [new A() instanceof B, A.super_ === B];
  },
  isDeepStrictEqual: () => [
    util.isDeepStrictEqual({ a: [1, new Map([[1, 2]])] }, { a: [1, new Map([[1, 2]])] }),
    util.isDeepStrictEqual([1], ["1"]),
    util.isDeepStrictEqual(NaN, NaN),
    util.isDeepStrictEqual(0, -0),
  ],
  stripVTControlCharacters: () => util.stripVTControlCharacters("\u001b[31mred\u001b[0m"),
  styleText: () => util.styleText("red", "x"),
  toUSVString: () => util.toUSVString("a\ud800"),
  parseArgs: () =>
    util.parseArgs({
      args: ["-a", "--b=c", "d"],
      options: { a: { type: "boolean", short: "a" }, b: { type: "string" } },
      allowPositionals: true,
    }),
  "parseArgs: unknown": () => util.parseArgs({ args: ["--x"], options: {} }),
  parseEnv: () => util.parseEnv("A=1\nB='two' # c"),
  getSystemErrorName: () => util.getSystemErrorName(-2),
  getSystemErrorMap: () => util.getSystemErrorMap().size > 50,
  MIMEType: () => String(new util.MIMEType("text/plain; charset=utf-8")),
  "MIMEType: a wrong one": () => new util.MIMEType("x"),
  debuglog: () => [typeof util.debuglog("x"), util.debuglog("x").enabled],
  aborted: async () => {
    const controller = new AbortController();
    const waiting = util.aborted(controller.signal, {});
    controller.abort();
    return waiting;
  },
  types: () => ({
    map: util.types.isMap(new Map()),
    date: util.types.isDate(new Date()),
    regexp: util.types.isRegExp(/a/),
    promise: util.types.isPromise(Promise.resolve()),
    proxy: util.types.isProxy(new Proxy({}, {})),
    typed: util.types.isUint8Array(Buffer.from("")),
    any: util.types.isAnyArrayBuffer(new ArrayBuffer(1)),
    native: util.types.isNativeError(new Error()),
    boxed: util.types.isBoxedPrimitive(Object(1)),
    async: util.types.isAsyncFunction(async () => {}),
    generator: util.types.isGeneratorFunction(function* () {}),
    args: util.types.isArgumentsObject(
      (function () {
        return arguments;
      })(),
    ),
    external: typeof util.types.isExternal,
    module: typeof util.types.isModuleNamespaceObject,
  }),
  "TextEncoder is the global one": () => [util.TextEncoder === TextEncoder, util.TextDecoder === TextDecoder],
  diff: () => typeof util.diff,
  transferableAbortSignal: () => typeof util.transferableAbortSignal,
  isArray: () => util.isArray([]),
  "StringDecoder: utf8 in parts": () => {
    const decoder = new StringDecoder();
    return [
      decoder.write(Buffer.from([0xe2, 0x82])),
      decoder.write(Buffer.from([0xac])),
      decoder.write(Buffer.from([0xf0])),
      decoder.end(),
    ];
  },
  "StringDecoder: utf16le": () => {
    const decoder = new StringDecoder("utf16le");
    return [decoder.write(Buffer.from([65])), decoder.write(Buffer.from([0, 66])), decoder.end()];
  },
  "StringDecoder: base64": () => {
    const decoder = new StringDecoder("base64");
    return [decoder.write(Buffer.from("ab")), decoder.write(Buffer.from("cd")), decoder.end()];
  },
  "StringDecoder: unknown": () => new StringDecoder("nope"),
  "StringDecoder: members": () => {
    const { encoding, lastNeed, lastTotal } = new StringDecoder("hex");
    return { encoding, lastNeed, lastTotal };
  },
  assert: () => assert(true),
  "assert: fails": () => assert(false),
  "assert: a message": () => assert(0, "why"),
  "assert: an error as the message": () => assert(0, new RangeError("mine")),
  "assert.equal": () => [assert.equal(1, "1"), assert.strictEqual(1, 1)],
  "assert.equal: fails": () => assert.equal(1, 2),
  "assert.strictEqual: fails": () => assert.strictEqual(1, "1"),
  "assert.strictEqual: texts of several lines": () => assert.strictEqual("a\nb", "a\nc"),
  "assert.notStrictEqual: fails": () => assert.notStrictEqual(1, 1),
  "assert.deepEqual": () => assert.deepEqual({ a: [1] }, { a: ["1"] }),
  "assert.deepStrictEqual: fails": () => assert.deepStrictEqual({ a: 1, b: [1, 2] }, { a: 1, b: [1, 3] }),
  "assert.notDeepStrictEqual: fails": () => assert.notDeepStrictEqual([1], [1]),
  "assert.partialDeepStrictEqual": () => assert.partialDeepStrictEqual({ a: 1, b: 2 }, { a: 1 }),
  "assert.throws": () =>
    assert.throws(() => {
      throw new TypeError("boom");
    }, TypeError),
  "assert.throws: a shape": () =>
    assert.throws(
      () => {
        throw new TypeError("boom");
      },
      { name: "TypeError", message: "boom" },
    ),
  "assert.throws: a pattern that fails": () =>
    assert.throws(() => {
      throw new TypeError("boom");
    }, /other/),
  "assert.throws: nothing is thrown": () => assert.throws(() => {}),
  "assert.rejects": () => assert.rejects(Promise.reject(new Error("x")), /x/),
  "assert.rejects: fails": () => assert.rejects(Promise.resolve()),
  "assert.doesNotThrow: fails": () =>
    assert.doesNotThrow(() => {
      throw new Error("x");
    }),
  "assert.match: fails": () => assert.match("abc", /x/),
  "assert.fail": () => assert.fail("boom"),
  "assert.fail: nothing": () => assert.fail(),
  "assert.ifError": () => assert.ifError(new Error("x")),
  AssertionError: () => {
    const error = new assert.AssertionError({ actual: 1, expected: 2, operator: "strictEqual" });
    const { name, code, actual, expected, operator, generatedMessage } = error;
    return { name, code, actual, expected, operator, generatedMessage };
  },
  "assert.strict": () => assert.strict.equal === assert.strictEqual,
};
for (const [name, run] of Object.entries(cases)) test(name, run);
test("a promise of promisify", () => caught(() => util.promisify((done) => done("text"))()));
