// Deno's node:url, as a module. Deno registers it as one that deno_core evaluates while it links, and finds by the name alone,
// whatever the loader says.

import { core } from "ext:core/mod.js";

const exports = core.loadExtScript("ext:deno_node/url.ts");

export const { URL, fileURLToPath, pathToFileURL } = exports;
export default exports.default ?? exports;
