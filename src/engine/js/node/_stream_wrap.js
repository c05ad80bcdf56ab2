// node:_stream_wrap: a socket on a stream, which is of use only to TLS over something else than TCP.

import { ERR_METHOD_NOT_IMPLEMENTED } from "ext:celld_node/errors.js";
import { ERR_INVALID_ARG_TYPE } from "ext:celld_node/internal.js";
import { Duplex } from "node:stream";

class JSStreamSocket {
  constructor(stream) {
    if (!(stream instanceof Duplex)) {
      throw new ERR_INVALID_ARG_TYPE("duplex", "stream.Duplex", stream);
    }
    throw new ERR_METHOD_NOT_IMPLEMENTED("JSStreamSocket");
  }
}

export default JSStreamSocket;
