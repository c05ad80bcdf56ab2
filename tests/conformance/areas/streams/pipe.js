// `pipeTo`, `pipeThrough` and TransformStream.

import { collect, source } from "./sources.js";
import { caught, error, threw } from "./suite.js";

export function pipeCases(test) {
  test(
    "pipeTo",
    async () => {
      const out = [];
      await source(1, 2).pipeTo(
        new WritableStream({
          write(chunk) {
            out.push(chunk);
          },
          close() {
            out.push("close");
          },
        }),
      );
      return out;
    },
    [1, 2, "close"],
  );
  test(
    "pipeTo: preventClose",
    async () => {
      const out = [];
      const sink = new WritableStream({
        write(chunk) {
          out.push(chunk);
        },
        close() {
          out.push("close");
        },
      });
      await source(1).pipeTo(sink, { preventClose: true });
      return [out, sink.locked];
    },
    [[1], false],
  );
  test(
    "pipeTo: an error of the source aborts",
    async () => {
      const out = [];
      const error = await caught(() =>
        new ReadableStream({
          pull(controller) {
            controller.error(new RangeError("boom"));
          },
        }).pipeTo(
          new WritableStream({
            abort(reason) {
              out.push(reason.message);
            },
          }),
        ),
      );
      return [out, error.message];
    },
    [["boom"], "boom"],
  );
  test(
    "pipeTo: an error of the sink cancels",
    async () => {
      const out = [];
      const error = await caught(() =>
        new ReadableStream({
          pull(controller) {
            controller.enqueue(1);
          },
          cancel(reason) {
            out.push(reason.message);
          },
        }).pipeTo(
          new WritableStream({
            write() {
              throw new RangeError("boom");
            },
          }),
        ),
      );
      return [out, error.message];
    },
    [["boom"], "boom"],
  );
  test(
    "pipeTo: an aborted signal",
    async () => {
      const out = [];
      const piping = new ReadableStream({
        cancel(reason) {
          out.push(`cancel ${reason}`);
        },
      }).pipeTo(
        new WritableStream({
          abort(reason) {
            out.push(`abort ${reason}`);
          },
        }),
        { signal: AbortSignal.abort("why") },
      );
      let reason;
      await piping.catch((error) => (reason = error));
      return [out.sort(), reason];
    },
    [["abort why", "cancel why"], "why"],
  );
  test(
    "pipeTo: a signal",
    async () => {
      const controller = new AbortController();
      const out = [];
      const piping = new ReadableStream({
        async pull(each) {
          await scheduler.wait(1);
          each.enqueue(1);
        },
      }).pipeTo(
        new WritableStream({
          write() {
            controller.abort("why");
          },
          abort(reason) {
            out.push(`abort ${reason}`);
          },
        }),
        { signal: controller.signal },
      );
      await piping.catch((reason) => out.push(reason));
      return out;
    },
    ["abort why", "why"],
  );
  test(
    "pipeTo: a locked source",
    () => {
      const stream = source(1);
      stream.getReader();
      return stream.pipeTo(new WritableStream());
    },
    threw("TypeError", "This ReadableStream is currently locked to a reader."),
  );
  test(
    "pipeTo: no stream",
    () => source(1).pipeTo({}),
    threw("TypeError", "Failed to execute 'pipeTo' on 'ReadableStream': parameter 1 is not of type 'WritableStream'."),
  );
  test(
    "pipeThrough",
    () =>
      collect(
        source("a", "b").pipeThrough(
          new TransformStream({
            transform(chunk, controller) {
              controller.enqueue(chunk + chunk);
            },
          }),
        ),
      ),
    ["aa", "bb"],
  );
  test(
    "pipeThrough: a pair of objects",
    () => {
      const transform = new TransformStream();
      return collect(source("a").pipeThrough({ readable: transform.readable, writable: transform.writable }));
    },
    ["a"],
  );
  test(
    "pipeThrough: no pair",
    () => source(1).pipeThrough({}),
    threw("TypeError", "Incorrect type for the 'readable' field on 'Transform': the provided value is not of type 'ReadableStream'."),
  );

  test(
    "transform: start, transform, flush",
    async () => {
      const out = [];
      const stream = new TransformStream({
        start(controller) {
          controller.enqueue("start");
        },
        transform(chunk, controller) {
          controller.enqueue(chunk);
        },
        flush(controller) {
          controller.enqueue("flush");
        },
      });
      const writer = stream.writable.getWriter();
      const writing = writer.write("a").then(() => writer.close());
      for await (const chunk of stream.readable) out.push(chunk);
      await writing;
      return out;
    },
    ["start", "a", "flush"],
  );
  test("transform: identity", () => collect(source(1, 2).pipeThrough(new TransformStream())), [1, 2]);
  test(
    "transform: back-pressure",
    async () => {
      const { readable, writable } = new TransformStream();
      const writer = writable.getWriter();
      let written = false;
      const writing = writer.write(1).then(() => (written = true));
      await scheduler.wait(2);
      const before = written;
      const { value } = await readable.getReader().read();
      await writing;
      return [before, value, written];
    },
    [false, 1, true],
  );
  test(
    "transform: terminate",
    async () => {
      const { readable, writable } = new TransformStream({
        transform(chunk, controller) {
          controller.enqueue(chunk);
          controller.terminate();
        },
      });
      const writer = writable.getWriter();
      writer.write(1).catch(() => {});
      const out = await collect(readable);
      return [out, await caught(() => writer.write(2))];
    },
    [[1], error("TypeError", "The transform stream has been terminated")],
  );
  test(
    "transform: error",
    async () => {
      const { readable, writable } = new TransformStream({
        transform() {
          throw new RangeError("boom");
        },
      });
      const writer = writable.getWriter();
      const writing = caught(() => writer.write(1));
      return [(await caught(() => readable.getReader().read())).message, (await writing).message];
    },
    ["boom", "boom"],
  );
  test(
    "transform: cancel",
    async () => {
      const out = [];
      const { readable } = new TransformStream({
        cancel(reason) {
          out.push(reason);
        },
      });
      await readable.cancel("why");
      return out;
    },
    ["why"],
  );
  test(
    "transform: readableType",
    () => new TransformStream({ readableType: "bytes" }),
    threw("TypeError", "transformer.readableType must be undefined."),
  );
}
