// node:events with the exports that the platform has.

import base from "node:events";

base.usingDomains = false;
base.EventEmitter ??= base;

export const {
  EventEmitter, EventEmitterAsyncResource, addAbortListener, captureRejectionSymbol, captureRejections,
  defaultMaxListeners, errorMonitor, getEventListeners, getMaxListeners, listenerCount, on, once, setMaxListeners,
  usingDomains,
} = base;
export default base;
