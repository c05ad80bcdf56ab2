// Errors of Node.js modules that exist only so that programs which import them can be loaded.

import { primordials } from "ext:core/mod.js";

const { Error, ObjectDefineProperties } = primordials;

/** What the platform throws where Node.js would do something that a Worker has no place for. */
class ERR_METHOD_NOT_IMPLEMENTED extends Error {
  constructor(what) {
    super(`The ${what} method is not implemented`);
    this.code = "ERR_METHOD_NOT_IMPLEMENTED";
    ObjectDefineProperties(this, {
      name: { __proto__: null, value: "Error", writable: true, enumerable: false, configurable: true },
    });
  }
}

/** A function that throws when it is called; `what` is its name in the error. */
function unsupported(name, length = 0, what = name) {
  function refuse() {
    throw new ERR_METHOD_NOT_IMPLEMENTED(what);
  }
  return ObjectDefineProperties(refuse, {
    name: { __proto__: null, value: name, configurable: true },
    length: { __proto__: null, value: length, configurable: true },
  });
}

/** A function that does nothing, of that name. */
function inert(name, length = 0) {
  return ObjectDefineProperties(function () {}, {
    name: { __proto__: null, value: name, configurable: true },
    length: { __proto__: null, value: length, configurable: true },
  });
}

export { ERR_METHOD_NOT_IMPLEMENTED, inert, unsupported };
