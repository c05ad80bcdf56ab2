// node:inspector: there is nothing to attach to.

import { console, Network, StubSession as Session } from "ext:celld_node/inspector_stubs.js";
import { inert } from "ext:celld_node/errors.js";

const close = inert("close");
const url = inert("url");
const waitForDebugger = inert("waitForDebugger");
function open(_port, _host, _wait) {
  return { [Symbol.dispose]() {} };
}

export { close, console, Network, open, Session, url, waitForDebugger };
export default { Session, close, console, open, url, waitForDebugger, Network };
