import timers from "node:timers";

import { suite } from "./suite.js";

const { test, handler } = suite();
export default handler;

const kind = (start, end) => {
  const id = start(() => {}, 1000);
  end(id);
  return typeof id;
};

test("setTimeout: the kind of an ID", () => kind(setTimeout, clearTimeout), "number");
test("setInterval: the kind of an ID", () => kind(setInterval, clearInterval), "number");
test("setImmediate: the kind of an ID", () => kind(setImmediate, clearImmediate), "object");
test("node:timers: the kind of an ID", () => kind(timers.setTimeout, timers.clearTimeout), "object");
test("a timer fires", () => new Promise((resolve) => setTimeout(resolve, 1, "fired")), "fired");
