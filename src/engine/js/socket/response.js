// `Response` with a `webSocket`: Deno's class behind a constructor that knows the property, on the same prototype.

import { core } from "ext:core/mod.js";
import { isWebSocket } from "ext:celld_socket/websocket.js";

const { Response: Base } = core.loadExtScript("ext:deno_fetch/23_response.js");

/** The sockets of the `101` responses that have one. */
const sockets = new WeakMap();

function checkUpgrade(socket, body, status) {
  if (!isWebSocket(socket)) {
    throw new TypeError(
      "Incorrect type for the 'webSocket' field on 'InitializerDict': the provided value is not of type 'WebSocket'.",
    );
  }
  if (status !== 101) throw new RangeError("Responses with a WebSocket must have status code 101.");
  if (body !== null && body !== undefined) {
    throw new TypeError("Response with null body status (101, 204, 205, or 304) cannot have a body.");
  }
}

function Response(body = null, init = undefined) {
  if (new.target === undefined) {
    throw new TypeError(
      "Failed to construct 'Response': Please use the 'new' operator, this object constructor cannot be called as a function.",
    );
  }
  if (init === undefined || init === null) return Reflect.construct(Base, [body], new.target);
  const socket = init.webSocket ?? null;
  if (socket !== null) checkUpgrade(socket, body, init.status);
  else if (init.status === 101) {
    throw new RangeError("Responses may only be constructed with status codes in the range 200 to 599, inclusive.");
  }
  const response = Reflect.construct(Base, [body, init], new.target);
  if (socket !== null) sockets.set(response, socket);
  return response;
}

Object.defineProperty(Response, "length", { __proto__: null, value: 0 });
for (const key of ["error", "json", "redirect"]) {
  Object.defineProperty(Response, key, Object.getOwnPropertyDescriptor(Base, key));
}
Object.defineProperty(Response, "prototype", { __proto__: null, value: Base.prototype, writable: false });
Object.defineProperty(Base.prototype, "constructor", { __proto__: null, value: Response, writable: true, configurable: true });

Object.defineProperty(Base.prototype, "webSocket", {
  __proto__: null,
  get() {
    return sockets.get(this) ?? null;
  },
  enumerable: true,
  configurable: true,
});

Object.setPrototypeOf(Response, Object.getPrototypeOf(Base));

const clone = Base.prototype.clone;
Object.defineProperty(Base.prototype, "clone", {
  __proto__: null,
  value: {
    clone() {
      if (sockets.has(this)) throw new TypeError("Cannot clone a response to a WebSocket handshake.");
      return clone.call(this);
    },
  }.clone,
  writable: true,
  enumerable: true,
  configurable: true,
});

/** The socket of a response, or null. */
function socketOf(response) {
  return sockets.get(response) ?? null;
}

function setSocket(response, socket) {
  sockets.set(response, socket);
}

const NOT_ASKED_FOR =
  'Worker tried to return a WebSocket in a response to a request which did not contain the header "Upgrade: websocket".';

/** `true` when the header list of a request asks for a WebSocket. */
function asksForSocket(headerList) {
  return headerList.some(([name, value]) => name.toLowerCase() === "upgrade" && value.toLowerCase() === "websocket");
}

export { asksForSocket, NOT_ASKED_FOR, Response, setSocket, socketOf };
