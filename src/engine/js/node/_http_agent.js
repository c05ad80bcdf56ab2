// node:_http_agent: a part of node:http.

import http from "node:celld/http";

const module = http;

export const {
  Agent, globalAgent,
} = module;
export default {
  Agent, globalAgent,
};
