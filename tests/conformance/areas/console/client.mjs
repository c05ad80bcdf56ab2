// What `console` prints.

const cases = {};
function test(name, run, expected) {
  cases[name] = { run, expected };
}
export default cases;

let next = 0;
const printed = async (client, name, method = "log") => {
  const mark = `m${next++}`;
  await client.request(`/print?name=${encodeURIComponent(name)}&mark=${mark}&method=${method}`);
  const pattern = new RegExp(`<${mark}>([\\s\\S]*?)</${mark}>`);
  for (let i = 0; i < 100; i++) {
    const found = pattern.exec(client.output());
    if (found) return found[1].trim();
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  return "nothing";
};
test("prints: a text", (client) => printed(client, "a text"), "hello");
test("prints: a number", (client) => printed(client, "a number"), "1.5");
test("prints: a text and a number", (client) => printed(client, "a text and a number"), "a 1 true");
test("prints: undefined and null", (client) => printed(client, "undefined and null"), "undefined null");
test("prints: a BigInt and a symbol", (client) => printed(client, "a BigInt and a symbol"), "5n Symbol(x)");
test("prints: an object", (client) => printed(client, "an object"), "{ a: 1, b: 'x' }");
test("prints: a nested object", (client) => printed(client, "a nested object"), "{ a: { b: { c: [Object] } } }");
test("prints: an array", (client) => printed(client, "an array"), "[ 1, 'a', [ 2 ] ]");
test("prints: %s of several things", (client) => printed(client, "%s of several things"), "[ 1, [Object] ] Foo { a: 1 } own null 5% %s");
test("prints: %s of too much", (client) => printed(client, "%s of too much"), "{ a: 1 } { b: { c: { d: [Object] } } } x");
test("prints: quotes", (client) => printed(client, "quotes"), "[ \"it's\", 'a \"b\"', '`' ]");
test("prints: a function", (client) => printed(client, "a function"), "[Function: named]");
test("prints: a class", (client) => printed(client, "a class"), "[class Foo]");
test("prints: an instance", (client) => printed(client, "an instance"), "Foo { a: 1 }");
test("prints: a Map and a Set", (client) => printed(client, "a Map and a Set"), "Map(1) { 'a' => 1 } Set(1) { 1 }");
test("prints: a Date", (client) => printed(client, "a Date"), "1970-01-01T00:00:00.000Z");
test("prints: bytes", (client) => printed(client, "bytes"), "Uint8Array(2) [ 1, 2 ]");
test("prints: an ArrayBuffer", (client) => printed(client, "an ArrayBuffer"), "ArrayBuffer { [Uint8Contents]: <00 00>, byteLength: 2 }");
test("prints: a promise", (client) => printed(client, "a promise"), "Promise { 1 }");
test("prints: a circular object", (client) => printed(client, "a circular object"), "<ref *1> { a: 1, self: [Circular *1] }");
test("prints: Headers", (client) => printed(client, "Headers"), "Headers(1) { 'a' => '1', [immutable]: false }");
test(
  "prints: a URL",
  (client) => printed(client, "a URL"),
  "URL {\n  origin: 'http://a',\n  href: 'http://a/b',\n  protocol: 'http:',\n  username: '',\n  password: '',\n  host: 'a',\n  hostname: 'a',\n  port: '',\n  pathname: '/b',\n  search: '',\n  hash: '',\n  searchParams: URLSearchParams(0) {}\n}",
);
test(
  "prints: a Response",
  (client) => printed(client, "a Response"),
  "Response {\n  status: 200,\n  statusText: '',\n  headers: Headers(1) {\n    'content-type' => 'text/plain;charset=UTF-8',\n    [immutable]: false\n  },\n  ok: true,\n  redirected: false,\n  url: '',\n  webSocket: null,\n  cf: undefined,\n  type: 'default',\n  body: ReadableStream {\n    locked: false,\n    [state]: 'readable',\n    [supportsBYOB]: true,\n    [length]: 1n\n  },\n  bodyUsed: false\n}",
);
test("prints: an empty object and array", (client) => printed(client, "an empty object and array"), "{} []");
test("prints: %s and %d", (client) => printed(client, "%s and %d"), "a-5");
test("prints: %o and %O", (client) => printed(client, "%o and %O"), "{ a: 1 } { b: 2 }");
test("prints: %s of an object", (client) => printed(client, "%s of an object"), "{ a: 1 }");
test("prints: %% and %c", (client) => printed(client, "%% and %c"), "100% styled");
test("prints: too few arguments", (client) => printed(client, "too few arguments"), "a");
test("prints: a text with a newline", (client) => printed(client, "a text with a newline"), "a\nb");
test(
  "prints: a long text",
  (client) => printed(client, "a long text"),
  "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
);
test(
  "prints: a long array",
  (client) => printed(client, "a long array"),
  "[\n   0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11,\n  12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23,\n  24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,\n  36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47,\n  48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59,\n  60, 61, 62, 63, 64, 65, 66, 67, 68, 69, 70, 71,\n  72, 73, 74, 75, 76, 77, 78, 79, 80, 81, 82, 83,\n  84, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95,\n  96, 97, 98, 99,\n  ... 50 more items\n]",
);
for (const method of ["info", "warn", "error", "debug"])
  test(`prints: console.${method}`, (client) => printed(client, "an object", method), "{ a: 1, b: 'x' }");
