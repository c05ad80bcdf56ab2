// Chunks of bodies.

import { core } from "ext:core/mod.js";

/** The bytes of a chunk: of any view or buffer, and of nothing else. None of a buffer that was taken away. No code of the user runs. */
const { bytesOfChunk: bytesOf } = core.loadExtScript("ext:deno_web/06_streams.js");

export { bytesOf };
