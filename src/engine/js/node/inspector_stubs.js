// What node:inspector and node:inspector/promises share.

import { EventEmitter } from "node:events";
import { ERR_METHOD_NOT_IMPLEMENTED, unsupported } from "ext:celld_node/errors.js";

class StubSession extends EventEmitter {
  constructor() {
    super();
    throw new ERR_METHOD_NOT_IMPLEMENTED("Session");
  }
  connect() {}
  connectToMainThread() {}
  disconnect() {}
  post() {}
}

const Network = {};
for (
  const name of [
    "requestWillBeSent", "dataReceived", "dataSent", "responseReceived", "loadingFinished", "loadingFailed",
    "webSocketCreated", "webSocketHandshakeResponseReceived", "webSocketClosed",
  ]
) {
  Network[name] = unsupported(name, 0, `Network.${name}`);
}

function noop() {}
const console = {};
for (
  const name of [
    "debug", "error", "info", "log", "warn", "dir", "dirxml", "table", "trace", "group", "groupCollapsed", "groupEnd",
    "clear", "count", "countReset", "assert", "profile", "profileEnd", "time", "timeLog", "timeStamp",
  ]
) {
  console[name] = noop;
}

export { console, Network, StubSession };
