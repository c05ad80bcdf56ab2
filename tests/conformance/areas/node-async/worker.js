import { AsyncLocalStorage, AsyncResource, createHook, executionAsyncId, triggerAsyncId } from "node:async_hooks";
import channels from "node:diagnostics_channel";
import { EventEmitter } from "node:events";

import { suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const storage = new AsyncLocalStorage();
const cases = {
  run: () => storage.run(5, () => storage.getStore()),
  "run: arguments": () => storage.run(5, (...all) => all, 1, 2),
  outside: () => storage.getStore(),
  nested: () => storage.run(1, () => [storage.getStore(), storage.run(2, () => storage.getStore()), storage.getStore()]),
  "after an exception": () => {
    try {
      storage.run(1, () => {
        throw new Error("x");
      });
    } catch {}
    return storage.getStore();
  },
  await: () =>
    storage.run("a", async () => {
      await null;
      return storage.getStore();
    }),
  setTimeout: () => storage.run("t", () => new Promise((resolve) => setTimeout(() => resolve(storage.getStore()), 1))),
  setInterval: () =>
    storage.run(
      "i",
      () =>
        new Promise((resolve) => {
          const id = setInterval(() => {
            clearInterval(id);
            resolve(storage.getStore());
          }, 1);
        }),
    ),
  setImmediate: () => storage.run("s", () => new Promise((resolve) => setImmediate(() => resolve(storage.getStore())))),
  nextTick: () => storage.run("n", () => new Promise((resolve) => process.nextTick(() => resolve(storage.getStore())))),
  queueMicrotask: () => storage.run("q", () => new Promise((resolve) => queueMicrotask(() => resolve(storage.getStore())))),
  "scheduler.wait": () =>
    storage.run("w", async () => {
      await scheduler.wait(1);
      return storage.getStore();
    }),
  "promise.then": () => storage.run("p", () => Promise.resolve().then(() => storage.getStore())),
  "a thenable": () =>
    storage.run(
      "th",
      async () =>
        await {
          then(resolve) {
            resolve(storage.getStore());
          },
        },
    ),
  parallel: () =>
    Promise.all(
      [1, 2, 3].map((n) =>
        storage.run(n, async () => {
          await scheduler.wait(3 - n);
          return storage.getStore();
        }),
      ),
    ),
  "ReadableStream pull": () =>
    storage.run("r", async () => {
      let seen;
      const stream = new ReadableStream(
        {
          pull(controller) {
            seen = storage.getStore();
            controller.close();
          },
        },
        { highWaterMark: 0 },
      );
      await stream.getReader().read();
      return seen;
    }),
  "an event listener": () => {
    const target = new EventTarget();
    let seen;
    storage.run("in", () => target.addEventListener("a", () => (seen = storage.getStore())));
    storage.run("out", () => target.dispatchEvent(new Event("a")));
    return seen;
  },
  "an EventEmitter": () => {
    const emitter = new EventEmitter();
    let seen;
    storage.run("in", () => emitter.on("a", () => (seen = storage.getStore())));
    storage.run("out", () => emitter.emit("a"));
    return seen;
  },
  "an AbortSignal": () => {
    const controller = new AbortController();
    let seen;
    storage.run("in", () => controller.signal.addEventListener("abort", () => (seen = storage.getStore())));
    storage.run("out", () => controller.abort());
    return seen;
  },
  unhandledrejection: async () => {
    let seen = "none";
    const listener = (event) => {
      seen = storage.getStore();
      event.preventDefault();
    };
    addEventListener("unhandledrejection", listener);
    storage.run("rejection", () => {
      Promise.reject(new Error("x"));
    });
    await scheduler.wait(5);
    removeEventListener("unhandledrejection", listener);
    return seen;
  },
  waitUntil: async () =>
    storage.run("wu", async () => {
      const { waitUntil } = await import("cloudflare:workers");
      let seen;
      waitUntil(
        (async () => {
          await scheduler.wait(1);
          seen = storage.getStore();
        })(),
      );
      await scheduler.wait(10);
      return seen;
    }),
  enterWith: () => storage.enterWith(1),
  disable: () => storage.disable(),
  exit: () => storage.run(1, () => [storage.exit(() => storage.getStore()), storage.getStore()]),
  bind: () => storage.run(1, () => AsyncLocalStorage.bind(() => storage.getStore()))(),
  snapshot: () => {
    const snapshot = storage.run(1, () => AsyncLocalStorage.snapshot());
    return storage.run(2, () => snapshot((...all) => [storage.getStore(), all], "x"));
  },
  "options: defaultValue and name": () => {
    const each = new AsyncLocalStorage({ defaultValue: "default", name: "mine" });
    return [each.getStore(), each.name];
  },
  "two storages": () => {
    const other = new AsyncLocalStorage();
    return storage.run(1, () => other.run(2, () => [storage.getStore(), other.getStore()]));
  },
  AsyncResource: () => {
    const resource = storage.run("made", () => new AsyncResource("X"));
    return storage.run("later", () => resource.runInAsyncScope((a) => [storage.getStore(), a], null, 5));
  },
  "AsyncResource: bind": () => storage.run("b", () => AsyncResource.bind(() => storage.getStore()))(),
  "AsyncResource: ids": () => [
    typeof new AsyncResource("X").asyncId(),
    typeof new AsyncResource("X").triggerAsyncId(),
    typeof new AsyncResource("X").emitDestroy,
  ],
  "AsyncResource: without a type": () => new AsyncResource(),
  executionAsyncId: () => [executionAsyncId(), triggerAsyncId()],
  createHook: () => typeof createHook({}).enable,
  "channel: publish": () => {
    const out = [];
    const channel = channels.channel("a");
    const listener = (message, name) => out.push(message, name);
    channel.subscribe(listener);
    channel.publish({ n: 1 });
    const had = channel.hasSubscribers;
    channel.unsubscribe(listener);
    channel.publish({ n: 2 });
    return [out, had, channel.hasSubscribers, channels.hasSubscribers("a"), channels.channel("a") === channel];
  },
  "channel: bindStore": () => {
    const channel = channels.channel("b");
    channel.bindStore(storage, (data) => data.n);
    const seen = channel.runStores({ n: 7 }, () => storage.getStore());
    channel.unbindStore(storage);
    return seen;
  },
  "channel: a listener that throws": async () => {
    const channel = channels.channel("c");
    const listener = () => {
      throw new Error("ignore me");
    };
    channel.subscribe(listener);
    try {
      return channel.publish({});
    } finally {
      channel.unsubscribe(listener);
    }
  },
  "tracingChannel: traceSync": () => {
    const out = [];
    const tracing = channels.tracingChannel("t");
    const handlers = {
      start: () => out.push("start"),
      end: ({ result }) => out.push(`end ${result}`),
      error: ({ error }) => out.push(`error ${error.message}`),
    };
    tracing.subscribe(handlers);
    tracing.traceSync(() => 5, {});
    try {
      tracing.traceSync(() => {
        throw new Error("x");
      }, {});
    } catch {}
    tracing.unsubscribe(handlers);
    return out;
  },
  "tracingChannel: tracePromise": async () => {
    const out = [];
    const tracing = channels.tracingChannel("p");
    tracing.subscribe({
      start: () => out.push("start"),
      end: () => out.push("end"),
      asyncStart: () => out.push("asyncStart"),
      asyncEnd: () => out.push("asyncEnd"),
      error: () => out.push("error"),
    });
    await tracing.tracePromise(async () => 5, {});
    return out;
  },
};
for (const [name, run] of Object.entries(cases)) test(name, run);
