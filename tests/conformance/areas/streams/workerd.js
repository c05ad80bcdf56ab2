// What workerd adds to the standard, and strategies.

import { bytes, text } from "./sources.js";
import { caught, error, threw } from "./suite.js";

export function workerdCases(test) {
  test(
    "IdentityTransformStream",
    async () => {
      const { readable, writable } = new IdentityTransformStream();
      const writer = writable.getWriter();
      const writing = writer.write(bytes("abc")).then(() => writer.close());
      const out = await new Response(readable).text();
      await writing;
      return out;
    },
    "abc",
  );
  test(
    "IdentityTransformStream: a string",
    async () => {
      const { readable, writable } = new IdentityTransformStream();
      const reading = new Response(readable).text().catch(() => "failed");
      const writer = writable.getWriter();
      const error = await caught(() => writer.write("abc"));
      await caught(() => writer.close());
      return [error?.message, await reading];
    },
    [undefined, "abc"],
  );
  test(
    "IdentityTransformStream: a number",
    async () => {
      const { readable, writable } = new IdentityTransformStream();
      new Response(readable).text().catch(() => {});
      return caught(() => writable.getWriter().write(5));
    },
    error(
      "TypeError",
      "This TransformStream is being used as a byte stream, but received an object of non-ArrayBuffer/ArrayBufferView type on its writable side.",
    ),
  );
  test(
    "IdentityTransformStream: BYOB",
    async () => {
      const { readable, writable } = new IdentityTransformStream();
      const writer = writable.getWriter();
      writer.write(bytes("abcdef"));
      const reader = readable.getReader({ mode: "byob" });
      return text((await reader.read(new Uint8Array(4))).value);
    },
    "abcd",
  );
  test(
    "IdentityTransformStream: write waits for read",
    async () => {
      const { readable, writable } = new IdentityTransformStream();
      let written = false;
      const writer = writable.getWriter();
      const writing = writer.write(bytes("a")).then(() => (written = true));
      await scheduler.wait(2);
      const before = written;
      await readable.getReader().read();
      await writing;
      return [before, written];
    },
    [false, true],
  );
  test(
    "IdentityTransformStream: highWaterMark",
    () => new IdentityTransformStream({ highWaterMark: 10 }).writable.getWriter().desiredSize,
    10,
  );
  test(
    "IdentityTransformStream: abort",
    async () => {
      const { readable, writable } = new IdentityTransformStream();
      const reading = caught(() => readable.getReader().read());
      await writable.abort(new RangeError("boom"));
      return reading;
    },
    error("RangeError", "boom"),
  );
  test(
    "FixedLengthStream",
    async () => {
      const { readable, writable } = new FixedLengthStream(3);
      const writer = writable.getWriter();
      const writing = writer.write(bytes("abc")).then(() => writer.close());
      const out = await new Response(readable).text();
      await writing;
      return out;
    },
    "abc",
  );
  test(
    "FixedLengthStream: too much",
    async () => {
      const { readable, writable } = new FixedLengthStream(2);
      new Response(readable).text().catch(() => {});
      return caught(() => writable.getWriter().write(bytes("abc")));
    },
    undefined,
  );
  test(
    "FixedLengthStream: too little",
    async () => {
      const { readable, writable } = new FixedLengthStream(5);
      const reading = caught(() => new Response(readable).text());
      const writer = writable.getWriter();
      await writer.write(bytes("abc"));
      return [await caught(() => writer.close()), await reading];
    },
    [undefined, error("TypeError", "FixedLengthStream did not see all expected bytes before close().")],
  );
  test(
    "FixedLengthStream: BigInt",
    async () => {
      const { readable, writable } = new FixedLengthStream(1n);
      const writer = writable.getWriter();
      const writing = writer.write(bytes("a")).then(() => writer.close());
      const out = await new Response(readable).text();
      await writing;
      return out;
    },
    "a",
  );
  test(
    "FixedLengthStream: a negative length",
    () => new FixedLengthStream(-1),
    threw("TypeError", "The value cannot be converted because it is negative and this API expects a positive bigint."),
  );
  test(
    "FixedLengthStream: without a length",
    () => new FixedLengthStream(),
    threw("TypeError", "Failed to construct 'FixedLengthStream': constructor parameter 1 is not of type 'bigint'."),
  );
  test("FixedLengthStream: is an IdentityTransformStream", () => new FixedLengthStream(1) instanceof IdentityTransformStream, true);
  test(
    "ByteLengthQueuingStrategy",
    () => {
      const strategy = new ByteLengthQueuingStrategy({ highWaterMark: 5 });
      return [strategy.highWaterMark, strategy.size(new Uint8Array(3))];
    },
    [5, 3],
  );
  test(
    "CountQueuingStrategy",
    () => {
      const strategy = new CountQueuingStrategy({ highWaterMark: 5 });
      return [strategy.highWaterMark, strategy.size("abc")];
    },
    [5, 1],
  );
  test("CountQueuingStrategy: without a mark", () => new CountQueuingStrategy({}).highWaterMark, NaN);
  test(
    "a body piped through a transform",
    () =>
      new Response(
        new Response("abc").body.pipeThrough(
          new TransformStream({
            transform(chunk, controller) {
              controller.enqueue(bytes(text(chunk).toUpperCase()));
            },
          }),
        ),
      ).text(),
    "ABC",
  );
  test(
    "a body of 1 MB through IdentityTransformStream",
    async () => {
      const { readable, writable } = new IdentityTransformStream();
      const piping = new Response(new Uint8Array(1 << 20)).body.pipeTo(writable);
      const { byteLength } = await new Response(readable).arrayBuffer();
      await piping;
      return byteLength;
    },
    1 << 20,
  );
}
