import { suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

const parts = (url) => {
  const { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash } = url;
  return { href, origin, protocol, username, password, host, hostname, port, pathname, search, hash };
};
test("all parts", () => parts(new URL("https://u:p@Example.COM:8080/a/b?c=d#e")), {
  href: "https://u:p@example.com:8080/a/b?c=d#e",
  origin: "https://example.com:8080",
  protocol: "https:",
  username: "u",
  password: "p",
  host: "example.com:8080",
  hostname: "example.com",
  port: "8080",
  pathname: "/a/b",
  search: "?c=d",
  hash: "#e",
});
for (const [input, expected] of Object.entries({
  "http://a": "http://a/",
  "http://a:80/": "http://a/",
  "https://a:443/": "https://a/",
  "http://a/../b/./c": "http://a/b/c",
  "http://a/%2e%2e/b": "http://a/b",
  "http://a\\b": "http://a/b",
  " http://a/ ": "http://a/",
  "http://a/\tb\n": "http://a/b",
  "http://faß.example/": "http://xn--fa-hia.example/",
  "http://例え.jp/": "http://xn--r8jz45g.jp/",
  "http://0x7f.1/": "http://127.0.0.1/",
  "http://[::1]/": "http://[::1]/",
  "http://[1:2:0:0:5::]/": "http://[1:2:0:0:5::]/",
  "data:text/plain,a b": "data:text/plain,a b",
  "mailto:a@b": "mailto:a@b",
  "javascript:alert(1)": "javascript:alert(1)",
  "file:///C|/x": "file:///C:/x",
  "http://a/?q=é&'": "http://a/?q=%C3%A9&%27",
  "http://a/é`{}": "http://a/%C3%A9%60%7B%7D",
  "http://a/#é `": "http://a/#%C3%A9%20%60",
  "foo://a b": null,
  "http://a b/": null,
  "http://a:99999/": null,
  "http://": null,
  "": null,
  "/x": null,
  "http://a%00b/": null,
  "http://[::1": null,
  "http://1.2.3.400/": null,
}))
  test(`parse ${JSON.stringify(input)}`, () => new URL(input).href, expected ?? threw("TypeError", "Invalid URL string.", "TypeError"));
for (const [input, expected] of Object.entries({
  "../x": "http://a/x",
  "?q": "http://a/b/c?q",
  "#h": "http://a/b/c#h",
  "//z/y": "http://z/y",
  "": "http://a/b/c",
  "x:y": "x:y",
  "/": "http://a/",
})) {
  test(`relative ${JSON.stringify(input)}`, () => new URL(input, "http://a/b/c").href, expected);
}
test("a bad base", () => new URL("/a", "b"), threw("TypeError", "Invalid URL string."));
test(
  "without arguments",
  () => new URL(),
  threw("TypeError", "Failed to construct 'URL': constructor parameter 1 is not of type 'USVString'."),
);
test(
  "without new",
  () => URL("http://a/"),
  threw("TypeError", "Failed to construct 'URL': Please use the 'new' operator, this object constructor cannot be called as a function."),
);
test("canParse", () => [URL.canParse("http://a"), URL.canParse("/a"), URL.canParse("/a", "http://b")], [true, false, true]);
test("URL.parse", () => [URL.parse("http://a").href, URL.parse("/a"), URL.parse("/a", "http://b").href], ["http://a/", null, "http://b/a"]);
test("createObjectURL", () => typeof URL.createObjectURL, "function");
test("createObjectURL: called", () => URL.createObjectURL(new Blob(["a"])), threw("Error", "URL.createObjectURL() is not implemented"));
test(
  "origin of other schemes",
  () => ["blob:https://a/b", "file:///x", "data:,", "foo://a", "ws://a:80"].map((url) => new URL(url).origin),
  ["https://a", "null", "null", "null", "ws://a"],
);
for (const [name, value, expected] of [
  ["protocol", "ftp", "ftp://u:p@a/p?s#h"],
  ["username", "é", "http://%C3%A9:p@a/p?s#h"],
  ["password", "p:", "http://u:p%3A@a/p?s#h"],
  ["host", "b:81", "http://u:p@b:81/p?s#h"],
  ["hostname", "c", "http://u:p@c/p?s#h"],
  ["port", "99x", "http://u:p@a:99/p?s#h"],
  ["pathname", "x y", "http://u:p@a/x%20y?s#h"],
  ["search", "q=1", "http://u:p@a/p?q=1#h"],
  ["hash", "h", "http://u:p@a/p?s#h"],
]) {
  test(
    `set ${name}`,
    () => {
      const url = new URL("http://u:p@a:80/p?s#h");
      url[name] = value;
      return url.href;
    },
    expected,
  );
}
test(
  "set href to what is no URL",
  () => {
    new URL("http://a").href = "x";
  },
  threw("TypeError", "Failed to set the 'href' property on 'URL': the provided value is not of type 'valid URL string'."),
);
test(
  "set protocol of http to foo is ignored",
  () => {
    const url = new URL("http://a/");
    url.protocol = "foo";
    return url.href;
  },
  "http://a/",
);
test(
  "set port to nothing",
  () => {
    const url = new URL("http://a:81/");
    url.port = "";
    return url.href;
  },
  "http://a/",
);
test(
  "set search to nothing",
  () => {
    const url = new URL("http://a/?x");
    url.search = "";
    return url.href;
  },
  "http://a/",
);
test(
  "searchParams are live",
  () => {
    const url = new URL("http://a/?x=1");
    url.searchParams.append("y", "é ");
    const first = url.href;
    url.search = "?z";
    return [first, [...url.searchParams]];
  },
  ["http://a/?x=1&y=%C3%A9+", [["z", ""]]],
);
test(
  "searchParams is the same object",
  () => {
    const url = new URL("http://a/");
    return url.searchParams === url.searchParams;
  },
  true,
);
test(
  "searchParams: deleting the last removes the mark",
  () => {
    const url = new URL("http://a/?x=1");
    url.searchParams.delete("x");
    return url.href;
  },
  "http://a/",
);
test("toString and toJSON", () => [String(new URL("http://a")), JSON.stringify({ url: new URL("http://a") })], [
  "http://a/",
  '{"url":"http://a/"}',
]);
test("the tags", () => [Object.prototype.toString.call(new URL("http://a")), Object.prototype.toString.call(new URLSearchParams())], [
  "[object URL]",
  "[object URLSearchParams]",
]);
test("URLSearchParams: of a string", () => [...new URLSearchParams("?a=1&b=%20+&c&=d&&e=f=g")], [
  ["a", "1"],
  ["b", "  "],
  ["c", ""],
  ["", "d"],
  ["e", "f=g"],
]);
test("URLSearchParams: of an object", () => String(new URLSearchParams({ a: 1, b: "é&" })), "a=1&b=%C3%A9%26");
test(
  "URLSearchParams: of pairs",
  () =>
    String(
      new URLSearchParams([
        ["a", "1"],
        ["a", "2"],
      ]),
    ),
  "a=1&a=2",
);
test(
  "URLSearchParams: of pairs of three",
  () => new URLSearchParams([["a", "b", "c"]]),
  threw("TypeError", "Invalid URL search params sequence."),
);
test("URLSearchParams: of null", () => String(new URLSearchParams(null)), "null=");
test("URLSearchParams: of a number", () => String(new URLSearchParams(5)), "5=");
test("URLSearchParams: of a Map", () => String(new URLSearchParams(new Map([["a", "1"]]))), "a=1");
test(
  "URLSearchParams: of FormData",
  () => {
    const form = new FormData();
    form.append("a", "1");
    return String(new URLSearchParams(form));
  },
  "a=1",
);
test(
  "URLSearchParams: has and delete with a value",
  () => {
    const params = new URLSearchParams("a=1&a=2");
    const has = [params.has("a", "2"), params.has("a", "3")];
    params.delete("a", "1");
    return [has, String(params)];
  },
  [[true, false], "a=2"],
);
test(
  "URLSearchParams: sort",
  () => {
    const params = new URLSearchParams("z=1&a=2&z=0&é=1&a=1");
    params.sort();
    return String(params);
  },
  "a=2&a=1&z=1&z=0&%C3%A9=1",
);
test("URLSearchParams: size", () => new URLSearchParams("a=1&a=2").size, 2);
test(
  "URLSearchParams: get, getAll, set",
  () => {
    const params = new URLSearchParams("a=1&b=2&a=3");
    const before = [params.get("a"), params.get("x"), params.getAll("a"), params.getAll("x")];
    params.set("a", "9");
    return [before, String(params)];
  },
  [["1", null, ["1", "3"], []], "a=9&b=2"],
);
test(
  "URLSearchParams: escapes",
  () => String(new URLSearchParams({ x: " !'()~*-._%&=+é😀" })),
  "x=+%21%27%28%29%7E*-._%25%26%3D%2B%C3%A9%F0%9F%98%80",
);
test("URLSearchParams: a bad escape", () => [...new URLSearchParams("a=%zz%F")], [["a", "%zz%F"]]);
test(
  "URLSearchParams: iteration",
  () => {
    const params = new URLSearchParams("a=1&b=2");
    return [[...params.keys()], [...params.values()], [...params.entries()]];
  },
  [
    ["a", "b"],
    ["1", "2"],
    [
      ["a", "1"],
      ["b", "2"],
    ],
  ],
);
test(
  "URLSearchParams: forEach",
  () => {
    const out = [];
    new URLSearchParams("a=1").forEach((value, name) => out.push(value, name));
    return out;
  },
  ["1", "a"],
);
test("URLSearchParams: the iterator's tag", () => Object.prototype.toString.call(new URLSearchParams().keys()), "[object KeyIterator]");
test(
  "URLSearchParams: append without a value",
  () => new URLSearchParams().append("a"),
  threw("TypeError", "Failed to execute 'append' on 'URLSearchParams': parameter 2 is not of type 'USVString'."),
);
