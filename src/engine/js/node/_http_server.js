// node:_http_server: a part of node:http.

import { Server, ServerResponse } from "ext:celld_node/http_server.js";
import base from "node:_http_server";
import { unsupported } from "ext:celld_node/errors.js";

const _connectionListener = unsupported("_connectionListener");
const setupConnectionsTracking = unsupported("setupConnectionsTracking");
function httpServerPreClose(server) {
  server.closeIdleConnections();
}

const module = { ...base, _connectionListener, httpServerPreClose, Server, ServerResponse, setupConnectionsTracking };

export const {
  STATUS_CODES, kConnectionsCheckingInterval, kServerResponse, storeHTTPOptions,
} = module;
export { Server, ServerResponse, _connectionListener, httpServerPreClose, setupConnectionsTracking };
export default {
  STATUS_CODES, Server, ServerResponse, _connectionListener, httpServerPreClose, kConnectionsCheckingInterval,
  kServerResponse, setupConnectionsTracking, storeHTTPOptions,
};
