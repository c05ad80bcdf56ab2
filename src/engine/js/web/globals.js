// The globals of this extension.

import "ext:celld_web/byob.js";
import "ext:celld_web/digest.js";
import { FixedLengthStream, IdentityTransformStream } from "ext:celld_web/identity.js";
import { HTMLRewriter } from "ext:celld_web/rewriter.js";

for (const value of [FixedLengthStream, HTMLRewriter, IdentityTransformStream]) {
  Object.defineProperty(globalThis, value.name, {
    __proto__: null,
    value,
    writable: true,
    enumerable: false,
    configurable: true,
  });
}
