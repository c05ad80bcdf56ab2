import { error, suite } from "./suite.js";

const { test, route, handler } = suite();
export default handler;

test("cf-connecting-ip", ({ request }) => request.headers.get("cf-connecting-ip"), null);
test("the url has the host of the Host header", ({ request }) => new URL(request.url).hostname, "127.0.0.1");

route("/echo", async (request) => {
  const body = await request.text();
  return Response.json({
    method: request.method,
    path: new URL(request.url).pathname + new URL(request.url).search,
    headers: [...request.headers].filter(
      ([name]) => name.startsWith("x-") || name === "content-type" || name === "content-length" || name === "cookie",
    ),
    body,
  });
});
route("/url", (request) => new Response(request.url));
route(
  "/status",
  (request) =>
    new Response(null, {
      status: Number(new URL(request.url).searchParams.get("is")),
      statusText: new URL(request.url).searchParams.get("text") ?? undefined,
    }),
);
route("/hello", () => new Response("hello"));
route("/empty", () => new Response());
route("/json", () => Response.json({ a: 1 }));
route("/redirect", () => Response.redirect("http://example.com/"));
route(
  "/cookies",
  () =>
    new Response(null, {
      headers: [
        ["set-cookie", "a=1"],
        ["set-cookie", "b=2"],
        ["x-a", "1"],
        ["x-a", "2"],
      ],
    }),
);
route("/case", () => new Response(null, { headers: { "X-Mixed-Case": "Value" } }));
route("/latin1", () => new Response(null, { headers: { "x-a": "é" } }));
route("/stream", () => {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  (async () => {
    for (const text of ["a", "b", "c"]) {
      await writer.write(new TextEncoder().encode(text));
      await scheduler.wait(5);
    }
    await writer.close();
  })();
  return new Response(readable);
});
route("/fails", () => {
  throw new Error("boom");
});
route("/rejects", async () => {
  throw new TypeError("boom");
});
route("/nothing", () => undefined);
route("/string", () => "x");
route("/error", () => Response.error());
route("/used", async () => {
  const response = new Response("x");
  await response.text();
  return response;
});
route("/length", () => new Response("hello", { headers: { "content-length": "3" } }));
route("/fixed", () => {
  const { readable, writable } = new FixedLengthStream(5);
  const writer = writable.getWriter();
  writer.write(new TextEncoder().encode("hello"));
  writer.close();
  return new Response(readable);
});
route("/gzip", () => new Response("hello hello hello", { headers: { "content-encoding": "gzip" } }));
route(
  "/encoded",
  () =>
    new Response(new Blob(["hello"]).stream().pipeThrough(new CompressionStream("gzip")), {
      encodeBody: "manual",
      headers: { "content-encoding": "gzip" },
    }),
);
route(
  "/date",
  () => new Response(null, { headers: { date: "x", server: "mine", connection: "x", "transfer-encoding": "x", "keep-alive": "x" } }),
);
route("/expose", (request) => Response.json([...request.headers]));
route(
  "/broken",
  () =>
    new Response(
      new ReadableStream({
        start(controller) {
          controller.enqueue(new Uint8Array([65]));
        },
        pull(controller) {
          controller.error(new Error("boom"));
        },
      }),
    ),
);
let ended = [];
route("/late", (request, env, ctx) => {
  ctx.waitUntil(scheduler.wait(300).then(() => ended.push("late")));
  return new Response("early");
});
route("/ended", () => Response.json(ended));
let cancelled = "not cancelled";
route(
  "/endless",
  () =>
    new Response(
      new ReadableStream({
        async pull(controller) {
          await scheduler.wait(1);
          controller.enqueue(new Uint8Array(1000));
        },
        cancel(reason) {
          cancelled = `cancelled`;
        },
      }),
    ),
);
route("/cancelled", () => new Response(cancelled));
route("/large-header", () => new Response(null, { headers: { "x-large": "x".repeat(100_000) } }));
route("/many-headers", () => new Response(null, { headers: Array.from({ length: 300 }, (_, i) => [`x-${i}`, "1"]) }));
route("/brotli", () => new Response("hello hello hello", { headers: { "content-encoding": "br" } }));
route("/odd-encoding", () => new Response("plain", { headers: { "content-encoding": "odd" } }));

/** A stream of what `next(i)` returns, until that is null. */
const streamOf = (type, next) => {
  let i = 0;
  return new ReadableStream({
    type,
    pull(controller) {
      const chunk = next(i++);
      if (chunk === null) controller.close();
      else controller.enqueue(chunk);
    },
  });
};
route("/reused", () => {
  const chunk = new Uint8Array(4);
  return new Response(streamOf(undefined, (i) => (i < 8 ? chunk.fill(48 + i) : null)));
});
route("/reused-large", () => {
  const chunk = new Uint8Array(100_000);
  return new Response(streamOf(undefined, (i) => (i < 8 ? chunk.fill(48 + i) : null)));
});
route("/bytes-large", () => new Response(streamOf("bytes", (i) => (i < 8 ? new Uint8Array(100_000).fill(48 + i) : null))));
route("/parts", () => {
  const all = new Uint8Array(1000).map((_, i) => 48 + (i % 10));
  return new Response(streamOf("bytes", (i) => (i < 100 ? all.slice(i * 10).subarray(0, 10) : null)));
});
route("/small", () => new Response(streamOf("bytes", (i) => (i < 5000 ? new TextEncoder().encode(`${i};`) : null))));
route("/huge", () => new Response(streamOf("bytes", (i) => (i < 1 ? new Uint8Array(5_000_000).fill(65) : null))));
route("/views", () => {
  const { buffer } = new TextEncoder().encode("abcdefghijklmnop");
  const views = [new Uint16Array(buffer, 2, 2), new DataView(buffer, 1, 3), new Uint8Array(buffer, 5), new Uint8Array(0), null];
  return new Response(streamOf(undefined, (i) => views[i]));
});
route("/detached", () => {
  const chunk = new TextEncoder().encode("ab");
  return new Response(
    new ReadableStream({
      type: "bytes",
      start(controller) {
        controller.enqueue(chunk);
        controller.enqueue(new TextEncoder().encode(String(chunk.byteLength)));
        controller.close();
      },
    }),
  );
});
route("/tee", () => {
  const [a, b] = streamOf("bytes", (i) => (i < 8 ? new Uint8Array(50_000).fill(48 + i) : null)).tee();
  const text = new Response(b).text();
  return new Response(
    new ReadableStream({
      async start(controller) {
        for await (const chunk of a) controller.enqueue(chunk);
        controller.enqueue(new TextEncoder().encode(`|${(await text).length}`));
        controller.close();
      },
    }),
  );
});
route("/back", (request) => new Response(request.body));
route("/back-partly", async (request) => {
  const reader = request.body.getReader({ mode: "byob" });
  const { value } = await reader.read(new Uint8Array(3));
  reader.releaseLock();
  return new Response(request.body, { headers: { "x-read": String(value.length) } });
});
route("/part-views", () => new Response(streamOf("bytes", (i) => (i < 2000 ? new Uint8Array(65536).subarray(0, 20).fill(65) : null))));
route("/texts", () => new Response(streamOf(undefined, (i) => ["häl", "", "lo", null][i])));
route("/taken", () => {
  const taken = new TextEncoder().encode("abc");
  return new Response(
    new ReadableStream({
      start(controller) {
        controller.enqueue(taken);
        structuredClone(taken, { transfer: [taken.buffer] });
        controller.enqueue(new TextEncoder().encode("def"));
        controller.close();
      },
    }),
  );
});
route("/fails-later", () =>
  new Response(
    streamOf(undefined, (i) => {
      if (i < 20) return new TextEncoder().encode(`line ${i};`);
      throw new Error("boom");
    }),
  ));
/** Errors whose text cannot be had. */
const odd = [
  {
    get message() {
      throw 1;
    },
  },
  { message: Object.create(null) },
  Object.create(null),
  Symbol("odd"),
  undefined,
];
for (const [i, error] of odd.entries())
  route(`/odd-error-${i}`, () =>
    new Response(
      streamOf(undefined, (i) => {
        if (i < 3) return new Uint8Array(1).fill(65);
        throw error;
      }),
    ));
route("/own-views", () => {
  class Odd extends Uint8Array {
    get byteLength() {
      return 3;
    }
  }
  const large = new Uint8Array(100_000).fill(66);
  large.constructor = { [Symbol.species]: Float64Array };
  return new Response(streamOf(undefined, (i) => [new Odd(6).fill(65), large, null][i]));
});
