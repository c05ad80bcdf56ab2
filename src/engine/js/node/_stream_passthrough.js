// node:_stream_passthrough: a part of node:stream.

import { PassThrough } from "node:stream";

export { PassThrough };
export default PassThrough;
