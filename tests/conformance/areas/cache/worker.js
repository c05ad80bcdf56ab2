import { caught, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

test("caches", () => String(caches), "[object CacheStorage]");
test("caches.default", () => String(caches.default), "[object Cache]");
test("caches.open", async () => String(await caches.open("a")), "[object Cache]");
test(
  "caches.open: without a name",
  () => caches.open(),
  threw("TypeError", "Failed to execute 'open' on 'CacheStorage': parameter 1 is not of type 'string'."),
);
test("caches.has", () => caches.has("a"), threw("Error", "Failed to execute 'has' on 'CacheStorage': the method is not implemented."));
test(
  "caches.delete",
  () => caches.delete("a"),
  threw("Error", "Failed to execute 'delete' on 'CacheStorage': the method is not implemented."),
);
test("caches.keys", () => caches.keys(), threw("Error", "Failed to execute 'keys' on 'CacheStorage': the method is not implemented."));
test(
  "caches.match",
  () => caches.match("http://a/"),
  threw("Error", "Failed to execute 'match' on 'CacheStorage': the method is not implemented."),
);
test(
  "put: a POST",
  () => caches.default.put(new Request("http://a/", { method: "POST" }), new Response("x")),
  threw("TypeError", "Cannot cache response to non-GET request."),
);
test(
  "put: 206",
  () => caches.default.put("http://a/", new Response("x", { status: 206, headers: { "content-range": "bytes 0-0/1" } })),
  threw("TypeError", "Cannot cache response to a range request (206 Partial Content)."),
);
test(
  "put: Vary: *",
  () => caches.default.put("http://a/", new Response("x", { headers: { vary: "*" } })),
  threw("TypeError", "Cannot cache response with 'Vary: *' header."),
);
test(
  "put: a used body",
  async () => {
    const response = new Response("x");
    await response.text();
    return caches.default.put("http://a/", response);
  },
  threw("TypeError", "Body has already been used. It can only be used once. Use tee() first if you need to read it twice."),
);
test(
  "put: without a response",
  () => caches.default.put("http://a/"),
  threw("TypeError", "Failed to execute 'put' on 'Cache': parameter 2 is not of type 'Response'."),
);
test("put: a relative URL", () => caches.default.put("/a", new Response("x")), threw("TypeError", "Invalid URL: /a"));
test("match: a relative URL", () => caches.default.match("/a"), threw("TypeError", "Invalid URL: /a"));
test(
  "match: nothing",
  () => caches.default.match(),
  threw("TypeError", "Failed to execute 'match' on 'Cache': parameter 1 is not of type 'Request or string'."),
);
test("add", () => caches.default.add("http://a/"), threw("Error", "Failed to execute 'add' on 'Cache': the method is not implemented."));
test(
  "addAll",
  () => caches.default.addAll(["http://a/"]),
  threw("Error", "Failed to execute 'addAll' on 'Cache': the method is not implemented."),
);
test(
  "matchAll",
  () => caches.default.matchAll("http://a/"),
  threw("Error", "Failed to execute 'matchAll' on 'Cache': the method is not implemented."),
);
test("keys", () => caches.default.keys(), threw("Error", "Failed to execute 'keys' on 'Cache': the method is not implemented."));

const at = (name) => `http://cache.example/${name}`;
const seen = async (response) =>
  response && [
    response.status,
    await response.text(),
    [...response.headers].filter(([name]) => !["content-length", "age", "cf-ray", "date", "expires", "last-modified"].includes(name)),
  ];
const round = async (name, response, find = at(name)) => {
  await caches.default.put(at(name), response);
  return seen(await caches.default.match(find));
};
const plain = (init) => new Response("body", { headers: { "cache-control": "max-age=100", "content-type": "text/plain", ...init } });

test("a miss", () => caches.default.match(at("nothing")), undefined);
test("put gives nothing", () => caches.default.put(at("gives"), plain()), undefined);
test("put and match", () => round("a", plain({ "x-a": "1" })), [
  200,
  "body",
  [
    ["cache-control", "max-age=100"],
    ["cf-cache-status", "HIT"],
    ["content-type", "text/plain"],
    ["x-a", "1"],
  ],
]);
test("put and match by a Request", () => round("b", plain(), new Request(at("b"))), [
  200,
  "body",
  [
    ["cache-control", "max-age=100"],
    ["cf-cache-status", "HIT"],
    ["content-type", "text/plain"],
  ],
]);
test(
  "put by a Request",
  async () => {
    await caches.default.put(new Request(at("c"), { headers: { cookie: "a" } }), plain());
    return (await seen(await caches.default.match(at("c"))))[1];
  },
  "body",
);
test(
  "put replaces",
  async () => {
    await caches.default.put(at("d"), plain());
    return (await round("d", new Response("second", { headers: { "cache-control": "max-age=100" } })))[1];
  },
  "second",
);
test(
  "match twice",
  async () => {
    await round("e", plain());
    return (await seen(await caches.default.match(at("e"))))[1];
  },
  "body",
);
test(
  "the query counts",
  async () => {
    await caches.default.put(at("f?x=1"), plain());
    return [await caches.default.match(at("f")), (await seen(await caches.default.match(at("f?x=1"))))[1]];
  },
  [undefined, "body"],
);
test(
  "the fragment does not",
  async () => {
    await caches.default.put(at("g"), plain());
    return (await seen(await caches.default.match(`${at("g")}#x`)))?.[1];
  },
  "body",
);
test(
  "put uses the body up",
  async () => {
    const response = plain();
    await caches.default.put(at("h"), response);
    return response.bodyUsed;
  },
  true,
);
test(
  "put of a clone",
  async () => {
    const response = plain();
    await caches.default.put(at("i"), response.clone());
    return [await response.text(), (await seen(await caches.default.match(at("i"))))[1]];
  },
  ["body", "body"],
);
test(
  "put of a stream",
  async () => {
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    const putting = caches.default.put(at("j"), new Response(readable, { headers: { "cache-control": "max-age=100" } }));
    await writer.write(new TextEncoder().encode("stre"));
    await writer.write(new TextEncoder().encode("amed"));
    await writer.close();
    await putting;
    return (await seen(await caches.default.match(at("j"))))[1];
  },
  "streamed",
);
test("put without a body", () => round("k", new Response(null, { status: 404, headers: { "cache-control": "max-age=100" } })), [
  404,
  "",
  [
    ["cache-control", "max-age=100"],
    ["cf-cache-status", "HIT"],
  ],
]);
test("put of 304", () => caught(() => caches.default.put(at("l"), new Response(null, { status: 304 }))), undefined);
test("put of 204", () => caught(() => caches.default.put(at("m"), new Response(null, { status: 204 }))), undefined);
test(
  "what is found is immutable",
  async () => {
    await caches.default.put(at("n"), plain());
    const response = await caches.default.match(at("n"));
    return response.headers.set("a", "1");
  },
  threw("TypeError", "Can't modify immutable headers."),
);
test(
  "delete",
  async () => {
    await caches.default.put(at("o"), plain());
    return [await caches.default.delete(at("o")), await caches.default.delete(at("o")), await caches.default.match(at("o"))];
  },
  [true, false, undefined],
);
test(
  "match of a POST",
  async () => {
    await caches.default.put(at("p"), plain());
    return caches.default.match(new Request(at("p"), { method: "POST" }));
  },
  undefined,
);
test(
  "match of a POST with ignoreMethod",
  async () => {
    await caches.default.put(at("q"), plain());
    return (await seen(await caches.default.match(new Request(at("q"), { method: "POST" }), { ignoreMethod: true })))?.[1];
  },
  "body",
);
test(
  "match of HEAD",
  async () => {
    await caches.default.put(at("r"), plain());
    return caches.default.match(new Request(at("r"), { method: "HEAD" }));
  },
  undefined,
);
test("delete of a POST", async () => caches.default.delete(new Request(at("s"), { method: "POST" })), false);
test(
  "match: ignoreSearch",
  () => caches.default.match(at("t"), { ignoreSearch: true }),
  threw("Error", "The 'ignoreSearch' field on 'CacheQueryOptions' is not implemented."),
);
for (const control of ["no-store", "private", "no-cache", "max-age=0", "public", "s-maxage=100", "max-age=100, must-revalidate"]) {
  test(
    `Cache-Control: ${control}`,
    async () => Boolean(await round(`control-${control}`, new Response("body", { headers: { "cache-control": control } }))),
    ["public", "s-maxage=100", "max-age=100, must-revalidate"].includes(control),
  );
}
test("Set-Cookie", () => round("u", plain({ "set-cookie": "a=1" })), undefined);
test(
  "expiry",
  async () => {
    await caches.default.put(at("v"), new Response("body", { headers: { "cache-control": "max-age=1" } }));
    const before = Boolean(await caches.default.match(at("v")));
    await scheduler.wait(1200);
    return [before, Boolean(await caches.default.match(at("v")))];
  },
  [true, false],
);
test("Range", () => round("w", plain(), new Request(at("w"), { headers: { range: "bytes=1-2" } })), [
  206,
  "od",
  [
    ["cache-control", "max-age=100"],
    ["cf-cache-status", "HIT"],
    ["content-range", "bytes 1-2/4"],
    ["content-type", "text/plain"],
  ],
]);
test("If-None-Match", () => round("x", plain({ etag: '"e"' }), new Request(at("x"), { headers: { "if-none-match": '"e"' } })), [
  304,
  "",
  [
    ["cache-control", "max-age=100"],
    ["cf-cache-status", "HIT"],
    ["content-type", "text/plain"],
    ["etag", '"e"'],
  ],
]);
test(
  "a cache of another name",
  async () => {
    const other = await caches.open("other");
    await other.put(at("y"), plain());
    const [mine, found] = [await caches.default.match(at("y")), await other.match(at("y"))];
    return [mine, (await seen(found))[1]];
  },
  [undefined, "body"],
);
test(
  "a cache opened twice",
  async () => {
    await (await caches.open("twice")).put(at("z"), plain());
    return (await seen(await (await caches.open("twice")).match(at("z"))))[1];
  },
  "body",
);
test(
  "1 MB",
  async () => {
    await caches.default.put(at("large"), new Response(new Uint8Array(1 << 20), { headers: { "cache-control": "max-age=100" } }));
    return (await (await caches.default.match(at("large"))).arrayBuffer()).byteLength;
  },
  1 << 20,
);
