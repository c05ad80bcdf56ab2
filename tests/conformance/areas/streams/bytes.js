// Byte streams and BYOB readers.

import { bytes, byteSource, source, text } from "./sources.js";
import { caught, error, threw } from "./suite.js";

export function bytesCases(test) {
  test("bytes: default reader", async () => text((await byteSource("abc").getReader().read()).value), "abc");
  test(
    "bytes: BYOB reader",
    async () => {
      const reader = byteSource("abcdef").getReader({ mode: "byob" });
      const first = await reader.read(new Uint8Array(4));
      const second = await reader.read(new Uint8Array(4));
      return [text(first.value), text(second.value)];
    },
    ["abcd", "ef"],
  );
  test(
    "bytes: BYOB at the end",
    async () => {
      const reader = new ReadableStream({
        type: "bytes",
        start(controller) {
          controller.close();
        },
      }).getReader({ mode: "byob" });
      const { value, done } = await reader.read(new Uint8Array(4));
      return [value?.constructor.name, value?.length, done];
    },
    ["Uint8Array", 0, true],
  );
  test("bytes: the view is detached", async () => {
    const view = new Uint8Array(4);
    await byteSource("ab").getReader({ mode: "byob" }).read(view);
    return view.byteLength;
  }, 0);
  test(
    "bytes: an offset is kept",
    async () => {
      const { value } = await byteSource("ab")
        .getReader({ mode: "byob" })
        .read(new Uint8Array(new ArrayBuffer(8), 2, 4));
      return [value.byteOffset, value.length, value.buffer.byteLength];
    },
    [2, 2, 8],
  );
  test(
    "bytes: a Uint16Array",
    async () => {
      const { value } = await byteSource("abcd").getReader({ mode: "byob" }).read(new Uint16Array(2));
      return [value.constructor.name, value.length];
    },
    ["Uint16Array", 2],
  );
  test(
    "bytes: an empty view",
    () => byteSource("a").getReader({ mode: "byob" }).read(new Uint8Array(0)),
    threw("TypeError", 'You must call read() on a "byob" reader with a positive-sized TypedArray object.'),
  );
  test(
    "bytes: no view",
    () => byteSource("a").getReader({ mode: "byob" }).read(),
    threw("TypeError", "Failed to execute 'read' on 'ReadableStreamBYOBReader': parameter 1 is not of type 'ArrayBufferView'."),
  );
  test(
    "bytes: BYOB of a stream that is none",
    () => source("a").getReader({ mode: "byob" }),
    threw("TypeError", "This ReadableStream does not support BYOB reads."),
  );
  test(
    "bytes: byobRequest",
    async () => {
      const out = [];
      const stream = new ReadableStream({
        type: "bytes",
        pull(controller) {
          const { view } = controller.byobRequest;
          out.push(view.constructor.name, view.byteLength);
          view[0] = 7;
          controller.byobRequest.respond(1);
        },
      });
      const { value } = await stream.getReader({ mode: "byob" }).read(new Uint8Array(3));
      return [out, [...value]];
    },
    [["Uint8Array", 3], [7]],
  );
  test(
    "bytes: respondWithNewView",
    async () => {
      const stream = new ReadableStream({
        type: "bytes",
        pull(controller) {
          const { view } = controller.byobRequest;
          const mine = new Uint8Array(view.buffer, view.byteOffset, 2);
          mine.set([1, 2]);
          controller.byobRequest.respondWithNewView(mine);
        },
      });
      return [...(await stream.getReader({ mode: "byob" }).read(new Uint8Array(3))).value];
    },
    [1, 2],
  );
  test(
    "bytes: respond too much",
    async () => {
      const stream = new ReadableStream({
        type: "bytes",
        pull(controller) {
          controller.byobRequest.respond(9);
        },
      });
      return stream.getReader({ mode: "byob" }).read(new Uint8Array(3));
    },
    threw("RangeError", "Too many bytes [9] in response to a BYOB read request."),
  );
  test(
    "bytes: autoAllocateChunkSize",
    async () => {
      let size;
      const stream = new ReadableStream({
        type: "bytes",
        autoAllocateChunkSize: 16,
        pull(controller) {
          size = controller.byobRequest.view.byteLength;
          controller.byobRequest.view[0] = 9;
          controller.byobRequest.respond(1);
        },
      });
      return [[...(await stream.getReader().read()).value], size];
    },
    [[9], 16],
  );
  test(
    "bytes: byobRequest without a BYOB reader",
    async () => {
      let request;
      const stream = new ReadableStream({
        type: "bytes",
        pull(controller) {
          request = controller.byobRequest;
          controller.enqueue(bytes("a"));
        },
      });
      await stream.getReader().read();
      return String(request);
    },
    "[object ReadableStreamBYOBRequest]",
  );
  test(
    "bytes: min",
    async () => {
      const reader = byteSource("a", "b", "c", "d").getReader({ mode: "byob" });
      return text((await reader.read(new Uint8Array(4), { min: 3 })).value);
    },
    "abc",
  );
  test(
    "bytes: readAtLeast",
    async () => {
      const reader = byteSource("a", "b", "c", "d").getReader({ mode: "byob" });
      return text((await reader.readAtLeast(3, new Uint8Array(8))).value);
    },
    "abc",
  );
  test(
    "bytes: readAtLeast too much",
    () => byteSource("a").getReader({ mode: "byob" }).readAtLeast(9, new Uint8Array(8)),
    threw("TypeError", "Minimum bytes to read (9) exceeds size of buffer (8)."),
  );
  test(
    "bytes: readAtLeast at the end",
    async () => {
      const { value, done } = await byteSource("a").getReader({ mode: "byob" }).readAtLeast(3, new Uint8Array(8));
      return [value && text(value), done];
    },
    ["a", false],
  );
  test(
    "bytes: enqueue of a string",
    () =>
      caught(() =>
        new ReadableStream({
          type: "bytes",
          start(controller) {
            controller.enqueue("a");
          },
        })
          .getReader()
          .read(),
      ),
    error("TypeError", "Failed to execute 'enqueue' on 'ReadableByteStreamController': parameter 1 is not of type 'BufferSource'."),
  );
  test(
    "bytes: enqueue of nothing",
    () =>
      caught(() =>
        new ReadableStream({
          type: "bytes",
          start(controller) {
            controller.enqueue(new Uint8Array(0));
          },
        })
          .getReader()
          .read(),
      ),
    error("TypeError", "Cannot enqueue a zero-length ArrayBuffer."),
  );
  test(
    "bytes: tee",
    async () => {
      const [a, b] = byteSource("ab", "cd").tee();
      const reader = a.getReader({ mode: "byob" });
      return [text((await reader.read(new Uint8Array(8))).value), text((await b.getReader().read()).value)];
    },
    ["ab", "ab"],
  );
}
