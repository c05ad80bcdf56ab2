// node:_http_outgoing: a part of node:http.

import base from "node:_http_outgoing";

const module = base;

export const {
  OutgoingMessage, kHighWaterMark, kUniqueHeaders, parseUniqueHeadersOption, validateHeaderName, validateHeaderValue,
} = module;
export default {
  OutgoingMessage, kHighWaterMark, kUniqueHeaders, parseUniqueHeadersOption, validateHeaderName, validateHeaderValue,
};
