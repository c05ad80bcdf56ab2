// node:_stream_transform: a part of node:stream.

import { Transform } from "node:stream";

export { Transform };
export default Transform;
