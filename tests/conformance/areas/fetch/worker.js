import { caught, error, suite, threw } from "./suite.js";

const { test, route, handler } = suite();
export default handler;

// The Worker fetches from itself.
const at = (request, path) => new URL(path, request.url);
route("/mirror", async (request) =>
  Response.json({
    method: request.method,
    type: request.headers.get("content-type"),
    length: request.headers.get("content-length"),
    x: request.headers.get("x-a"),
    body: await request.text(),
  }),
);
route("/bytes", (request) => new Response(new Uint8Array(Number(new URL(request.url).searchParams.get("n")))));
route("/stream", () => {
  let n = 0;
  return new Response(
    new ReadableStream({
      async pull(controller) {
        await scheduler.wait(2);
        if (n++ < 3) controller.enqueue(new TextEncoder().encode(`part${n} `));
        else controller.close();
      },
    }),
  );
});
route(
  "/headers",
  () =>
    new Response("x", {
      status: 299,
      statusText: "Mine",
      headers: [
        ["x-a", "1"],
        ["x-a", "2"],
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
        ["content-type", "a/b"],
      ],
    }),
);
route("/status", (request) => new Response(null, { status: Number(new URL(request.url).searchParams.get("is")) }));
route("/empty", () => new Response());
route("/slow", async () => {
  await scheduler.wait(2000);
  return new Response("slow");
});
route(
  "/broken",
  () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await scheduler.wait(5);
          if (this.sent) return controller.error(new Error("broken"));
          this.sent = true;
          controller.enqueue(new TextEncoder().encode("begin"));
        },
      }),
    ),
);
let cancelled = "no";
route(
  "/endless",
  () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await scheduler.wait(1);
          controller.enqueue(new Uint8Array(4096));
        },
        cancel() {
          cancelled = "yes";
        },
      }),
    ),
);
const mirror = async (request, init) => (await fetch(at(request, "/mirror"), init)).json();

test("GET", ({ request }) => mirror(request), { method: "GET", type: null, length: null, x: null, body: "" });
test(
  "of a Request",
  async ({ request }) => (await fetch(new Request(at(request, "/mirror"), { method: "PUT", body: "x", headers: { "x-a": "1" } }))).json(),
  { method: "PUT", type: "text/plain;charset=UTF-8", length: "1", x: "1", body: "x" },
);
test(
  "of a Request and more",
  async ({ request }) =>
    (await fetch(new Request(at(request, "/mirror"), { method: "PUT", body: "x" }), { method: "POST", body: "y" })).json(),
  { method: "POST", type: "text/plain;charset=UTF-8", length: "1", x: null, body: "y" },
);
test("of a URL object", async ({ request }) => (await fetch(at(request, "/empty"))).status, 200);
test("a text body", ({ request }) => mirror(request, { method: "POST", body: "é" }), {
  method: "POST",
  type: "text/plain;charset=UTF-8",
  length: "2",
  x: null,
  body: "é",
});
test("a body of bytes", ({ request }) => mirror(request, { method: "POST", body: new Uint8Array([65]) }), {
  method: "POST",
  type: null,
  length: "1",
  x: null,
  body: "A",
});
test("a form body", ({ request }) => mirror(request, { method: "POST", body: new URLSearchParams({ a: "1 2" }) }), {
  method: "POST",
  type: "application/x-www-form-urlencoded;charset=UTF-8",
  length: "5",
  x: null,
  body: "a=1+2",
});
test("a Blob body", ({ request }) => mirror(request, { method: "POST", body: new Blob(["b"], { type: "t/u" }) }), {
  method: "POST",
  type: "t/u",
  length: "1",
  x: null,
  body: "b",
});
test(
  "a stream body",
  ({ request }) => mirror(request, { method: "POST", body: new Blob(["stream"]).stream() }).then(({ body }) => body),
  "stream",
);
test(
  "a stream body has no length",
  ({ request }) =>
    mirror(request, { method: "POST", body: new Blob(["stream"]).stream().pipeThrough(new TransformStream()) }).then(
      ({ length }) => length,
    ),
  null,
);
test(
  "a stream body that fails",
  async ({ request }) =>
    caught(() =>
      mirror(request, {
        method: "POST",
        body: new ReadableStream({
          async pull(controller) {
            await scheduler.wait(2);
            controller.error(new RangeError("upload"));
          },
        }),
      }),
    ),
  undefined,
);
test(
  "multipart",
  ({ request }) => {
    const form = new FormData();
    form.append("a", "1");
    return mirror(request, { method: "POST", body: form }).then(({ type, body }) => [
      /^multipart\/form-data; ?boundary=/.test(type),
      body.includes('name="a"'),
    ]);
  },
  [true, true],
);
test("an empty POST", ({ request }) => mirror(request, { method: "POST" }).then(({ length }) => length), "0");
test(
  "a body with GET",
  ({ request }) => mirror(request, { body: "x" }),
  threw("TypeError", "Request with a GET or HEAD method cannot have a body."),
);
test("PATCH", ({ request }) => mirror(request, { method: "PATCH" }).then(({ method }) => method), "PATCH");
test(
  "the response",
  async ({ request }) => {
    const response = await fetch(at(request, "/headers"));
    const { status, statusText, ok, redirected, type, url, bodyUsed } = response;
    return {
      status,
      statusText,
      ok,
      redirected,
      type,
      path: new URL(url).pathname,
      bodyUsed,
      headers: [...response.headers].filter(([name]) => name !== "content-length" && name !== "date"),
    };
  },
  {
    status: 299,
    statusText: "Mine",
    ok: true,
    redirected: false,
    type: "default",
    path: "/headers",
    bodyUsed: false,
    headers: [
      ["content-type", "a/b"],
      ["set-cookie", "a=1"],
      ["set-cookie", "b=2"],
      ["x-a", "1, 2"],
    ],
  },
);
test("the response: get of repeated headers", async ({ request }) => (await fetch(at(request, "/headers"))).headers.get("x-a"), "1, 2");
test("the response: getSetCookie", async ({ request }) => (await fetch(at(request, "/headers"))).headers.getSetCookie(), ["a=1", "b=2"]);
test(
  "the response: its headers are immutable",
  async ({ request }) => (await fetch(at(request, "/headers"))).headers.set("a", "1"),
  threw("TypeError", "Can't modify immutable headers."),
);
test(
  "the response: a copy's are not",
  async ({ request }) => {
    const response = await fetch(at(request, "/headers"));
    const mine = new Response(response.body, response);
    mine.headers.set("x-b", "3");
    return [mine.status, mine.headers.get("x-b"), mine.headers.get("x-a")];
  },
  [299, "3", "1, 2"],
);
test(
  "the response: clone",
  async ({ request }) => {
    const response = await fetch(at(request, "/stream"));
    const copy = response.clone();
    return [await response.text(), await copy.text()];
  },
  ["part1 part2 part3 ", "part1 part2 part3 "],
);
test("the response: cf", async ({ request }) => typeof (await fetch(at(request, "/empty"))).cf, "undefined");
for (const status of [204, 304, 404, 500])
  test(
    `status ${status}`,
    async ({ request }) => {
      const response = await fetch(at(request, `/status?is=${status}`));
      return [response.status, response.ok, response.body === null];
    },
    [status, status < 300, status < 400],
  );
test(
  "an empty body",
  async ({ request }) => {
    const response = await fetch(at(request, "/empty"));
    return [response.body === null, await response.text()];
  },
  [false, ""],
);
test("3 MB down", async ({ request }) => (await (await fetch(at(request, "/bytes?n=3000000"))).arrayBuffer()).byteLength, 3_000_000);
test("3 MB up", async ({ request }) => (await mirror(request, { method: "POST", body: "x".repeat(3_000_000) })).body.length, 3_000_000);
test(
  "parts arrive as they are sent",
  async ({ request }) => {
    const reader = (await fetch(at(request, "/stream"))).body.getReader();
    let parts = 0;
    for (let part = await reader.read(); !part.done; part = await reader.read()) parts++;
    return parts > 1;
  },
  true,
);
test("a BYOB reader", async ({ request }) => {
  const reader = (await fetch(at(request, "/bytes?n=10"))).body.getReader({ mode: "byob" });
  return (await reader.read(new Uint8Array(4))).value.length;
}, 4);
test(
  "a body that breaks",
  async ({ request }) => {
    const response = await fetch(at(request, "/broken"));
    return (await caught(() => response.text()))?.constructor.name;
  },
  "Error",
);
test(
  "cancelling the body",
  async ({ request }) => {
    const { body } = await fetch(at(request, "/endless"));
    const reader = body.getReader();
    await reader.read();
    await reader.cancel("enough");
    for (let i = 0; i < 50 && cancelled === "no"; i++) await scheduler.wait(20);
    return cancelled;
  },
  "yes",
);
test(
  "abort: before the answer",
  async ({ request }) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(), 10);
    return fetch(at(request, "/slow"), { signal: controller.signal });
  },
  threw("DOMException", "The operation was aborted", "AbortError"),
);
test(
  "abort: with a reason",
  async ({ request }) => {
    const controller = new AbortController();
    setTimeout(() => controller.abort(new RangeError("enough")), 10);
    return caught(() => fetch(at(request, "/slow"), { signal: controller.signal }));
  },
  error("RangeError", "enough"),
);
test(
  "abort: a timeout",
  ({ request }) => fetch(at(request, "/slow"), { signal: AbortSignal.timeout(20) }),
  threw("DOMException", "The operation was aborted due to timeout", "TimeoutError"),
);
test(
  "abort: while the body comes",
  async ({ request }) => {
    const controller = new AbortController();
    const response = await fetch(at(request, "/endless"), { signal: controller.signal });
    setTimeout(() => controller.abort(), 10);
    return (await caught(() => response.text()))?.name;
  },
  "AbortError",
);
test("abort: afterwards", async ({ request }) => {
  const controller = new AbortController();
  const response = await fetch(at(request, "/empty"), { signal: controller.signal });
  await response.text();
  controller.abort();
  return response.status;
}, 200);
test(
  "many at a time",
  async ({ request }) =>
    (await Promise.all(Array.from({ length: 20 }, async () => (await fetch(at(request, "/bytes?n=5"))).text()))).length,
  20,
);
test("redirect: manual", async ({ request }) => {
  const response = await fetch(at(request, "/mirror"), { redirect: "manual" });
  return response.status;
}, 200);
test(
  "redirect: error",
  ({ request }) => fetch(at(request, "/mirror"), { redirect: "error" }),
  threw(
    "TypeError",
    'Invalid redirect value, must be one of "follow" or "manual" ("error" won\'t be implemented since it does not make sense at the edge; use "manual" and check the response status code).',
  ),
);
test(
  "headers: host",
  async ({ request }) =>
    (await fetch(at(request, "/mirror"), { headers: { host: "other", "content-length": "99" }, method: "POST", body: "x" })).status,
  200,
);
test("credentials in the URL", async ({ request }) => {
  const url = at(request, "/mirror");
  url.username = "u";
  url.password = "p";
  return (await fetch(url)).status;
}, 200);
test("a fragment is not sent", async ({ request }) => (await fetch(at(request, "/empty#x"))).status, 200);
test(
  "keepalive, mode, credentials and others are ignored",
  ({ request }) =>
    mirror(request, { keepalive: true, mode: "cors", credentials: "include", referrer: "x", priority: "high" }).then(
      ({ method }) => method,
    ),
  "GET",
);
test("window", () => typeof window, "undefined");
test("fetch: name and length", () => [fetch.name, fetch.length], ["fetch", 0]);
test("FetchEvent", () => typeof addEventListener, "function");
