// `WebSocket` and `WebSocketPair`. A socket is one end of a pair in the host; what differs is who reads it: the handlers of the
// object itself after `accept()`, or the cell's class after `acceptWebSocket()`.

import { core } from "ext:core/mod.js";
import {
  op_socket_accept,
  op_socket_attach,
  op_socket_attachment,
  op_socket_close,
  op_socket_from_resource,
  op_socket_hang_up,
  op_socket_has_left,
  op_socket_leave,
  op_socket_move,
  op_socket_next,
  op_socket_pair,
  op_socket_send_binary,
  op_socket_send_text,
  op_socket_state,
  op_socket_waiting,
} from "ext:core/ops";
import { checkClose, LOST_CODE, LOST_REASON } from "ext:celld_socket/close.js";
import { connect } from "ext:celld_socket/outbound.js";

const {
  CloseEvent,
  defineEventHandler,
  dispatch,
  ErrorEvent,
  Event,
  EventTarget,
  MessageEvent,
  setIsTrusted,
} = core.loadExtScript("ext:deno_web/02_event.js");
const { Blob } = core.loadExtScript("ext:deno_web/09_file.js");
const { DOMException } = core.loadExtScript("ext:deno_web/01_dom_exception.js");

const CONNECTING = 0;
const OPEN = 1;
const CLOSING = 2;
const CLOSED = 3;

/** Who uses the socket. */
const FRESH = 0;
const ACCEPTED = 1;
const PARKED = 2;
const RETURNED = 3;
const OUTBOUND = 4;

/** Bytes that an attachment may have, serialized. */
const MAX_ATTACHMENT = 16384;

const kMake = Symbol("make");

/** What the compatibility date and flags of the script choose; set by `configure`. */
let behaviour = { autoReply: true, blobs: true, limitsReason: true };

/** What sockets need of the events; set by `setHost`. */
let host = null;

function configure(chosen) {
  behaviour = chosen;
}

/**
 * @param {{ attach(socket: WebSocket): Owner, report(error: unknown): void }} provided
 * `attach` is called when handlers of the current event begin to own a socket. An `Owner` has
 * `deliver(run)`, which runs a handler in its turn and returns a promise if that is later;
 * `output(run)`, which does what leaves the event when it may; and `done()`, called once, when the socket has ended.
 */
function setHost(provided) {
  host = provided;
}

/** The failure of the handlers that are being called for an event of a socket. */
let failure = null;

const wrappers = new WeakMap();

/** A handler whose exception ends the socket instead of going to the global scope. */
function guarded(callback) {
  if (callback === null || (typeof callback !== "function" && typeof callback !== "object")) return callback;
  let wrapper = wrappers.get(callback);
  if (wrapper === undefined) {
    wrapper = function (event) {
      const during = failure;
      try {
        return typeof callback === "function" ? callback.call(this, event) : callback.handleEvent(event);
      } catch (error) {
        if (during === null) throw error;
        during.thrown ??= { error };
      }
    };
    wrappers.set(callback, wrapper);
  }
  return wrapper;
}

class WebSocket extends EventTarget {
  #phase = FRESH;
  /** The native object; null for a client. */
  #native = null;
  /** The other socket of the pair, for the rule that only one of them is used here. */
  #peer = null;
  #owner = null;
  #client = null;
  #binaryType = undefined;
  /** Whether this side stays open when the other one closes. */
  #halfOpen = false;
  #ended = false;
  /** The number of a parked socket in its cell. */
  #id = -1;

  constructor(url, protocols) {
    super();
    if (url === kMake) {
      this.#native = protocols;
      return;
    }
    if (arguments.length === 0) {
      throw new TypeError("Failed to construct 'WebSocket': constructor parameter 1 is not of type 'string'.");
    }
    this.#phase = OUTBOUND;
    this.#client = connect(url, protocols, {
      open: () => this.#later(() => this.#fire(new Event("open"))),
      message: (event) => this.#later(() => this.#message(event.data)),
      error: (event) => this.#later(() => this.#fire(new ErrorEvent("error", { message: event.message, error: event.error }))),
      close: (event) =>
        this.#later(() => {
          this.#fire(new CloseEvent("close", { code: event.code || LOST_CODE, reason: event.reason, wasClean: event.wasClean }));
          this.#end();
        }),
    });
    this.#owner = host.attach(this);
  }

  get readyState() {
    if (this.#client !== null) return this.#client.readyState;
    return this.#phase === RETURNED ? OPEN : op_socket_state(this.#native);
  }

  get url() {
    return this.#client?.url ?? null;
  }

  get protocol() {
    return this.#client?.protocol ?? "";
  }

  get extensions() {
    return this.#client?.extensions ?? "";
  }

  get bufferedAmount() {
    return this.#client?.bufferedAmount ?? op_socket_waiting(this.#native);
  }

  get binaryType() {
    return this.#binaryType ?? (behaviour.blobs ? "blob" : "arraybuffer");
  }

  set binaryType(value) {
    if (value === "blob" || value === "arraybuffer") this.#binaryType = value;
  }

  addEventListener(type, callback, options) {
    super.addEventListener(type, guarded(callback), options);
  }

  removeEventListener(type, callback, options) {
    super.removeEventListener(type, wrappers.get(callback) ?? callback, options);
  }

  accept(options) {
    switch (this.#phase) {
      case ACCEPTED:
        return;
      case PARKED:
        throw new TypeError("Can't accept() WebSocket after enabling hibernation.");
      case RETURNED:
        throw new TypeError("Can't accept() WebSocket that was already used in a response.");
      case OUTBOUND:
        throw new TypeError("Websockets obtained from the 'new WebSocket()' constructor cannot call accept");
    }
    this.#owner = host.attach(this);
    this.#phase = ACCEPTED;
    this.#halfOpen = options?.allowHalfOpen ?? !behaviour.autoReply;
    op_socket_accept(this.#native);
    this.#read();
  }

  send(message) {
    if (arguments.length === 0) {
      throw new TypeError(
        "Failed to execute 'send' on 'WebSocket': parameter 1 is not of type 'ArrayBuffer or ArrayBufferView or string'.",
      );
    }
    const data = ArrayBuffer.isView(message) || core.isAnyArrayBuffer(message) ? message : String(message);
    if (this.#client !== null) {
      if (this.#client.readyState >= CLOSING) throw new TypeError("Can't call WebSocket send() after close().");
      this.#client.send(data);
      return;
    }
    this.#requireAccepted();
    if (op_socket_has_left(this.#native)) throw new TypeError("Can't call WebSocket send() after close().");
    this.#owner.output(typeof data === "string" ? this.#sendingText(data) : this.#sendingBytes(data));
  }

  close(code = undefined, reason = undefined) {
    const number = checkClose(code, reason, behaviour.limitsReason);
    const text = reason === undefined ? "" : String(reason);
    if (this.#client !== null) {
      this.#client.close(code, reason);
      return;
    }
    this.#requireAccepted();
    if (op_socket_has_left(this.#native)) return;
    this.#leave(number, text);
    // A parked socket ends when the cell has handled its last event.
    if (this.#phase === ACCEPTED && op_socket_state(this.#native) === CLOSED) this.#end();
  }

  serializeAttachment(value) {
    if (arguments.length === 0) {
      throw new TypeError("Failed to execute 'serializeAttachment' on 'WebSocket': parameter 1 is not of type 'Value'.");
    }
    const bytes = core.serialize(value, undefined, (message) => {
      throw new DOMException(message, "DataCloneError");
    });
    if (bytes.byteLength > MAX_ATTACHMENT) {
      throw new Error(
        `A WebSocket 'attachment' cannot be larger than ${MAX_ATTACHMENT} bytes.'attachment' was ${bytes.byteLength} bytes.`,
      );
    }
    if (this.#native !== null) op_socket_attach(this.#native, bytes);
  }

  deserializeAttachment() {
    const bytes = this.#native === null ? null : op_socket_attachment(this.#native);
    return bytes === null ? null : core.deserialize(bytes);
  }

  #requireAccepted() {
    if (this.#phase !== ACCEPTED && this.#phase !== PARKED) {
      throw new TypeError("You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending messages.");
    }
  }

  #sendingText(text) {
    return () => {
      if (!op_socket_send_text(this.#native, text)) this.#overflow();
    };
  }

  #sendingBytes(data) {
    const view = ArrayBuffer.isView(data)
      ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength)
      : new Uint8Array(data);
    // The sender may change its buffer before the frame may leave.
    const bytes = this.#owner.isOpen() ? view : view.slice();
    return () => {
      if (!op_socket_send_binary(this.#native, bytes)) this.#overflow();
    };
  }

  #overflow() {
    host.report(new Error("A WebSocket was closed: its peer does not read what is sent."));
  }

  /** Closes this side: `readyState` changes at once, the frame follows everything sent before. */
  #leave(code, reason) {
    op_socket_leave(this.#native);
    this.#owner.output(() => op_socket_close(this.#native, code, reason));
  }

  async #read() {
    while (!this.#ended) {
      const said = await op_socket_next(this.#native);
      if (this.#ended) return;
      await this.#owner.deliver(() => this.#receive(said));
    }
  }

  #receive(said) {
    if (this.#ended) return;
    if (typeof said === "string" || core.isAnyArrayBuffer(said)) {
      this.#message(said);
    } else if (said === null) {
      // A peer that closed, and then left, has said all there is to say.
      if (!this.#heard) this.#fire(new CloseEvent("close", { code: LOST_CODE, reason: LOST_REASON, wasClean: false }));
      this.#end();
    } else if (Array.isArray(said)) {
      this.#heard = true;
      const [code, reason] = said;
      if (!this.#halfOpen && !op_socket_has_left(this.#native)) this.#leave(code, reason);
      this.#fire(new CloseEvent("close", { code, reason, wasClean: true }));
      if (op_socket_has_left(this.#native)) this.#end();
    } else {
      this.#fail(said);
    }
  }

  #heard = false;

  #message(data) {
    const value = typeof data === "string" || this.binaryType === "arraybuffer" ? data : new Blob([data]);
    const event = new MessageEvent("message", { data: value });
    event.origin = null;
    this.#fire(event);
  }

  /** Runs an event of a client in its owner's turn. */
  #later(run) {
    this.#owner.deliver(run);
  }

  /** Calls the handlers; one that throws ends the socket. */
  #fire(event) {
    const outer = failure;
    const own = { thrown: undefined };
    failure = own;
    try {
      setIsTrusted(event, true);
      dispatch(this, event);
    } finally {
      failure = outer;
    }
    if (own.thrown !== undefined) {
      host.report(own.thrown.error);
      this.#fail(own.thrown.error);
    }
  }

  #fail(error) {
    if (this.#ended) return;
    this.#end();
    this.#fire(new ErrorEvent("error", { error, message: `Uncaught ${error}` }));
  }

  /** Nothing more is read or sent. */
  #end() {
    if (this.#ended) return;
    this.#ended = true;
    if (this.#client === null) {
      // What was sent before may still wait for its turn.
      this.#owner.output(() => op_socket_hang_up(this.#native));
    } else if (this.#client.readyState < CLOSING) {
      this.#client.close();
    }
    this.#owner.done();
  }

  // For the host's modules: these are removed from the class below.

  static native(socket) {
    return socket.#native;
  }

  static is(value) {
    return typeof value === "object" && value !== null && #phase in value;
  }

  static makePair() {
    const [a, b] = op_socket_pair();
    const first = new WebSocket(kMake, a);
    const second = new WebSocket(kMake, b);
    first.#peer = second;
    second.#peer = first;
    return [first, second];
  }

  /** Takes the native object for a response that leaves the handler. Throws as the platform does. */
  static takeForResponse(socket) {
    switch (socket.#phase) {
      case ACCEPTED:
        throw new TypeError("Can't return WebSocket in a Response after calling accept().");
      case PARKED:
        throw new TypeError("Can't return WebSocket in a Response after calling acceptWebSocket().");
      case RETURNED:
        throw new TypeError("Can't return WebSocket that was already used in a response.");
      case OUTBOUND:
        throw new TypeError("Can't return WebSocket in a Response if it was created with `new WebSocket()`");
    }
    socket.#phase = RETURNED;
    return socket.#native;
  }

  /** Marks the socket as read by its cell's class. `park(native)` does it and returns the number. */
  static park(socket, owner, park) {
    if (socket.#phase === ACCEPTED || socket.#phase === PARKED || socket.#phase === OUTBOUND) {
      throw new Error("Cannot call `acceptWebSocket()` if the WebSocket was already accepted via `accept()`");
    }
    const peer = socket.#peer;
    if (socket.#phase === RETURNED || (peer !== null && peer.#phase !== FRESH)) {
      throw new Error(
        "Cannot call `acceptWebSocket()` on this WebSocket because its pair has already been accepted or used in a Response.",
      );
    }
    const id = park(socket.#native);
    socket.#phase = PARKED;
    socket.#owner = owner;
    socket.#id = id;
    return id;
  }

  /** The object for a socket that was parked by an earlier instance. */
  static unpark(native, owner, id) {
    const socket = new WebSocket(kMake, native);
    socket.#phase = PARKED;
    socket.#owner = owner;
    socket.#id = id;
    return socket;
  }

  /** A parked socket's close was handled: answers it, if the handler has not, and lets go. */
  static release(socket, code, reason) {
    if (socket.#ended) return;
    socket.#ended = true;
    if (!op_socket_has_left(socket.#native)) socket.#leave(code, reason);
    socket.#owner.output(() => op_socket_hang_up(socket.#native));
  }

  /** Ends an accepted socket from the host's side. */
  static close(socket, code, reason) {
    if (socket.#ended) return;
    socket.#ended = true;
    if (socket.#client !== null) {
      socket.#client.close();
      return;
    }
    if (!op_socket_has_left(socket.#native)) op_socket_close(socket.#native, code, reason);
    op_socket_hang_up(socket.#native);
  }
}

const native = WebSocket.native;
const isWebSocket = WebSocket.is;
const makePair = WebSocket.makePair;
const takeForResponse = WebSocket.takeForResponse;
const parkSocket = WebSocket.park;
const unparkSocket = WebSocket.unpark;
const releaseSocket = WebSocket.release;
const closeSocket = WebSocket.close;
for (const name of ["native", "is", "makePair", "takeForResponse", "park", "unpark", "release", "close"]) delete WebSocket[name];

/** A new socket over the end of `socket`, for the receiver of a response of this isolate. */
function moveSocket(socket) {
  const moved = op_socket_move(takeForResponse(socket));
  if (moved === null) throw new TypeError("Can't return WebSocket that was already used in a response.");
  return new WebSocket(kMake, moved);
}

/** Two connected ends: a socket for user code and the native object for whoever is behind it. */
function makeEnds() {
  const [a, b] = op_socket_pair();
  return [new WebSocket(kMake, a), b];
}

/** A new socket over an end that the host left under a resource number. */
function socketFromResource(rid) {
  return new WebSocket(kMake, op_socket_from_resource(rid));
}

function constants(target) {
  const values = { CONNECTING, OPEN, CLOSING, CLOSED };
  for (const [name, value] of Object.entries(values)) {
    for (const key of [`READY_STATE_${name}`, name]) {
      Object.defineProperty(target, key, { __proto__: null, value, enumerable: true, configurable: true });
    }
  }
}

constants(WebSocket);
constants(WebSocket.prototype);
for (const name of ["open", "message", "error", "close"]) defineEventHandler(WebSocket.prototype, name);
for (const name of Object.getOwnPropertyNames(WebSocket.prototype)) {
  if (name !== "constructor") Object.defineProperty(WebSocket.prototype, name, { __proto__: null, enumerable: true });
}
Object.defineProperty(WebSocket.prototype, Symbol.toStringTag, { __proto__: null, value: "WebSocket", configurable: true });

function WebSocketPair() {
  if (new.target === undefined) {
    throw new TypeError(
      "Failed to construct 'WebSocketPair': Please use the 'new' operator, this object constructor cannot be called as a function.",
    );
  }
  const pair = makePair();
  for (let i = 0; i < 2; i++) {
    Object.defineProperty(this, i, { __proto__: null, value: pair[i], enumerable: true, configurable: true });
  }
}
Object.defineProperty(WebSocketPair, "prototype", { __proto__: null, writable: false });
Object.defineProperty(WebSocketPair.prototype, Symbol.iterator, {
  __proto__: null,
  *value() {
    yield this[0];
    yield this[1];
  },
  writable: true,
  configurable: true,
});
Object.defineProperty(WebSocketPair.prototype, Symbol.toStringTag, { __proto__: null, value: "WebSocketPair", configurable: true });

export {
  closeSocket,
  configure,
  isWebSocket,
  makeEnds,
  moveSocket,
  native,
  parkSocket,
  releaseSocket,
  setHost,
  socketFromResource,
  takeForResponse,
  unparkSocket,
  WebSocket,
  WebSocketPair,
};
