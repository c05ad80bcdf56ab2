// Visits everything that can be reached from `roots` and calls `visit(value, path, holder, key)` for each object
// and function once: `holder[key]` was the first to lead to it.
export function walk(roots, visit) {
  const seen = new Set();
  const queue = Object.entries(roots).map(([name, value]) => [value, name, null, name]);
  for (let head = 0; head < queue.length; head++) {
    const [value, path, holder, key] = queue[head];
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
    seen.add(value);
    visit(value, path, holder, key);
    const follow = (next, step, key = step) => queue.push([next, `${path}${step}`, value, key]);
    try {
      follow(Object.getPrototypeOf(value), ".__proto__");
    } catch {
      // A proxy that refuses.
    }
    let keys = [];
    try {
      keys = Reflect.ownKeys(value);
    } catch {
      continue;
    }
    for (const key of keys) {
      const step = typeof key === "symbol" ? `[${String(key)}]` : `.${key}`;
      const descriptor = Reflect.getOwnPropertyDescriptor(value, key);
      if (descriptor === undefined) continue;
      follow(descriptor.get, `${step}<get>`, key);
      follow(descriptor.set, `${step}<set>`, key);
      if ("value" in descriptor) {
        follow(descriptor.value, step, key);
        continue;
      }
      try {
        const got = Reflect.get(value, key);
        // An accessor that returns a promise refuses by a rejection.
        if (got instanceof Promise) got.catch(() => {});
        follow(got, step, key);
      } catch {
        // An accessor that wants another receiver.
      }
    }
    if (value instanceof Map || value instanceof Set) {
      try {
        let index = 0;
        for (const entry of value) follow(entry, `<${index++}>`);
      } catch {
        // A prototype.
      }
    }
  }
  return seen.size;
}

const FORBIDDEN_NAMES = new Set([
  "__bootstrap", "__denoNs", "Deno", "internalBinding", "internals", "loadExtScript", "opNames", "primordials",
]);

// What must not be reachable: ops, and the objects through which they are reached.
export function forbidden(value, path) {
  const name = path.slice(path.lastIndexOf(".") + 1);
  if (FORBIDDEN_NAMES.has(name)) return `${path} is named ${name}`;
  if (typeof value === "function") {
    let own;
    try {
      own = value.name;
    } catch {
      return undefined;
    }
    return typeof own === "string" && own.startsWith("op_") ? `${path} is the op ${own}` : undefined;
  }
  try {
    if ("ops" in value && "loadExtScript" in value) return `${path} is deno_core's core`;
    if (typeof value.op_print === "function") return `${path} is the table of ops`;
  } catch {
    // A proxy or an accessor that refuses.
  }
  return undefined;
}

// The objects that V8 brings along by itself.
const INTRINSICS = [
  "AggregateError", "Array", "ArrayBuffer", "AsyncDisposableStack", "Atomics", "BigInt", "BigInt64Array", "BigUint64Array", "Boolean",
  "DataView", "Date", "DisposableStack", "Error", "EvalError", "FinalizationRegistry", "Float16Array", "Float32Array", "Float64Array",
  "Function", "Int16Array", "Int32Array", "Int8Array", "Intl", "Iterator", "JSON", "Map", "Math", "Number", "Object", "Promise", "Proxy",
  "RangeError", "ReferenceError", "Reflect", "RegExp", "Set", "SharedArrayBuffer", "String", "SuppressedError", "Symbol", "SyntaxError",
  "Temporal", "TypeError", "URIError", "Uint16Array", "Uint32Array", "Uint8Array", "Uint8ClampedArray", "WeakMap", "WeakRef", "WeakSet",
  "WebAssembly", "decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent", "escape", "eval", "isFinite", "isNaN",
  "parseFloat", "parseInt", "unescape",
];
const source = Function.prototype.toString;

/** Functions without a source: V8's own, and what the host has put in. */
function isNative(value) {
  if (typeof value !== "function") return false;
  try {
    return /\{\s*\[native code\]\s*\}\s*$/.test(source.call(value));
  } catch {
    return true;
  }
}

/** `Class#method`, `Class.static`, or the path without numbers of what belongs to no class. */
function label(value, path, holder, key) {
  const member = typeof key === "symbol" ? String(key) : key;
  if (/^bound /.test(value.name)) return value.name;
  if (typeof holder === "function" && holder.name !== "") return `${holder.name}.${member}`;
  const constructor = holder !== null && Object.hasOwn(holder, "constructor") ? holder.constructor : undefined;
  if (constructor === value) return `class ${value.name}`;
  if (typeof constructor === "function" && constructor.name !== "") return `${constructor.name}#${member}`;
  return path.replaceAll(/\.\d+/g, "");
}

/** The native functions that `roots` lead to and that are not V8's own, by class and name. */
export function natives(roots) {
  const own = new Set();
  const syntax = [async () => {}, function* () {}, async function* () {}, [][Symbol.iterator](), ""[Symbol.iterator]()];
  walk({ ...INTRINSICS.map((name) => globalThis[name]), syntax }, (value) => own.add(value));
  const found = new Set();
  walk(roots, (value, ...from) => {
    if (isNative(value) && !own.has(value)) found.add(label(value, ...from));
  });
  return [...found].sort();
}
