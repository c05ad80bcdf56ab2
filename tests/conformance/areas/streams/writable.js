// Writers.

import { caught, error, threw } from "./suite.js";

export function writableCases(test) {
  test(
    "writable: start, write, close in order",
    async () => {
      const out = [];
      const writer = new WritableStream({
        start() {
          out.push("start");
        },
        write(chunk) {
          out.push(chunk);
        },
        close() {
          out.push("close");
        },
      }).getWriter();
      writer.write("a");
      writer.write("b");
      await writer.close();
      return out;
    },
    ["start", "a", "b", "close"],
  );
  test(
    "writable: writes wait for each other",
    async () => {
      const out = [];
      const writer = new WritableStream({
        async write(chunk) {
          out.push(`begin ${chunk}`);
          await scheduler.wait(1);
          out.push(`end ${chunk}`);
        },
      }).getWriter();
      writer.write(1);
      await writer.write(2);
      return out;
    },
    ["begin 1", "end 1", "begin 2", "end 2"],
  );
  test(
    "writable: ready and desiredSize",
    async () => {
      let release;
      const writer = new WritableStream(
        {
          write() {
            return new Promise((resolve) => (release = resolve));
          },
        },
        { highWaterMark: 2 },
      ).getWriter();
      const out = [writer.desiredSize];
      writer.write(1);
      out.push(writer.desiredSize);
      writer.write(2);
      out.push(writer.desiredSize);
      let ready = false;
      writer.ready.then(() => (ready = true));
      await scheduler.wait(1);
      out.push(ready);
      release();
      await scheduler.wait(1);
      out.push(ready, writer.desiredSize);
      return out;
    },
    [2, 1, 0, false, true, 1],
  );
  test(
    "writable: an error in write",
    async () => {
      const writer = new WritableStream({
        write() {
          throw new RangeError("boom");
        },
      }).getWriter();
      return [
        (await caught(() => writer.write(1))).message,
        (await caught(() => writer.write(2))).message,
        (await caught(() => writer.closed)).message,
        writer.desiredSize,
      ];
    },
    ["boom", "boom", "boom", null],
  );
  test(
    "writable: abort",
    async () => {
      const out = [];
      const writer = new WritableStream({
        abort(reason) {
          out.push(`abort ${reason}`);
        },
        close() {
          out.push("close");
        },
      }).getWriter();
      await writer.abort("why");
      out.push(await caught(() => writer.write(1)));
      return out;
    },
    ["abort why", "why"],
  );
  test(
    "writable: controller.signal",
    async () => {
      let signal;
      const writer = new WritableStream({
        start(controller) {
          signal = controller.signal;
        },
      }).getWriter();
      await writer.abort("why");
      return [signal.aborted, signal.reason];
    },
    [true, "why"],
  );
  test(
    "writable: controller.error",
    async () => {
      const writer = new WritableStream({
        start(controller) {
          controller.error(new RangeError("boom"));
        },
      }).getWriter();
      return caught(() => writer.write(1));
    },
    error("RangeError", "boom"),
  );
  test(
    "writable: write after close",
    async () => {
      const writer = new WritableStream().getWriter();
      await writer.close();
      return writer.write(1);
    },
    threw("TypeError", "This WritableStream has been closed."),
  );
  test(
    "writable: close twice",
    async () => {
      const writer = new WritableStream().getWriter();
      await writer.close();
      return writer.close();
    },
    threw("TypeError", "This WritableStream has been closed."),
  );
  test(
    "writable: a second writer",
    () => {
      const stream = new WritableStream();
      stream.getWriter();
      stream.getWriter();
    },
    threw("TypeError", "This WritableStream is currently locked to a writer."),
  );
  test(
    "writable: a released writer",
    async () => {
      const stream = new WritableStream();
      const writer = stream.getWriter();
      writer.releaseLock();
      return [stream.locked, await caught(() => writer.write(1))];
    },
    [false, error("TypeError", "This WritableStream writer has been released.")],
  );
  test(
    "writable: close of the stream",
    async () => {
      let closed = false;
      await new WritableStream({
        close() {
          closed = true;
        },
      }).close();
      return closed;
    },
    true,
  );
  test("writable: a type", () => String(new WritableStream({ type: "bytes" })), "[object WritableStream]");
  test("writable: tags", () => [new WritableStream(), new WritableStream().getWriter()].map(String), [
    "[object WritableStream]",
    "[object WritableStreamDefaultWriter]",
  ]);
}
