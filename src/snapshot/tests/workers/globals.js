import { equal, fails, ok } from "./assert.js";

const constructors = `AbortController AbortSignal Blob ByteLengthQueuingStrategy CloseEvent CompressionStream
  CountQueuingStrategy Crypto CryptoKey CustomEvent DOMException DecompressionStream ErrorEvent Event EventSource
  EventTarget File FormData Headers MessageChannel MessageEvent MessagePort PromiseRejectionEvent ReadableStream
  ReadableStreamBYOBReader ReadableStreamDefaultReader Request Response SubtleCrypto TextDecoder
  TextDecoderStream TextEncoder TextEncoderStream TransformStream URL URLPattern URLSearchParams WebSocket
  WritableStream WritableStreamDefaultWriter`.split(/\s+/);
for (const name of constructors) {
  equal(typeof globalThis[name], "function", name);
  ok(!Object.keys(globalThis).includes(name), `${name} is enumerable`);
}
const functions = `addEventListener atob btoa clearInterval clearTimeout dispatchEvent fetch
  queueMicrotask removeEventListener reportError setInterval setTimeout
  structuredClone`.split(/\s+/);
for (const name of functions) equal(typeof globalThis[name], "function", name);
// Provided by nobody yet: absent, not stubs.
for (const name of ["BroadcastChannel", "localStorage", "XMLHttpRequest", "alert", "Window", "Worker"]) {
  ok(!(name in globalThis), name);
}
equal(self, globalThis);
equal(Object.prototype.toString.call(globalThis), "[object ServiceWorkerGlobalScope]");
equal(navigator.userAgent, "Cloudflare-Workers");
equal(typeof Cloudflare.compatibilityFlags, "object");

// Requests and responses.
const request = new Request("https://example.com/a?b=1", { method: "POST", body: "hi", headers: { x: "y" } });
equal(await request.clone().text(), "hi");
equal(request.headers.get("x"), "y");
equal((await Response.json({ a: 1 }).json()).a, 1);
equal(new Response("x", { status: 404 }).status, 404);
equal(Response.redirect("https://example.com/", 302).headers.get("location"), "https://example.com/");
const form = new FormData();
form.append("f", new File(["abc"], "a.txt"));
equal(await (await new Response(form).formData()).get("f").text(), "abc");

// URLs and text.
equal(new URL("../c?d#e", "https://example.com/a/b/").href, "https://example.com/a/c?d#e");
equal(new URLSearchParams("a=1&a=2").getAll("a").length, 2);
equal(new URLPattern({ pathname: "/:id" }).exec("https://x/7").pathname.groups.id, "7");
equal(new TextDecoder().decode(new TextEncoder().encode("grüße")), "grüße");
equal(new TextDecoder("shift_jis").decode(new Uint8Array([0x82, 0xa0])), "あ");
equal(atob(btoa("abc")), "abc");

// Streams.
const squared = ReadableStream.from([1, 2, 3]).pipeThrough(
  new TransformStream({ transform: (chunk, controller) => controller.enqueue(chunk * chunk) }),
);
let sum = 0;
for await (const chunk of squared) sum += chunk;
equal(sum, 14);
const packed = new Response("hello ".repeat(100)).body.pipeThrough(new CompressionStream("gzip"));
const unpacked = packed.pipeThrough(new DecompressionStream("gzip"));
equal((await new Response(unpacked).text()).length, 600);
const bytes = new ReadableStream({
  type: "bytes",
  pull(controller) {
    controller.byobRequest.view[0] = 7;
    controller.byobRequest.respond(1);
  },
});
const read = await bytes.getReader({ mode: "byob" }).read(new Uint8Array(4));
equal(read.value[0], 7);

// Crypto.
const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode("abc")));
equal(digest[0], 0xba);
equal(crypto.randomUUID().length, 36);
ok(crypto.getRandomValues(new Uint8Array(16)).some((byte) => byte !== 0));
const key = await crypto.subtle.generateKey({ name: "AES-GCM", length: 256 }, true, ["encrypt", "decrypt"]);
const iv = new Uint8Array(12);
const sealed = await crypto.subtle.encrypt({ name: "AES-GCM", iv }, key, digest);
const opened = new Uint8Array(await crypto.subtle.decrypt({ name: "AES-GCM", iv }, key, sealed));
equal(crypto.subtle.timingSafeEqual(opened, digest), true);
equal(crypto.subtle.timingSafeEqual(new Uint8Array([1]), new Uint8Array([2]).buffer), false);
ok((await fails(() => crypto.subtle.timingSafeEqual(new Uint8Array(1), new Uint8Array(2)))) instanceof TypeError);

// Events, timers, cloning.
let heard = 0;
addEventListener("custom", (event) => heard = event.detail);
dispatchEvent(new CustomEvent("custom", { detail: 5 }));
equal(heard, 5);
const before = performance.now();
await scheduler.wait(2);
ok(performance.now() >= before);
const reason = await fails(() => scheduler.wait(1000, { signal: AbortSignal.timeout(1) }));
equal(reason.name, "TimeoutError");
await new Promise((resolve) => queueMicrotask(resolve));
equal(structuredClone(new Map([[1, { a: new Date(0) }]])).get(1).a.getTime(), 0);
const { port1, port2 } = new MessageChannel();
const received = new Promise((resolve) => port2.onmessage = (event) => resolve(event.data));
port1.postMessage({ deep: [1] });
equal((await received).deep[0], 1);
port1.close();
port2.close();

const controller = new AbortController();
controller.abort(new Error("stop"));
equal((await fails(() => fetch("https://example.com/", { signal: controller.signal }))).message, "stop");
for (const url of ["file:///etc/passwd", "ext:core/mod.js", "node:fs"]) await fails(() => fetch(url), url);

// Intl, Temporal and WebAssembly come with V8.
equal(new Intl.NumberFormat("de-DE").format(1234.5), "1.234,5");
equal(typeof WebAssembly.instantiate, "function");
