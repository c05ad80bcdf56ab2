import { suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

// `workerd serve` without a cache service refuses every operation; what can be compared is the surface and the checks before it.
test("caches", () => String(caches), "[object CacheStorage]");
test("caches.default", () => String(caches.default), "[object Cache]");
test("caches.open", async () => String(await caches.open("a")), "[object Cache]");
test("caches.open: without a name", () => caches.open(), threw("TypeError", "Failed to execute 'open' on 'CacheStorage': parameter 1 is not of type 'string'."));
test("caches.has", () => caches.has("a"), threw("Error", "Failed to execute 'has' on 'CacheStorage': the method is not implemented."));
test("caches.delete", () => caches.delete("a"), threw("Error", "Failed to execute 'delete' on 'CacheStorage': the method is not implemented."));
test("caches.keys", () => caches.keys(), threw("Error", "Failed to execute 'keys' on 'CacheStorage': the method is not implemented."));
test("caches.match", () => caches.match("http://a/"), threw("Error", "Failed to execute 'match' on 'CacheStorage': the method is not implemented."));
test("put: a POST", () => caches.default.put(new Request("http://a/", { method: "POST" }), new Response("x")), threw("TypeError", "Cannot cache response to non-GET request."));
test("put: 206", () => caches.default.put("http://a/", new Response("x", { status: 206, headers: { "content-range": "bytes 0-0/1" } })), threw("TypeError", "Cannot cache response to a range request (206 Partial Content)."));
test("put: Vary: *", () => caches.default.put("http://a/", new Response("x", { headers: { vary: "*" } })), threw("TypeError", "Cannot cache response with 'Vary: *' header."));
test("put: a used body", async () => {
  const response = new Response("x");
  await response.text();
  return caches.default.put("http://a/", response);
}, threw("TypeError", "Body has already been used. It can only be used once. Use tee() first if you need to read it twice."));
test("put: without a response", () => caches.default.put("http://a/"), threw("TypeError", "Failed to execute 'put' on 'Cache': parameter 2 is not of type 'Response'."));
test("put: a relative URL", () => caches.default.put("/a", new Response("x")), threw("TypeError", "Invalid URL: /a"));
test("match: a relative URL", () => caches.default.match("/a"), threw("TypeError", "Invalid URL: /a"));
test("match: nothing", () => caches.default.match(), threw("TypeError", "Failed to execute 'match' on 'Cache': parameter 1 is not of type 'Request or string'."));
test("add", () => caches.default.add("http://a/"), threw("Error", "Failed to execute 'add' on 'Cache': the method is not implemented."));
test("addAll", () => caches.default.addAll(["http://a/"]), threw("Error", "Failed to execute 'addAll' on 'Cache': the method is not implemented."));
test("matchAll", () => caches.default.matchAll("http://a/"), threw("Error", "Failed to execute 'matchAll' on 'Cache': the method is not implemented."));
test("keys", () => caches.default.keys(), threw("Error", "Failed to execute 'keys' on 'Cache': the method is not implemented."));
