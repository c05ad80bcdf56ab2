// The canonical form of an observation: JSON that says which class a value had, so that two runtimes can be compared by text.
// A value that JSON has no word for becomes an object with the key "$".

const typedArray = Object.getPrototypeOf(Uint8Array.prototype);
const typedArrayTag = Object.getOwnPropertyDescriptor(typedArray, Symbol.toStringTag).get;

/** What a case threw, as opposed to what it returned. */
export class Threw {
  constructor(error) {
    this.error = error;
  }
}

/** An expected exception. `name` differs from `type` for a DOMException; `own` are own enumerable properties. */
export function threw(type, message, name = type, own = undefined) {
  return new Threw(new ErrorShape(type, name, message, own));
}

/** An expected error that is a value. */
export function error(type, message, name = type, own = undefined) {
  return new ErrorShape(type, name, message, own);
}

class ErrorShape {
  constructor(type, name, message, own) {
    Object.assign(this, { type, name, message, own });
  }
}

export function canon(value, above = []) {
  switch (typeof value) {
    case "string":
    case "boolean":
      return value;
    case "number":
      return Number.isFinite(value) && !Object.is(value, -0) ? value : { $: "number", is: Object.is(value, -0) ? "-0" : String(value) };
    case "undefined":
      return { $: "undefined" };
    case "bigint":
      return { $: "bigint", is: String(value) };
    case "symbol":
      return { $: "symbol", is: value.description };
    case "function":
      return { $: "function", name: value.name };
  }
  if (value === null) return null;
  if (above.includes(value)) return { $: "circular" };
  const inside = [...above, value];
  // IDs are made from secrets of the runtime; that there is one is what counts.
  const each = (object, key) => (key === "durableObjectId" ? "ID" : canon(object[key], inside));
  const own = (object) => Object.fromEntries(Object.keys(object).map((key) => [key, each(object, key)]));
  if (value instanceof Threw) return { $: "threw", is: canon(value.error, inside) };
  if (value instanceof ErrorShape) {
    const { type, name, message, own: more } = value;
    return { $: "error", type, name, message, ...(more && own(more)) };
  }
  if (value instanceof Error) {
    const cause = Object.hasOwn(value, "cause") ? { cause: canon(value.cause, inside) } : undefined;
    const { stack, ...more } = value instanceof DOMException ? {} : own(value);
    return { $: "error", type: value.constructor?.name, name: value.name, message: value.message, ...cause, ...more };
  }
  if (Array.isArray(value)) return Array.from(value, (item) => canon(item, inside));
  if (ArrayBuffer.isView(value)) {
    const bytes = new Uint8Array(value.buffer, value.byteOffset, value.byteLength);
    return { $: typedArrayTag.call(value) ?? "DataView", hex: hex(bytes) };
  }
  if (value instanceof ArrayBuffer) return { $: "ArrayBuffer", hex: hex(new Uint8Array(value)) };
  if (value instanceof Date) return { $: "Date", is: Number.isNaN(+value) ? "invalid" : value.toISOString() };
  if (value instanceof RegExp) return { $: "RegExp", is: String(value) };
  if (value instanceof Map) return { $: "Map", is: canon([...value], inside) };
  if (value instanceof Set) return { $: "Set", is: canon([...value], inside) };
  if (value instanceof Promise) return { $: "Promise" };
  const prototype = Object.getPrototypeOf(value);
  if (prototype === Object.prototype) return own(value);
  if (prototype === null) return { $: "null prototype", ...own(value) };
  if (value.constructor?.name === "Headers") return { $: "Headers", is: [...value].map(([name, each]) => `${name}: ${each}`) };
  return { $: value.constructor?.name ?? String(value[Symbol.toStringTag]), ...own(value) };
}

function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
