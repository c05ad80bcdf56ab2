// Bodies that code makes, on their way to the host.

import { core, primordials } from "ext:core/mod.js";
import {
  op_body_close,
  op_body_copy,
  op_body_fail,
  op_body_give,
  op_body_leave,
  op_body_room,
  op_body_sink,
  op_body_unread,
} from "ext:core/ops";
import { bytesOf } from "ext:celld_web/chunk.js";

const {
  acquireReadableStreamDefaultReader,
  isByteStream,
  readableStreamDefaultReaderRead,
  readableStreamReaderGenericCancel,
  setResourceForStream,
  takesFirst,
} = core.loadExtScript("ext:deno_web/06_streams.js");
const {
  ArrayBufferPrototypeGetByteLength,
  Promise,
  PromisePrototypeThen,
  String,
  TypedArrayPrototypeGetBuffer,
  TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeSet,
  Uint8Array,
} = primordials;

/** Nobody reads any more, there is room for more, `op_body_room` says when there will be. */
const GONE = 0;
const ROOM_LEFT = 1;
const FULL = 2;
/** Chunks of up to so many bytes are copied in any case. */
const SMALL = 4 * 1024;
/** The most bytes that are copied to the host; more stay in the memory that is counted as the code's. */
const MEDIUM = 64 * 1024;

const nothing = () => {};

/** What the reader is told of `error`, which may be anything. */
function messageOf(error) {
  try {
    if (typeof error === "string") return error;
    const message = error?.message;
    return typeof message === "string" ? message : String(message);
  } catch {
    return "an error without a text";
  }
}

function cancel(reader, reason) {
  PromisePrototypeThen(readableStreamReaderGenericCancel(reader, reason), nothing, nothing);
}

/** Takes the bytes of `chunk` to the host, those of a string as UTF-8. Returns one of the constants above. */
function write(sink, chunk, isOurs) {
  const isText = typeof chunk === "string";
  const bytes = isText ? core.encode(chunk) : bytesOf(chunk);
  const length = TypedArrayPrototypeGetByteLength(bytes);
  if (length === 0) return ROOM_LEFT;
  if (length <= SMALL) return op_body_copy(sink, bytes);
  // A part of a buffer would hold all of it.
  const isWhole = isText || (isOurs && 2 * length >= ArrayBufferPrototypeGetByteLength(TypedArrayPrototypeGetBuffer(bytes)));
  if (isWhole) return op_body_give(sink, bytes);
  if (length <= MEDIUM) return op_body_copy(sink, bytes);
  const copy = new Uint8Array(length);
  TypedArrayPrototypeSet(copy, bytes);
  return op_body_give(sink, copy);
}

async function pump(reader, sink, isOurs) {
  let settle;
  let fail;
  const request = {
    [takesFirst]: true,
    chunkSteps(chunk) {
      try {
        settle(write(sink, chunk, isOurs));
      } catch (error) {
        fail(error);
      }
    },
    closeSteps() {
      op_body_close(sink);
      settle(GONE);
    },
    errorSteps(error) {
      fail(error);
    },
  };
  const read = (resolve, reject) => {
    settle = resolve;
    fail = reject;
    readableStreamDefaultReaderRead(reader, request);
  };
  try {
    for (;;) {
      const state = await new Promise(read);
      if (state === GONE || (state === FULL && !(await op_body_room(sink)))) return;
    }
  } catch (error) {
    op_body_fail(sink, messageOf(error));
    cancel(reader, error);
  }
}

/**
 * The resource by which the host reads `stream`, which is locked from now on.
 *
 * A byte stream takes the buffers of its chunks away from the code that enqueues them, so that they go to the host as they are, and
 * are free again as soon as they are on the wire. Those of other streams are copied: the code may go on to write to them.
 */
function resourceForStream(stream, length) {
  const reader = acquireReadableStreamDefaultReader(stream);
  const sink = op_body_sink();
  const rid = op_body_leave(sink, length ?? -1);
  PromisePrototypeThen(op_body_unread(sink), (isUnread) => {
    if (isUnread) cancel(reader, "resource closed");
  }, nothing);
  pump(reader, sink, isByteStream(stream));
  return rid;
}

// For uploads.
setResourceForStream(resourceForStream);

export { resourceForStream };
