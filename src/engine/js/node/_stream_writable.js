// node:_stream_writable: a part of node:stream.

import { Writable } from "node:stream";

export const { WritableState, fromWeb, toWeb } = Writable;
export { Writable };
export default Writable;
