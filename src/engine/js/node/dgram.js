// node:dgram: sockets on which nothing is ever sent or received.

import { EventEmitter } from "node:events";
import { inert } from "ext:celld_node/errors.js";
import { ERR_INVALID_ARG_TYPE } from "ext:celld_node/internal.js";

function requireOptions(type) {
  if (typeof type !== "string" && (typeof type !== "object" || type === null)) {
    throw new ERR_INVALID_ARG_TYPE("type", "object", type);
  }
}

class Socket extends EventEmitter {
  constructor(type, listener) {
    requireOptions(type);
    super();
    if (typeof listener === "function") {
      this.on("message", listener);
    }
  }
}

// What a program gets from methods of Node.js's sockets.
const results = {
  bind: (socket) => socket,
  close: (socket) => socket,
  ref: (socket) => socket,
  unref: (socket) => socket,
  address: () => ({}),
  remoteAddress: () => ({}),
  getRecvBufferSize: () => 0,
  getSendBufferSize: () => 0,
  getSendQueueSize: () => 0,
  getSendQueueCount: () => 0,
};
for (const [name, result] of Object.entries(results)) {
  const method = { [name]() {
    return result(this);
  } }[name];
  Object.defineProperty(Socket.prototype, name, { value: method, writable: true, configurable: true });
}
for (
  const name of [
    "connect", "disconnect", "sendto", "send", "setBroadcast", "setTTL", "setMulticastTTL", "setMulticastLoopback",
    "setMulticastInterface", "addMembership", "dropMembership", "addSourceSpecificMembership",
    "dropSourceSpecificMembership", "setRecvBufferSize", "setSendBufferSize",
  ]
) {
  Object.defineProperty(Socket.prototype, name, { value: inert(name), writable: true, configurable: true });
}

function createSocket(type, listener) {
  return new Socket(type, listener);
}

export { createSocket, Socket };
export default { createSocket, Socket };
