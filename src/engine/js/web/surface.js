// The shape of the classes: what can be seen of them without calling them, where it differs from the platform's and can be changed.

import { core } from "ext:core/mod.js";

const { TransformStream } = core.loadExtScript("ext:deno_web/06_streams.js");
const { Event, EventTarget } = core.loadExtScript("ext:deno_web/02_event.js");
const { SubtleCrypto } = core.loadExtScript("ext:deno_crypto/00_crypto.js");

/** Members that the platform does not have. Nothing of the runtime uses them. */
const SUPERFLUOUS = [
  [Blob.prototype, ["textStream"]],
  [Event.prototype, ["initialized"]],
  [EventTarget.prototype, ["getParent"]],
  [SubtleCrypto, ["supports"]],
  [SubtleCrypto.prototype, ["decapsulateBits", "decapsulateKey", "encapsulateBits", "encapsulateKey", "getPublicKey"]],
];

/** Transforms of the platform are `TransformStream`s. */
const TRANSFORMS = [CompressionStream, DecompressionStream, TextDecoderStream, TextEncoderStream];

const isPlatformClass = (value) => typeof value === "function" && value.prototype && core.isProxy(value) === false;

/** Adjusts the classes that `globalThis` has now. */
function adjustSurface() {
  for (const [object, names] of SUPERFLUOUS) {
    for (const name of names) delete object[name];
  }
  for (const Class of TRANSFORMS) {
    Object.setPrototypeOf(Class, TransformStream);
    Object.setPrototypeOf(Class.prototype, TransformStream.prototype);
  }
  for (const [name, { value }] of Object.entries(Object.getOwnPropertyDescriptors(globalThis))) {
    if (!/^[A-Z]/.test(name) || !isPlatformClass(value) || /\[native code\]/.test(Function.prototype.toString.call(value))) continue;
    Object.defineProperty(value, "length", { value: 0, configurable: true });
    const tag = Object.getOwnPropertyDescriptor(value.prototype, Symbol.toStringTag);
    if (tag === undefined || tag.configurable) {
      Object.defineProperty(value.prototype, Symbol.toStringTag, {
        value: tag?.value ?? name,
        writable: true,
        enumerable: false,
        configurable: true,
      });
    }
    for (const key of Object.getOwnPropertyNames(value.prototype)) {
      const member = Object.getOwnPropertyDescriptor(value.prototype, key);
      if (key !== "constructor" && member.configurable && !member.enumerable) {
        Object.defineProperty(value.prototype, key, { enumerable: true });
      }
    }
  }
}

export { adjustSurface };
