// node:net with the exports that the platform has.

import "ext:celld_node/gated_sockets.js";
import base from "node:net";
import { ERR_METHOD_NOT_IMPLEMENTED } from "ext:celld_node/errors.js";

class BoundSocket {
  constructor() {
    throw new ERR_METHOD_NOT_IMPLEMENTED("net.BoundSocket");
  }
}

const all = { ...base, BoundSocket };

export const {
  BlockList, Server, Socket, SocketAddress, Stream, _normalizeArgs, connect, createConnection, createServer,
  getDefaultAutoSelectFamily, getDefaultAutoSelectFamilyAttemptTimeout, isIP, isIPv4, isIPv6,
  setDefaultAutoSelectFamily, setDefaultAutoSelectFamilyAttemptTimeout,
} = all;
export { BoundSocket };
export default {
  BlockList, BoundSocket, Server, Socket, SocketAddress, Stream, _normalizeArgs, connect, createConnection,
  createServer, getDefaultAutoSelectFamily, getDefaultAutoSelectFamilyAttemptTimeout, isIP, isIPv4, isIPv6,
  setDefaultAutoSelectFamily, setDefaultAutoSelectFamilyAttemptTimeout,
};
