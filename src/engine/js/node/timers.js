// node:timers with the exports that the platform has.

import base from "node:timers";

const probe = base.setTimeout(() => {}, 0);
const Timeout = probe.constructor;
base.clearTimeout(probe);

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
