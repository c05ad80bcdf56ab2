// node:http: clients over sockets; servers that are called by `cloudflare:node`.

import "ext:celld_node/gated_sockets.js";
import base from "node:http";
import { createServer, Server, ServerResponse } from "ext:celld_node/http_server.js";

const { CloseEvent, MessageEvent, WebSocket } = globalThis;

const all = { ...base, CloseEvent, createServer, MessageEvent, Server, ServerResponse, WebSocket };

export const {
  Agent, ClientRequest, IncomingMessage, METHODS, OutgoingMessage, STATUS_CODES, _connectionListener, get,
  globalAgent, maxHeaderSize, request, setMaxIdleHTTPParsers, validateHeaderName, validateHeaderValue,
} = all;
export { CloseEvent, MessageEvent, Server, ServerResponse, WebSocket, createServer };
export default {
  Agent, ClientRequest, CloseEvent, IncomingMessage, METHODS, MessageEvent, OutgoingMessage, STATUS_CODES, Server,
  ServerResponse, WebSocket, _connectionListener, createServer, get, globalAgent, maxHeaderSize, request,
  setMaxIdleHTTPParsers, validateHeaderName, validateHeaderValue,
};
