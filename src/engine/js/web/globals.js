// The globals of this extension.

import { Body } from "ext:celld_web/body.js";
import "ext:celld_web/byob.js";
import { structuredClone } from "ext:celld_web/clone.js";
import "ext:celld_web/digest.js";
import "ext:celld_web/ports.js";
import { Cache, caches, CacheStorage } from "ext:celld_web/cache.js";
import { FixedLengthStream, IdentityTransformStream } from "ext:celld_web/identity.js";
import { classes } from "ext:celld_web/legacy.js";
import { HTMLRewriter } from "ext:celld_web/rewriter.js";

const hidden = { Body, Cache, CacheStorage, FixedLengthStream, HTMLRewriter, IdentityTransformStream, ...classes };
for (const [name, value] of Object.entries(hidden)) {
  Object.defineProperty(globalThis, name, {
    __proto__: null,
    value,
    writable: true,
    enumerable: false,
    configurable: true,
  });
}
for (const [name, value] of Object.entries({ caches, origin: "null", structuredClone })) {
  Object.defineProperty(globalThis, name, {
    __proto__: null,
    value,
    writable: true,
    enumerable: true,
    configurable: true,
  });
}
