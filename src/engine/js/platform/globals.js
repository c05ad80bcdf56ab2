// The globals of a Worker, as far as Deno's crates provide them. What belongs to requests, cells and
// bindings (WebSocketPair, caches, HTMLRewriter) is defined by the modules that implement it.

import { core, primordials } from "ext:core/mod.js";
// The one API here that is an ES module of its crate and not a script.
import { WebSocket } from "ext:deno_websocket/01_websocket.js";
import { op_celld_timing_safe_equal } from "ext:core/ops";

const {
  ArrayBufferIsView,
  ArrayPrototypePush,
  ObjectDefineProperties,
  ObjectDefineProperty,
  ObjectKeys,
  ObjectSetPrototypeOf,
  Promise,
  PromiseReject,
  SafeArrayIterator,
  SymbolToStringTag,
  TypeError,
  Uint8Array,
} = primordials;

const load = core.loadExtScript;
const webidl = load("ext:deno_webidl/00_webidl.js");
const { DOMException } = load("ext:deno_web/01_dom_exception.js");
const url = load("ext:deno_web/00_url.js");
const { URLPattern } = load("ext:deno_web/01_urlpattern.js");
const event = load("ext:deno_web/02_event.js");
// Called as plain functions: they refuse to be methods of anything but the global.
const {
  clearInterval,
  clearTimeout,
  setInterval: startInterval,
  setTimeout: startTimeout,
} = load("ext:deno_web/02_timers.js");
const abort = load("ext:deno_web/03_abort_signal.js");
const base64 = load("ext:deno_web/05_base64.js");
const streams = load("ext:deno_web/06_streams.js");
const encoding = load("ext:deno_web/08_text_encoding.js");
const file = load("ext:deno_web/09_file.js");
const messages = load("ext:deno_web/13_message_port.js");
const compression = load("ext:deno_web/14_compression.js");
const performance = load("ext:deno_web/15_performance.js");
const crypto = load("ext:deno_crypto/00_crypto.js");
const { Headers } = load("ext:deno_fetch/20_headers.js");
const { FormData } = load("ext:deno_fetch/21_formdata.js");
const { Request } = load("ext:deno_fetch/23_request.js");
const { Response } = load("ext:deno_fetch/23_response.js");
const { fetch } = load("ext:deno_fetch/26_fetch.js");
const { EventSource } = load("ext:deno_fetch/27_eventsource.js");

// A WebIDL interface object or a constructor-like value: not enumerable.
function defineHidden(target, values) {
  const names = ObjectKeys(values);
  for (let i = 0; i < names.length; i++) {
    ObjectDefineProperty(target, names[i], {
      __proto__: null,
      value: values[names[i]],
      writable: true,
      enumerable: false,
      configurable: true,
    });
  }
}

// An operation or attribute of the global scope: enumerable.
function defineVisible(target, values) {
  const names = ObjectKeys(values);
  for (let i = 0; i < names.length; i++) {
    ObjectDefineProperty(target, names[i], {
      __proto__: null,
      value: values[names[i]],
      writable: true,
      enumerable: true,
      configurable: true,
    });
  }
}

// An attribute that is made at first use, because it is a native object, which a snapshot cannot hold.
function defineLazy(target, name, make) {
  let value;
  ObjectDefineProperty(target, name, {
    __proto__: null,
    get() {
      return value ??= make();
    },
    set(replacement) {
      ObjectDefineProperty(this, name, {
        __proto__: null,
        value: replacement,
        writable: true,
        enumerable: true,
        configurable: true,
      });
    },
    enumerable: true,
    configurable: true,
  });
}

const constructible = { allowed: false };

class WorkerGlobalScope extends event.EventTarget {
  constructor() {
    if (!constructible.allowed) {
      throw new TypeError("Illegal constructor");
    }
    super();
  }
}

class ServiceWorkerGlobalScope extends WorkerGlobalScope {
  get [SymbolToStringTag]() {
    return "ServiceWorkerGlobalScope";
  }
}

class Navigator {
  constructor() {
    if (!constructible.allowed) {
      throw new TypeError("Illegal constructor");
    }
  }
  get userAgent() {
    return "Cloudflare-Workers";
  }
  get hardwareConcurrency() {
    return 1;
  }
  get language() {
    return "en";
  }
  get languages() {
    return ["en"];
  }
  get platform() {
    return "Linux x86_64";
  }
  get [SymbolToStringTag]() {
    return "Navigator";
  }
}

class Scheduler {
  constructor() {
    if (!constructible.allowed) {
      throw new TypeError("Illegal constructor");
    }
  }
  // Resolves after `delay` milliseconds, or rejects when `options.signal` aborts.
  wait(delay, options = undefined) {
    if (delay === undefined) {
      throw new TypeError("Failed to execute 'wait' on 'Scheduler': parameter 1 is not of type 'number'.");
    }
    const signal = options?.signal;
    if (signal === undefined || signal === null) {
      return new Promise((resolve) => startTimeout(resolve, delay));
    }
    if (signal.aborted) {
      return PromiseReject(signal.reason);
    }
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        clearTimeout(timer);
        reject(signal.reason);
      };
      const timer = startTimeout(() => {
        signal.removeEventListener("abort", onAbort);
        resolve();
      }, delay);
      signal.addEventListener("abort", onAbort, { once: true });
    });
  }
  get [SymbolToStringTag]() {
    return "Scheduler";
  }
}

function make(Class) {
  constructible.allowed = true;
  try {
    return new Class();
  } finally {
    constructible.allowed = false;
  }
}

// The bytes of an ArrayBuffer or a view on one.
function bytesOf(source) {
  if (ArrayBufferIsView(source)) {
    return new Uint8Array(source.buffer, source.byteOffset, source.byteLength);
  }
  if (core.isAnyArrayBuffer(source)) {
    return new Uint8Array(source);
  }
  throw new TypeError("timingSafeEqual takes two ArrayBuffers or views on one.");
}

// An extension of the platform: SubtleCrypto.prototype.timingSafeEqual.
function timingSafeEqual(a, b) {
  const left = bytesOf(a);
  const right = bytesOf(b);
  if (left.byteLength !== right.byteLength) {
    throw new TypeError("Input buffers must have the same byte length.");
  }
  return op_celld_timing_safe_equal(left, right);
}

// Deno's timers take text and evaluate it; here that is an error at once, as on the platform.
function requireCallback(callback, name) {
  if (typeof callback !== "function") {
    throw new TypeError(
      `Failed to execute '${name}' on 'ServiceWorkerGlobalScope': parameter 1 is not of type 'function'.`,
    );
  }
}

function setTimeout(callback, delay = 0, ...args) {
  requireCallback(callback, "setTimeout");
  return startTimeout(callback, delay, ...new SafeArrayIterator(args));
}

function setInterval(callback, delay = 0, ...args) {
  requireCallback(callback, "setInterval");
  return startInterval(callback, delay, ...new SafeArrayIterator(args));
}

// Defines all globals that do not depend on the deployment.
function defineGlobals(target) {
  defineHidden(target, {
    AbortController: abort.AbortController,
    AbortSignal: abort.AbortSignal,
    Blob: file.Blob,
    ByteLengthQueuingStrategy: streams.ByteLengthQueuingStrategy,
    CloseEvent: event.CloseEvent,
    CompressionStream: compression.CompressionStream,
    CountQueuingStrategy: streams.CountQueuingStrategy,
    Crypto: crypto.Crypto,
    CryptoKey: crypto.CryptoKey,
    CustomEvent: event.CustomEvent,
    DecompressionStream: compression.DecompressionStream,
    DOMException,
    ErrorEvent: event.ErrorEvent,
    Event: event.Event,
    EventSource,
    EventTarget: event.EventTarget,
    File: file.File,
    FormData,
    Headers,
    MessageChannel: messages.MessageChannel,
    MessageEvent: event.MessageEvent,
    MessagePort: messages.MessagePort,
    Navigator,
    Performance: performance.Performance,
    PerformanceEntry: performance.PerformanceEntry,
    PerformanceMark: performance.PerformanceMark,
    PerformanceMeasure: performance.PerformanceMeasure,
    PerformanceObserver: performance.PerformanceObserver,
    PerformanceObserverEntryList: performance.PerformanceObserverEntryList,
    PromiseRejectionEvent: event.PromiseRejectionEvent,
    ReadableByteStreamController: streams.ReadableByteStreamController,
    ReadableStream: streams.ReadableStream,
    ReadableStreamBYOBReader: streams.ReadableStreamBYOBReader,
    ReadableStreamBYOBRequest: streams.ReadableStreamBYOBRequest,
    ReadableStreamDefaultController: streams.ReadableStreamDefaultController,
    ReadableStreamDefaultReader: streams.ReadableStreamDefaultReader,
    Request,
    Response,
    Scheduler,
    ServiceWorkerGlobalScope,
    SubtleCrypto: crypto.SubtleCrypto,
    TextDecoder: encoding.TextDecoder,
    TextDecoderStream: encoding.TextDecoderStream,
    TextEncoder: encoding.TextEncoder,
    TextEncoderStream: encoding.TextEncoderStream,
    TransformStream: streams.TransformStream,
    TransformStreamDefaultController: streams.TransformStreamDefaultController,
    URL: url.URL,
    URLPattern,
    URLSearchParams: url.URLSearchParams,
    WebSocket,
    WorkerGlobalScope,
    WritableStream: streams.WritableStream,
    WritableStreamDefaultController: streams.WritableStreamDefaultController,
    WritableStreamDefaultWriter: streams.WritableStreamDefaultWriter,
  });
  defineVisible(target, {
    atob: base64.atob,
    btoa: base64.btoa,
    clearInterval,
    clearTimeout,
    fetch,
    navigator: make(Navigator),
    performance: performance.performance,
    reportError: event.reportError,
    scheduler: make(Scheduler),
    self: target,
    setInterval,
    setTimeout,
    structuredClone: messages.structuredClone,
  });
  defineLazy(target, "crypto", () => crypto.crypto);
  ObjectDefineProperties(crypto.SubtleCrypto.prototype, {
    timingSafeEqual: {
      __proto__: null,
      value: timingSafeEqual,
      writable: true,
      enumerable: true,
      configurable: true,
    },
  });

  // The platform's clock begins with the event, so there is no origin to tell.
  ObjectDefineProperty(performance.Performance.prototype, "timeOrigin", {
    __proto__: null,
    get() {
      return 0;
    },
    enumerable: true,
    configurable: true,
  });

  ObjectSetPrototypeOf(target, ServiceWorkerGlobalScope.prototype);
  // What a constructor would do: methods of EventTarget check it.
  ObjectDefineProperty(target, webidl.brand, { __proto__: null, value: webidl.brand });
  event.setEventTargetData(target);
  event.saveGlobalThisReference(target);
}

// Defines the globals that exist only under the compatibility flag nodejs_compat.
function defineNodeGlobals(target, hasNodeTimers) {
  const processModule = core.createLazyLoader("ext:celld_node/process_object.js");
  const bufferModule = core.createLazyLoader("node:buffer");
  const timersModule = core.createLazyLoader("node:celld/timers");
  const globals = {
    Buffer: core.propWritableLazyLoaded((module) => module.Buffer, bufferModule),
    global: core.propWritable(target),
    process: core.propWritableLazyLoaded((module) => module.default, processModule),
  };
  const timers = ["clearImmediate", "setImmediate"];
  // The others are objects then.
  if (hasNodeTimers) ArrayPrototypePush(timers, "clearInterval", "clearTimeout", "setInterval", "setTimeout");
  for (const name of new SafeArrayIterator(timers)) {
    globals[name] = core.propWritableLazyLoaded((module) => module[name], timersModule);
  }
  core.defineGlobalProperties(target, globals);
}

export { defineGlobals, defineNodeGlobals };
