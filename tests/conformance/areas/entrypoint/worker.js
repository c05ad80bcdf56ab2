import { WorkerEntrypoint } from "cloudflare:workers";

import { suite } from "./suite.js";

const { test, handler } = suite();

/** The default export is a class here. */
export default class extends WorkerEntrypoint {
  fetch(request, ...rest) {
    extra = rest.length;
    self = this;
    return handler.fetch(request, this.env, this.ctx);
  }
}
let extra;
let self;

test("fetch has one argument", () => extra, 2);
test("this.env and this.ctx", () => [typeof self.env.TEXT, typeof self.ctx.waitUntil], ["string", "function"]);
test(
  "an instance for each request",
  () => {
    const seen = self.seen;
    self.seen = true;
    return seen;
  },
  undefined,
);
test("another request has another instance", () => self.seen, undefined);
test("ctx.props", () => self.ctx.props, {});
test("instanceof", () => self instanceof WorkerEntrypoint, true);
test("made by hand", () => typeof new WorkerEntrypoint({}, {}), "object");
