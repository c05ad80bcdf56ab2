// node:domain: runs what it is given; nothing is caught.

import { EventEmitter } from "node:events";

class Domain extends EventEmitter {
  members = undefined;
  _errorHandler(error) {
    throw error;
  }
  enter() {}
  exit() {}
  add() {}
  remove() {}
  run(callback, ...args) {
    return callback.apply(this, args);
  }
  intercept(callback) {
    return callback;
  }
  bind(callback) {
    return callback;
  }
}

const active = null;
function createDomain() {
  return new Domain();
}
// Node.js has a function here, the platform an instance.
const create = createDomain();

export { active, create, createDomain, Domain };
export default { Domain, active, createDomain, create };
