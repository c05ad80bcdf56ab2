import { error, suite } from "./suite.js";

const { test, route, handler } = suite();
export default handler;

const circular = { a: 1 };
circular.self = circular;
class Foo {
  a = 1;
}
/** What is printed, each between two marks, so that what a runtime adds around it does not count. */
const printed = () => ({
  "a text": ["hello"],
  "a number": [1.5],
  "a text and a number": ["a", 1, true],
  "undefined and null": [undefined, null],
  "a BigInt and a symbol": [5n, Symbol("x")],
  "an object": [{ a: 1, b: "x" }],
  "a nested object": [{ a: { b: { c: { d: 1 } } } }],
  "an array": [[1, "a", [2]]],
  "a function": [function named() {}],
  "a class": [Foo],
  "an instance": [new Foo()],
  "a Map and a Set": [new Map([["a", 1]]), new Set([1])],
  "a Date": [new Date(0)],
  bytes: [new Uint8Array([1, 2])],
  "an ArrayBuffer": [new ArrayBuffer(2)],
  "a promise": [Promise.resolve(1)],
  "a circular object": [circular],
  Headers: [new Headers({ a: "1" })],
  "a URL": [new URL("http://a/b")],
  "a Response": [new Response("x")],
  "an empty object and array": [{}, []],
  "%s and %d": ["%s-%d", "a", 5],
  "%o and %O": ["%o %O", { a: 1 }, { b: 2 }],
  "%s of an object": ["%s", { a: 1 }],
  "%s of several things": ["%s %s %s %s %d%% %s", [1, { a: 1 }], new Foo(), { toString: () => "own" }, null, 5, "%s"],
  "%s of too much": ["%s", { a: 1 }, { b: { c: { d: { e: 1 } } } }, "x"],
  quotes: [["it's", 'a "b"', "`"]],
  "%% and %c": ["100%% %cstyled", "color: red"],
  "too few arguments": ["%s %s", "a"],
  "a text with a newline": ["a\nb"],
  "a long text": ["x".repeat(300)],
  "a long array": [Array.from({ length: 150 }, (_, i) => i)],
});
for (const method of [
  "log",
  "info",
  "warn",
  "error",
  "debug",
  "trace",
  "dir",
  "dirxml",
  "table",
  "group",
  "groupCollapsed",
  "groupEnd",
  "count",
  "countReset",
  "time",
  "timeLog",
  "timeEnd",
  "assert",
  "clear",
  "profile",
  "profileEnd",
  "timeStamp",
  "context",
  "createTask",
]) {
  test(`console.${method}`, () => typeof console[method], method === "createTask" ? "undefined" : "function");
}
test(
  "what the methods give",
  () =>
    [
      console.log("x"),
      console.error("x"),
      console.assert(true),
      console.group(),
      console.groupEnd(),
      console.time("t"),
      console.timeEnd("t"),
      console.count("c"),
      console.table([1]),
      console.dir({}),
      console.trace(),
    ].every((each) => each === undefined),
  true,
);
test(
  "detached",
  () => {
    const { log } = console;
    return log("x");
  },
  undefined,
);
test("the tag", () => Object.prototype.toString.call(console), "[object console]");
test(
  "a getter that throws",
  () =>
    console.log({
      get a() {
        throw new Error("ignore me");
      },
    }),
  undefined,
);

route("/print", (request) => {
  const { searchParams } = new URL(request.url);
  const [first, ...rest] = printed()[searchParams.get("name")];
  const mark = searchParams.get("mark");
  // The first argument may be a format, so that the marks go around it only if it is a text.
  if (typeof first === "string") console[searchParams.get("method")](`<${mark}>${first}`, ...rest, `</${mark}>`);
  else console[searchParams.get("method")](`<${mark}>`, first, ...rest, `</${mark}>`);
  return new Response();
});
