import { suite } from "./suite.js";

const { test, route, handler } = suite();
export default handler;

test("the handler's arguments", ({ env, ctx, request }) => [typeof env, typeof ctx, request.constructor.name], [
  "object",
  "object",
  "Request",
]);

const ends = {};
route("/hang", () => new Promise(() => {}));
route(
  "/hang-body",
  () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new TextEncoder().encode("begin"));
        },
      }),
    ),
);
route("/throw", (request) => {
  const values = {
    error: new RangeError("boom"),
    text: "text",
    undefined: undefined,
    null: null,
    object: { a: 1 },
    response: new Response("thrown", { status: 418 }),
  };
  throw values[new URL(request.url).searchParams.get("what")];
});
route("/later", () => Promise.resolve(new Response("later")));
route("/thenable", () => ({
  then(resolve) {
    resolve(new Response("thenable"));
  },
}));
route("/subclass", () => new (class Mine extends Response {})("subclass"));
route("/fake", () => ({ status: 200, body: "fake" }));
route("/number", () => 5);
route("/request", (request) => request);
route("/twice", () => (ends.shared ??= new Response("once")));
route("/clone", () => new Response("clone").clone());
route("/waituntil-throws", (request, env, ctx) => {
  ctx.waitUntil(Promise.reject(new Error("ignore me")));
  return new Response("fine");
});
route("/unhandled", () => {
  Promise.reject(new Error("ignore me"));
  return new Response("fine");
});
route("/timer-throws", () => {
  setTimeout(() => {
    throw new Error("ignore me");
  }, 1);
  return new Response("fine");
});
route("/headers-after", () => {
  const response = new Response("x", { headers: { a: "1" } });
  setTimeout(() => response.headers.set("a", "2"), 5);
  return response;
});
route("/stream-later", async (request, env, ctx) => {
  const { readable, writable } = new TransformStream();
  ctx.waitUntil(
    (async () => {
      const writer = writable.getWriter();
      await scheduler.wait(20);
      await writer.write(new TextEncoder().encode("streamed"));
      await writer.close();
    })(),
  );
  return new Response(readable);
});
let cut = "running";
route("/cut", () => {
  setTimeout(() => (cut = "ran"), 150);
  return new Response("answered");
});
route("/cut-state", () => new Response(cut));
let signals = [];
route("/signal", async (request) => {
  request.signal.addEventListener("abort", () => signals.push(request.signal.reason?.name));
  await scheduler.wait(1000);
  return new Response("late");
});
route("/signals", () => Response.json(signals));
let module = 0;
route("/module-state", () => new Response(String(++module)));
let kept;
route("/keep-request", (request) => {
  kept ??= request;
  return new Response("kept");
});
route("/use-kept", async () => {
  try {
    return new Response(`${kept.method} ${await kept.text()}`);
  } catch (error) {
    return new Response(`${error.name}: ${error.message}`);
  }
});
let keptPromise;
route("/keep-promise", () => {
  keptPromise ??= scheduler.wait(1).then(() => "promised");
  return new Response("kept");
});
route("/use-promise", async () => new Response(await keptPromise));
route("/subrequest", async (request) => {
  const url = new URL(request.url);
  const path = url.searchParams.get("path");
  const response = await fetch(new URL(path, url), {
    redirect: url.searchParams.get("redirect") ?? "follow",
    method: url.searchParams.get("method") ?? "GET",
    ...(url.searchParams.has("body") && { body: "sub" }),
  });
  return Response.json({
    status: response.status,
    statusText: response.statusText,
    redirected: response.redirected,
    path: response.url && new URL(response.url).pathname,
    type: response.type,
    headers: [...response.headers].filter(([name]) => /^(x-|set-cookie|location|content-type)/.test(name)),
    body: await response.text(),
  });
});
route(
  "/answer",
  async (request) =>
    new Response(`answer ${request.method} ${await request.text()}`, {
      status: 203,
      headers: [
        ["x-a", "1"],
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
      ],
    }),
);
route(
  "/to-answer",
  (request) =>
    new Response(null, { status: Number(new URL(request.url).searchParams.get("status") ?? 302), headers: { location: "/answer" } }),
);
route("/loop", () => new Response(null, { status: 302, headers: { location: "/loop" } }));
route("/no-location", () => new Response("no location", { status: 302 }));
route("/gzipped", () => new Response("hello gzip", { headers: { "content-encoding": "gzip" } }));
route("/see-headers", (request) =>
  Response.json([...request.headers].filter(([name]) => !["host", "connection", "content-length", "transfer-encoding"].includes(name))),
);
route("/fetch-refused", async () => {
  try {
    return Response.json((await fetch("http://127.0.0.1:1/")).status);
  } catch (error) {
    return Response.json([error.constructor.name, error.name, error.message, error.retryable]);
  }
});
route("/fetch-abort", async (request) => {
  const controller = new AbortController();
  const pending = fetch(new URL("/signal", request.url), { signal: controller.signal });
  setTimeout(() => controller.abort(), 20);
  try {
    await pending;
    return new Response("answered");
  } catch (error) {
    return new Response(`${error.name}: ${error.message}`);
  }
});
