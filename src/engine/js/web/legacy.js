// Classes that the platform has for Workers in the format before modules, and for handlers that take no event here. Nobody can make
// one, but code may ask whether something is an instance.

import { core } from "ext:core/mod.js";

const { Event } = core.loadExtScript("ext:deno_web/02_event.js");

class ExtendableEvent extends Event {
  constructor() {
    throw new TypeError("Illegal constructor");
  }

  waitUntil() {}
}

class FetchEvent extends ExtendableEvent {
  get request() {}

  passThroughOnException() {}

  respondWith() {}
}

class ScheduledEvent extends ExtendableEvent {
  get cron() {}

  noRetry() {}

  get scheduledTime() {}
}

class TailEvent extends ExtendableEvent {
  get events() {}

  get traces() {}
}

const classes = { ExtendableEvent, FetchEvent, ScheduledEvent, TailEvent, TraceEvent: TailEvent };
for (const Class of new Set(Object.values(classes))) {
  for (const name of Object.getOwnPropertyNames(Class.prototype)) {
    if (name !== "constructor") Object.defineProperty(Class.prototype, name, { enumerable: true });
  }
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: Class.name, configurable: true });
}

export { classes };
