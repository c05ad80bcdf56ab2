// The life of a request, from the client's side.

const cases = {};
function test(name, run, expected) {
  cases[name] = { run, expected };
}
export default cases;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const short = async (client, path, options) => {
  const { status, body } = await client.request(path, options);
  return `${status} ${body}`.trim();
};
const json = async (client, path) => JSON.parse((await client.request(path)).body);
/** The answer's first line, or that there is none for a second. */
const within = (promise) => Promise.race([promise, pause(1000).then(() => "no answer")]);

test("a promise that never settles", (client) => within(short(client, "/hang").then((text) => text.slice(0, 3))), "500");
test(
  "a body that never ends",
  (client) =>
    within(
      client
        .exchange("GET /hang-body HTTP/1.1\r\nHost: a\r\n\r\n")
        .then((text) => [text.slice(0, 15), text.includes("begin"), text.endsWith("0\r\n\r\n")]),
    ),
  ["HTTP/1.1 200 OK", true, false],
);
for (const what of ["error", "text", "undefined", "null", "object", "response"])
  test(`throws: ${what}`, async (client) => (await client.request(`/throw?what=${what}`)).status, 500);
test("returns: a promise", (client) => short(client, "/later"), "200 later");
test("returns: a thenable", (client) => short(client, "/thenable"), "200 thenable");
test("returns: an instance of a subclass", (client) => short(client, "/subclass"), "200 subclass");
test("returns: an object that looks like a response", async (client) => (await client.request("/fake")).status, 500);
test("returns: a number", async (client) => (await client.request("/number")).status, 500);
test("returns: the request", async (client) => (await client.request("/request")).status, 500);
test("returns: a clone", (client) => short(client, "/clone"), "200 clone");
test("returns: the same response twice", async (client) => [await short(client, "/twice"), (await client.request("/twice")).status], [
  "200 once",
  500,
]);
test("a rejection in waitUntil", (client) => short(client, "/waituntil-throws"), "200 fine");
test("an unhandled rejection", (client) => short(client, "/unhandled"), "200 fine");
test("an exception in a timer", (client) => short(client, "/timer-throws"), "200 fine");
test(
  "headers changed after the return",
  async (client) => (await client.request("/headers-after")).headers.filter((each) => each.startsWith("a:")),
  ["a: 1"],
);
test("a body that is written in waitUntil", (client) => short(client, "/stream-later"), "200 streamed");
test(
  "a timer after the response without waitUntil",
  async (client) => {
    await client.request("/cut");
    await pause(500);
    return (await client.request("/cut-state")).body;
  },
  "running",
);
test(
  "request.signal when the client goes away",
  async (client) => {
    const socket = await client.connect();
    socket.write("GET /signal HTTP/1.1\r\nHost: a\r\n\r\n");
    await pause(100);
    socket.destroy();
    await pause(200);
    return json(client, "/signals");
  },
  [],
);
test("state of the module stays", async (client) => [await short(client, "/module-state"), await short(client, "/module-state")], [
  "200 1",
  "200 2",
]);
test(
  "a request used by another request",
  async (client) => {
    await client.request("/keep-request", { method: "POST", body: "x" });
    return short(client, "/use-kept");
  },
  "200 Error: Cannot perform I/O on behalf of a different request. I/O objects (such as streams, request/response bodies, and others) created in the context of one request handler cannot be accessed from a different request's handler. This is a limitation of Cloudflare Workers which allows us to improve overall performance. (I/O type: ReadableStreamSource>)",
);
test(
  "a settled promise of another request",
  async (client) => {
    await client.request("/keep-promise");
    await pause(30);
    return within(short(client, "/use-promise").then((text) => text.slice(0, 20)));
  },
  "500 Internal Server ",
);
const subrequest = (client, path, more = "") => json(client, `/subrequest?path=${encodeURIComponent(path)}${more}`);
test("fetch: an answer", (client) => subrequest(client, "/answer"), {
  status: 203,
  statusText: "Non-Authoritative Information",
  redirected: false,
  path: "/answer",
  type: "default",
  headers: [
    ["content-type", "text/plain;charset=UTF-8"],
    ["set-cookie", "a=1"],
    ["set-cookie", "b=2"],
    ["x-a", "1"],
  ],
  body: "answer GET ",
});
test("fetch: POST", (client) => subrequest(client, "/answer", "&method=POST&body=1").then((value) => value.body), "answer POST sub");
for (const status of [301, 302, 303, 307, 308]) {
  test(
    `fetch: follows ${status}`,
    (client) =>
      subrequest(client, `/to-answer?status=${status}`).then(({ status: seen, redirected, path, body }) => ({
        seen,
        redirected,
        path,
        body,
      })),
    { seen: 203, redirected: true, path: "/answer", body: "answer GET " },
  );
  test(
    `fetch: POST and ${status}`,
    (client) => subrequest(client, `/to-answer?status=${status}`, "&method=POST&body=1").then(({ body }) => body),
    status < 304 ? "answer GET " : "answer POST sub",
  );
}
test("fetch: redirect manual", (client) => subrequest(client, "/to-answer", "&redirect=manual"), {
  status: 302,
  statusText: "Found",
  redirected: false,
  path: "/to-answer",
  type: "default",
  headers: [["location", "/answer"]],
  body: "",
});
test("fetch: a loop", async (client) => (await client.request("/subrequest?path=/loop")).status, 500);
test("fetch: no location", (client) => subrequest(client, "/no-location").then(({ status, body }) => [status, body]), [302, "no location"]);
test("fetch: a compressed answer", (client) => subrequest(client, "/gzipped").then(({ body }) => body), "hello gzip");
test("fetch: 404 is no error", (client) => subrequest(client, "/absent").then(({ status }) => status), 404);
test("fetch: the headers that are sent", (client) => subrequest(client, "/see-headers").then(({ body }) => JSON.parse(body)), []);
test("fetch: HEAD", (client) => subrequest(client, "/answer", "&method=HEAD").then(({ status, body }) => [status, body]), [203, ""]);
test("fetch: refused", (client) => json(client, "/fetch-refused"), ["Error", "Error", "Network connection lost.", true]);
test("fetch: aborted while it waits", (client) => short(client, "/fetch-abort"), "200 AbortError: The operation was aborted");
