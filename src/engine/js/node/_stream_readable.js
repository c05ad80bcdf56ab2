// node:_stream_readable: a part of node:stream.

import { Readable } from "node:stream";

export const { ReadableState, from, fromWeb, toWeb, wrap } = Readable;
export { Readable };
export default Readable;
