import { DurableObject, env, exports, waitUntil } from "cloudflare:workers";

import { suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

export class Cell extends DurableObject {
  hello() {
    return "hello";
  }
}

// What may be done while modules are evaluated, before there is any request. Promises are looked at by the cases.
const acts = {
  fetch: () => fetch("http://127.0.0.1:1/"),
  setTimeout: () => setTimeout(() => {}, 1),
  setInterval: () => setInterval(() => {}, 1),
  setImmediate: () => setImmediate(() => {}),
  clearTimeout: () => clearTimeout(1),
  "scheduler.wait": () => scheduler.wait(1),
  "crypto.getRandomValues": () => crypto.getRandomValues(new Uint8Array(1)),
  "crypto.randomUUID": () => crypto.randomUUID(),
  "crypto.subtle.digest": () => crypto.subtle.digest("SHA-256", new Uint8Array(1)),
  "crypto.subtle.generateKey": () => crypto.subtle.generateKey({ name: "AES-GCM", length: 128 }, true, ["encrypt"]),
  "crypto.subtle.importKey": () => crypto.subtle.importKey("raw", new Uint8Array(16), "AES-GCM", true, ["encrypt"]),
  "Math.random": () => typeof Math.random(),
  "Date.now": () => Date.now(),
  "new Date": () => +new Date(),
  "performance.now": () => performance.now(),
  "console.log": () => console.log("conformance"),
  queueMicrotask: () => queueMicrotask(() => {}),
  "new Response": () => new Response("x").status,
  "Response.text": () => new Response("x").text(),
  "new Request": () => new Request("http://a/").url,
  "Blob.text": () => new Blob(["x"]).text(),
  "new ReadableStream": () => String(new ReadableStream()),
  "reading a ReadableStream": () =>
    new ReadableStream({
      start(controller) {
        controller.enqueue(1);
      },
    })
      .getReader()
      .read(),
  "new TransformStream": () => String(new TransformStream()),
  "new IdentityTransformStream": () => String(new IdentityTransformStream()),
  "new CompressionStream": () => String(new CompressionStream("gzip")),
  "new WebSocketPair": () => String(new WebSocketPair()),
  "new WebSocket": () => String(new WebSocket("ws://127.0.0.1:1/")),
  "new EventSource": () => String(new EventSource("http://127.0.0.1:1/")),
  "new AbortController": () => String(new AbortController().signal),
  "AbortController.abort": () => new AbortController().abort(),
  "AbortSignal.abort": () => String(AbortSignal.abort()),
  "AbortSignal.timeout": () => String(AbortSignal.timeout(1)),
  "new EventTarget": () => new EventTarget().dispatchEvent(new Event("a")),
  addEventListener: () => addEventListener("x", () => {}),
  "new MessageChannel": () => new MessageChannel().port1.postMessage(1),
  structuredClone: () => structuredClone({ a: 1 }),
  "new URL": () => new URL("http://a/").href,
  "new TextDecoder": () => new TextDecoder().decode(new Uint8Array([65])),
  "new HTMLRewriter": () => String(new HTMLRewriter()),
  "new FormData": () => String(new FormData()),
  "caches.default": () => String(caches.default),
  "caches.open": () => caches.open("a"),
  "caches.default.match": () => caches.default.match("http://a/"),
  env: () => [env.TEXT, Object.keys(env).sort()],
  "env: an ID": () => env.CELL.idFromName("a").toString().length,
  "env: a new ID": () => env.CELL.newUniqueId().toString().length,
  "env: a stub": () => String(env.CELL.getByName("a")),
  "env: a call": () => env.CELL.getByName("a").hello(),
  exports: () => Object.keys(exports).sort(),
  waitUntil: () => waitUntil(Promise.resolve()),
  "process.env": () => [process.env.TEXT, process.cwd()],
  "process.nextTick": () => process.nextTick(() => {}),
  Buffer: () => Buffer.from("a").toString("hex"),
  "import of node:fs": async () => (await import("node:fs")).readdirSync("/").length > 0,
  "import of node:crypto": async () => (await import("node:crypto")).randomBytes(1).length,
  "import()": async () => typeof (await import("./canon.js")).canon,
  "await of a promise": async () => {
    await null;
    return "awaited";
  },
  navigator: () => navigator.userAgent,
  "new Worker": () => typeof Worker,
  WebAssembly: () => new WebAssembly.Memory({ initial: 1 }).buffer.byteLength,
  globalThis: () => {
    globalThis.fromTheTop = 1;
    return "set";
  },
};
const seen = {};
for (const [name, act] of Object.entries(acts)) {
  try {
    const value = act();
    if (value instanceof Promise || typeof value?.then === "function") {
      seen[name] = { settled: "pending" };
      value.then(
        (each) => {
          seen[name] = { value: each };
        },
        (error) => {
          seen[name] = { error };
        },
      );
    } else {
      seen[name] = { value };
    }
  } catch (error) {
    seen[name] = { error, threw: true };
  }
}
// Promises that settle without I/O have done so before the first request.
for (const name of Object.keys(acts)) {
  test(`at the top level: ${name}`, () => {
    const { value, ...rest } = seen[name];
    return "value" in seen[name]
      ? {
          value:
            typeof value === "object" && value && !Array.isArray(value) && Object.getPrototypeOf(value) !== Object.prototype
              ? Object.prototype.toString.call(value)
              : value,
          ...rest,
        }
      : rest;
  });
}
test("a global from the top level is there", () => globalThis.fromTheTop, 1);
test("the clock moves in a request", () => Date.now() > 1.6e12, true);
