// node:http2: its constants, for programs that look at the names of headers.

import { Buffer } from "node:buffer";
import { constants } from "ext:celld_node/http2_constants.js";
import { ERR_METHOD_NOT_IMPLEMENTED, unsupported } from "ext:celld_node/errors.js";

// Without names, as on the platform.
const Http2ServerRequest = (() =>
  class {
    constructor() {
      throw new ERR_METHOD_NOT_IMPLEMENTED("http2.Http2ServerRequest");
    }
  })();
const Http2ServerResponse = (() =>
  class {
    constructor() {
      throw new ERR_METHOD_NOT_IMPLEMENTED("http2.Http2ServerResponse");
    }
  })();

const connect = unsupported("connect", 0, "http2.connect");
const createServer = unsupported("createServer", 0, "http2.createServer");
const createSecureServer = unsupported("createSecureServer", 0, "http2.createSecureServer");
const performServerHandshake = unsupported("performServerHandshake", 0, "http2.performServerHandshake");
function getDefaultSettings() {
  return {};
}
function getPackedSettings() {
  return Buffer.alloc(0);
}
function getUnpackedSettings() {
  return {};
}
const sensitiveHeaders = Symbol("nodejs.http2.sensitiveHeaders");

export {
  connect,
  constants,
  createSecureServer,
  createServer,
  getDefaultSettings,
  getPackedSettings,
  getUnpackedSettings,
  Http2ServerRequest,
  Http2ServerResponse,
  performServerHandshake,
  sensitiveHeaders,
};
export default {
  constants,
  createSecureServer,
  createServer,
  Http2ServerRequest,
  Http2ServerResponse,
  connect,
  getDefaultSettings,
  getPackedSettings,
  getUnpackedSettings,
  performServerHandshake,
  sensitiveHeaders,
};
