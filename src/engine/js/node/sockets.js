// `connect` of `cloudflare:sockets`: TCP connections as pairs of streams, with TLS from the start or later.
//
// The permissions of the isolate decide which addresses can be reached, as for `fetch`.

import { core } from "ext:core/mod.js";
import { outputGate } from "ext:celld_socket/fetch.js";
import { unsupported } from "ext:celld_node/errors.js";

const { connect: connectTcp } = core.loadExtScript("ext:deno_net/01_net.js");
const { connectTls, startTlsInternal } = core.loadExtScript("ext:deno_net/02_tls.js");
const { ReadableStream, WritableStream } = core.loadExtScript("ext:deno_web/06_streams.js");
const { TextEncoder, URL } = globalThis;

const MAX_PORT = 65_535;
/** Mail servers would be the first to suffer from a Worker that was taken over. */
const SMTP_PORT = 25;
const READ_SIZE = 16 * 1024;
const TRANSPORTS = ["off", "on", "starttls"];
const kMake = Symbol("make");

const encoder = new TextEncoder();

function parseText(text) {
  let url;
  try {
    // Of a scheme without a default port, so that every port is kept.
    url = new URL(`celld://${text}`);
  } catch {
    throw new TypeError("Specified address could not be parsed.");
  }
  if (url.hostname === "") {
    throw new TypeError("Specified address is missing hostname.");
  }
  if (url.port === "") {
    throw new TypeError("Specified address is missing port.");
  }
  return { hostname: url.hostname, port: Number(url.port) };
}

function parseAddress(address) {
  if (address === undefined || address === null) {
    throw new TypeError(
      "Cannot initialize N7workerd3api13SocketAddressE with required members from an undefined or null value.",
    );
  }
  if (typeof address !== "object") {
    return parseText(String(address));
  }
  const port = Number(address.port);
  if (!Number.isInteger(port)) {
    throw new TypeError("The value cannot be converted because it is not an integer.");
  }
  if (port < 0) {
    throw new TypeError("The value cannot be converted because it is negative and this API expects a positive number.");
  }
  if (port > MAX_PORT) {
    throw new TypeError(`Value out of range. Must be less than or equal to ${MAX_PORT}.`);
  }
  return { hostname: String(address.hostname), port };
}

function parseOptions(options) {
  if (options === undefined || options === null) {
    return { transport: "off", allowHalfOpen: false };
  }
  if (typeof options !== "object") {
    throw new TypeError("Failed to execute 'connect' on 'SocketsModule': parameter 2 is not of type 'SocketOptions'.");
  }
  const transport = options.secureTransport === undefined ? "off" : String(options.secureTransport);
  if (!TRANSPORTS.includes(transport)) {
    throw new TypeError(`Unsupported value in secureTransport socket option: ${transport}`);
  }
  return { transport, allowHalfOpen: Boolean(options.allowHalfOpen) };
}

function cannotConnect({ port }) {
  const hint = port === 80 || port === 443
    ? ". It looks like you might be trying to connect to a HTTP-based service — consider using fetch instead"
    : "";
  return new Error(`proxy request failed, cannot connect to the specified address${hint}`);
}

function toBytes(chunk) {
  if (typeof chunk === "string") {
    return encoder.encode(chunk);
  }
  if (ArrayBuffer.isView(chunk)) {
    return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  }
  if (core.isAnyArrayBuffer(chunk)) {
    return new Uint8Array(chunk);
  }
  throw new TypeError(
    "This TransformStream is being used as a byte stream, but received an object of non-ArrayBuffer/ArrayBufferView " +
      "type on its writable side.",
  );
}

async function writeAll(connection, bytes) {
  for (let sent = 0; sent < bytes.byteLength;) {
    sent += await connection.write(bytes.subarray(sent));
  }
}

async function open(address, transport) {
  if (address.port === SMTP_PORT) {
    throw cannotConnect(address);
  }
  await outputGate();
  // An IPv6 address has brackets in an authority.
  const hostname = address.hostname.replace(/^\[(.*)\]$/, "$1");
  try {
    if (transport !== "on") {
      return await connectTcp({ hostname, port: address.port });
    }
    const connection = await connectTls({ hostname, port: address.port });
    await connection.handshake();
    return connection;
  } catch {
    // The reason would say what the network around the node looks like.
    throw cannotConnect(address);
  }
}

class Socket {
  #address;
  #options;
  #connection;
  #opened;
  #closed = Promise.withResolvers();
  #readable;
  #writable;
  #controller;
  #isClosed = false;
  #isUpgraded = false;

  /** `connection` is a promise of one of Deno's connections. */
  constructor(key, address, options, connection) {
    if (key !== kMake) {
      throw new TypeError("Illegal constructor");
    }
    this.#address = address;
    this.#options = options;
    this.#connection = connection;
    this.#opened = connection.then(() => ({
      remoteAddress: `${address.hostname}:${address.port}`,
      localAddress: undefined,
    }));
    // Whoever looks at neither has a look at the streams.
    this.#opened.catch(() => {});
    this.#closed.promise.catch(() => {});
    this.#readable = this.#makeReadable();
    this.#writable = this.#makeWritable();
    connection.catch((error) => this.#fail(error));
  }

  #makeReadable() {
    return new ReadableStream({
      type: "bytes",
      autoAllocateChunkSize: READ_SIZE,
      start: (controller) => {
        this.#controller = controller;
      },
      pull: async (controller) => {
        const connection = await this.#connection;
        const request = controller.byobRequest;
        let count;
        try {
          count = await connection.read(request.view);
        } catch (error) {
          if (this.#isClosed) {
            return;
          }
          this.#fail(new Error("Network connection lost."));
          throw error;
        }
        if (this.#isClosed) {
          return;
        }
        if (count !== null) {
          request.respond(count);
          return;
        }
        controller.close();
        request.respond(0);
        if (!this.#options.allowHalfOpen && !this.#writable.locked) {
          this.close();
        }
      },
      cancel: () => {},
    });
  }

  #makeWritable() {
    return new WritableStream({
      write: async (chunk) => {
        const bytes = toBytes(chunk);
        const gate = outputGate();
        const connection = await this.#connection;
        await gate;
        try {
          await writeAll(connection, bytes);
        } catch {
          const error = new Error("Network connection lost.");
          this.#fail(error);
          throw error;
        }
      },
      close: async () => {
        const connection = await this.#connection;
        if (!this.#isClosed) {
          await connection.closeWrite().catch(() => {});
        }
      },
      abort: () => this.#release(),
    }, { highWaterMark: 1 });
  }

  #release() {
    if (!this.#isClosed) {
      this.#isClosed = true;
      this.#connection.then((connection) => {
        if (!this.#isUpgraded) {
          connection[Symbol.dispose]();
        }
      }, () => {});
    }
  }

  #fail(error) {
    this.#release();
    this.#closed.reject(error);
    try {
      this.#controller.error(error);
    } catch {
      // The stream has ended already.
    }
    if (!this.#writable.locked) {
      this.#writable.abort(error).catch(() => {});
    }
  }

  get readable() {
    return this.#readable;
  }
  get writable() {
    return this.#writable;
  }
  get opened() {
    return this.#opened;
  }
  get closed() {
    return this.#closed.promise;
  }
  get upgraded() {
    return false;
  }
  get secureTransport() {
    return this.#options.transport;
  }

  /** Ends the connection once what was written has been sent. */
  async close() {
    try {
      await this.#connection;
    } catch {
      return;
    }
    if (this.#isClosed) {
      return;
    }
    if (!this.#writable.locked) {
      await this.#writable.close().catch(() => {});
    }
    this.#release();
    try {
      this.#controller.error(new TypeError("This socket has been closed."));
    } catch {
      // It has ended already.
    }
    this.#closed.resolve(undefined);
  }

  /** Gives the socket that goes on with TLS; this one is finished. */
  startTls(options = undefined) {
    if (this.#options.transport === "on") {
      throw new TypeError("Cannot startTls on a TLS socket.");
    }
    if (this.#options.transport !== "starttls") {
      throw new TypeError("The `secureTransport` socket option must be set to 'starttls' for startTls to be used.");
    }
    if (this.#isUpgraded) {
      throw new TypeError(
        "startTls has already been called on this socket, or the socket was transferred over RPC.",
      );
    }
    this.#isUpgraded = true;
    const hostname = options?.expectedServerHostname ?? this.#address.hostname;
    const secure = this.#connection.then(async (connection) => {
      this.#isClosed = true;
      try {
        const upgraded = startTlsInternal(connection, { hostname: String(hostname) });
        await upgraded.handshake();
        return upgraded;
      } catch {
        throw new Error("The TLS handshake failed.");
      } finally {
        this.#closed.resolve(undefined);
      }
    });
    return new Socket(kMake, this.#address, { ...this.#options, transport: "on" }, secure);
  }

  get [Symbol.toStringTag]() {
    return "Socket";
  }
}

function connect(address, options) {
  const where = parseAddress(address);
  const how = parseOptions(options);
  return new Socket(kMake, where, how, open(where, how.transport));
}

const internalNewHttpClient = unsupported("internalNewHttpClient", 1);

export { connect, internalNewHttpClient };
