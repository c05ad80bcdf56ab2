// `IdentityTransformStream` and `FixedLengthStream`: byte streams without a queue. A write waits until all of its bytes are read.

import { core } from "ext:core/mod.js";

const { ReadableStream, TransformStream, WritableStream } = core.loadExtScript("ext:deno_web/06_streams.js");
const { knownLengths } = core.loadExtScript("ext:deno_fetch/22_body.js");

const NOT_BYTES =
  "This TransformStream is being used as a byte stream, but received an object of non-ArrayBuffer/ArrayBufferView type on its " +
  "writable side.";

/** The slots in which `TransformStream` keeps its two sides. */
const [kReadable, kWritable] = ["[[readable]]", "[[writable]]"].map((name) =>
  Object.getOwnPropertySymbols(new TransformStream()).find(({ description }) => description === name)
);

/** The bytes of what is written to a byte stream; throws `TypeError(message)` for what has none. */
function chunkBytes(chunk, message) {
  if (typeof chunk === "string") return core.encode(chunk);
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (core.isAnyArrayBuffer(chunk)) return new Uint8Array(chunk);
  if (chunk === undefined) return new Uint8Array();
  throw new TypeError(message);
}

/** The two ends and what is on its way between them: at most one write. */
class Passage {
  #source = null;
  #sink = null;
  /** A write whose bytes are not all read: `{ rest, done }`. */
  #write = null;
  /** Resolves a pull that found nothing. */
  #pulled = null;
  /** Bytes that are still to come; -1 without a limit. */
  #left;
  #isClosed = false;

  constructor(length, strategy) {
    this.#left = length;
    this.readable = new ReadableStream({
      type: "bytes",
      start: (controller) => void (this.#source = controller),
      pull: () => this.#pull(),
      cancel: (reason) => this.#cancel(reason),
    });
    this.writable = new WritableStream({
      start: (controller) => void (this.#sink = controller),
      write: (chunk) => this.#writeChunk(chunk),
      close: () => this.#close(),
      abort: (reason) => this.#fail(reason === undefined ? new Error("undefined") : reason),
    }, strategy);
  }

  #pull() {
    return new Promise((resolve) => {
      this.#pulled = resolve;
      this.#pass();
    });
  }

  #writeChunk(chunk) {
    const bytes = chunkBytes(chunk, NOT_BYTES);
    if (bytes.byteLength === 0) return;
    if (this.#left >= 0) {
      if (bytes.byteLength > this.#left) {
        const error = new TypeError("Attempt to write too many bytes through a FixedLengthStream.");
        this.#sink.error(error);
        this.#fail(error);
        return;
      }
      this.#left -= bytes.byteLength;
    }
    return new Promise((done) => {
      // The writer may change its buffer as soon as it likes.
      this.#write = { rest: bytes.slice(), done };
      this.#pass();
    });
  }

  /** Gives a waiting reader what a waiting writer has. */
  #pass() {
    const write = this.#write;
    const pulled = this.#pulled;
    if (write === null || pulled === null) return;
    this.#pulled = null;
    const { rest } = write;
    const request = this.#source.byobRequest;
    if (request === null) {
      this.#write = null;
      this.#source.enqueue(rest);
    } else {
      const { view } = request;
      const count = Math.min(view.byteLength, rest.byteLength);
      view.set(rest.subarray(0, count));
      if (count < rest.byteLength) write.rest = rest.subarray(count);
      else this.#write = null;
      request.respond(count);
    }
    if (this.#write === null) write.done();
    pulled();
  }

  #close() {
    if (this.#left > 0) {
      this.#fail(new TypeError("FixedLengthStream did not see all expected bytes before close()."));
      return;
    }
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#source.close();
    this.#source.byobRequest?.respond(0);
    this.#pulled?.();
  }

  #fail(error) {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#source.error(error);
    this.#pulled?.();
  }

  #cancel(reason) {
    this.#isClosed = true;
    this.#sink.error(reason);
    this.#write?.done();
    this.#write = null;
  }
}

/** What a writer is told it may write: any number of chunks, or `highWaterMark` bytes. */
function strategyOf(given) {
  const highWaterMark = given?.highWaterMark;
  if (highWaterMark === undefined) return { highWaterMark: 1, size: () => 0 };
  return { highWaterMark, size: (chunk) => chunk?.byteLength ?? chunk?.length ?? 0 };
}

function connect(stream, length, strategy) {
  const passage = new Passage(length, strategyOf(strategy));
  stream[kReadable] = passage.readable;
  stream[kWritable] = passage.writable;
  return passage.readable;
}

class IdentityTransformStream extends TransformStream {
  constructor(strategy = undefined) {
    super();
    if (new.target !== FixedLengthStream) connect(this, -1, strategy);
  }

  get [Symbol.toStringTag]() {
    return "IdentityTransformStream";
  }
}

class FixedLengthStream extends IdentityTransformStream {
  constructor(expectedLength = undefined, strategy = undefined) {
    super();
    if (expectedLength === undefined) {
      throw new TypeError("Failed to construct 'FixedLengthStream': constructor parameter 1 is not of type 'bigint'.");
    }
    const length = typeof expectedLength === "bigint" ? Number(expectedLength) : Math.trunc(Number(expectedLength)) || 0;
    if (length < 0) {
      throw new TypeError("The value cannot be converted because it is negative and this API expects a positive bigint.");
    }
    knownLengths.set(connect(this, length, strategy), length);
  }

  get [Symbol.toStringTag]() {
    return "FixedLengthStream";
  }
}

Object.defineProperty(IdentityTransformStream, "length", { value: 0 });
Object.defineProperty(FixedLengthStream, "length", { value: 0 });

export { chunkBytes, FixedLengthStream, IdentityTransformStream };
