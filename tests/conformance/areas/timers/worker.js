import { suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const sequence = async (build, ms = 40) => {
  const out = [];
  build(out);
  await wait(ms);
  return out;
};
test("setTimeout: arguments", () => new Promise((resolve) => setTimeout((...all) => resolve(all), 1, "a", 2)), ["a", 2]);
test(
  "setTimeout: this",
  () =>
    new Promise((resolve) =>
      setTimeout(function () {
        resolve(this === globalThis);
      }, 1),
    ),
  true,
);
/** What `set` throws when it is called for the 10,001st time, and whether there is room again for what `after` makes room for. */
const tooMany = async (set, after = () => {}) => {
  const timers = [];
  let thrown = null;
  try {
    while (timers.length < 10_100) timers.push(await set());
  } catch (error) {
    thrown = `${timers.length} ${error.constructor.name} ${error.name} ${error.code} ${error.message.replace(/finished.*/, "")}`;
  }
  await after(timers);
  try {
    clearTimeout(setTimeout(() => {}, 1));
    return [thrown, "room"];
  } catch (error) {
    return [thrown, error.name];
  } finally {
    for (const timer of timers) clearTimeout(timer);
  }
};
const TOO_MANY =
  "10000 DOMException QuotaExceededError 22 You have exceeded the number of active timeouts you may set. max active timeouts: 10000, " +
  "current active timeouts: 10000, ";
test("too many timeouts", () => tooMany(() => setTimeout(() => {}, 60_000)), [TOO_MANY, "QuotaExceededError"]);
test("too many intervals", () => tooMany(() => setInterval(() => {}, 60_000)), [TOO_MANY, "QuotaExceededError"]);
test("too many timeouts: one that is cleared makes room", () => tooMany(() => setTimeout(() => {}, 60_000), ([one]) => clearTimeout(one)), [
  TOO_MANY,
  "room",
]);
test(
  "too many timeouts: one that is over makes room",
  () => {
    let isFirst = true;
    let over;
    const first = new Promise((resolve) => (over = resolve));
    return tooMany(
      () => {
        const timer = setTimeout(over, isFirst ? 50 : 60_000);
        isFirst = false;
        return timer;
      },
      () => first,
    );
  },
  [TOO_MANY, "room"],
);
test(
  "too many timeouts: scheduler.wait",
  async () => {
    const { signal } = new AbortController();
    const waits = Array.from({ length: 10_001 }, () => scheduler.wait(2000, { signal }));
    const [result] = await Promise.allSettled(waits.slice(10_000));
    await Promise.allSettled(waits);
    return [result.status, result.reason?.name];
  },
  ["rejected", "QuotaExceededError"],
);
test("many timeouts that are cleared", () => {
  for (let i = 0; i < 30_000; i++) clearTimeout(setTimeout(() => {}, 60_000));
  return "fine";
}, "fine");
test("setTimeout: the kind of an ID", () => typeof setTimeout(() => {}, 0), "number");
test(
  "setTimeout: order by delay",
  () =>
    sequence((out) => {
      setTimeout(() => out.push(3), 12);
      setTimeout(() => out.push(1), 1);
      setTimeout(() => out.push(2), 6);
    }),
  [1, 2, 3],
);
test(
  "setTimeout: the same delay in order",
  () =>
    sequence((out) => {
      for (let i = 0; i < 5; i++) setTimeout(() => out.push(i), 2);
    }),
  [0, 1, 2, 3, 4],
);
test(
  "setTimeout: no, negative, text and NaN delays",
  () =>
    sequence((out) => {
      setTimeout(() => out.push("none"));
      setTimeout(() => out.push("negative"), -5);
      setTimeout(() => out.push("text"), "1");
      setTimeout(() => out.push("NaN"), NaN);
    }).then((out) => out.sort()),
  ["NaN", "negative", "none", "text"],
);
test(
  "setTimeout: no delay is less than one",
  () =>
    sequence((out) => {
      setTimeout(() => out.push("one"), 1);
      setTimeout(() => out.push("none"), 0);
      setTimeout(() => out.push("half"), 0.5);
      setTimeout(() => out.push("negative"), -1);
      setTimeout(() => out.push("NaN"), NaN);
      setTimeout(() => out.push("hardly two"), 1.9);
    }),
  ["none", "half", "negative", "NaN", "one", "hardly two"],
);
test(
  "setTimeout: delays beyond 32 bits",
  () =>
    sequence((out) => {
      setTimeout(() => out.push("2**31"), 2 ** 31);
      setTimeout(() => out.push("2**32 + 1"), 2 ** 32 + 1);
      setTimeout(() => out.push("Infinity"), Infinity);
    }, 20),
  [],
);
test("setTimeout: without a delay it takes no time", async () => {
  const take = async (delay) => {
    const start = Date.now();
    for (let i = 0; i < 100; i++) await new Promise((resolve) => setTimeout(resolve, delay));
    return Date.now() - start;
  };
  const [none, one] = [await take(0), await take(1)];
  return none * 2 < one;
}, true);
test(
  "setTimeout: of a string",
  () => setTimeout("x = 1", 1),
  threw("TypeError", "Failed to execute 'setTimeout' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'function'."),
);
test(
  "setTimeout: of nothing",
  () => setTimeout(),
  threw("TypeError", "Failed to execute 'setTimeout' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'function'."),
);
test(
  "clearTimeout",
  () =>
    sequence((out) => {
      clearTimeout(setTimeout(() => out.push("no"), 1));
      setTimeout(() => out.push("yes"), 2);
    }),
  ["yes"],
);
test(
  "clearTimeout: of what is none",
  () => [clearTimeout(123456), clearTimeout(), clearTimeout(null), clearTimeout(undefined)],
  threw("TypeError", "Failed to execute 'clearTimeout' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'Number'."),
);
test("clearTimeout: of text", () => clearTimeout("x"), undefined);
test("clearInterval ends a timeout", () => sequence((out) => clearInterval(setTimeout(() => out.push("no"), 1)), 20), []);
test("setInterval", async () => {
  let count = 0;
  await new Promise((resolve) => {
    const id = setInterval(
      (step) => {
        count += step;
        if (count === 6) {
          clearInterval(id);
          resolve();
        }
      },
      1,
      2,
    );
  });
  await wait(10);
  return count;
}, 6);
test(
  "microtasks before timers",
  () =>
    sequence((out) => {
      setTimeout(() => out.push("timeout"), 0);
      queueMicrotask(() => out.push("microtask"));
      Promise.resolve().then(() => out.push("promise"));
      out.push("now");
    }),
  ["now", "microtask", "promise", "timeout"],
);
test(
  "microtasks between timers",
  () =>
    sequence((out) => {
      setTimeout(() => {
        out.push(1);
        queueMicrotask(() => out.push("between"));
      }, 1);
      setTimeout(() => out.push(2), 1);
    }),
  [1, "between", 2],
);
test(
  "queueMicrotask: of nothing",
  () => queueMicrotask(),
  threw("TypeError", "Failed to execute 'queueMicrotask' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'function'."),
);
test(
  "queueMicrotask: an exception is reported, not thrown",
  () =>
    sequence((out) => {
      queueMicrotask(() => {
        throw new Error("ignore me");
      });
      queueMicrotask(() => out.push("next"));
    }),
  ["next"],
);
test(
  "setTimeout: an exception does not stop the next",
  () =>
    sequence((out) => {
      setTimeout(() => {
        throw new Error("ignore me");
      }, 1);
      setTimeout(() => out.push("next"), 2);
    }),
  ["next"],
);
test("setImmediate", () => typeof setImmediate, "undefined");
test("scheduler.wait", async () => [await scheduler.wait(1), String(scheduler)], [undefined, "[object Scheduler]"]);
test(
  "scheduler.wait: aborted before",
  () => scheduler.wait(1000, { signal: AbortSignal.abort() }),
  threw("DOMException", "The operation was aborted", "AbortError"),
);
test(
  "scheduler.wait: aborted",
  async () => {
    const controller = new AbortController();
    const waiting = scheduler.wait(1000, { signal: controller.signal });
    controller.abort(new RangeError("enough"));
    return waiting;
  },
  threw("RangeError", "enough"),
);
test(
  "scheduler.wait: without a delay",
  () => scheduler.wait(),
  threw("TypeError", "Failed to execute 'wait' on 'Scheduler': parameter 1 is not of type 'number'."),
);
test("scheduler.postTask", () => typeof scheduler.postTask, "undefined");
test(
  "Date.now moves with a timer",
  async () => {
    const start = Date.now();
    await wait(20);
    return Date.now() - start >= 15;
  },
  true,
);
test(
  "Date.now stands still without I/O",
  () => {
    const start = Date.now();
    for (let i = 0; i < 3e6; i++) Math.sqrt(i);
    return Date.now() - start >= 0;
  },
  true,
);
test("performance.now", () => typeof performance.now(), "number");
test("performance.timeOrigin", () => performance.timeOrigin, 0);
test(
  "performance: mark and measure",
  () => {
    performance.mark("a");
    performance.measure("m", "a");
    return performance.getEntries().map((each) => each.name);
  },
  threw("TypeError", "performance.mark is not a function"),
);
test(
  "a timer in a waitUntil",
  async ({ ctx }) => {
    let done = false;
    ctx.waitUntil(wait(1).then(() => (done = true)));
    await wait(20);
    return done;
  },
  true,
);
test(
  "AbortSignal.timeout: odd times",
  async () => {
    const times = [NaN, -5, "x", undefined, null, 1.5, "3", Infinity, 2 ** 31, 2 ** 53];
    const signals = times.map((time) => AbortSignal.timeout(time));
    await wait(40);
    return signals.map((signal) => signal.aborted);
  },
  [true, true, true, true, true, true, true, false, false, false],
);
test(
  "AbortSignal.timeout",
  async () => {
    const signal = AbortSignal.timeout(5);
    await wait(40);
    return [signal.aborted, signal.reason.name, signal.reason.message];
  },
  [true, "TimeoutError", "The operation was aborted due to timeout"],
);
