// What the module `cloudflare:workers` exports, and the hooks by which the runtime gives it content.
//
// `env`, `exports` and `waitUntil` belong to the current deployment and event: the shard's JavaScript
// (celld_events) sets them with `setEnv`, `setExports` and `setWaitUntil`.

import { core } from "ext:core/mod.js";

const { getAsyncContext, setAsyncContext } = core;

let currentEnv = Object.freeze({ __proto__: null });
let currentExports = Object.freeze({ __proto__: null });
let currentWaitUntil = () => {
  throw new Error("waitUntil() was called outside of an event");
};

function setEnv(env) {
  currentEnv = env;
}

function setExports(exports) {
  currentExports = exports;
}

// `hook(promise)` finds the current event itself.
function setWaitUntil(hook) {
  currentWaitUntil = hook;
}

// A module's exports are fixed when it is evaluated, in the snapshot; so these two stand in front of
// objects that come later. They cannot be written to, as on the platform.
function view(current) {
  return new Proxy({}, {
    get: (_target, name) => Reflect.get(current(), name),
    has: (_target, name) => Reflect.has(current(), name),
    ownKeys: () => Reflect.ownKeys(current()),
    getOwnPropertyDescriptor(_target, name) {
      const descriptor = Reflect.getOwnPropertyDescriptor(current(), name);
      // A proxy may report a property as fixed only if its own target has it.
      return descriptor && { value: Reflect.get(current(), name), writable: false, enumerable: true, configurable: true };
    },
    set: () => false,
    defineProperty: () => false,
    deleteProperty: () => false,
    setPrototypeOf: () => false,
    preventExtensions: () => false,
  });
}

// Overrides of the two by `withEnv` and its kin, which hold for what the function starts.
const kEnv = Symbol("env");
const kExports = Symbol("exports");

const env = view(() => getAsyncContext()?.[kEnv] ?? currentEnv);
const exports = view(() => getAsyncContext()?.[kExports] ?? currentExports);

function withOverride(override, run) {
  const previous = getAsyncContext();
  setAsyncContext({ __proto__: null, ...previous, ...override });
  try {
    return run();
  } finally {
    setAsyncContext(previous);
  }
}

const withEnv = (env, run) => withOverride({ [kEnv]: env }, run);
const withExports = (exports, run) => withOverride({ [kExports]: exports }, run);
const withEnvAndExports = (env, exports, run) => withOverride({ [kEnv]: env, [kExports]: exports }, run);

function waitUntil(promise) {
  currentWaitUntil(promise);
}

// Base classes of a Worker's entrypoints. The runtime constructs them with the context and `env`.
class DurableObject {
  constructor(ctx, env) {
    this.ctx = ctx;
    this.env = env;
  }
}

class WorkerEntrypoint {
  constructor(ctx, env) {
    this.ctx = ctx;
    this.env = env;
  }
}

class WorkflowEntrypoint {
  constructor(ctx, env) {
    this.ctx = ctx;
    this.env = env;
  }
}

// Marks classes whose instances travel by reference.
class RpcTarget {}

let makeStub = () => {
  throw new Error("An RpcStub was made outside of an event");
};

// `factory(target)` makes a stub of a local object.
function setStubFactory(factory) {
  makeStub = factory;
}

// What stands for an object elsewhere. Stubs are proxies; their prototypes are these.
class RpcStub {
  constructor(target) {
    return makeStub(target);
  }
}

// What a service binding is.
class ServiceStub {
  constructor() {
    throw new TypeError("Illegal constructor");
  }
}

class RpcPromise {
  constructor() {
    throw new TypeError("Illegal constructor");
  }
}

class RpcProperty {
  constructor() {
    throw new TypeError("Illegal constructor");
  }
}

for (const [Class, tag] of [
  [DurableObject, "DurableObjectBase"],
  [WorkerEntrypoint, "WorkerEntrypoint"],
  [WorkflowEntrypoint, "WorkflowEntrypoint"],
  [RpcTarget, "JsRpcTarget"],
  [RpcStub, "JsRpcStub"],
  [RpcPromise, "JsRpcPromise"],
  [RpcProperty, "JsRpcProperty"],
  [ServiceStub, "Fetcher"],
]) {
  Object.defineProperty(Class.prototype, Symbol.toStringTag, { value: tag, configurable: true });
}

export {
  DurableObject,
  env,
  exports,
  RpcPromise,
  RpcProperty,
  RpcStub,
  RpcTarget,
  ServiceStub,
  setEnv,
  setExports,
  setStubFactory,
  setWaitUntil,
  waitUntil,
  withEnv,
  withEnvAndExports,
  withExports,
  WorkerEntrypoint,
  WorkflowEntrypoint,
};
