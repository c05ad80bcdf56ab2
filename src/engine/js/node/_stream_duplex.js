// node:_stream_duplex: a part of node:stream.

import { Duplex } from "node:stream";

export const { from, fromWeb, toWeb } = Duplex;
export { Duplex };
export default Duplex;
