import { caught, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

const at = "http://example.com/";

test(
  "defaults",
  () => {
    const { method, url, redirect, cache, signal, body, bodyUsed, cf, fetcher, integrity, keepalive } = new Request(at);
    return { method, url, redirect, cache, signal: String(signal), body, bodyUsed, cf, fetcher, integrity, keepalive };
  },
  {
    method: "GET",
    url: "http://example.com/",
    redirect: "follow",
    cache: undefined,
    signal: "[object AbortSignal]",
    body: null,
    bodyUsed: false,
    cf: undefined,
    fetcher: null,
    integrity: "",
    keepalive: false,
  },
);
for (const name of ["mode", "credentials", "referrer", "referrerPolicy", "destination", "duplex", "isReloadNavigation"]) {
  test(`absent: ${name}`, () => name in new Request(at), false);
}
test("url is normalised", () => new Request("HTTP://EXAMPLE.com:80/a/../b?c d#e").url, "http://example.com/b?c%20d#e");
test("url without a path", () => new Request("http://a").url, "http://a/");
test("url with credentials", () => new Request("http://u:p@a/").url, "http://u:p@a/");
test("a relative url", () => new Request("/a"), threw("TypeError", "Invalid URL: /a"));
test("an empty url", () => new Request(""), threw("TypeError", "Invalid URL: "));
test("of a URL", () => new Request(new URL(at)).url, at);
test("of another scheme", () => new Request("ftp://a/").url, "ftp://a/");
test(
  "without arguments",
  () => new Request(),
  threw("TypeError", "Failed to construct 'Request': constructor parameter 1 is not of type 'Request or string'."),
);
for (const method of ["get", "post", "Delete", "options", "head", "put", "patch", "Purge"])
  test(`method ${method}`, () => new Request(at, { method }).method, method.toUpperCase());
for (const method of ["FOO", "foo", "a b", "", "null"])
  test(
    `method ${method || "of no letters"}`,
    () => new Request(at, { method }),
    threw("TypeError", `Invalid HTTP method string: ${method}`),
  );
test("method CONNECT", () => new Request(at, { method: "CONNECT" }).method, threw("TypeError", "Invalid HTTP method string: CONNECT"));
test("method TRACE", () => new Request(at, { method: "TRACE" }).method, "TRACE");
test("body with GET", () => new Request(at, { body: "x" }), threw("TypeError", "Request with a GET or HEAD method cannot have a body."));
test(
  "body with HEAD",
  () => new Request(at, { method: "HEAD", body: "x" }),
  threw("TypeError", "Request with a GET or HEAD method cannot have a body."),
);
test(
  "an empty body with GET",
  () => new Request(at, { body: "" }),
  threw("TypeError", "Request with a GET or HEAD method cannot have a body."),
);
test("body with DELETE", () => new Request(at, { method: "DELETE", body: "x" }).text(), "x");
for (const redirect of ["follow", "manual"]) test(`redirect ${redirect}`, () => new Request(at, { redirect }).redirect, redirect);
for (const redirect of ["error", "x"]) {
  test(
    `redirect ${redirect}`,
    () => new Request(at, { redirect }),
    threw(
      "TypeError",
      'Invalid redirect value, must be one of "follow" or "manual" ("error" won\'t be implemented since it does not make sense at the edge; use "manual" and check the response status code).',
    ),
  );
}
for (const cache of ["no-store", "no-cache"]) test(`cache ${cache}`, () => new Request(at, { cache }).cache, cache);
for (const cache of ["default", "reload", "force-cache", "only-if-cached", "x"])
  test(`cache ${cache}`, () => new Request(at, { cache }), threw("TypeError", `Unsupported cache mode: ${cache}`));
test(
  "content type of a string",
  () => new Request(at, { method: "POST", body: "x" }).headers.get("content-type"),
  "text/plain;charset=UTF-8",
);
test(
  "clone",
  async () => {
    const first = new Request(at, { method: "POST", body: "x", headers: { a: "1" } });
    const second = first.clone();
    return [await first.text(), await second.text(), second.method, second.url, second.headers.get("a")];
  },
  ["x", "x", "POST", at, "1"],
);
test(
  "clone after use",
  async () => {
    const request = new Request(at, { method: "POST", body: "x" });
    await request.text();
    return request.clone();
  },
  threw("TypeError", "This ReadableStream is currently locked to a reader,"),
);
test(
  "from a request: the body moves",
  async () => {
    const first = new Request(at, { method: "POST", body: "x" });
    const second = new Request(first);
    return [first.bodyUsed, await second.text()];
  },
  [true, "x"],
);
test("from a request: another method", () => new Request(new Request(at), { method: "PUT" }).method, "PUT");
test("from a request: headers replace", () => [...new Request(new Request(at, { headers: { a: "1" } }), { headers: { b: "2" } }).headers], [
  ["b", "2"],
]);
test(
  "from a request with a new url",
  () => {
    const first = new Request(at, { headers: { a: "1" }, method: "PUT" });
    const second = new Request("http://b/", first);
    return [second.url, second.method, second.headers.get("a")];
  },
  ["http://b/", "PUT", "1"],
);
test(
  "from a used request",
  async () => {
    const first = new Request(at, { method: "POST", body: "x" });
    await first.text();
    return new Request(first);
  },
  threw("TypeError", "Cannot reconstruct a Request with a used body."),
);
test(
  "from a used request with a new body",
  async () => {
    const first = new Request(at, { method: "POST", body: "x" });
    await first.text();
    return new Request(first, { body: "y" }).text();
  },
  "y",
);
test("init: body null", () => new Request(at, { method: "POST", body: null }).body, null);
test("init: cf", () => new Request(at, { cf: { a: 1 } }).cf, { a: 1 });
test(
  "init: a cf that is no object",
  () => new Request(at, { cf: 1 }).cf,
  threw("TypeError", "Incorrect type for the 'cf' field on 'RequestInitializerDict': the provided value is not of type 'Object'."),
);
test("cf is copied from a request", () => new Request(new Request(at, { cf: { a: 1 } })).cf, { a: 1 });
test("cf of a clone", () => new Request(at, { cf: { a: 1 } }).clone().cf, { a: 1 });
test(
  "init: integrity",
  () => new Request(at, { integrity: "x" }).integrity,
  threw("TypeError", "Subrequest integrity checking is not implemented. The integrity option must be either undefined or an empty string."),
);
test(
  "init: signal",
  () => {
    const controller = new AbortController();
    const request = new Request(at, { signal: controller.signal });
    controller.abort();
    return request.signal.aborted;
  },
  true,
);
test(
  "init: signal is the same object",
  () => {
    const { signal } = new AbortController();
    return new Request(at, { signal }).signal === signal;
  },
  true,
);
test("init: signal null", () => String(new Request(at, { signal: null }).signal), "[object AbortSignal]");
test(
  "init: a signal that is none",
  () => new Request(at, { signal: 1 }),
  threw("TypeError", "Incorrect type for the 'signal' field on 'RequestInitializerDict': the provided value is not of type 'AbortSignal'."),
);
test(
  "a signal follows to a clone",
  () => {
    const controller = new AbortController();
    const second = new Request(at, { signal: controller.signal }).clone();
    controller.abort("why");
    return [second.signal.aborted, second.signal.reason];
  },
  [true, "why"],
);
test(
  "init is a string",
  () => new Request(at, "x"),
  threw("TypeError", "Failed to construct 'Request': constructor parameter 2 is not of type 'RequestInitializerDict or Request'."),
);
test("init: headers of an invalid name", () => new Request(at, { headers: { "a b": "1" } }), threw("TypeError", "Invalid header name."));
test("init: method null", () => new Request(at, { method: null }), threw("TypeError", "Invalid HTTP method string: null"));
test("init: duplex is not needed", () => new Request(at, { method: "POST", body: new Response("x").body }).text(), "x");
test(
  "json, bytes, arrayBuffer, blob",
  async () => {
    const make = () => new Request(at, { method: "POST", body: "[1]" });
    return [await make().json(), [...(await make().bytes())], (await make().arrayBuffer()).byteLength, (await make().blob()).type];
  },
  [[1], [91, 49, 93], 3, "text/plain;charset=UTF-8"],
);
test(
  "json of bad text",
  () => new Request(at, { method: "POST", body: "{" }).json(),
  threw("SyntaxError", "Expected property name or '}' in JSON at position 1 (line 1 column 2)"),
);
test("json of an empty body", () => new Request(at).json(), threw("SyntaxError", "Unexpected end of JSON input"));
test("text without a body", () => new Request(at).text(), "");
test(
  "formData of text",
  () => new Request(at, { method: "POST", body: "x" }).formData(),
  threw(
    "TypeError",
    "Unrecognized Content-Type header value. FormData can only parse the following MIME types: multipart/form-data, application/x-www-form-urlencoded",
  ),
);
test(
  "without new",
  () => Request(at),
  threw(
    "TypeError",
    "Failed to construct 'Request': Please use the 'new' operator, this object constructor cannot be called as a function.",
  ),
);
test("the tag", () => String(new Request(at)), "[object Request]");
test("incoming: method and url", ({ request }) => [request.method, new URL(request.url).pathname, request.redirect], [
  "GET",
  "/",
  "manual",
]);
test("incoming: body of GET", ({ request }) => request.body, null);
test("incoming: signal", ({ request }) => [String(request.signal), request.signal.aborted], ["[object AbortSignal]", false]);
test("incoming: cf", ({ request }) => typeof request.cf, "object");
test("incoming: instance of Request", ({ request }) => request instanceof Request, true);
test("fetch: of a relative url", () => fetch("/a"), threw("TypeError", "Invalid URL: /a"));
test("fetch: of an unknown scheme", () => fetch("foo://a/"), threw("TypeError", "Fetch API cannot load: foo://a/"));
test(
  "fetch: without arguments",
  () => fetch(),
  threw("TypeError", "Failed to execute 'fetch' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'Request or string'."),
);
test("fetch: is a promise when it fails", async () => fetch("").catch((error) => error.name), "TypeError");
test("fetch: of data:", () => fetch("data:text/plain,x").then((response) => response.text()), "x");
test("fetch: of blob:", () => fetch("blob:x"), threw("TypeError", "Fetch API cannot load: blob:x"));
test(
  "fetch: aborted before",
  () => fetch(at, { signal: AbortSignal.abort() }),
  threw("DOMException", "The operation was aborted", "AbortError"),
);
test("fetch: aborted with a reason", () => fetch(at, { signal: AbortSignal.abort(new RangeError("r")) }), threw("RangeError", "r"));
test(
  "fetch: of a used body",
  async () => {
    const request = new Request("http://127.0.0.1:1/", { method: "POST", body: "x" });
    await request.text();
    return (await caught(() => fetch(request))).message;
  },
  "Cannot reconstruct a Request with a used body.",
);
