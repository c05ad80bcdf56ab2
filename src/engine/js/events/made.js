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
  Promise,
  PromisePrototypeThen,
  String,
  TypedArrayPrototypeGetByteLength,
  TypedArrayPrototypeSlice,
} = primordials;

/** Nobody reads any more, there is room for more, `op_body_room` says when there will be. */
const GONE = 0;
const ROOM_LEFT = 1;
const FULL = 2;
/** The most bytes that are copied to the host; more stay in the memory that is counted as the code's. */
const SMALL = 64 * 1024;

const nothing = () => {};

function messageOf(error) {
  if (typeof error === "string") return error;
  const message = error?.message;
  return typeof message === "string" ? message : String(message);
}

function cancel(reader, reason) {
  PromisePrototypeThen(readableStreamReaderGenericCancel(reader, reason), nothing, nothing);
}

/** Takes the bytes of `chunk` to the host. Returns one of the constants above. */
function write(sink, chunk, isOurs, takesText) {
  if (takesText && typeof chunk === "string") {
    chunk = core.encode(chunk);
    isOurs = true;
  }
  const bytes = bytesOf(chunk);
  const length = TypedArrayPrototypeGetByteLength(bytes);
  if (length === 0) return ROOM_LEFT;
  if (isOurs) return op_body_give(sink, bytes);
  return length <= SMALL ? op_body_copy(sink, bytes) : op_body_give(sink, TypedArrayPrototypeSlice(bytes));
}

async function pump(reader, sink, isOurs, takesText) {
  let settle;
  let fail;
  const request = {
    [takesFirst]: true,
    chunkSteps(chunk) {
      try {
        settle(write(sink, chunk, isOurs, takesText));
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
 * are free again as soon as they are on the wire. Those of other streams are copied: the code may go on to write to them. A chunk that
 * is a string is an error, or taken as UTF-8.
 */
function resourceForStream(stream, length, takesText = false) {
  const reader = acquireReadableStreamDefaultReader(stream);
  const sink = op_body_sink();
  const rid = op_body_leave(sink, length ?? -1);
  PromisePrototypeThen(op_body_unread(sink), (isUnread) => {
    if (isUnread) cancel(reader, "resource closed");
  }, nothing);
  pump(reader, sink, isByteStream(stream), takesText);
  return rid;
}

// For uploads.
setResourceForStream(resourceForStream);

export { resourceForStream };
