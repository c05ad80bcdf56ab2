import buffer, {
  Blob as NodeBlob,
  Buffer,
  SlowBuffer,
  atob as nodeAtob,
  btoa as nodeBtoa,
  constants,
  isAscii,
  isUtf8,
  kMaxLength,
  kStringMaxLength,
  transcode,
} from "node:buffer";

import { suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const show = (buffer) => buffer.toString("hex");
const cases = {
  "from text": () => show(Buffer.from("aé€😀")),
  "from array": () => show(Buffer.from([1, 256, -1, 1.9, "7", NaN])),
  "from ArrayBuffer shares": () => {
    const { buffer } = new Uint8Array([1, 2, 3]);
    const view = Buffer.from(buffer, 1, 1);
    view[0] = 9;
    return [...new Uint8Array(buffer)];
  },
  "from Buffer copies": () => {
    const first = Buffer.from("a");
    const second = Buffer.from(first);
    second[0] = 0;
    return first[0];
  },
  "from an object": () => show(Buffer.from({ length: 2, 0: 1, 1: 2 })),
  "from valueOf": () => show(Buffer.from(new String("abc"))),
  "from toJSON": () => show(Buffer.from(JSON.parse(JSON.stringify(Buffer.from("abc"))))),
  "from a number": () => Buffer.from(5),
  "from null": () => Buffer.from(null),
  "from undefined": () => Buffer.from(undefined),
  "from an offset out of range": () => Buffer.from(new ArrayBuffer(2), 3),
  "from an unknown encoding": () => Buffer.from("a", "nope"),
  "from hex, odd": () => show(Buffer.from("abc", "hex")),
  "from hex, bad": () => show(Buffer.from("abxx", "hex")),
  "from base64": () => show(Buffer.from("YWJj", "base64")),
  "from base64 without padding, with spaces": () => show(Buffer.from(" YW\nI", "base64")),
  "from base64 url characters": () => show(Buffer.from("-_-_", "base64")),
  "from base64url": () => show(Buffer.from("-_-_", "base64url")),
  "from latin1": () => show(Buffer.from("é€", "latin1")),
  "from ascii": () => show(Buffer.from("é", "ascii")),
  "from utf16le": () => show(Buffer.from("a€", "utf16le")),
  "from ucs2": () => show(Buffer.from("a", "ucs2")),
  alloc: () => show(Buffer.alloc(3)),
  "alloc with fill": () => show(Buffer.alloc(5, "ab")),
  "alloc with encoding": () => show(Buffer.alloc(3, "ff", "hex")),
  "alloc of a negative size": () => Buffer.alloc(-1),
  "alloc of a text": () => Buffer.alloc("5"),
  "alloc too large": () => Buffer.alloc(2 ** 53),
  allocUnsafe: () => Buffer.allocUnsafe(4).length,
  "new Buffer": () => show(new Buffer("ab")),
  "new Buffer of a number": () => show(new Buffer(2)),
  "Buffer without new": () => show(Buffer("ab")),
  concat: () => show(Buffer.concat([Buffer.from("a"), Buffer.from("bc")])),
  "concat with a length": () => [show(Buffer.concat([Buffer.from("abc")], 2)), show(Buffer.concat([Buffer.from("a")], 3))],
  "concat of something": () => Buffer.concat("x"),
  byteLength: () => [
    Buffer.byteLength("é"),
    Buffer.byteLength("abc", "hex"),
    Buffer.byteLength("YWJj", "base64"),
    Buffer.byteLength(new ArrayBuffer(3)),
    Buffer.byteLength("a", "utf16le"),
  ],
  "byteLength of a number": () => Buffer.byteLength(5),
  compare: () => [
    Buffer.compare(Buffer.from("a"), Buffer.from("b")),
    Buffer.compare(Buffer.from("b"), Buffer.from("a")),
    Buffer.compare(Buffer.from("a"), Buffer.from("a")),
  ],
  isBuffer: () => [Buffer.isBuffer(Buffer.from("")), Buffer.isBuffer(new Uint8Array()), Buffer.isBuffer("")],
  isEncoding: () => ["utf8", "UTF-8", "hex", "binary", "base64url", "nope", "", undefined].map((name) => Buffer.isEncoding(name)),
  poolSize: () => Buffer.poolSize,
  "toString of each encoding": () =>
    ["utf8", "hex", "base64", "base64url", "latin1", "ascii", "utf16le", "binary"].map((name) =>
      Buffer.from([0x61, 0xe9, 0xff, 0x3f]).toString(name),
    ),
  "toString of a range": () => [
    Buffer.from("abcdef").toString("utf8", 1, 3),
    Buffer.from("abc").toString("utf8", -1, 9),
    Buffer.from("abc").toString("utf8", 2, 1),
  ],
  "toString of invalid UTF-8": () => Buffer.from([0xe2, 0x82, 0x41]).toString(),
  "toString of an unknown encoding": () => Buffer.from("a").toString("nope"),
  toJSON: () => Buffer.from("ab").toJSON(),
  equals: () => [Buffer.from("a").equals(Buffer.from("a")), Buffer.from("a").equals(new Uint8Array([97]))],
  "equals of a text": () => Buffer.from("a").equals("a"),
  indexOf: () => [
    Buffer.from("abcabc").indexOf("c"),
    Buffer.from("abcabc").indexOf("c", 3),
    Buffer.from("abc").indexOf("x"),
    Buffer.from("abc").indexOf(98),
    Buffer.from("abc").indexOf(Buffer.from("bc")),
    Buffer.from("abc").indexOf(""),
  ],
  lastIndexOf: () => [Buffer.from("abcabc").lastIndexOf("c"), Buffer.from("abcabc").lastIndexOf("a", 2)],
  includes: () => [Buffer.from("abc").includes("b"), Buffer.from("abc").includes("x")],
  fill: () => [show(Buffer.alloc(4).fill("ab", 1)), show(Buffer.alloc(2).fill(257)), show(Buffer.alloc(3).fill("é"))],
  "fill out of range": () => Buffer.alloc(2).fill(0, 0, 5),
  write: () => {
    const target = Buffer.alloc(4);
    return [target.write("abé", 1), show(target)];
  },
  "write with length and encoding": () => {
    const target = Buffer.alloc(4);
    return [target.write("ffff", 1, 1, "hex"), show(target)];
  },
  "write out of range": () => Buffer.alloc(2).write("a", 5),
  copy: () => {
    const target = Buffer.alloc(4);
    return [Buffer.from("abcd").copy(target, 1, 1, 3), show(target)];
  },
  "slice and subarray share": () => {
    const first = Buffer.from("abc");
    first.slice(1)[0] = 120;
    first.subarray(-1)[0] = 121;
    return first.toString();
  },
  "swap16, swap32, swap64": () => [
    show(Buffer.from("0102", "hex").swap16()),
    show(Buffer.from("01020304", "hex").swap32()),
    show(Buffer.from("0102030405060708", "hex").swap64()),
  ],
  "swap16 of an odd size": () => Buffer.alloc(3).swap16(),
  inspect: () => Buffer.from("abc").inspect?.(),
  iteration: () => [[...Buffer.from("ab")], [...Buffer.from("ab").entries()], [...Buffer.from("ab").keys()]],
  "parent and offset": () => [typeof Buffer.from("a").parent, Buffer.from("a").offset >= 0],
  "readUIntBE, readIntLE": () => [Buffer.from("010203", "hex").readUIntBE(0, 3), Buffer.from("fffeff", "hex").readIntLE(0, 3)],
  writeUIntBE: () => {
    const target = Buffer.alloc(3);
    return [target.writeUIntBE(0x010203, 0, 3), show(target)];
  },
  "write beyond the range": () => Buffer.alloc(1).writeUInt8(256),
  "read beyond the end": () => Buffer.alloc(1).readUInt16LE(0),
  "read at a fraction": () => Buffer.alloc(4).readUInt8(0.5),
  "read at a text": () => Buffer.alloc(4).readUInt8("0"),
  "byteLength of readUIntLE 7": () => Buffer.alloc(8).readUIntLE(0, 7),
  "lower-case aliases": () =>
    [Buffer.alloc(4).readUint8, Buffer.alloc(4).writeUint32LE, Buffer.alloc(4).readBigUint64BE].map((each) => typeof each),
  transcode: () => show(transcode(Buffer.from("é"), "utf8", "latin1")),
  "transcode of an unknown encoding": () => transcode(Buffer.from("é"), "utf8", "nope"),
  "isUtf8, isAscii": () => [isUtf8(Buffer.from("é")), isUtf8(Buffer.from([0xff])), isAscii(Buffer.from("a")), isAscii(Buffer.from("é"))],
  constants: () => [typeof constants.MAX_LENGTH, constants.MAX_STRING_LENGTH, kStringMaxLength],
  kMaxLength: () => kMaxLength,
  "atob, btoa": () => [nodeAtob("YQ=="), nodeBtoa("a"), nodeAtob === atob, nodeBtoa === btoa],
  Blob: () => NodeBlob === Blob,
  SlowBuffer: () => typeof SlowBuffer,
  "the global Buffer": () => [globalThis.Buffer === Buffer, buffer.Buffer === Buffer],
  INSPECT_MAX_BYTES: () => buffer.INSPECT_MAX_BYTES,
  "Buffer is a Uint8Array": () => [
    Buffer.from("") instanceof Uint8Array,
    Object.prototype.toString.call(Buffer.from("")),
    Buffer.from("").constructor === Buffer,
  ],
  "map gives a Buffer": () =>
    Buffer.from("ab")
      .map((byte) => byte + 1)
      .toString(),
};
for (const [name, run] of Object.entries(cases)) test(name, run);
for (const kind of [
  "UInt8",
  "Int8",
  "UInt16LE",
  "UInt16BE",
  "Int16LE",
  "Int16BE",
  "UInt32LE",
  "UInt32BE",
  "Int32LE",
  "Int32BE",
  "FloatLE",
  "FloatBE",
  "DoubleLE",
  "DoubleBE",
  "BigInt64LE",
  "BigInt64BE",
  "BigUInt64LE",
  "BigUInt64BE",
]) {
  test(`read and write ${kind}`, () => {
    const target = Buffer.alloc(8);
    const value = kind.startsWith("Big") ? 5n : kind.startsWith("F") || kind.startsWith("D") ? 1.5 : 100;
    return [target[`write${kind}`](value), show(target), target[`read${kind}`](0)];
  });
}

// Buffers share no memory, so what takes that of one away takes nothing from others.
for (const [how, take] of [
  ["a byte stream", (given) => new ReadableStream({ type: "bytes", start: (controller) => controller.enqueue(given) })],
  ["structuredClone", (given) => structuredClone(given, { transfer: [given.buffer] })],
  ["ArrayBuffer.transfer", (given) => given.buffer.transfer()],
])
  test(`a small buffer that is taken away by ${how}`, () => {
    const [before, given, filled] = [Buffer.from("before"), Buffer.from("given"), Buffer.allocUnsafe(3).fill(1)];
    take(given);
    return [String(before), given.length, filled.length, String(Buffer.from("after"))];
  });
