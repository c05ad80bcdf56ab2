// The public modules, as `require` and `process.getBuiltinModule` find them.

import { core } from "ext:core/mod.js";

// The URLs of the public modules by name; filled in by the build script of celld-snapshot.
const urls = { __proto__: null, ...__NODE_URLS__ };
/** Modules that are found only with the prefix `node:`. */
const prefixOnly = ["test"];
/** Modules that the list of all does not have. */
const unlisted = ["sqlite", "test"];

const builtinModules = Object.keys(urls).filter((name) => !unlisted.includes(name)).sort();

function builtinUrl(id) {
  if (id.startsWith("node:")) {
    return urls[id.slice(5)];
  }
  return prefixOnly.includes(id) ? undefined : urls[id];
}

function isBuiltin(id) {
  return builtinUrl(String(id)) !== undefined;
}

/** The default export of a public module, or undefined: what `require` and `getBuiltinModule` give. */
function builtin(id) {
  const url = builtinUrl(String(id));
  if (url === undefined) {
    return undefined;
  }
  const namespace = core.createLazyLoader(url)();
  return namespace.default ?? namespace;
}

export { builtin, builtinModules, isBuiltin };
