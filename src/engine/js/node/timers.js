// node:timers with the exports that the platform has.

import base from "node:timers";

const probe = base.setTimeout(() => {}, 0);
const Timeout = probe.constructor;
base.clearTimeout(probe);

// Nothing here ends for want of something to wait for, so what does not count runs all the same. Deno may leave it out.
const immediate = base.setImmediate(() => {});
base.clearImmediate(immediate);
const { prototype } = immediate.constructor;
const { hasRef, ref } = prototype;
const uncounted = new WeakSet();
Object.assign(prototype, {
  unref() {
    uncounted.add(this);
    return this;
  },
  ref() {
    uncounted.delete(this);
    return ref.call(this);
  },
  hasRef() {
    return !uncounted.has(this) && hasRef.call(this);
  },
});

function active(timer) {
  if (timer instanceof Timeout) {
    timer.refresh();
  }
}
function enroll(_item, _delay) {
  throw new Error("Not implemented. Please use setTimeout() instead.");
}
function unenroll(timer) {
  base.clearTimeout(timer);
}

const all = { ...base, Timeout, active, enroll, unenroll };

export const {
  clearImmediate, clearInterval, clearTimeout, promises, setImmediate, setInterval, setTimeout,
} = all;
export { Timeout, active, enroll, unenroll };
export default {
  Timeout, active, clearImmediate, clearInterval, clearTimeout, enroll, promises, setImmediate, setInterval,
  setTimeout, unenroll,
};
