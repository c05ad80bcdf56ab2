import { DurableObject } from "cloudflare:workers";

import { cells } from "./cell.js";
import { suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;
const { Cell: Base, inside } = cells(test);

export class Cell extends Base {
  ran = [];
  alarm(info) {
    this.ran.push(info);
    this.done?.();
  }
  finished() {
    return new Promise((resolve) => (this.done = resolve));
  }
}

/** What the runs of `Failing` were told. An object's memory does not outlive a failure, the module's does. */
const attempts = [];

/** Fails once. */
export class Failing extends DurableObject {
  async fetch() {
    await this.ctx.storage.setAlarm(Date.now());
    return new Response();
  }
  async alarm({ retryCount, isRetry }) {
    attempts.push([retryCount, isRetry]);
    if (attempts.length === 1) throw new Error("not yet");
  }
}

inside(
  "set, get, delete",
  async ({ storage }) => {
    const at = Date.now() + 3_600_000;
    const results = [await storage.setAlarm(at), (await storage.getAlarm()) === at, await storage.deleteAlarm(), await storage.getAlarm()];
    return results;
  },
  [undefined, true, undefined, null],
);
inside(
  "a Date",
  async ({ storage }) => {
    const at = new Date(Date.now() + 3_600_000);
    await storage.setAlarm(at);
    const got = await storage.getAlarm();
    await storage.deleteAlarm();
    return got === +at;
  },
  true,
);
inside(
  "the last one counts",
  async ({ storage }) => {
    const at = Date.now() + 3_600_000;
    await storage.setAlarm(at);
    await storage.setAlarm(at + 5);
    const got = await storage.getAlarm();
    await storage.deleteAlarm();
    return got === at + 5;
  },
  true,
);
inside("0", ({ storage }) => storage.setAlarm(0), threw("TypeError", "setAlarm() cannot be called with an alarm time <= 0"));
inside("a negative time", ({ storage }) => storage.setAlarm(-1), threw("TypeError", "setAlarm() cannot be called with an alarm time <= 0"));
inside(
  "an invalid Date",
  ({ storage }) => storage.setAlarm(new Date(NaN)),
  threw("TypeError", "The value cannot be converted because it is not a valid Date."),
);
inside(
  "no time",
  ({ storage }) => storage.setAlarm(),
  threw("TypeError", "Failed to execute 'setAlarm' on 'DurableObjectStorage': parameter 1 is not of type 'date'."),
);
inside(
  "text",
  ({ storage }) => storage.setAlarm("x"),
  threw("TypeError", "Failed to execute 'setAlarm' on 'DurableObjectStorage': parameter 1 is not of type 'date'."),
);
inside(
  "deleteAll leaves the alarm or not",
  async ({ storage }) => {
    await storage.setAlarm(Date.now() + 3_600_000);
    await storage.deleteAll();
    const got = await storage.getAlarm();
    await storage.deleteAlarm();
    return got === null;
  },
  true,
);
inside(
  "a transaction that rolls back",
  async ({ storage }) => {
    await storage.transaction(async (txn) => {
      await txn.setAlarm(Date.now() + 3_600_000);
      txn.rollback();
    });
    return storage.getAlarm();
  },
  null,
);
inside(
  "a transaction that commits",
  async ({ storage }) => {
    const at = Date.now() + 3_600_000;
    const inside = await storage.transaction(async (txn) => {
      await txn.setAlarm(at);
      return (await txn.getAlarm()) === at;
    });
    const after = (await storage.getAlarm()) === at;
    await storage.deleteAlarm();
    return [inside, after];
  },
  [true, true],
);
inside(
  "it runs",
  async ({ storage }, object) => {
    const finished = object.finished();
    await storage.setAlarm(Date.now() + 10);
    await finished;
    return object.ran.map(({ retryCount, isRetry }) => [retryCount, isRetry]);
  },
  [[0, false]],
);
inside(
  "one in the past runs at once",
  async ({ storage }, object) => {
    const finished = object.finished();
    await storage.setAlarm(Date.now() - 10_000);
    await finished;
    return object.ran.length;
  },
  1,
);
inside(
  "getAlarm after it ran",
  async ({ storage }, object) => {
    const finished = object.finished();
    await storage.setAlarm(Date.now());
    await finished;
    await scheduler.wait(20);
    return storage.getAlarm();
  },
  null,
);
inside(
  "a deleted one does not run",
  async ({ storage }, object) => {
    await storage.setAlarm(Date.now() + 30);
    await storage.deleteAlarm();
    await scheduler.wait(100);
    return object.ran;
  },
  [],
);
test(
  "one that fails is tried again after two seconds",
  async ({ env }) => {
    await env.FAILING.get(env.FAILING.idFromName("once")).fetch("http://a/");
    for (let i = 0; i < 40 && attempts.length < 1; i++) await scheduler.wait(25);
    const start = Date.now();
    for (let i = 0; i < 140 && attempts.length < 2; i++) await scheduler.wait(25);
    return [attempts, Date.now() - start > 1500];
  },
  [
    [
      [0, false],
      [1, true],
    ],
    true,
  ],
);
