// node:cluster: one process, the primary, which cannot fork.

import { EventEmitter } from "node:events";
import { unsupported } from "ext:celld_node/errors.js";

const SCHED_NONE = 1;
const SCHED_RR = 2;

class Worker extends EventEmitter {
  _connected = false;
  id = 0;
  get process() {
    return globalThis.process;
  }
  get exitedAfterDisconnect() {
    return false;
  }
  isConnected() {
    return this._connected;
  }
  isDead() {
    return true;
  }
  send() {
    return false;
  }
  kill() {}
  destroy() {}
  disconnect() {
    this._connected = false;
    return this;
  }
}

const disconnect = unsupported("disconnect", 1, "cluster.disconnect");
const fork = unsupported("fork", 1, "cluster.fork");
const setupPrimary = unsupported("setupPrimary", 1, "cluster.setupPrimary");
// The platform's error names it so.
const setupMaster = unsupported("setupMaster", 1, "cluster.setupWorker");

class Cluster extends EventEmitter {
  Worker = Worker;
  isMaster = true;
  isPrimary = true;
  isWorker = false;
  SCHED_NONE = SCHED_NONE;
  SCHED_RR = SCHED_RR;
  schedulingPolicy = SCHED_RR;
  settings = {};
  workers = {};
}
for (const [name, value] of Object.entries({ setupPrimary, setupMaster, disconnect, fork })) {
  Object.defineProperty(Cluster.prototype, name, { value, writable: true, configurable: true });
}

const cluster = new Cluster();
export const { isMaster, isPrimary, isWorker, schedulingPolicy, settings, workers } = cluster;
export const _events = [];
export const _eventsCount = 0;
export const _maxListeners = 0;
export { Cluster, disconnect, fork, SCHED_NONE, SCHED_RR, setupMaster, setupPrimary, Worker };
export default cluster;
