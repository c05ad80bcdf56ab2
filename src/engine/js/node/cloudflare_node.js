// The module `cloudflare:node`: requests of the platform for servers of node:http.

import { Server, serverOn } from "ext:celld_node/http_server.js";
import { unsupported } from "ext:celld_node/errors.js";

const PORTS = 65_536;

function checkPort(port) {
  const number = Number(port);
  if (port === undefined || port === null || port === "" || !Number.isInteger(number) || number < 0 || number >= PORTS) {
    throw new Error("Failed to determine port for server");
  }
  return number;
}

async function handleAsNodeRequest(description, request, env, ctx) {
  const port = checkPort(typeof description === "number" ? description : description?.port);
  const server = serverOn(port);
  if (server === undefined) {
    const text = `Http server with port ${port} not found. This is likely a bug with your code. ` +
      `You should check if server.listen() was called with the same port (${port})`;
    throw Object.assign(new Error(text), { code: "ERR_INVALID_ARG_VALUE" });
  }
  return await server.fetch(request, env, ctx);
}

function httpServerHandler(description, handlers = {}) {
  if (description === undefined || description === null) {
    throw new Error("Server descriptor cannot be null or undefined");
  }
  if (description instanceof Server && !description.listening) {
    description.listen(0);
  }
  const port = checkPort(description instanceof Server ? description.address().port : description.port);
  return {
    ...handlers,
    fetch(request, env, ctx) {
      return handleAsNodeRequest(port, request, env, ctx);
    },
  };
}

// Connections that are not HTTP do not reach a Worker.
const handleAsNodeConnection = unsupported("handleAsNodeConnection", 3);
const connectHandler = unsupported("connectHandler");

export { connectHandler, handleAsNodeConnection, handleAsNodeRequest, httpServerHandler };
