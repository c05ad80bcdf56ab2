// node:_tls_wrap: a part of node:tls.

import base from "node:celld/tls";

const module = base;

export const {
  TLSSocket, connect,
} = module;
export default {
  TLSSocket, connect,
};
