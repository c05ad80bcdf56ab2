// node:inspector/promises: there is nothing to attach to.

import { console, Network, StubSession as Session } from "ext:celld_node/inspector_stubs.js";
import { unsupported } from "ext:celld_node/errors.js";

const close = unsupported("close", 0, "Inspector.close");
const open = unsupported("open", 3, "Inspector.open");
const url = unsupported("url", 0, "Inspector.url");
const waitForDebugger = unsupported("waitForDebugger", 0, "Inspector.waitForDebugger");

export { close, console, Network, open, Session, url, waitForDebugger };
export default { close, console, Network, open, Session, url, waitForDebugger };
