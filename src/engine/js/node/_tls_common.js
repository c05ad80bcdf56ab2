// node:_tls_common: a part of node:tls.

import base from "node:_tls_common";

const module = base;

export const {
  SecureContext, createSecureContext, translatePeerCertificate,
} = module;
export default {
  SecureContext, createSecureContext, translatePeerCertificate,
};
