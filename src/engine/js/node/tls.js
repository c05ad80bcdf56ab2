// node:tls with the exports that the platform has.

import "ext:celld_node/gated_sockets.js";
import { SecureContext } from "node:_tls_common";
import base from "node:tls";

const module = { ...base, SecureContext };

export const {
  CLIENT_RENEG_LIMIT, CLIENT_RENEG_WINDOW, DEFAULT_CIPHERS, DEFAULT_ECDH_CURVE, DEFAULT_MAX_VERSION,
  DEFAULT_MIN_VERSION, Server, TLSSocket, checkServerIdentity, connect, convertALPNProtocols, createSecureContext,
  createSecurePair, createServer, getCiphers, rootCertificates,
} = module;
export { SecureContext };
export default {
  CLIENT_RENEG_LIMIT, CLIENT_RENEG_WINDOW, DEFAULT_CIPHERS, DEFAULT_ECDH_CURVE, DEFAULT_MAX_VERSION,
  DEFAULT_MIN_VERSION, SecureContext, Server, TLSSocket, checkServerIdentity, connect, convertALPNProtocols,
  createSecureContext, createSecurePair, createServer, getCiphers, rootCertificates,
};
