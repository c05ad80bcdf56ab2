// node:_http_client: a part of node:http.

import http from "node:celld/http";

const module = http;

export const {
  ClientRequest,
} = module;
export default {
  ClientRequest,
};
