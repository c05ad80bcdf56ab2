import { error, suite, threw } from "./suite.js";

const { test, route, handler } = suite();
export default handler;

/** Many turns rather than one long wait: on a busy machine a turn can take long. */
const settle = async () => {
  for (let i = 0; i < 10; i++) await scheduler.wait(2);
};

const listen = (act, options) => {
  const out = [];
  const target = new EventTarget();
  act(target, out);
  return out;
};
test(
  "Event: defaults",
  () => {
    const {
      type,
      bubbles,
      cancelable,
      composed,
      defaultPrevented,
      eventPhase,
      isTrusted,
      target,
      currentTarget,
      srcElement,
      returnValue,
      cancelBubble,
    } = new Event("a");
    return {
      type,
      bubbles,
      cancelable,
      composed,
      defaultPrevented,
      eventPhase,
      isTrusted,
      target,
      currentTarget,
      srcElement,
      returnValue,
      cancelBubble,
    };
  },
  {
    type: "a",
    bubbles: false,
    cancelable: false,
    composed: false,
    defaultPrevented: false,
    eventPhase: 0,
    isTrusted: false,
    target: undefined,
    currentTarget: undefined,
    srcElement: undefined,
    returnValue: true,
    cancelBubble: false,
  },
);
test(
  "Event: init",
  () => {
    const { bubbles, cancelable, composed } = new Event("a", { bubbles: true, cancelable: true, composed: true });
    return [bubbles, cancelable, composed];
  },
  [true, true, true],
);
test(
  "Event: without a type",
  () => new Event(),
  threw("TypeError", "Failed to construct 'Event': constructor parameter 1 is not of type 'string'."),
);
test("Event: constants", () => [Event.NONE, Event.CAPTURING_PHASE, Event.AT_TARGET, Event.BUBBLING_PHASE], [0, 1, 2, 3]);
test("Event: timeStamp", () => typeof new Event("a").timeStamp, "number");
test(
  "dispatch: order and this",
  () =>
    listen((target, out) => {
      target.addEventListener("a", function (event) {
        out.push(1, this === target, event.target === target, event.currentTarget === target, event.eventPhase);
      });
      target.addEventListener("a", {
        handleEvent(event) {
          out.push(2, event.type);
        },
      });
      out.push(target.dispatchEvent(new Event("a")));
    }),
  [1, true, true, true, 2, 2, "a", true],
);
test(
  "dispatch: the same listener once",
  () =>
    listen((target, out) => {
      const listener = () => out.push(1);
      target.addEventListener("a", listener);
      target.addEventListener("a", listener);
      target.dispatchEvent(new Event("a"));
    }),
  [1],
);
test(
  "once",
  () =>
    listen((target, out) => {
      target.addEventListener("a", () => out.push(1), { once: true });
      target.dispatchEvent(new Event("a"));
      target.dispatchEvent(new Event("a"));
    }),
  [1],
);
test(
  "signal",
  () =>
    listen((target, out) => {
      const controller = new AbortController();
      target.addEventListener("a", () => out.push(1), { signal: controller.signal });
      target.dispatchEvent(new Event("a"));
      controller.abort();
      target.dispatchEvent(new Event("a"));
    }),
  [1],
);
test(
  "capture",
  () => listen((target, out) => target.addEventListener("a", () => out.push(1), { capture: true })),
  threw("TypeError", "addEventListener(): options.capture must be false."),
);
test("passive", () => listen((target, out) => target.addEventListener("a", () => out.push(1), { passive: true })), []);
test(
  "removeEventListener",
  () =>
    listen((target, out) => {
      const listener = () => out.push(1);
      target.addEventListener("a", listener);
      target.removeEventListener("a", listener);
      target.dispatchEvent(new Event("a"));
    }),
  [],
);
test(
  "preventDefault",
  () =>
    listen((target, out) => {
      target.addEventListener("a", (event) => event.preventDefault());
      const can = new Event("a", { cancelable: true });
      const cannot = new Event("a");
      out.push(target.dispatchEvent(can), can.defaultPrevented, target.dispatchEvent(cannot), cannot.defaultPrevented);
    }),
  [false, true, false, false],
);
test(
  "stopImmediatePropagation",
  () =>
    listen((target, out) => {
      target.addEventListener("a", (event) => {
        out.push(1);
        event.stopImmediatePropagation();
      });
      target.addEventListener("a", () => out.push(2));
      target.dispatchEvent(new Event("a"));
    }),
  [1],
);
test(
  "an exception in a listener",
  () =>
    listen((target, out) => {
      target.addEventListener("a", () => {
        throw new Error("boom");
      });
      target.addEventListener("a", () => out.push("next"));
      try {
        out.push(target.dispatchEvent(new Event("a")));
      } catch (error) {
        out.push(error.message);
      }
    }),
  ["boom"],
);
test(
  "dispatch of an event that is being dispatched",
  () =>
    listen((target, out) => {
      target.addEventListener("a", (event) => {
        try {
          target.dispatchEvent(event);
        } catch (error) {
          out.push(error.name);
        }
      });
      target.dispatchEvent(new Event("a"));
    }),
  ["InvalidStateError"],
);
test(
  "dispatch of no event",
  () => new EventTarget().dispatchEvent({ type: "a" }),
  threw("TypeError", "Failed to execute 'dispatchEvent' on 'EventTarget': parameter 1 is not of type 'Event'."),
);
test("addEventListener: null", () => new EventTarget().addEventListener("a", null), undefined);
test(
  "addEventListener: a number",
  () => new EventTarget().addEventListener("a", 1),
  threw("TypeError", "Failed to execute 'addEventListener' on 'EventTarget': parameter 2 is not of type 'function or HandlerObject'."),
);
test(
  "composedPath",
  () =>
    listen((target, out) => {
      target.addEventListener("a", (event) => out.push(event.composedPath().length, event.composedPath()[0] === target));
      const event = new Event("a");
      target.dispatchEvent(event);
      out.push(event.composedPath().length);
    }),
  [1, true, 0],
);
test(
  "a class that extends EventTarget",
  () => {
    class Mine extends EventTarget {}
    let got;
    const mine = new Mine();
    mine.addEventListener("a", (event) => (got = event.target === mine));
    mine.dispatchEvent(new Event("a"));
    return got;
  },
  true,
);
test("CustomEvent", () => [new CustomEvent("a", { detail: { b: 1 } }).detail, new CustomEvent("a").detail], [{ b: 1 }, undefined]);
test(
  "MessageEvent",
  () => {
    const { data, origin, lastEventId, source, ports } = new MessageEvent("message", { data: 1 });
    return { data, origin, lastEventId, source, ports };
  },
  { data: 1, origin: "", lastEventId: "", source: null, ports: [] },
);
test("MessageEvent: without init", () => new MessageEvent("message").data, null);
test(
  "CloseEvent",
  () => {
    const { type, code, reason, wasClean } = new CloseEvent("close", { code: 1001, reason: "r", wasClean: true });
    return { type, code, reason, wasClean };
  },
  { type: "close", code: 1001, reason: "r", wasClean: true },
);
test(
  "CloseEvent: defaults",
  () => {
    const { code, reason, wasClean } = new CloseEvent("close");
    return { code, reason, wasClean };
  },
  { code: 0, reason: "", wasClean: false },
);
test(
  "ErrorEvent",
  () => {
    const { message, filename, lineno, colno, error } = new ErrorEvent("error", {
      message: "m",
      filename: "f",
      lineno: 1,
      colno: 2,
      error: 3,
    });
    return { message, filename, lineno, colno, error };
  },
  { message: "m", filename: "f", lineno: 1, colno: 2, error: 3 },
);
test(
  "ErrorEvent: defaults",
  () => {
    const { message, filename, lineno, colno, error } = new ErrorEvent("error");
    return { message, filename, lineno, colno, error };
  },
  { message: "", filename: "", lineno: 0, colno: 0, error: undefined },
);
test(
  "tags",
  () => [new Event("a"), new EventTarget(), new CustomEvent("a"), new AbortController(), new AbortController().signal].map(String),
  ["[object Event]", "[object EventTarget]", "[object CustomEvent]", "[object AbortController]", "[object AbortSignal]"],
);
test(
  "EventTarget without new",
  () => EventTarget(),
  threw(
    "TypeError",
    "Failed to construct 'EventTarget': Please use the 'new' operator, this object constructor cannot be called as a function.",
  ),
);

test(
  "AbortController: abort",
  () => {
    const controller = new AbortController();
    const before = [controller.signal.aborted, controller.signal.reason];
    controller.abort();
    const { reason } = controller.signal;
    return [before, controller.signal.aborted, reason.name, reason.message, reason.code];
  },
  [[false, undefined], true, "AbortError", "The operation was aborted", 20],
);
test(
  "AbortController: a reason",
  () => {
    const controller = new AbortController();
    controller.abort("why");
    controller.abort("again");
    return controller.signal.reason;
  },
  "why",
);
test(
  "AbortSignal: the event",
  () => {
    const out = [];
    const controller = new AbortController();
    controller.signal.onabort = (event) => out.push("property", event.type);
    controller.signal.addEventListener("abort", (event) => out.push("listener", event.target === controller.signal));
    controller.abort();
    controller.abort();
    return out;
  },
  ["property", "abort", "listener", true],
);
test("AbortSignal: throwIfAborted", () => AbortSignal.abort(new RangeError("r")).throwIfAborted(), threw("RangeError", "r"));
test("AbortSignal: throwIfAborted when not", () => new AbortController().signal.throwIfAborted(), undefined);
test("AbortSignal: abort()", () => AbortSignal.abort().reason, error("DOMException", "The operation was aborted", "AbortError"));
test(
  "AbortSignal: any",
  () => {
    const first = new AbortController();
    const second = new AbortController();
    const any = AbortSignal.any([first.signal, second.signal]);
    const out = [any.aborted];
    any.addEventListener("abort", () => out.push("event"));
    second.abort("two");
    first.abort("one");
    return [...out, any.aborted, any.reason];
  },
  [false, "event", true, "two"],
);
test("AbortSignal: any of none", () => AbortSignal.any([]).aborted, false);
test("AbortSignal: any of an aborted one", () => AbortSignal.any([AbortSignal.abort("x")]).reason, "x");
test(
  "AbortSignal: any of something",
  () => AbortSignal.any([1]),
  threw("TypeError", "Incorrect type for array element 0: the provided value is not of type 'AbortSignal'."),
);
test(
  "AbortSignal: timeout(0)",
  async () => {
    const signal = AbortSignal.timeout(0);
    await new Promise((resolve) => signal.addEventListener("abort", resolve));
    return signal.reason;
  },
  error("DOMException", "The operation was aborted due to timeout", "TimeoutError"),
);
test("AbortSignal: timeout of a negative", () => String(AbortSignal.timeout(-1)), "[object AbortSignal]");
test("AbortSignal: constructor", () => new AbortSignal(), threw("TypeError", "Illegal constructor"));
test("reportError", () => typeof reportError, "function");
test(
  "reportError: the error event",
  async () => {
    const out = [];
    const listener = (event) => {
      out.push(event.type, event.message, event.error?.message);
      event.preventDefault();
    };
    addEventListener("error", listener);
    reportError(new Error("boom"));
    removeEventListener("error", listener);
    return out;
  },
  ["error", "Uncaught Error: boom", "boom"],
);
test(
  "unhandledrejection",
  async () => {
    const out = [];
    const listener = (event) => {
      out.push(event.type, event.reason.message, event.promise instanceof Promise);
      event.preventDefault();
    };
    addEventListener("unhandledrejection", listener);
    Promise.reject(new Error("nobody"));
    await settle();
    removeEventListener("unhandledrejection", listener);
    return out;
  },
  ["unhandledrejection", "nobody", true],
);
test(
  "rejectionhandled",
  async () => {
    const out = [];
    const listener = (event) => {
      out.push(event.type);
      event.preventDefault();
    };
    for (const type of ["unhandledrejection", "rejectionhandled"]) addEventListener(type, listener);
    const promise = Promise.reject(new Error("late"));
    await settle();
    promise.catch(() => {});
    await settle();
    for (const type of ["unhandledrejection", "rejectionhandled"]) removeEventListener(type, listener);
    return out;
  },
  ["unhandledrejection", "rejectionhandled"],
);
test("globalThis is an EventTarget", () => [globalThis instanceof EventTarget, String(globalThis), typeof self, self === globalThis], [
  false,
  "[object ServiceWorkerGlobalScope]",
  "object",
  true,
]);
test(
  "MessageChannel",
  async () => {
    const { port1, port2 } = new MessageChannel();
    const got = new Promise((resolve) => (port2.onmessage = (event) => resolve([event.type, event.data])));
    port1.postMessage({ a: new Map([[1, 2]]) });
    return got;
  },
  ["message", { a: new Map([[1, 2]]) }],
);
test(
  "MessageChannel: order",
  async () => {
    const { port1, port2 } = new MessageChannel();
    const out = [];
    port2.addEventListener("message", (event) => out.push(event.data));
    port1.postMessage(1);
    port1.postMessage(2);
    await settle();
    const before = out.length;
    port2.start();
    await settle();
    port1.close();
    return [before, out];
  },
  [2, [1, 2]],
);
test(
  "MessageChannel: a transfer list",
  () => {
    const { port1 } = new MessageChannel();
    const buffer = new ArrayBuffer(8);
    port1.postMessage(buffer, [buffer]);
    return buffer.byteLength;
  },
  threw("Error", "Transfer list is not supported"),
);
test(
  "MessageChannel: what cannot be cloned",
  () => new MessageChannel().port1.postMessage(() => {}),
  threw("DOMException", "() => {} could not be cloned.", "DataCloneError"),
);
test("BroadcastChannel", () => typeof BroadcastChannel, "undefined");
test("EventSource", () => [typeof EventSource, EventSource.CONNECTING, EventSource.OPEN, EventSource.CLOSED, typeof EventSource.from], [
  "function",
  0,
  1,
  2,
  "function",
]);
test(
  "EventSource.from",
  async () => {
    const stream = new Blob(["event: x\nid: 1\ndata: a\ndata: b\n\n: comment\ndata: c\n\n"]).stream();
    const source = EventSource.from(stream);
    const out = [];
    source.addEventListener("x", (event) => out.push(event.type, event.data, event.lastEventId));
    source.onmessage = (event) => out.push(event.type, event.data, event.lastEventId);
    await settle();
    source.close();
    return out;
  },
  ["x", "a\nb", "1", "message", "c", "1"],
);

route(
  "/events",
  () => new Response("retry: 10\nid: 7\ndata: one\n\nevent: named\ndata: two\n\n", { headers: { "content-type": "text/event-stream" } }),
);
route("/not-events", () => new Response("x"));
test(
  "EventSource: over HTTP",
  async ({ request }) => {
    const source = new EventSource(new URL("/events", request.url));
    const out = [];
    source.onopen = ({ type }) => out.push(type, source.readyState);
    source.onmessage = ({ data, lastEventId, origin }) => out.push(data, lastEventId, origin === new URL(request.url).origin);
    source.addEventListener("named", ({ data }) => out.push(data));
    for (let i = 0; i < 100 && out.length < 6; i++) await settle();
    source.close();
    return [out.slice(0, 6), source.readyState];
  },
  [["open", 1, "one", "7", true, "two"], 2],
);
test(
  "EventSource: another type",
  async ({ request }) => {
    const source = new EventSource(new URL("/not-events", request.url));
    const event = await new Promise((resolve) => (source.onerror = resolve));
    const state = source.readyState;
    source.close();
    return [event.type, state];
  },
  ["error", 2],
);
test(
  "EventSource: a wrong URL",
  () => new EventSource("nope"),
  threw("DOMException", "Cannot open an EventSource to 'nope'. The URL is invalid.", "SyntaxError"),
);
test(
  "EventSource: without a URL",
  () => new EventSource(),
  threw("TypeError", "Failed to construct 'EventSource': constructor parameter 1 is not of type 'string'."),
);
test(
  "EventSource: properties",
  ({ request }) => {
    const source = new EventSource(new URL("/events", request.url), { withCredentials: false });
    const out = [source.readyState, new URL(source.url).pathname, source.withCredentials, String(source)];
    source.close();
    return out;
  },
  [0, "/events", false, "[object EventSource]"],
);
