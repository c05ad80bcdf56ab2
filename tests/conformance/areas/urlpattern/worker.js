import { suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

const match = (pattern, input, part = "pathname") => new URLPattern(pattern).exec(input)?.[part] ?? null;
test("a named group", () => match({ pathname: "/books/:id" }, "https://a/books/12"), { input: "/books/12", groups: { id: "12" } });
test("no match", () => match({ pathname: "/books/:id" }, "https://a/films/12"), null);
test("a wildcard", () => match({ pathname: "/a/*" }, "https://a/a/b/c"), { input: "/a/b/c", groups: { 0: "b/c" } });
test("a regular expression", () => match({ pathname: "/:id(\\d+)" }, "https://a/12"), { input: "/12", groups: { id: "12" } });
test("a regular expression that fails", () => match({ pathname: "/:id(\\d+)" }, "https://a/x"), null);
test(
  "an optional group",
  () => [match({ pathname: "/a{/:b}?" }, "https://x/a"), match({ pathname: "/a{/:b}?" }, "https://x/a/c")?.groups],
  [{ input: "/a", groups: { b: undefined } }, { b: "c" }],
);
test("a repeated group", () => match({ pathname: "/:a+" }, "https://x/b/c/d"), { input: "/b/c/d", groups: { a: "b/c/d" } });
test("a string pattern", () => new URLPattern("https://*.example.com/:x").exec("https://a.example.com/y")?.hostname.groups, { 0: "a" });
test("a string with a base", () => new URLPattern("/a/:b", "https://x").test("https://x/a/c"), true);
test("a base in the input", () => new URLPattern({ pathname: "/a" }).test("/a", "https://x"), true);
test("test of an object", () => new URLPattern({ pathname: "/a/:b" }).test({ pathname: "/a/1" }), true);
test("search and hash", () => new URLPattern({ search: "q=:q", hash: "h*" }).exec("https://a/?q=1#hx")?.search.groups, { q: "1" });
test(
  "ignoreCase",
  () => [
    new URLPattern({ pathname: "/A" }, { ignoreCase: true }).test("https://x/a"),
    new URLPattern({ pathname: "/A" }).test("https://x/a"),
  ],
  [true, false],
);
test(
  "components",
  () => {
    const { protocol, username, password, hostname, port, pathname, search, hash, hasRegExpGroups } = new URLPattern("https://a:81/:b?c");
    return { protocol, username, password, hostname, port, pathname, search, hash, hasRegExpGroups };
  },
  {
    protocol: "https",
    username: "*",
    password: "*",
    hostname: "a",
    port: "81",
    pathname: "/:b?c",
    search: "*",
    hash: "*",
    hasRegExpGroups: false,
  },
);
test("inputs of a result", () => new URLPattern({ pathname: "/*" }).exec("https://a/b").inputs, ["https://a/b"]);
test("a bad pattern", () => new URLPattern({ pathname: "/(" }), threw("TypeError", "Failed to construct URLPattern"));
test("a bad input", () => new URLPattern({ pathname: "/a" }).test("not a url"), false);
test("a relative string without a base", () => new URLPattern("/a"), threw("TypeError", "Failed to construct URLPattern"));
test("two groups of one name", () => new URLPattern({ pathname: "/:a/:a" }), threw("TypeError", "Failed to construct URLPattern"));
test("of nothing", () => new URLPattern().test("https://a/b"), true);
test(
  "without new",
  () => URLPattern({}),
  threw(
    "TypeError",
    "Failed to construct 'URLPattern': Please use the 'new' operator, this object constructor cannot be called as a function.",
  ),
);
test("the tag", () => String(new URLPattern({})), "[object URLPattern]");
test("unmatched groups", () => match({ pathname: "/a/:b?" }, "https://x/a"), { input: "/a", groups: { b: undefined } });
test("unicode", () => match({ pathname: "/:n" }, "https://x/é"), { input: "/%C3%A9", groups: { n: "%C3%A9" } });
