import * as workers from "cloudflare:workers";
import { equal, ok } from "./assert.js";
import { forbidden, natives, walk } from "./walk.js";
import allowed from "./natives.js";

for (const name of ["Deno", "__bootstrap", "bootstrap", "core", "ops", "internals", "primordials", "process"]) {
  ok(!(name in globalThis), name);
}
const error = new Error("x");
const events = new EventSource("https://x.invalid/");
events.close();
const roots = {
  globalThis,
  workers,
  meta: import.meta,
  error,
  instances: [
    new Request("https://x/", { method: "POST", body: "a" }), new Response("a"), new Headers(), new FormData(),
    new Blob(["a"]), new URL("https://x/"), new URLPattern({}), new AbortController(), new EventTarget(),
    new ReadableStream().getReader(), new WritableStream().getWriter(), new TransformStream(),
    new TextDecoder(), new TextEncoderStream(), new CompressionStream("gzip"), new MessageChannel(),
    new DOMException("x"), crypto.subtle, performance, new Response("a").body,
    await crypto.subtle.generateKey({ name: "HMAC", hash: "SHA-256" }, true, ["sign"]),
    new WebSocketPair()[0], new HTMLRewriter(), caches.default, new TextDecoderStream(), events,
    new crypto.DigestStream("SHA-256"), new FixedLengthStream(1), new MessageChannel().port1, new Request("https://x/").signal,
  ],
  primitives: [1, "", true, Symbol.iterator, 1n].map((value) => Object.getPrototypeOf(value)),
  syntax: [async () => {}, function* () {}, async function* () {}, /x/, [][Symbol.iterator]()],
};
// What a stack trace hands out of the runtime's own frames.
Error.prepareStackTrace = (_error, frames) => frames;
roots.frames = [];
for (
  const run of [
    () => queueMicrotask(1),
    () => new URL(":"),
    () => ReadableStream.from([1]).pipeTo(1),
    () => structuredClone(() => {}),
    () => new Request("https://x/", { get method() {
      throw new Error("inside");
    } }),
  ]
) {
  try {
    await run();
  } catch (thrown) {
    for (const frame of [thrown.stack].flat()) {
      roots.frames.push(frame, frame.getThis?.(), frame.getFunction?.());
    }
  }
}
Error.prepareStackTrace = undefined;
const found = [];
const visited = walk(roots, (value, path) => {
  const reason = forbidden(value, path);
  if (reason !== undefined) found.push(reason);
});
ok(visited > 1000, `only ${visited} objects visited`);
equal(found.join("\n"), "");
// Nobody has looked at a native function that is not on the list.
equal(natives(roots).filter((name) => !allowed.includes(name)).join("\n"), "");
