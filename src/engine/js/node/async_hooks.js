// node:async_hooks with the exports that the platform has.

import base from "node:async_hooks";

const { AsyncLocalStorage, AsyncResource } = base;

// An event's context may not leak into another.
for (const name of ["disable", "enterWith"]) {
  Object.defineProperty(AsyncLocalStorage.prototype, name, {
    value: {
      [name]() {
        throw new Error(`asyncLocalStorage.${name}() is not implemented`);
      },
    }[name],
    writable: true,
    configurable: true,
  });
}
Object.defineProperty(AsyncResource.prototype, "triggerAsyncId", {
  value: function triggerAsyncId() {
    return 0;
  },
  writable: true,
  configurable: true,
});

const all = { ...base };

export const {
  asyncWrapProviders, createHook, executionAsyncId, executionAsyncResource, triggerAsyncId,
} = all;
export { AsyncLocalStorage, AsyncResource };
export default {
  AsyncLocalStorage, AsyncResource, asyncWrapProviders, createHook, executionAsyncId, executionAsyncResource,
  triggerAsyncId,
};
