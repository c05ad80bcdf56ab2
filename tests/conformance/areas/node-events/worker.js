import events, { EventEmitter, once } from "node:events";

import { suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const cases = {
  "on, emit": () => {
    const out = [];
    const emitter = new EventEmitter();
    emitter.on("a", function (...all) {
      out.push(all, this === emitter);
    });
    return [emitter.emit("a", 1, 2), emitter.emit("b"), out];
  },
  "order and prepend": () => {
    const out = [];
    const emitter = new EventEmitter();
    emitter.on("a", () => out.push(2));
    emitter.prependListener("a", () => out.push(1));
    emitter.once("a", () => out.push(3));
    emitter.emit("a");
    emitter.emit("a");
    return out;
  },
  "off while emitting": () => {
    const out = [];
    const emitter = new EventEmitter();
    const second = () => out.push(2);
    emitter.on("a", () => {
      out.push(1);
      emitter.off("a", second);
    });
    emitter.on("a", second);
    emitter.emit("a");
    emitter.emit("a");
    return out;
  },
  "newListener, removeListener": () => {
    const out = [];
    const emitter = new EventEmitter();
    emitter.on("newListener", (name) => out.push(`new ${String(name)}`));
    emitter.on("removeListener", (name) => out.push(`removed ${String(name)}`));
    const listener = () => {};
    emitter.on("a", listener).removeListener("a", listener);
    return out;
  },
  "error without a listener": () => new EventEmitter().emit("error", new RangeError("boom")),
  "error that is no error": () => new EventEmitter().emit("error", "text"),
  errorMonitor: () => {
    const out = [];
    const emitter = new EventEmitter();
    emitter.on(events.errorMonitor, (error) => out.push(error.message));
    emitter.on("error", () => out.push("handled"));
    emitter.emit("error", new Error("x"));
    return out;
  },
  "a listener that throws": () =>
    new EventEmitter()
      .on("a", () => {
        throw new RangeError("boom");
      })
      .emit("a"),
  "listener of a wrong kind": () => new EventEmitter().on("a", 5),
  "listenerCount, eventNames, listeners": () => {
    const emitter = new EventEmitter();
    const listener = () => {};
    emitter.on("a", listener).once("a", listener).on(Symbol("s"), listener);
    return [
      emitter.listenerCount("a"),
      emitter.listenerCount("a", listener),
      emitter.eventNames(),
      emitter.listeners("a").map((each) => each === listener),
      emitter.rawListeners("a").map((each) => each === listener),
    ];
  },
  removeAllListeners: () => {
    const emitter = new EventEmitter().on("a", () => {}).on("b", () => {});
    emitter.removeAllListeners("a");
    const first = emitter.eventNames();
    emitter.removeAllListeners();
    return [first, emitter.eventNames()];
  },
  maxListeners: () => [
    EventEmitter.defaultMaxListeners,
    new EventEmitter().getMaxListeners(),
    new EventEmitter().setMaxListeners(3).getMaxListeners(),
  ],
  "setMaxListeners of a negative": () => new EventEmitter().setMaxListeners(-1),
  once: async () => {
    const emitter = new EventEmitter();
    setTimeout(() => emitter.emit("a", 1, 2), 1);
    return once(emitter, "a");
  },
  "once: an error": async () => {
    const emitter = new EventEmitter();
    setTimeout(() => emitter.emit("error", new RangeError("boom")), 1);
    return once(emitter, "a");
  },
  "once: an EventTarget": async () => {
    const target = new EventTarget();
    setTimeout(() => target.dispatchEvent(new Event("a")), 1);
    return (await once(target, "a"))[0].type;
  },
  "once: aborted": () => once(new EventEmitter(), "a", { signal: AbortSignal.abort() }),
  "on: async iteration": async () => {
    const emitter = new EventEmitter();
    setTimeout(() => {
      emitter.emit("a", 1);
      emitter.emit("a", 2);
    }, 1);
    const out = [];
    for await (const [value] of events.on(emitter, "a")) if (out.push(value) === 2) break;
    return out;
  },
  captureRejections: async () => {
    const emitter = new EventEmitter({ captureRejections: true });
    const got = new Promise((resolve) => emitter.on("error", resolve));
    emitter.on("a", async () => {
      throw new RangeError("boom");
    });
    emitter.emit("a");
    return (await got).message;
  },
  getEventListeners: () =>
    events.getEventListeners(
      new EventEmitter().on("a", () => {}),
      "a",
    ).length,
  EventEmitterAsyncResource: () => typeof events.EventEmitterAsyncResource,
  addAbortListener: () => {
    const controller = new AbortController();
    let ran = false;
    events.addAbortListener(controller.signal, () => (ran = true));
    controller.abort();
    return ran;
  },
  "a class that extends it": () => {
    class Mine extends EventEmitter {}
    let got;
    new Mine().on("a", (value) => (got = value)).emit("a", 5);
    return got;
  },
  "without new": () => {
    function Old() {
      EventEmitter.call(this);
    }
    Object.setPrototypeOf(Old.prototype, EventEmitter.prototype);
    return new Old().on("a", () => {}).listenerCount("a");
  },
  "the default export": () => [events === EventEmitter, events.EventEmitter === EventEmitter],
};
for (const [name, run] of Object.entries(cases)) test(name, run);
