// node:https with the exports that the platform has.

import "ext:celld_node/gated_sockets.js";
import base from "node:https";
import { createServer, Server } from "ext:celld_node/http_server.js";

const module = { ...base, createServer, Server };

export const {
  Agent, get, globalAgent, request,
} = module;
export { Server, createServer };
export default {
  Agent, Server, createServer, get, globalAgent, request,
};
