import zlib from "node:zlib";
import { promisify } from "node:util";

import { suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const sample = Buffer.from("hello hello hello hello ".repeat(50));
const pairs = {
  gzip: "gunzip",
  deflate: "inflate",
  deflateRaw: "inflateRaw",
  brotliCompress: "brotliDecompress",
  zstdCompress: "zstdDecompress",
};
for (const [compress, decompress] of Object.entries(pairs)) {
  test(`${compress}: sync`, () => zlib[`${decompress}Sync`](zlib[`${compress}Sync`](sample)).equals(sample));
  test(`${compress}: callback`, async () => (await promisify(zlib[decompress])(await promisify(zlib[compress])(sample))).equals(sample));
  test(`${compress}: is smaller`, () => zlib[`${compress}Sync`](sample).length < 120);
  test(`${compress}: a text`, () => zlib[`${decompress}Sync`](zlib[`${compress}Sync`]("é")).toString());
  test(`${decompress}: bad data`, () => zlib[`${decompress}Sync`](Buffer.from("not compressed")));
  test(`${decompress}: truncated`, () => zlib[`${decompress}Sync`](zlib[`${compress}Sync`](sample).subarray(0, -5)).length);
  test(`${decompress}: maxOutputLength`, () => zlib[`${decompress}Sync`](zlib[`${compress}Sync`](sample), { maxOutputLength: 10 }));
  test(`${decompress}: nothing`, () => zlib[`${decompress}Sync`](Buffer.alloc(0)).length);
  test(`${decompress}: small output chunks`, () =>
    zlib[`${decompress}Sync`](zlib[`${compress}Sync`](sample), { chunkSize: 64 }).equals(sample));
  for (const [what, data] of [
    ["bad data", Buffer.from("not compressed")],
    ["truncated", zlib[`${compress}Sync`](sample).subarray(0, -5)],
    ["good data", zlib[`${compress}Sync`](sample)],
  ])
    test(`${decompress}: a stream of ${what}`, async () => {
      const stream = zlib[`create${decompress[0].toUpperCase()}${decompress.slice(1)}`]();
      for (const byte of data) stream.write(Buffer.from([byte]));
      stream.end();
      let length = 0;
      try {
        for await (const chunk of stream) length += chunk.length;
      } catch (error) {
        return "an error";
      }
      return length;
    });
  test(`${compress}: stream`, async () => {
    const chunks = [];
    const stream = zlib[`create${compress[0].toUpperCase()}${compress.slice(1)}`]();
    stream.end(sample);
    for await (const chunk of stream) chunks.push(chunk);
    return zlib[`${decompress}Sync`](Buffer.concat(chunks)).equals(sample);
  });
}
const cases = {
  "gzip: level 0": () => zlib.gzipSync(sample, { level: 0 }).length > sample.length,
  "gzip: level 10": () => zlib.gzipSync(sample, { level: 10 }),
  "gzip: the header": () => [...zlib.gzipSync("a").subarray(0, 3)],
  "deflate: exact bytes": () => zlib.deflateSync("abc").toString("hex"),
  "deflate: a dictionary": () =>
    zlib.inflateSync(zlib.deflateSync("hello", { dictionary: Buffer.from("hello") }), { dictionary: Buffer.from("hello") }).toString(),
  unzip: () => [zlib.unzipSync(zlib.gzipSync("a")).toString(), zlib.unzipSync(zlib.deflateSync("b")).toString()],
  "gunzip: two members": () => zlib.gunzipSync(Buffer.concat([zlib.gzipSync("a"), zlib.gzipSync("b")])).toString(),
  "gunzip: trailing garbage": () => zlib.gunzipSync(Buffer.concat([zlib.gzipSync("a"), Buffer.from("xx")])).toString(),
  "inflate: finishFlush": () =>
    zlib.inflateSync(zlib.deflateSync(sample).subarray(0, 20), { finishFlush: zlib.constants.Z_SYNC_FLUSH }).toString().slice(0, 5),
  crc32: () => [zlib.crc32("hello"), zlib.crc32(Buffer.from("lo"), zlib.crc32("hel"))],
  "brotli: quality": () =>
    zlib.brotliDecompressSync(zlib.brotliCompressSync(sample, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 1 } })).length,
  constants: () => [
    zlib.constants.Z_BEST_COMPRESSION,
    zlib.constants.BROTLI_MAX_QUALITY,
    zlib.constants.Z_BUF_ERROR,
    zlib.constants.ZSTD_CLEVEL_DEFAULT,
    typeof zlib.codes,
  ],
  "a number": () => zlib.gzipSync(5),
  "the stream's flush": () =>
    new Promise((resolve) => {
      const stream = zlib.createGzip();
      const out = [];
      stream.on("data", (chunk) => out.push(chunk.length > 0));
      stream.write("a");
      stream.flush(() => resolve(out.length > 0));
    }),
  bytesWritten: () =>
    new Promise((resolve) => {
      const stream = zlib.createGzip();
      stream.resume().on("end", () => resolve(stream.bytesWritten));
      stream.end("abc");
    }),
  "an error of a stream": () =>
    new Promise((resolve) => {
      const stream = zlib.createGunzip();
      stream.on("error", (error) => resolve([error.code, error.errno, error.message]));
      stream.end("nonsense");
    }),
};
for (const [name, run] of Object.entries(cases)) test(name, run);
