// Encodings of bodies on the wire.

import { core } from "ext:core/mod.js";
import { op_compression_finish, op_compression_new, op_compression_write } from "ext:core/ops";
import { bytesOf } from "ext:celld_web/chunk.js";

const { TransformStream } = core.loadExtScript("ext:deno_web/06_streams.js");

/** The names of the formats by those of the codings. */
const FORMATS = { gzip: "gzip", br: "brotli" };

/** `stream` in the coding `gzip` or `br`. */
function encoded(stream, coding) {
  const encoder = op_compression_new(FORMATS[coding], false);
  // The head of gzip names the system, and the platform's is Unix.
  let isHead = coding === "gzip";
  const give = (controller, output) => {
    if (isHead && output.byteLength > 9) {
      isHead = false;
      output[9] = 3;
    }
    if (output.byteLength > 0) controller.enqueue(output);
  };
  return stream.pipeThrough(
    new TransformStream({
      transform: (chunk, controller) => give(controller, op_compression_write(encoder, bytesOf(chunk))),
      flush: (controller) => give(controller, op_compression_finish(encoder, true)),
      cancel: () => void op_compression_finish(encoder, false),
    }),
  );
}

export { encoded };
