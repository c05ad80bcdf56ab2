import { caught, error, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

test("constructor: from an object", () => [...new Headers({ b: "2", A: "1" })], [
  ["a", "1"],
  ["b", "2"],
]);
test(
  "constructor: from pairs",
  () => [
    ...new Headers([
      ["x", "1"],
      ["x", "2"],
    ]),
  ],
  [["x", "1, 2"]],
);
test("constructor: from Headers", () => [...new Headers(new Headers({ a: "1" }))], [["a", "1"]]);
test("constructor: from a Map", () => [...new Headers(new Map([["a", "1"]]))], [["a", "1"]]);
test(
  "constructor: of a pair with three items",
  () => new Headers([["a", "b", "c"]]),
  threw("TypeError", "To initialize a Headers object from a sequence, each inner sequence must have exactly two elements."),
);
test(
  "constructor: of null",
  () => [...new Headers(null)],
  threw("TypeError", "Failed to construct 'Headers': constructor parameter 1 is not of type 'Headers or Sequence or object'."),
);
test("constructor: of undefined", () => [...new Headers(undefined)], []);
test(
  "constructor: of a string",
  () => new Headers("a"),
  threw("TypeError", "Failed to construct 'Headers': constructor parameter 1 is not of type 'Headers or Sequence or object'."),
);
test(
  "constructor: without new",
  () => Headers(),
  threw(
    "TypeError",
    "Failed to construct 'Headers': Please use the 'new' operator, this object constructor cannot be called as a function.",
  ),
);
test(
  "append joins with a comma",
  () => {
    const headers = new Headers({ a: "1" });
    headers.append("A", "2");
    return headers.get("a");
  },
  "1, 2",
);
test("append returns nothing", () => new Headers().append("a", "1"), undefined);
test(
  "set replaces",
  () => {
    const headers = new Headers([
      ["a", "1"],
      ["a", "2"],
    ]);
    headers.set("a", "3");
    return headers.get("a");
  },
  "3",
);
test("get of what is absent", () => new Headers().get("a"), null);
test("get is case-insensitive", () => new Headers({ "Content-Type": "x" }).get("cONTENT-tYPE"), "x");
test("has", () => [new Headers({ a: "" }).has("A"), new Headers().has("a")], [true, false]);
test(
  "delete",
  () => {
    const headers = new Headers({ a: "1", b: "2" });
    headers.delete("A");
    headers.delete("absent");
    return [...headers.keys()];
  },
  ["b"],
);
test("values are trimmed", () => new Headers({ a: " \t1 \r\n" }).get("a"), "1");
test("an empty value", () => new Headers({ a: "" }).get("a"), "");
test("a value that is a number", () => new Headers({ a: 1 }).get("a"), "1");
test("a value that is null", () => new Headers({ a: null }).get("a"), "null");
test("a value that is undefined", () => new Headers({ a: undefined }).get("a"), "undefined");
test("a value with a newline", () => new Headers({ a: "1\n2" }), threw("TypeError", "Invalid header value."));
test("a value with a NUL", () => new Headers({ a: "1\0" }), threw("TypeError", "Invalid header value."));
test("a value with é", () => new Headers({ a: "é" }).get("a"), "é");
test("a value beyond Latin-1", () => new Headers({ a: "€" }).get("a"), "€");
test("a name with a space", () => new Headers({ "a b": "1" }), threw("TypeError", "Invalid header name."));
test("an empty name", () => [...new Headers({ "": "1" })], [["", "1"]]);
test("a name beyond ASCII", () => new Headers({ é: "1" }).get("é"), "1");
test("get of an invalid name", () => new Headers().get("a b"), threw("TypeError", "Invalid header name."));
test("has of an invalid name", () => new Headers().has(""), false);
test("delete of an invalid name", () => new Headers().delete("a b"), threw("TypeError", "Invalid header name."));
test(
  "append without a value",
  () => new Headers().append("a"),
  threw("TypeError", "Failed to execute 'append' on 'Headers': parameter 2 is not of type 'string'."),
);
test(
  "get without a name",
  () => new Headers().get(),
  threw("TypeError", "Failed to execute 'get' on 'Headers': parameter 1 is not of type 'string'."),
);
test("iteration is sorted by lower-case name", () => [...new Headers({ "X-B": "1", a: "2", "x-a": "3" }).keys()], ["a", "x-a", "x-b"]);
test(
  "iteration gives each Set-Cookie",
  () => {
    const headers = new Headers([
      ["set-cookie", "a=1"],
      ["z", "1"],
      ["Set-Cookie", "b=2"],
    ]);
    return [...headers];
  },
  [
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
    ["z", "1"],
  ],
);
test(
  "getSetCookie",
  () => {
    const headers = new Headers([
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
    ]);
    return [headers.getSetCookie(), headers.get("set-cookie")];
  },
  [["a=1", "b=2"], "a=1, b=2"],
);
test("getSetCookie without any", () => new Headers().getSetCookie(), []);
test(
  "getAll of Set-Cookie",
  () =>
    new Headers([
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
    ]).getAll("Set-Cookie"),
  ["a=1", "b=2"],
);
test(
  "getAll of another name",
  () => new Headers({ a: "1" }).getAll("a"),
  threw("TypeError", 'getAll() can only be used with the header name "Set-Cookie".'),
);
test(
  "set of Set-Cookie replaces all",
  () => {
    const headers = new Headers([
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
    ]);
    headers.set("set-cookie", "c=3");
    return headers.getSetCookie();
  },
  ["c=3"],
);
test(
  "forEach: arguments and receiver",
  () => {
    const out = [];
    const headers = new Headers({ a: "1" });
    headers.forEach(
      function (value, name, all) {
        out.push(value, name, all === headers, this.me);
      },
      { me: true },
    );
    return out;
  },
  ["1", "a", true, true],
);
test(
  "forEach of no function",
  () => new Headers({ a: "1" }).forEach(1),
  threw("TypeError", "Failed to execute 'forEach' on 'Headers': parameter 1 is not of type 'function'."),
);
test(
  "entries, keys and values",
  () => {
    const headers = new Headers({ a: "1", b: "2" });
    return [[...headers.entries()], [...headers.keys()], [...headers.values()]];
  },
  [
    [
      ["a", "1"],
      ["b", "2"],
    ],
    ["a", "b"],
    ["1", "2"],
  ],
);
test("the iterator's tag", () => Object.prototype.toString.call(new Headers().entries()), "[object EntryIterator]");
test(
  "the iterator iterates itself",
  () => {
    const iterator = new Headers({ a: "1" }).values();
    return iterator[Symbol.iterator]() === iterator;
  },
  true,
);
test(
  "mutation while iterating",
  () => {
    const headers = new Headers({ a: "1", b: "2", c: "3" });
    const seen = [];
    for (const [name] of headers) {
      seen.push(name);
      headers.delete("b");
    }
    return seen;
  },
  ["a", "b", "c"],
);
test("the tag", () => String(new Headers()), "[object Headers]");
test(
  "a copy is independent",
  () => {
    const first = new Headers({ a: "1" });
    const second = new Headers(first);
    second.set("a", "2");
    return first.get("a");
  },
  "1",
);
test(
  "guard: headers of the incoming request are immutable",
  ({ request }) => request.headers.set("a", "1"),
  threw("TypeError", "Can't modify immutable headers."),
);
test(
  "guard: append, delete",
  async ({ request }) =>
    [await caught(() => request.headers.append("a", "1")), await caught(() => request.headers.delete("a"))].map((error) => error.message),
  ["Can't modify immutable headers.", "Can't modify immutable headers."],
);
test(
  "guard: headers of a new Request are mutable",
  ({ request }) => {
    const mine = new Request(request);
    mine.headers.set("x-a", "1");
    return mine.headers.get("x-a");
  },
  "1",
);
test(
  "guard: headers of a new Response are mutable",
  () => {
    const response = new Response();
    response.headers.set("x-a", "1");
    return [...response.headers];
  },
  [["x-a", "1"]],
);
test(
  "guard: Response.redirect",
  () => Response.redirect("http://a/").headers.set("a", "1"),
  threw("TypeError", "Can't modify immutable headers."),
);
test("guard: Response.error", () => Response.error().headers.set("a", "1"), undefined);
test(
  "guard: a forbidden request header may be set",
  () => new Request("http://a/", { headers: { host: "b", cookie: "c=1", "content-length": "3" } }).headers.get("cookie"),
  "c=1",
);
test(
  "guard: a copy of immutable headers is mutable",
  ({ request }) => {
    const headers = new Headers(request.headers);
    headers.set("x-a", "1");
    return headers.get("x-a");
  },
  "1",
);
test("the incoming request's headers", ({ request }) => [...request.headers.keys()].filter((name) => !name.startsWith("cf-")), [
  "connection",
  "host",
]);
