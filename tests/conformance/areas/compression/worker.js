import { caught, error, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

const through = async (data, stream) => new Uint8Array(await new Response(new Blob([data]).stream().pipeThrough(stream)).arrayBuffer());
const text = (bytes) => new TextDecoder().decode(bytes);
const sample = "hello hello hello hello ".repeat(100);
for (const format of ["gzip", "deflate", "deflate-raw"]) {
  test(
    `${format}: round trip`,
    async () => text(await through(await through(sample, new CompressionStream(format)), new DecompressionStream(format))) === sample,
    true,
  );
  test(`${format}: is smaller`, async () => (await through(sample, new CompressionStream(format))).length < 200, true);
  test(
    `${format}: of nothing`,
    async () => (await through(await through("", new CompressionStream(format)), new DecompressionStream(format))).length,
    0,
  );
  test(
    `${format}: 1 MB in pieces`,
    async () => {
      const { readable, writable } = new CompressionStream(format);
      const writer = writable.getWriter();
      const writing = (async () => {
        for (let i = 0; i < 16; i++) await writer.write(new Uint8Array(65536).fill(i));
        await writer.close();
      })();
      const out = await new Response(readable.pipeThrough(new DecompressionStream(format))).arrayBuffer();
      await writing;
      return [out.byteLength, new Uint8Array(out)[65536 * 7]];
    },
    [1048576, 7],
  );
}
test(
  "the first bytes of gzip",
  async () => [...(await through("a", new CompressionStream("gzip"))).slice(0, 10)],
  [31, 139, 8, 0, 0, 0, 0, 0, 0, 3],
);
test(
  "brotli",
  () => typeof new CompressionStream("br"),
  threw("TypeError", "The compression format must be either 'deflate', 'deflate-raw' or 'gzip'."),
);
test(
  "an unknown format",
  () => new CompressionStream("x"),
  threw("TypeError", "The compression format must be either 'deflate', 'deflate-raw' or 'gzip'."),
);
test(
  "an unknown format to decompress",
  () => new DecompressionStream("x"),
  threw("TypeError", "The compression format must be either 'deflate', 'deflate-raw' or 'gzip'."),
);
test(
  "without a format",
  () => new CompressionStream(),
  threw("TypeError", "Failed to construct 'CompressionStream': constructor parameter 1 is not of type 'string'."),
);
test(
  "without new",
  () => CompressionStream("gzip"),
  threw(
    "TypeError",
    "Failed to construct 'CompressionStream': Please use the 'new' operator, this object constructor cannot be called as a function.",
  ),
);
test(
  "gzip: bad data",
  async () => await caught(() => through("not gzip at all", new DecompressionStream("gzip"))),
  error("TypeError", "Decompression failed."),
);
test(
  "gzip: truncated",
  async () => {
    const data = await through(sample, new CompressionStream("gzip"));
    return caught(() => through(data.slice(0, -4), new DecompressionStream("gzip")));
  },
  error("TypeError", "Called close() on a decompression stream with incomplete data"),
);
test(
  "gzip: trailing data",
  async () => {
    const data = await through("a", new CompressionStream("gzip"));
    return caught(() => through(new Uint8Array([...data, 0]), new DecompressionStream("gzip")));
  },
  error("TypeError", "Trailing bytes after end of compressed data"),
);
test(
  "gzip: two members",
  async () => {
    const data = await through("a", new CompressionStream("gzip"));
    return caught(() => through(new Uint8Array([...data, ...data]), new DecompressionStream("gzip")));
  },
  error("TypeError", "Trailing bytes after end of compressed data"),
);
test(
  "deflate: bad data",
  async () => caught(() => through("xyz", new DecompressionStream("deflate"))),
  error("TypeError", "Decompression failed."),
);
test(
  "a chunk that is a string",
  async () => {
    const { readable, writable } = new CompressionStream("gzip");
    const writer = writable.getWriter();
    const reading = new Response(readable).arrayBuffer().catch(() => {});
    const error = await caught(() => writer.write("text"));
    await caught(() => writer.close());
    await reading;
    return error;
  },
  undefined,
);
test(
  "readable and writable",
  () => {
    const stream = new CompressionStream("gzip");
    return [String(stream), String(stream.readable), String(stream.writable)];
  },
  ["[object CompressionStream]", "[object ReadableStream]", "[object WritableStream]"],
);
test(
  "a chunk that is an ArrayBuffer",
  async () => {
    const { readable, writable } = new CompressionStream("gzip");
    const writer = writable.getWriter();
    writer.write(new TextEncoder().encode("abc").buffer);
    writer.close();
    return new Response(readable.pipeThrough(new DecompressionStream("gzip"))).text();
  },
  "abc",
);
