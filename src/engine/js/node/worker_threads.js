// node:worker_threads: this is the main thread, and it stays alone.

import { EventEmitter } from "node:events";
import { ERR_METHOD_NOT_IMPLEMENTED, unsupported } from "ext:celld_node/errors.js";

const { MessageChannel, MessagePort } = globalThis;

class BroadcastChannel {
  constructor() {
    throw new ERR_METHOD_NOT_IMPLEMENTED("BroadcastChannel");
  }
}

class Worker extends EventEmitter {
  constructor() {
    super();
    throw new ERR_METHOD_NOT_IMPLEMENTED("Worker");
  }
}
for (
  const name of [
    "cpuUsage", "postMessage", "postMessageToThread", "ref", "unref", "terminate", "getHeapSnapshot",
    "getHeapStatistics", "startCpuProfile", "startHeapProfile",
  ]
) {
  Object.defineProperty(Worker.prototype, name, {
    value: unsupported(name, 0, `Worker.${name}`),
    writable: true,
    configurable: true,
  });
}

const environment = new Map();
function getEnvironmentData(key) {
  return environment.get(key);
}
function setEnvironmentData(key, value) {
  if (value === undefined) {
    environment.delete(key);
  } else {
    environment.set(key, value);
  }
}
function isMarkedAsUntransferable(_object) {
  return false;
}
function markAsUncloneable(_object) {}
function markAsUntransferable(_object) {}
function moveMessagePortToContext(_port, _context) {
  throw new TypeError("Illegal constructor");
}
function receiveMessageOnPort(_port) {
  return undefined;
}
const postMessageToThread = unsupported("postMessageToThread", 4);
const SHARE_ENV = Symbol.for("nodejs.worker_threads.SHARE_ENV");
const isInternalThread = false;
const isMainThread = true;
const parentPort = null;
const resourceLimits = {};
const threadId = 0;
const workerData = null;

export {
  BroadcastChannel,
  getEnvironmentData,
  isInternalThread,
  isMainThread,
  isMarkedAsUntransferable,
  markAsUncloneable,
  markAsUntransferable,
  MessageChannel,
  MessagePort,
  moveMessagePortToContext,
  parentPort,
  postMessageToThread,
  receiveMessageOnPort,
  resourceLimits,
  setEnvironmentData,
  SHARE_ENV,
  threadId,
  Worker,
  workerData,
};
export default {
  BroadcastChannel,
  MessageChannel,
  MessagePort,
  Worker,
  SHARE_ENV,
  getEnvironmentData,
  isMainThread,
  isMarkedAsUntransferable,
  markAsUntransferable,
  markAsUncloneable,
  moveMessagePortToContext,
  parentPort,
  receiveMessageOnPort,
  resourceLimits,
  setEnvironmentData,
  postMessageToThread,
  threadId,
  workerData,
  isInternalThread,
};
