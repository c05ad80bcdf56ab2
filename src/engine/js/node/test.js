// node:test: mocks alone; there are no tests to run in a Worker.

function requireFunction(value, name) {
  if (typeof value !== "function") {
    throw new TypeError(`The "${name}" argument must be of type function.`);
  }
}

class MockFunctionContext {
  #calls = [];
  #implementation;
  #once = new Map();
  #restore;
  #limit;

  constructor(implementation, restore, times = Infinity) {
    this.#implementation = implementation;
    this.#restore = restore;
    this.#limit = times;
  }

  get calls() {
    return [...this.#calls];
  }
  callCount() {
    return this.#calls.length;
  }
  mockImplementation(implementation) {
    requireFunction(implementation, "implementation");
    this.#implementation = implementation;
  }
  // The implementation of call number `onCall`, by default of the next.
  mockImplementationOnce(implementation, onCall = this.#calls.length) {
    requireFunction(implementation, "implementation");
    this.#once.set(onCall, implementation);
  }
  restore() {
    this.#restore?.();
  }
  resetCalls() {
    this.#calls = [];
  }

  // Runs the mock: `original` is what it stands for once its number of calls is used up.
  static invoke(context, original, self, args, target) {
    const number = context.#calls.length;
    const chosen = context.#once.get(number) ?? (number < context.#limit ? context.#implementation : original);
    context.#once.delete(number);
    const call = { arguments: args, error: undefined, result: undefined, stack: new Error(), target, this: self };
    try {
      call.result = target ? Reflect.construct(chosen, args, target) : Reflect.apply(chosen, self, args);
      return call.result;
    } catch (error) {
      call.error = error;
      throw error;
    } finally {
      if (target) {
        call.this = call.result;
      }
      context.#calls.push(call);
    }
  }
}
const { invoke } = MockFunctionContext;
delete MockFunctionContext.invoke;

class MockTracker {
  #mocks = [];

  #mock(original, implementation, restore, times) {
    const context = new MockFunctionContext(implementation, restore, times);
    this.#mocks.push(context);
    return new Proxy(original, {
      apply: (_original, self, args) => invoke(context, original, self, args),
      construct: (_original, args, target) => invoke(context, original, undefined, args, target),
      get: (target, name, receiver) => name === "mock" ? context : Reflect.get(target, name, receiver),
    });
  }

  fn(original = function () {}, implementation = original, options = undefined) {
    if (typeof original === "object" && original !== null) {
      options = original;
      original = function () {};
      implementation = original;
    } else if (typeof implementation === "object" && implementation !== null) {
      options = implementation;
      implementation = original;
    }
    requireFunction(original, "original");
    return this.#mock(original, implementation, undefined, options?.times);
  }

  #accessor(object, name, implementation, options) {
    if (typeof implementation === "object" && implementation !== null) {
      options = implementation;
      implementation = undefined;
    }
    let holder = object;
    let descriptor;
    while (holder !== null && (descriptor = Object.getOwnPropertyDescriptor(holder, name)) === undefined) {
      holder = Object.getPrototypeOf(holder);
    }
    const kind = options?.getter ? "get" : options?.setter ? "set" : "value";
    const original = descriptor?.[kind];
    requireFunction(original, "methodName");
    const own = Object.getOwnPropertyDescriptor(object, name);
    const restore = () => own ? Object.defineProperty(object, name, own) : delete object[name];
    const mock = this.#mock(original, implementation ?? original, restore, options?.times);
    Object.defineProperty(object, name, { ...descriptor, [kind]: mock, configurable: true });
    return mock;
  }

  method(object, name, implementation = undefined, options = undefined) {
    return this.#accessor(object, name, implementation, options);
  }
  getter(object, name, implementation = undefined, options = undefined) {
    return this.#accessor(object, name, implementation, { ...options, getter: true });
  }
  setter(object, name, implementation = undefined, options = undefined) {
    return this.#accessor(object, name, implementation, { ...options, setter: true });
  }

  property(object, name, value = object[name]) {
    const own = Object.getOwnPropertyDescriptor(object, name);
    const restore = () => own ? Object.defineProperty(object, name, own) : delete object[name];
    this.#mocks.push({ restore });
    Object.defineProperty(object, name, { value, writable: true, enumerable: true, configurable: true });
    return object;
  }

  reset() {
    this.restoreAll();
    this.#mocks = [];
  }
  restoreAll() {
    for (const each of this.#mocks) {
      each.restore();
    }
  }
}

const mock = new MockTracker();

export { mock, MockFunctionContext, MockTracker };
export default { mock, MockFunctionContext, MockTracker };
