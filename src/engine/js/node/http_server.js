// `http.createServer` of a Worker: a server listens on a number that stands for a port, and requests reach it through
// `cloudflare:node`. No socket is involved.

import { core } from "ext:core/mod.js";
import { Buffer } from "node:buffer";
import { EventEmitter } from "node:events";
import { IncomingMessage as ClientMessage } from "node:_http_incoming";
import { OutgoingMessage } from "node:_http_outgoing";
import { STATUS_CODES } from "node:_http_server";
import { validateFunction, validatePort } from "ext:celld_node/internal.js";

const {
  ERR_HTTP_HEADERS_SENT,
  ERR_HTTP_INVALID_STATUS_CODE,
  ERR_INVALID_ARG_TYPE,
  ERR_STREAM_DESTROYED,
  ERR_STREAM_WRITE_AFTER_END,
} = core.loadExtScript("ext:deno_node/internal/errors.ts");
const { Headers, queueMicrotask, ReadableStream, Response, Uint8Array, URL } = globalThis;

/** Statuses whose response has no body. */
const NULL_BODY = new Set([101, 103, 204, 205, 304]);
/** Headers that belong to the connection, which is not the Worker's. */
const OF_THE_CONNECTION = new Set(["connection", "keep-alive", "transfer-encoding"]);
/** The first of the ports that `listen(0)` gives. */
const FIRST_EPHEMERAL = 49152;

/** What handlers find as `request.socket`. */
function makeSocket(secure) {
  const socket = new EventEmitter();
  return Object.assign(socket, {
    remoteAddress: "127.0.0.1",
    remoteFamily: "IPv4",
    remotePort: 0,
    encrypted: secure,
    readable: true,
    writable: true,
    destroyed: false,
    cork() {},
    uncork() {},
    setTimeout: () => socket,
    setNoDelay: () => socket,
    setKeepAlive: () => socket,
    ref: () => socket,
    unref: () => socket,
    destroy: () => socket,
    end: () => socket,
  });
}

/** A request as Node.js has it, over one of the platform. */
class IncomingMessage extends ClientMessage {
  #reader;

  constructor(request, env, ctx) {
    const url = new URL(request.url);
    super(makeSocket(url.protocol === "https:"));
    // Frameworks put their own prototype over that of `http.IncomingMessage`, in place of this class's.
    for (const name of ["_read", "_destroy"]) {
      Object.defineProperty(this, name, { value: this[name], writable: true, configurable: true });
    }
    this.method = request.method;
    this.url = url.pathname + url.search;
    this.httpVersion = "1.1";
    this.httpVersionMajor = 1;
    this.httpVersionMinor = 1;
    this.cloudflare = { env, ctx, cf: request.cf };
    const raw = [];
    for (const [name, value] of request.headers) {
      raw.push(name, value);
    }
    this._addHeaderLines(raw, raw.length);
    this.#reader = request.body?.getReader();
    const aborted = () => this.destroy(request.signal.reason);
    request.signal?.addEventListener("abort", aborted, { once: true });
  }

  _read() {
    if (!this._consuming) {
      // The base class has put reading ahead off until somebody reads.
      this._readableState.readingMore = false;
      this._consuming = true;
    }
    if (this.#reader === undefined) {
      this.complete = true;
      this.push(null);
      return;
    }
    this.#reader.read().then(({ done, value }) => {
      if (done) {
        this.complete = true;
        this.push(null);
      } else {
        this.push(Buffer.from(value.buffer, value.byteOffset, value.byteLength));
      }
    }, (error) => this.destroy(error));
  }

  _destroy(error, callback) {
    if (!this.readableEnded && !this.complete) {
      this.aborted = true;
      this.emit("aborted");
    }
    this.#reader?.cancel(error).catch(() => {});
    callback(this.listenerCount("error") > 0 ? error : null);
  }
}

/** The bytes of a chunk of a body. */
function toBytes(chunk, encoding) {
  if (typeof chunk === "string") {
    return Buffer.from(chunk, encoding);
  }
  if (chunk instanceof Uint8Array) {
    return chunk;
  }
  throw new ERR_INVALID_ARG_TYPE("chunk", ["string", "Buffer", "Uint8Array"], chunk);
}

/** A response as Node.js has it; `answer(response)` gets that of the platform once the headers are known. */
class ServerResponse extends OutgoingMessage {
  statusCode = 200;
  statusMessage = undefined;
  #answer;
  #controller = null;
  #needsDrain = false;

  constructor(request, options) {
    super(options);
    this.req = request;
    this.#answer = options?.answer;
    // Beside the accessor of the base class, which would write to it.
    Object.defineProperty(this, "socket", { value: request.socket, writable: true, configurable: true });
    if (request.method === "HEAD") {
      this._hasBody = false;
    }
  }

  _implicitHeader() {
    this.writeHead(this.statusCode);
  }

  writeHead(statusCode, reason, headers) {
    if (this._header) {
      throw new ERR_HTTP_HEADERS_SENT("write");
    }
    const status = statusCode | 0;
    if (status < 100 || status > 999) {
      throw new ERR_HTTP_INVALID_STATUS_CODE(statusCode);
    }
    if (typeof reason === "string") {
      this.statusMessage = reason;
    } else {
      headers ??= reason;
    }
    this.statusCode = status;
    this.statusMessage ??= STATUS_CODES[status] ?? "unknown";
    if (Array.isArray(headers)) {
      const pairs = Array.isArray(headers[0]) ? headers : Array.from(
        { length: headers.length / 2 },
        (_, i) => [headers[2 * i], headers[2 * i + 1]],
      );
      for (const [name] of pairs) {
        this.removeHeader(name);
      }
      for (const [name, value] of pairs) {
        this.appendHeader(name, value);
      }
    } else if (headers) {
      for (const [name, value] of Object.entries(headers)) {
        this.setHeader(name, value);
      }
    }
    if (NULL_BODY.has(status)) {
      this._hasBody = false;
    }
    // What Node.js keeps the text of the head in: headers cannot be changed any more.
    this._header = `HTTP/1.1 ${status} ${this.statusMessage}\r\n\r\n`;
    return this;
  }

  writeContinue(callback) {
    callback?.();
  }
  writeProcessing(callback) {
    callback?.();
  }
  writeEarlyHints(_hints, callback) {
    callback?.();
  }
  assignSocket() {}
  detachSocket() {}

  // Gives the response away, with `body`, whose length is `length` when nothing more comes.
  #respond(body, length = undefined) {
    const answer = this.#answer;
    this.#answer = undefined;
    this._headerSent = true;
    const headers = new Headers();
    for (const [name, value] of Object.entries(this.getHeaders())) {
      if (!OF_THE_CONNECTION.has(name)) {
        for (const each of Array.isArray(value) ? value : [value]) {
          headers.append(name, String(each));
        }
      }
    }
    if (!this._hasBody) {
      body = null;
    } else if (length !== undefined && !headers.has("content-length")) {
      headers.set("content-length", String(length));
    }
    answer?.(new Response(body, { status: this.statusCode, statusText: this.statusMessage, headers }));
  }

  #stream() {
    const { writableHighWaterMark: highWaterMark } = this;
    return new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
      pull: () => {
        if (this.#needsDrain) {
          this.#needsDrain = false;
          this.emit("drain");
        }
      },
      cancel: (reason) => {
        this.#controller = null;
        this.destroy(reason);
      },
    }, { highWaterMark, size: (chunk) => chunk.byteLength });
  }

  get writableNeedDrain() {
    return this.#needsDrain;
  }

  flushHeaders() {
    if (!this._header) {
      this._implicitHeader();
    }
    if (this.#answer !== undefined) {
      this.#respond(this.#stream());
    }
  }

  write(chunk, encoding, callback) {
    if (typeof encoding === "function") {
      callback = encoding;
      encoding = undefined;
    }
    const bytes = toBytes(chunk, encoding);
    const refusal = this.finished
      ? new ERR_STREAM_WRITE_AFTER_END()
      : this.destroyed
      ? new ERR_STREAM_DESTROYED("write")
      : null;
    if (refusal !== null) {
      queueMicrotask(() => {
        callback?.(refusal);
        if (this.listenerCount("error") > 0) {
          this.emit("error", refusal);
        }
      });
      return false;
    }
    this.flushHeaders();
    if (this._hasBody && bytes.byteLength > 0) {
      // A copy: the caller may use its buffer again.
      this.#controller?.enqueue(new Uint8Array(bytes));
    }
    if (callback) {
      queueMicrotask(() => callback(null));
    }
    this.#needsDrain = this.#controller !== null && this.#controller.desiredSize <= 0;
    return !this.#needsDrain;
  }

  end(chunk, encoding, callback) {
    if (typeof chunk === "function") {
      [chunk, callback] = [undefined, chunk];
    } else if (typeof encoding === "function") {
      [encoding, callback] = [undefined, encoding];
    }
    if (this.finished) {
      const refusal = new ERR_STREAM_WRITE_AFTER_END();
      queueMicrotask(() => callback?.(refusal));
      return this;
    }
    const hasChunk = chunk !== undefined && chunk !== null;
    const bytes = hasChunk ? toBytes(chunk, encoding) : new Uint8Array(0);
    if (!this._header) {
      this._implicitHeader();
    }
    if (callback) {
      this.once("finish", callback);
    }
    if (this.#answer !== undefined) {
      this.#respond(new Uint8Array(bytes), bytes.byteLength);
    } else {
      if (bytes.byteLength > 0) {
        this.write(bytes);
      }
      this.#controller?.close();
    }
    this.#controller = null;
    this.finished = true;
    queueMicrotask(() => {
      this.emit("finish");
      this.#close();
    });
    return this;
  }

  destroy(error) {
    if (this.destroyed) {
      return this;
    }
    this.destroyed = true;
    const reason = error ?? new Error("The response was destroyed before it was complete.");
    if (this.#answer !== undefined) {
      const answer = this.#answer;
      this.#answer = undefined;
      answer(Promise.reject(reason));
    }
    this.#controller?.error(reason);
    this.#controller = null;
    queueMicrotask(() => {
      if (error && this.listenerCount("error") > 0) {
        this.emit("error", error);
      }
      this.#close();
    });
    return this;
  }

  #close() {
    if (!this._closed) {
      this._closed = true;
      this.destroyed = true;
      this.emit("close");
    }
  }
}

class EADDRINUSE extends Error {
  constructor(port) {
    super(`bind EADDRINUSE 127.0.0.1:${port}`);
    Object.defineProperty(this, "name", { value: "Error", configurable: true });
    Object.assign(this, { code: "EADDRINUSE", syscall: "bind", address: "127.0.0.1", port });
  }
}

/** The servers that listen, by port. */
const servers = new Map();

function freePort() {
  let port = FIRST_EPHEMERAL;
  while (servers.has(port)) {
    port++;
  }
  return port;
}

class Server extends EventEmitter {
  httpAllowHalfOpen = false;
  timeout = 0;
  maxHeadersCount = null;
  maxRequestsPerSocket = 0;
  connectionsCheckingInterval = 30_000;
  requestTimeout = 300_000;
  headersTimeout = 60_000;
  requireHostHeader = true;
  joinDuplicateHeaders = false;
  rejectNonStandardBodyWrites = false;
  keepAliveTimeout = 5000;
  keepAliveTimeoutBuffer = 1000;
  highWaterMark = 65_536;
  #port = null;
  #Request = IncomingMessage;
  #Response = ServerResponse;

  constructor(options, listener) {
    super();
    if (typeof options === "function") {
      [options, listener] = [undefined, options];
    }
    for (const name of Object.keys(options ?? {})) {
      if (Object.hasOwn(this, name)) {
        this[name] = options[name];
      }
    }
    if (listener !== undefined) {
      validateFunction(listener, "requestListener");
      this.on("request", listener);
    }
  }

  listen(...args) {
    const callback = typeof args.at(-1) === "function" ? args.pop() : undefined;
    const first = args[0];
    const wanted = typeof first === "object" && first !== null ? first.port : first;
    const isPort = typeof wanted === "number" || (typeof wanted === "string" && /^\d+$/.test(wanted));
    const port = (isPort ? validatePort(wanted, "port", true) : 0) || freePort();
    if (servers.has(port)) {
      throw new EADDRINUSE(port);
    }
    servers.set(port, this);
    this.#port = port;
    if (callback) {
      this.once("listening", callback);
    }
    queueMicrotask(() => this.emit("listening"));
    return this;
  }

  close(callback) {
    if (callback) {
      this.once("close", callback);
    }
    if (this.#port !== null) {
      servers.delete(this.#port);
      this.#port = null;
    }
    queueMicrotask(() => this.emit("close"));
    return this;
  }

  /** Answers a request of the platform. */
  fetch(request, env, ctx) {
    return new Promise((resolve) => {
      const incoming = new this.#Request(request, env, ctx);
      const options = { highWaterMark: this.highWaterMark, answer: resolve };
      const response = new this.#Response(incoming, options);
      if (!this.emit("request", incoming, response)) {
        response.destroy(new Error("The server has no listener of its event \"request\"."));
      }
    });
  }

  get listening() {
    return this.#port !== null;
  }
  address() {
    return this.#port === null ? null : { port: this.#port, family: "IPv4", address: "127.0.0.1" };
  }
  setTimeout(milliseconds, callback) {
    this.timeout = milliseconds;
    if (callback) {
      this.on("timeout", callback);
    }
    return this;
  }
  getConnections(callback) {
    queueMicrotask(() => callback(null, 0));
    return this;
  }
  closeAllConnections() {}
  closeIdleConnections() {}
  ref() {
    return this;
  }
  unref() {
    return this;
  }
  get maxConnections() {
    return 0;
  }
  get connections() {
    return 0;
  }
}

function createServer(options, listener) {
  return new Server(options, listener);
}

/** The server that listens on `port`. */
function serverOn(port) {
  return servers.get(port);
}

export { createServer, IncomingMessage, Server, ServerResponse, serverOn };
