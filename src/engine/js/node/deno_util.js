// Deno's node:util, as a module. Deno registers it as one that deno_core evaluates while it links, and finds by the name alone,
// whatever the loader says.

import { core } from "ext:core/mod.js";

const exports = core.loadExtScript("ext:deno_node/util.ts");

export const { deprecate, inspect } = exports;
export default exports.default ?? exports;
