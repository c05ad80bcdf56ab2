// What `WebSocket.close` accepts.

import { core } from "ext:core/mod.js";

const { DOMException } = core.loadExtScript("ext:deno_web/01_dom_exception.js");

/** The code that stands for "closed without a code"; it is never sent. */
const NO_CODE = 1005;
/** The code of a connection that ended without a close. */
const LOST_CODE = 1006;
const LOST_REASON = "WebSocket disconnected without sending Close frame.";

/** Bytes that a reason may have on the wire. */
const MAX_REASON = 123;

function isCode(code) {
  return code >= 1000 && code < 5000 && code !== 1004 && code !== NO_CODE && code !== LOST_CODE && code !== 1015;
}

/** Checks the arguments of `close` and returns the code to send. Throws as the platform does. */
function checkClose(code, reason, limitsReason) {
  if (code === undefined) {
    if (reason !== undefined) {
      throw new DOMException(
        "If you specify a WebSocket close reason, you must also specify a code.",
        "InvalidAccessError",
      );
    }
    return NO_CODE;
  }
  const number = Math.trunc(Number(code)) || 0;
  if (!isCode(number)) throw new DOMException(`Invalid WebSocket close code: ${number}.`, "InvalidAccessError");
  if (limitsReason && reason !== undefined && core.byteLength(String(reason)) > MAX_REASON) {
    throw new DOMException(
      `WebSocket close reason must not be longer than ${MAX_REASON} bytes when UTF-8 encoded.`,
      "SyntaxError",
    );
  }
  return number;
}

export { checkClose, LOST_CODE, LOST_REASON, NO_CODE };
