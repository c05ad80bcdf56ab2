// The globals of this extension.

import { WebSocketRequestResponsePair } from "ext:celld_socket/auto_response.js";
import "ext:celld_socket/hibernation.js";
import "ext:celld_socket/beacon.js";
import { fetch } from "ext:celld_socket/fetch.js";
import { Response } from "ext:celld_socket/response.js";
import { WebSocket, WebSocketPair } from "ext:celld_socket/websocket.js";
import { adjustSurface } from "ext:celld_web/surface.js";

Object.defineProperty(globalThis, "fetch", {
  __proto__: null,
  value: fetch,
  writable: true,
  enumerable: true,
  configurable: true,
});
for (const value of [Response, WebSocket, WebSocketPair, WebSocketRequestResponsePair]) {
  Object.defineProperty(globalThis, value.name, {
    __proto__: null,
    value,
    writable: true,
    enumerable: false,
    configurable: true,
  });
}
adjustSurface();
