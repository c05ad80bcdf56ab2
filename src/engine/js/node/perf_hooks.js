// node:perf_hooks with the exports that the platform has.

import base from "node:perf_hooks";
import { unsupported } from "ext:celld_node/errors.js";

const { Performance, PerformanceMark, PerformanceMeasure } = globalThis;
const PerformanceResourceTiming = globalThis.PerformanceResourceTiming ?? class PerformanceResourceTiming {
  constructor() {
    throw new TypeError("Illegal constructor");
  }
};
// They would measure the thread, which is not the Worker's alone.
const createHistogram = unsupported("createHistogram");
const monitorEventLoopDelay = unsupported("monitorEventLoopDelay");

const all = {
  ...base,
  createHistogram,
  monitorEventLoopDelay,
  Performance,
  PerformanceMark,
  PerformanceMeasure,
  PerformanceResourceTiming,
};

export const {
  PerformanceEntry, PerformanceObserver, PerformanceObserverEntryList, constants, eventLoopUtilization, performance,
  timerify,
} = all;
export {
  Performance, PerformanceMark, PerformanceMeasure, PerformanceResourceTiming, createHistogram,
  monitorEventLoopDelay,
};
export default {
  Performance, PerformanceEntry, PerformanceMark, PerformanceMeasure, PerformanceObserver,
  PerformanceObserverEntryList, PerformanceResourceTiming, constants, createHistogram, eventLoopUtilization,
  monitorEventLoopDelay, performance, timerify,
};
