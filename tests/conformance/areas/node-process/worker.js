import perf from "node:perf_hooks";
import process from "node:process";
import timers from "node:timers";
import timersPromises from "node:timers/promises";
import tty from "node:tty";

import { suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const cases = {
  env: () => [process.env.TEXT, process.env.JSON, Object.keys(process.env).sort()],
  "env: writing": () => {
    process.env.NEW = 5;
    const seen = process.env.NEW;
    delete process.env.NEW;
    return [seen, process.env.NEW, "TEXT" in process.env];
  },
  "env: PATH and HOME": () => [process.env.PATH, process.env.HOME],
  "the global process": () => [globalThis.process === process, Object.prototype.toString.call(process)],
  "platform, arch": () => [process.platform, process.arch, process.title],
  version: () => [process.version, process.versions.node, process.versions.v8 === undefined, process.release.name],
  argv: () => [process.argv, process.execArgv, process.execPath, process.argv0],
  cwd: () => process.cwd(),
  chdir: () => {
    process.chdir("/tmp");
    return process.cwd();
  },
  pid: () => [process.pid, process.ppid],
  uid: () => [process.getuid?.(), process.getgid?.(), process.geteuid?.(), process.getgroups?.()],
  umask: () => process.umask(),
  exit: () => typeof process.exit,
  exitCode: () => process.exitCode,
  kill: () => process.kill(1),
  abort: () => typeof process.abort,
  hrtime: () => {
    const [seconds, nanos] = process.hrtime();
    return [typeof seconds, typeof nanos, typeof process.hrtime.bigint()];
  },
  uptime: () => typeof process.uptime(),
  memoryUsage: () => Object.keys(process.memoryUsage()),
  "memoryUsage: values": () => process.memoryUsage().rss,
  cpuUsage: () => process.cpuUsage(),
  resourceUsage: () => Object.keys(process.resourceUsage()).length > 5,
  constrainedMemory: () => [process.constrainedMemory?.(), process.availableMemory?.()],
  nextTick: async () => {
    const out = [];
    process.nextTick((value) => out.push(value), "tick");
    Promise.resolve().then(() => out.push("promise"));
    queueMicrotask(() => out.push("microtask"));
    out.push("now");
    await scheduler.wait(2);
    return out;
  },
  "nextTick: an order of several": async () => {
    const out = [];
    process.nextTick(() => {
      out.push(1);
      process.nextTick(() => out.push(3));
    });
    process.nextTick(() => out.push(2));
    await scheduler.wait(2);
    return out;
  },
  "nextTick in a timer": async () => {
    const out = [];
    setTimeout(() => {
      process.nextTick(() => out.push("tick"));
      Promise.resolve().then(() => out.push("promise"));
    }, 1);
    setTimeout(() => out.push("timer"), 1);
    await scheduler.wait(10);
    return out;
  },
  "nextTick of nothing": () => process.nextTick(),
  emitWarning: () => process.emitWarning("x"),
  binding: () => process.binding("fs"),
  dlopen: () => process.dlopen({}, "x"),
  features: () => ({ ...process.features }),
  config: () => typeof process.config,
  "stdin, stdout, stderr": () => [
    typeof process.stdin,
    typeof process.stdout,
    typeof process.stderr,
    process.stdout?.isTTY,
    process.stdout?.fd,
  ],
  "stdout.write": () => typeof process.stdout.write("conformance\n"),
  "on, emit": () => {
    let got;
    process.once("custom", (value) => (got = value));
    process.emit("custom", 5);
    return got;
  },
  events: () => [typeof process.on, process.listenerCount("x"), process.getMaxListeners()],
  allowedNodeEnvironmentFlags: () => process.allowedNodeEnvironmentFlags.size,
  report: () => typeof process.report,
  permission: () => typeof process.permission,
  sourceMapsEnabled: () => process.sourceMapsEnabled,
  loadEnvFile: () => process.loadEnvFile(),
  setUncaughtExceptionCaptureCallback: () => typeof process.setUncaughtExceptionCaptureCallback,
  getActiveResourcesInfo: () => process.getActiveResourcesInfo?.(),
  "tty.isatty": () => [tty.isatty(1), typeof tty.ReadStream],
  "setTimeout: what it gives": () => {
    const timer = setTimeout(() => {}, 1);
    return [typeof timer, timer.constructor.name, timer.hasRef?.(), timer.unref?.() === timer, typeof timer[Symbol.toPrimitive]?.()];
  },
  "timers.setTimeout: what it gives": () => {
    const timer = timers.setTimeout(() => {}, 1);
    return [typeof timer, timer.constructor.name, timer.hasRef?.(), typeof timer.refresh, typeof timer.close];
  },
  "clearTimeout of a timer object": async () => {
    let ran = false;
    clearTimeout(timers.setTimeout(() => (ran = true), 1));
    await scheduler.wait(10);
    return ran;
  },
  refresh: async () => {
    const timer = timers.setTimeout(() => {}, 1);
    return timer.refresh() === timer;
  },
  setImmediate: async () => {
    const out = [];
    setImmediate((value) => out.push(value), "immediate");
    process.nextTick(() => out.push("tick"));
    setTimeout(() => out.push("timeout"), 5);
    await scheduler.wait(20);
    return out;
  },
  clearImmediate: async () => {
    let ran = false;
    clearImmediate(setImmediate(() => (ran = true)));
    await scheduler.wait(5);
    return ran;
  },
  "timers/promises: setTimeout": async () => [await timersPromises.setTimeout(1, "value"), await timersPromises.setImmediate("now")],
  "timers/promises: setInterval": async () => {
    const out = [];
    for await (const value of timersPromises.setInterval(1, "x")) if (out.push(value) === 2) break;
    return out;
  },
  "timers/promises: aborted": () => timersPromises.setTimeout(1, 0, { signal: AbortSignal.abort() }),
  "timers/promises: scheduler": async () => [typeof timersPromises.scheduler.wait, await timersPromises.scheduler.yield()],
  performance: () => [
    perf.performance === globalThis.performance,
    typeof perf.performance.timeOrigin,
    perf.constants && typeof perf.constants.NODE_PERFORMANCE_GC_MAJOR,
  ],
  "performance: mark, measure": () => {
    const mark = performance.mark("a", { detail: 5 });
    const measure = performance.measure("m", { start: 1, end: 3 });
    const out = [mark.name, mark.entryType, mark.detail, measure.duration, performance.getEntriesByName("m").length];
    performance.clearMarks();
    performance.clearMeasures();
    return [...out, performance.getEntries().length];
  },
  "performance.timerify": () => performance.timerify((a) => a + 1)(1),
  "performance.eventLoopUtilization": () => Object.keys(performance.eventLoopUtilization()),
  createHistogram: () => typeof perf.createHistogram(),
  monitorEventLoopDelay: () => typeof perf.monitorEventLoopDelay(),
  PerformanceObserver: () => [typeof perf.PerformanceObserver, perf.PerformanceObserver.supportedEntryTypes],
  global: () => [typeof global, global === globalThis],
  require: () => [typeof require, typeof module, typeof __filename],
};
for (const [name, run] of Object.entries(cases)) test(name, run);
