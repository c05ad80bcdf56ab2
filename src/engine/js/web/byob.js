// The platform's additions to readers of byte streams: `readAtLeast`, and `atLeast` of a request.

import { core } from "ext:core/mod.js";

const { ReadableStreamBYOBReader, ReadableStreamBYOBRequest } = core.loadExtScript("ext:deno_web/06_streams.js");

const { read } = ReadableStreamBYOBReader.prototype;

const additions = {
  /** As `read(view, { min })`, but the end of the stream after some bytes is not yet `done`. */
  async readAtLeast(minElements, view) {
    const refuse = (message) => {
      throw new TypeError(message);
    };
    const wrong = (position, type) =>
      refuse(`Failed to execute 'readAtLeast' on 'ReadableStreamBYOBReader': parameter ${position} is not of type '${type}'.`);
    if (minElements === undefined) wrong(1, "integer");
    if (!ArrayBuffer.isView(view)) wrong(2, "ArrayBufferView");
    const min = Math.trunc(Number(minElements)) || 0;
    const bytes = min * (view.BYTES_PER_ELEMENT ?? 1);
    if (min === 0) refuse("Requested invalid minimum number of bytes to read (0).");
    if (min < 0 || bytes > view.byteLength) {
      const shown = min < 0 ? BigInt.asUintN(64, BigInt(min)) : bytes;
      refuse(`Minimum bytes to read (${shown}) exceeds size of buffer (${view.byteLength}).`);
    }
    const { value, done } = await read.call(this, view, { min });
    return { value, done: done && !(value?.byteLength > 0) };
  },
};

const atLeast = {
  /** How many bytes the reader still waits for. */
  get atLeast() {
    const { view } = this;
    return view === null ? null : pendingMinimum(this) ?? 1;
  },
};

/** The value of the slot that `object` has under the symbol of this description. */
function slot(object, description) {
  const symbol = Object.getOwnPropertySymbols(object).find((each) => each.description === description);
  return symbol === undefined ? undefined : object[symbol];
}

/** What a BYOB reader asked for and has not got. */
function pendingMinimum(request) {
  const controller = slot(request, "[[controller]]");
  const pending = controller && slot(controller, "[[pendingPullIntos]]");
  const first = pending?.size > 0 ? pending.peek() : undefined;
  return first && first.minimumFill - first.bytesFilled;
}

Object.defineProperty(ReadableStreamBYOBReader.prototype, "readAtLeast", {
  __proto__: null,
  value: additions.readAtLeast,
  writable: true,
  enumerable: true,
  configurable: true,
});
Object.defineProperty(ReadableStreamBYOBRequest.prototype, "atLeast", {
  ...Object.getOwnPropertyDescriptor(atLeast, "atLeast"),
  enumerable: true,
});
