import { suite, threw } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const hex = (bytes) => Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
const encoder = new TextEncoder();

test("TextEncoder: encode", () => hex(encoder.encode("aé€😀")), "61 c3 a9 e2 82 ac f0 9f 98 80");
test("TextEncoder: a lone surrogate", () => hex(encoder.encode("\ud800")), "ef bf bd");
test("TextEncoder: nothing", () => [encoder.encode().length, encoder.encode(undefined).length, encoder.encode(null).length], [0, 0, 4]);
test("TextEncoder: encoding", () => encoder.encoding, "utf-8");
test(
  "TextEncoder: encodeInto",
  () => {
    const target = new Uint8Array(4);
    return [encoder.encodeInto("a€b", target), hex(target)];
  },
  [{ read: 2, written: 4 }, "61 e2 82 ac"],
);
test(
  "TextEncoder: encodeInto does not split",
  () => {
    const target = new Uint8Array(3);
    return [encoder.encodeInto("a€", target), hex(target)];
  },
  [{ read: 1, written: 1 }, "61 00 00"],
);
test("TextEncoder: encodeInto of no array", () => encoder.encodeInto("a", []));
test(
  "TextDecoder: defaults",
  () => {
    const { encoding, fatal, ignoreBOM } = new TextDecoder();
    return { encoding, fatal, ignoreBOM };
  },
  { encoding: "utf-8", fatal: false, ignoreBOM: false },
);
test("TextDecoder: an unknown label", () => new TextDecoder("nope"));
test("TextDecoder: fatal", () => new TextDecoder("utf-8", { fatal: true }).decode(new Uint8Array([0xff])));
test("TextDecoder: replacement", () => new TextDecoder().decode(new Uint8Array([0x61, 0xe2, 0x82, 0x62])), "a\ufffdb");
test(
  "TextDecoder: streaming",
  () => {
    const decoder = new TextDecoder();
    const first = decoder.decode(new Uint8Array([0xe2, 0x82]), { stream: true });
    return [first, decoder.decode(new Uint8Array([0xac]), { stream: true }), decoder.decode()];
  },
  ["", "€", ""],
);
test(
  "TextDecoder: streaming, unfinished",
  () => {
    const decoder = new TextDecoder();
    decoder.decode(new Uint8Array([0xe2, 0x82]), { stream: true });
    return decoder.decode();
  },
  "\ufffd",
);
test(
  "TextDecoder: a BOM",
  () => [
    new TextDecoder().decode(new Uint8Array([0xef, 0xbb, 0xbf, 65])),
    new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array([0xef, 0xbb, 0xbf, 65])),
  ],
  ["A", "\ufeffA"],
);
test(
  "TextDecoder: inputs",
  () => {
    const { buffer } = new Uint8Array([65, 66]);
    return [new TextDecoder().decode(buffer), new TextDecoder().decode(new DataView(buffer, 1)), new TextDecoder().decode()];
  },
  ["AB", "B", ""],
);
test("TextDecoder: of a string", () => new TextDecoder().decode("a"));
test("TextDecoder: options is null", () => new TextDecoder("utf-8", null).encoding);

// Every encoding of the standard with one of its labels, and the same bytes in each.
const labels = {
  "utf-8": "unicode-1-1-utf-8",
  ibm866: "cp866",
  "iso-8859-2": "latin2",
  "iso-8859-3": "latin3",
  "iso-8859-4": "latin4",
  "iso-8859-5": "cyrillic",
  "iso-8859-6": "arabic",
  "iso-8859-7": "greek",
  "iso-8859-8": "hebrew",
  "iso-8859-8-i": "logical",
  "iso-8859-10": "latin6",
  "iso-8859-13": "iso8859-13",
  "iso-8859-14": "iso8859-14",
  "iso-8859-15": "l9",
  "iso-8859-16": "iso-8859-16",
  "koi8-r": "koi",
  "koi8-u": "koi8-ru",
  macintosh: "mac",
  "windows-874": "tis-620",
  "windows-1250": "cp1250",
  "windows-1251": "x-cp1251",
  "windows-1252": "latin1",
  "windows-1253": "cp1253",
  "windows-1254": "latin5",
  "windows-1255": "cp1255",
  "windows-1256": "cp1256",
  "windows-1257": "cp1257",
  "windows-1258": "cp1258",
  "x-mac-cyrillic": "x-mac-ukrainian",
  gbk: "gb2312",
  gb18030: "gb18030",
  big5: "big5-hkscs",
  "euc-jp": "x-euc-jp",
  "iso-2022-jp": "csiso2022jp",
  shift_jis: "sjis",
  "euc-kr": "ks_c_5601-1987",
  "utf-16be": "unicodefffe",
  "utf-16le": "utf-16",
  replacement: "iso-2022-kr",
  "x-user-defined": "x-user-defined",
};
const sample = new Uint8Array([0x41, 0x80, 0xa4, 0xe9, 0xb1, 0xc1, 0xf0, 0x42]);
for (const [name, label] of Object.entries(labels)) {
  test(
    `label ${label}`,
    () => new TextDecoder(label).encoding,
    ...(name === "replacement" ? [threw("RangeError", '"iso-2022-kr" is not a valid encoding.')] : [name]),
  );
  test(`decode ${name}`, () => new TextDecoder(name).decode(sample));
}
test("label with spaces", () => new TextDecoder(" UTF8\n").encoding, "utf-8");
test(
  "decode shift_jis in parts",
  () => {
    const decoder = new TextDecoder("shift_jis");
    return decoder.decode(new Uint8Array([0x82]), { stream: true }) + decoder.decode(new Uint8Array([0xa0]));
  },
  "あ",
);
test(
  "decode iso-2022-jp: a kana",
  () => new TextDecoder("iso-2022-jp").decode(new Uint8Array([0x1b, 0x24, 0x42, 0x24, 0x22, 0x1b, 0x28, 0x42])),
  "あ",
);
test("decode windows-1252: all the upper half", () =>
  new TextDecoder("windows-1252").decode(Uint8Array.from({ length: 128 }, (_, i) => i + 128)));
test("decode utf-16le: odd", () => new TextDecoder("utf-16le").decode(new Uint8Array([65, 0, 66])), "A\ufffd");
test("decode utf-16le: fatal", () => new TextDecoder("utf-16le", { fatal: true }).decode(new Uint8Array([65])));

test("btoa", () => [btoa("abc"), btoa(""), btoa("é"), btoa(null)], ["YWJj", "", "6Q==", "bnVsbA=="]);
test("btoa beyond Latin-1", () => btoa("€"));
test("atob", () => [atob("YWJj"), atob(" YW Jj\n"), atob("YQ"), atob("")], ["abc", "abc", "a", ""]);
test("atob of what is none", () => atob("a"));
test("atob: bad character", () => atob("YW*j"));
test(
  "TextEncoderStream",
  async () => {
    const stream = new Blob(["x"]).stream().pipeThrough(new TextDecoderStream()).pipeThrough(new TextEncoderStream());
    return new Response(stream).text();
  },
  "x",
);
test(
  "TextEncoderStream: a surrogate pair in two chunks",
  async () => {
    const { readable, writable } = new TextEncoderStream();
    const writer = writable.getWriter();
    writer.write("\ud83d");
    writer.write("\ude00");
    writer.close();
    return new Response(readable).text();
  },
  "😀",
);
test(
  "TextDecoderStream: a character in two chunks",
  async () => {
    const { readable, writable } = new TextDecoderStream();
    const writer = writable.getWriter();
    writer.write(new Uint8Array([0xe2, 0x82]));
    writer.write(new Uint8Array([0xac]));
    writer.close();
    let text = "";
    for await (const part of readable) text += part;
    return text;
  },
  "€",
);
test(
  "TextDecoderStream: properties",
  () => {
    const { encoding, fatal, ignoreBOM } = new TextDecoderStream("latin1", { fatal: true });
    return { encoding, fatal, ignoreBOM };
  },
  { encoding: "windows-1252", fatal: true, ignoreBOM: false },
);
test("TextDecoderStream: fatal", async () => {
  const { readable, writable } = new TextDecoderStream("utf-8", { fatal: true });
  const writer = writable.getWriter();
  writer.write(new Uint8Array([0xff])).catch(() => {});
  writer.close().catch(() => {});
  return readable.getReader().read();
});
