// Visits everything that can be reached from `roots` and calls `visit(value, path)` for each object
// and function once.
export function walk(roots, visit) {
  const seen = new Set();
  const queue = Object.entries(roots).map(([name, value]) => [value, name]);
  while (queue.length > 0) {
    const [value, path] = queue.shift();
    if ((typeof value !== "object" && typeof value !== "function") || value === null || seen.has(value)) continue;
    seen.add(value);
    visit(value, path);
    const follow = (next, step) => queue.push([next, `${path}${step}`]);
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
      follow(descriptor.get, `${step}<get>`);
      follow(descriptor.set, `${step}<set>`);
      if ("value" in descriptor) {
        follow(descriptor.value, step);
        continue;
      }
      try {
        const got = Reflect.get(value, key);
        // An accessor that returns a promise refuses by a rejection.
        if (got instanceof Promise) got.catch(() => {});
        follow(got, step);
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
