// node:_http_common: a part of node:http, without its parsers.

import { kIncomingMessage } from "node:_http_server";
import { methods, CRLF, _checkInvalidHeaderChar, _checkIsHttpToken, chunkExpression, continueExpression } from "node:_http_common";

const parsers = { name: "parsers", max: 1000 };

export {
  CRLF, _checkInvalidHeaderChar, _checkIsHttpToken, chunkExpression, continueExpression, kIncomingMessage, methods,
  parsers,
};
export default {
  CRLF, _checkInvalidHeaderChar, _checkIsHttpToken, chunkExpression, continueExpression, kIncomingMessage, methods,
  parsers,
};
