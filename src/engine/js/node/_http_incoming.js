// node:_http_incoming: a part of node:http.

import http from "node:celld/http";

const module = http;

export const {
  IncomingMessage,
} = module;
export default {
  IncomingMessage,
};
