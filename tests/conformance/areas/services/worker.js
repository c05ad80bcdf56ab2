import { env as imported, WorkerEntrypoint } from "cloudflare:workers";

import { caught, error, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

export class Entry extends WorkerEntrypoint {
  async fetch(request) {
    return new Response(`entry ${request.method} ${new URL(request.url).pathname}`);
  }
  add(a, b) {
    return a + b;
  }
  vars() {
    return this.env.TEXT;
  }
  props() {
    return this.ctx.props;
  }
  fails() {
    throw new TypeError("entry");
  }
  scheduled() {}
}

test("fetch of an entrypoint", async ({ env }) => (await env.SELF.fetch("http://a/x")).text(), "entry GET /x");
test("method of an entrypoint", ({ env }) => env.SELF.add(1, 2), 3);
test("env of an entrypoint", ({ env }) => env.SELF.vars(), "text");
test("props of an entrypoint", ({ env }) => env.SELF.props(), {});
test("an exception of an entrypoint", ({ env }) => env.SELF.fails(), threw("TypeError", "entry", "TypeError", { remote: true }));
test(
  "an absent method",
  ({ env }) => env.SELF.absent(),
  threw("TypeError", 'The RPC receiver does not implement the method "absent".', "TypeError", { remote: true }),
);
test("tag", ({ env }) => Object.prototype.toString.call(env.SELF), "[object Fetcher]");
test("members", ({ env }) => [typeof env.SELF, typeof env.SELF.fetch, typeof env.SELF.connect, typeof env.SELF.anything], [
  "object",
  "function",
  "function",
  "function",
]);
test("default export as a service", async ({ env }) => (await env.PLAIN.fetch("http://a/absent")).status, 404);
test(
  "a method of a handler object",
  ({ env }) => caught(() => env.PLAIN.anything()),
  error("TypeError", 'The RPC receiver does not implement the method "anything".', "TypeError", { remote: true }),
);
test("vars", ({ env }) => [env.TEXT, env.JSON], ["text", { a: [1] }]);
test("imported env", () => [imported.TEXT, typeof imported.SELF], ["text", "object"]);
test("a redirect is not followed", async ({ env }) => (await env.SELF.fetch("http://a/", { redirect: "manual" })).status, 200);
