// Chunks of bodies.

import { core } from "ext:core/mod.js";

/** The bytes of a chunk: of any view or buffer, and of nothing else. */
function bytesOf(chunk) {
  if (ArrayBuffer.isView(chunk)) return new Uint8Array(chunk.buffer, chunk.byteOffset, chunk.byteLength);
  if (core.isAnyArrayBuffer(chunk)) return new Uint8Array(chunk);
  throw new TypeError("This ReadableStream did not return bytes.");
}

export { bytesOf };
