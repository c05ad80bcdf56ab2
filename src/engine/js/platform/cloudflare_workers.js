// What the module `cloudflare:workers` exports, and the hooks by which the runtime gives it content.
//
// `env`, `exports` and `waitUntil` belong to the current deployment and event: the shard's JavaScript
// (celld_events) sets them with `setEnv`, `setExports` and `setWaitUntil`.

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

const env = view(() => currentEnv);
const exports = view(() => currentExports);

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

export {
  DurableObject,
  env,
  exports,
  RpcTarget,
  setEnv,
  setExports,
  setWaitUntil,
  waitUntil,
  WorkerEntrypoint,
  WorkflowEntrypoint,
};
