import data from "./data.bin";
import counter, * as namespace from "./lib/counter.js";
import { seen } from "./lib/cycle.js";
import module from "./math.wasm";
import text from "./text.txt";

import { caught, suite, threw } from "./suite.js";

const { test, handler } = suite();
export default handler;

export function early() {
  return "early";
}
const started = Date.now();

test("text", () => text, "hello é\n");
test("data", () => [data.constructor.name, [...new Uint8Array(data)]], ["ArrayBuffer", [0, 1, 254, 255]]);
test("wasm: a Module", () => [module.constructor.name, module instanceof WebAssembly.Module], ["Module", true]);
test("wasm: imports and exports", () => [WebAssembly.Module.imports(module), WebAssembly.Module.exports(module)], [
  [{ module: "env", name: "twice", kind: "function" }],
  [
    { name: "memory", kind: "memory" },
    { name: "add", kind: "function" },
    { name: "callback", kind: "function" },
    { name: "trap", kind: "function" },
  ],
]);
const instance = (twice = (n) => n * 2) => new WebAssembly.Instance(module, { env: { twice } });
test("wasm: call", () => instance().exports.add(40, 2), 42);
test("wasm: overflow", () => instance().exports.add(0x7fffffff, 1), -2147483648);
test("wasm: call out", () => instance().exports.callback(21), 42);
test(
  "wasm: an exception passes through",
  () =>
    instance(() => {
      throw new RangeError("out");
    }).exports.callback(1),
  threw("RangeError", "out"),
);
test("wasm: a trap", () => instance().exports.trap(), threw("RuntimeError", "unreachable"));
test(
  "wasm: memory",
  () => {
    const { memory } = instance().exports;
    const before = memory.buffer.byteLength;
    return [before, memory.grow(1), memory.buffer.byteLength];
  },
  [65536, 1, 131072],
);
test(
  "wasm: instantiate",
  async () => {
    const result = await WebAssembly.instantiate(module, { env: { twice: (n) => n } });
    return [result.constructor.name, result.exports.add(1, 2)];
  },
  ["Instance", 3],
);
test(
  "wasm: a missing import",
  () => new WebAssembly.Instance(module, {}),
  threw("TypeError", 'WebAssembly.Instance(): Import #0 "env": module is not an object or function'),
);
test(
  "wasm: a wrong import",
  () => new WebAssembly.Instance(module, { env: { twice: 1 } }),
  threw("LinkError", 'WebAssembly.Instance(): Import #0 "env" "twice": function import requires a callable'),
);
test(
  "wasm: structuredClone of a Module",
  () => structuredClone(module) instanceof WebAssembly.Module,
  threw("Error", "Unable to deserialize cloned data."),
);
test("wasm: two instances do not share memory", () => {
  const [a, b] = [instance(), instance()];
  new Uint8Array(a.exports.memory.buffer)[0] = 7;
  return new Uint8Array(b.exports.memory.buffer)[0];
}, 0);
test(
  "module: default and live binding",
  () => {
    const before = namespace.count;
    namespace.increment();
    return [counter, namespace.count - before, namespace.alias === namespace.count];
  },
  ["counter", 1, true],
);
test("module: namespace", () => [Object.prototype.toString.call(namespace), Object.isSealed(namespace), Object.keys(namespace)], [
  "[object Module]",
  true,
  ["alias", "count", "default", "increment", "url"],
]);
test("module: import.meta.url", () => namespace.url, undefined);
test("module: a cycle", () => seen, "early");
test("module: the same instance", async () => (await import("./lib/counter.js")) === namespace, true);
test("module: import() of a module that throws", () => import("./lib/throws.js"), threw("RangeError", "at the top level"));
test(
  "module: import() of it again gives the same error",
  async () => (await caught(() => import("./lib/throws.js"))) === (await caught(() => import("./lib/throws.js"))),
  true,
);
test("module: import() of one that waits", async () => (await import("./lib/waits.js")).value, "awaited");
test("module: import() of what is absent", () => import("./nope.js"), threw("Error", 'No such module "nope.js".'));
test("module: import() of text", async () => (await import("./text.txt")).default, "hello é\n");
test("module: import() of a bare name", () => import("nope"), threw("Error", 'No such module "nope".'));
test("module: import() of a URL", () => import("https://example.com/x.js"), threw("Error", 'No such module "https:/example.com/x.js".'));
test(
  "module: import() of data:",
  () => import("data:text/javascript,export default 1"),
  threw("Error", 'No such module "data:text/javascript,export default 1".'),
);
test("module: import() of node: without the flag", () => import("node:path"), threw("Error", 'No such module "node:path".'));
test("module: import() without a prefix without the flag", () => import("path"), threw("Error", 'No such module "path".'));
test("module: import() of node:buffer without the flag", () => import("node:buffer"), threw("Error", 'No such module "node:buffer".'));
test(
  "module: strict",
  () =>
    (function () {
      return this === undefined;
    })(),
  true,
);
test("the time at the top level", () => started, 0);
