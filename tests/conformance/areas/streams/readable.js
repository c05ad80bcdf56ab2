// Default readers, and `tee`.

import { collect, source } from "./sources.js";
import { caught, error, threw } from "./suite.js";

export function readableCases(test) {
  test(
    "readable: start, pull and cancel in order",
    async () => {
      const out = [];
      const stream = new ReadableStream(
        {
          start() {
            out.push("start");
          },
          pull(controller) {
            out.push("pull");
            controller.enqueue(out.length);
          },
          cancel(reason) {
            out.push(`cancel ${reason}`);
          },
        },
        { highWaterMark: 0 },
      );
      const reader = stream.getReader();
      const read = await reader.read();
      await reader.cancel("enough");
      return [out, read];
    },
    [["start", "pull", "cancel enough"], { value: 2, done: false }],
  );
  test("readable: pull until the mark", async () => {
    let pulled = 0;
    new ReadableStream(
      {
        pull(controller) {
          controller.enqueue(pulled++);
        },
      },
      { highWaterMark: 3 },
    );
    await scheduler.wait(5);
    return pulled;
  }, 3);
  test(
    "readable: desiredSize",
    () => {
      const out = [];
      new ReadableStream(
        {
          start(controller) {
            out.push(controller.desiredSize);
            controller.enqueue("a");
            out.push(controller.desiredSize);
            controller.enqueue("b");
            out.push(controller.desiredSize);
          },
        },
        { highWaterMark: 1 },
      );
      return out;
    },
    [1, 0, -1],
  );
  test("readable: a size function", () => {
    let size;
    new ReadableStream(
      {
        start(controller) {
          controller.enqueue("abcd");
          size = controller.desiredSize;
        },
      },
      { highWaterMark: 10, size: (chunk) => chunk.length },
    );
    return size;
  }, 6);
  test(
    "readable: read after close",
    async () => {
      const reader = source("a").getReader();
      return [await reader.read(), await reader.read(), await reader.read()];
    },
    [
      { value: "a", done: false },
      { value: undefined, done: true },
      { value: undefined, done: true },
    ],
  );
  test(
    "readable: closed",
    async () => {
      const reader = source("a").getReader();
      const order = [];
      const closed = reader.closed.then(() => order.push("closed"));
      order.push((await reader.read()).value);
      await closed;
      return order;
    },
    ["closed", "a"],
  );
  test(
    "readable: error",
    async () => {
      const reader = new ReadableStream({
        start(controller) {
          controller.error(new RangeError("boom"));
        },
      }).getReader();
      return [(await caught(() => reader.read())).message, (await caught(() => reader.closed)).name];
    },
    ["boom", "RangeError"],
  );
  test(
    "readable: start throws",
    () =>
      String(
        new ReadableStream({
          start() {
            throw new RangeError("boom");
          },
        }),
      ),
    "[object ReadableStream]",
  );
  test(
    "readable: pull rejects",
    () =>
      new ReadableStream({
        pull() {
          return Promise.reject(new RangeError("boom"));
        },
      })
        .getReader()
        .read(),
    threw("RangeError", "boom"),
  );
  test(
    "readable: enqueue after close",
    () => {
      let controller;
      new ReadableStream({
        start(c) {
          controller = c;
        },
      });
      controller.close();
      controller.enqueue("a");
    },
    threw("TypeError", "Unable to enqueue"),
  );
  test(
    "readable: close twice",
    () => {
      let controller;
      new ReadableStream({
        start(c) {
          controller = c;
        },
      });
      controller.close();
      controller.close();
    },
    threw("TypeError", "This ReadableStream is closed."),
  );
  test(
    "readable: locked",
    () => {
      const stream = source("a");
      const before = stream.locked;
      stream.getReader();
      return [before, stream.locked];
    },
    [false, true],
  );
  test(
    "readable: a second reader",
    () => {
      const stream = source("a");
      stream.getReader();
      stream.getReader();
    },
    threw("TypeError", "This ReadableStream is currently locked to a reader."),
  );
  test(
    "readable: cancel while locked",
    () => {
      const stream = source("a");
      stream.getReader();
      return stream.cancel();
    },
    threw("TypeError", "This ReadableStream is currently locked to a reader."),
  );
  test(
    "readable: releaseLock",
    async () => {
      const stream = source("a", "b");
      const first = stream.getReader();
      await first.read();
      first.releaseLock();
      return [(await stream.getReader().read()).value, await caught(() => first.read())];
    },
    ["b", error("TypeError", "This ReadableStream reader has been released.")],
  );
  test(
    "readable: releaseLock with a pending read",
    async () => {
      const stream = new ReadableStream();
      const reader = stream.getReader();
      const pending = reader.read();
      reader.releaseLock();
      return pending;
    },
    threw("TypeError", "This ReadableStream reader has been released."),
  );
  test("readable: cancel is idempotent", async () => {
    let count = 0;
    const stream = new ReadableStream({
      cancel() {
        count++;
      },
    });
    await stream.cancel();
    await stream.cancel();
    return count;
  }, 1);
  test(
    "readable: cancel rejects",
    () =>
      new ReadableStream({
        cancel() {
          throw new RangeError("boom");
        },
      }).cancel(),
    threw("RangeError", "boom"),
  );
  test("readable: a wrong type", () => new ReadableStream({ type: "x" }), threw("TypeError", '"x" is not a valid type of ReadableStream.'));
  test(
    "readable: a wrong mode",
    () => source("a").getReader({ mode: "x" }),
    threw("TypeError", "mode must be undefined or 'byob' in call to getReader()."),
  );
  test(
    "readable: autoAllocateChunkSize 0",
    () => new ReadableStream({ type: "bytes", autoAllocateChunkSize: 0 }),
    threw("TypeError", "The autoAllocateChunkSize option cannot be zero."),
  );
  test(
    "readable: a negative mark",
    () => new ReadableStream({}, { highWaterMark: -1 }),
    threw("TypeError", "The value cannot be converted because it is negative and this API expects a positive bigint."),
  );
  test(
    "readable: pull is no function",
    () => new ReadableStream({ pull: 1 }),
    threw("TypeError", "Incorrect type for the 'pull' field on 'UnderlyingSource': the provided value is not of type 'function'."),
  );
  test(
    "readable: of a number",
    () => new ReadableStream(1),
    threw("TypeError", "Failed to construct 'ReadableStream': constructor parameter 1 is not of type 'UnderlyingSource'."),
  );
  test("readable: async iteration", () => collect(source(1, 2, 3)), [1, 2, 3]);
  test(
    "readable: leaving the iteration cancels",
    async () => {
      let cancelled = false;
      const stream = new ReadableStream({
        pull(controller) {
          controller.enqueue(1);
        },
        cancel() {
          cancelled = true;
        },
      });
      for await (const chunk of stream) if (chunk) break;
      return [cancelled, stream.locked];
    },
    [true, false],
  );
  test(
    "readable: values with preventCancel",
    async () => {
      let cancelled = false;
      const stream = new ReadableStream({
        pull(controller) {
          controller.enqueue(1);
        },
        cancel() {
          cancelled = true;
        },
      });
      for await (const chunk of stream.values({ preventCancel: true })) if (chunk) break;
      return [cancelled, stream.locked];
    },
    [false, false],
  );
  test("readable: from an array", () => collect(ReadableStream.from([1, 2])), [1, 2]);
  test(
    "readable: from an async generator",
    () =>
      collect(
        ReadableStream.from(
          (async function* () {
            yield "a";
            yield "b";
          })(),
        ),
      ),
    ["a", "b"],
  );
  test("readable: from a string", () => collect(ReadableStream.from("ab")), ["a", "b"]);
  test(
    "readable: from a number",
    () => ReadableStream.from(1),
    threw("TypeError", "Failed to execute 'from' on 'ReadableStream': parameter 1 is not of type 'AsyncGenerator'."),
  );
  test("readable: constructor of the reader", async () => (await new ReadableStreamDefaultReader(source("a")).read()).value, "a");
  test(
    "readable: without new",
    () => ReadableStream(),
    threw(
      "TypeError",
      "Failed to construct 'ReadableStream': Please use the 'new' operator, this object constructor cannot be called as a function.",
    ),
  );
  test("readable: tags", () => [source(), source().getReader()].map(String), [
    "[object ReadableStream]",
    "[object ReadableStreamDefaultReader]",
  ]);

  test(
    "tee: both get all",
    async () => {
      const [a, b] = source(1, 2).tee();
      return Promise.all([collect(a), collect(b)]);
    },
    [
      [1, 2],
      [1, 2],
    ],
  );
  test(
    "tee: the same objects",
    async () => {
      const object = {};
      const [a, b] = source(object).tee();
      return (await collect(a))[0] === (await collect(b))[0];
    },
    true,
  );
  test(
    "tee: cancel needs both",
    async () => {
      const out = [];
      const [a, b] = new ReadableStream({
        cancel(reason) {
          out.push(reason);
        },
      }).tee();
      const first = a.cancel("a");
      out.push("first");
      await b.cancel("b");
      await first;
      return out;
    },
    ["first", "b"],
  );
  test(
    "tee: an error reaches both",
    async () => {
      const [a, b] = new ReadableStream({
        pull(controller) {
          controller.error(new RangeError("boom"));
        },
      }).tee();
      return [(await caught(() => collect(a))).message, (await caught(() => collect(b))).message];
    },
    ["boom", "boom"],
  );
  test(
    "tee: locks",
    () => {
      const stream = source(1);
      stream.tee();
      return stream.locked;
    },
    true,
  );
}
