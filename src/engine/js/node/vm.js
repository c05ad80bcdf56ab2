// node:vm: code from text does not run in a Worker, in no context. (Deno's would also open its own internals.)

import { Buffer } from "node:buffer";
import { ERR_METHOD_NOT_IMPLEMENTED, unsupported } from "ext:celld_node/errors.js";
import { ERR_INVALID_ARG_TYPE, validateObject, validateString } from "ext:celld_node/internal.js";

/** What `createContext` was called with. */
const contexts = new WeakSet();

function refuseIn(object) {
  validateObject(object, "object");
  if (!contexts.has(object)) {
    throw new ERR_INVALID_ARG_TYPE("contextifiedObject", "vm.Context", object);
  }
  throw new ERR_METHOD_NOT_IMPLEMENTED("runInContext");
}

class Script {
  cachedDataRejected = undefined;
  cachedDataProduced = undefined;
  cachedData = undefined;
  sourceMapURL = undefined;
  constructor(_code) {}
  createCachedData() {
    return Buffer.alloc(0);
  }
  runInThisContext() {
    throw new ERR_METHOD_NOT_IMPLEMENTED("runInThisContext");
  }
  runInContext(object) {
    refuseIn(object);
  }
  runInNewContext() {
    throw new ERR_METHOD_NOT_IMPLEMENTED("runInThisContext");
  }
}

function createContext(object = {}) {
  validateObject(object, "object");
  contexts.add(object);
  return object;
}
function createScript(code) {
  return new Script(code);
}
function compileFunction(code) {
  validateString(code, "code");
  throw new ERR_METHOD_NOT_IMPLEMENTED("compileFunction");
}
function isContext(object) {
  validateObject(object, "object");
  return contexts.has(object);
}
function runInContext(_code, object) {
  refuseIn(object);
}
const measureMemory = unsupported("measureMemory");
// The platform's error names the other.
const runInNewContext = unsupported("runInNewContext", 3, "runInThisContext");
const runInThisContext = unsupported("runInThisContext", 1);
const constants = Object.freeze({
  __proto__: null,
  USE_MAIN_CONTEXT_DEFAULT_LOADER: Symbol("vm_dynamic_import_main_context_default"),
  DONT_CONTEXTIFY: Symbol("vm_context_no_contextify"),
});

export {
  compileFunction,
  constants,
  createContext,
  createScript,
  isContext,
  measureMemory,
  runInContext,
  runInNewContext,
  runInThisContext,
  Script,
};
export default {
  Script,
  createContext,
  createScript,
  runInContext,
  runInNewContext,
  runInThisContext,
  isContext,
  compileFunction,
  measureMemory,
  constants,
};
