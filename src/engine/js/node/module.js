// node:module of a Worker, which has no files: `require` serves the built-in modules.

import { builtin, builtinModules, isBuiltin } from "ext:celld_node/builtin.js";
import { inert, unsupported } from "ext:celld_node/errors.js";
import { ERR_INVALID_ARG_VALUE } from "ext:celld_node/internal.js";

function createRequire(path) {
  const text = String(path);
  if (!text.startsWith("/") && !text.startsWith("file:")) {
    const reason = "The argument must be a file URL object, a file URL string, or an absolute path string.";
    throw new ERR_INVALID_ARG_VALUE("path", path, reason);
  }
  return function require(id) {
    const found = builtin(id);
    if (found === undefined) {
      throw new Error(`No such module "${String(id).replace(/^\.\//, "")}".`);
    }
    return found;
  };
}

const Module = unsupported("Module", 0, "module.Module");
Module.prototype.load = unsupported("load", 0, "module.load");
Module.prototype.require = unsupported("require", 0, "module.require");
Module.prototype._compile = unsupported("_compile", 0, "module._compile");
Object.assign(Module, {
  constants: { compileCacheStatus: { FAILED: 0, ENABLED: 1, ALREADY_ENABLED: 2, DISABLED: 3 } },
  enableCompileCache: inert("enableCompileCache"),
  flushCompileCache: inert("flushCompileCache"),
  getCompileCacheDir: inert("getCompileCacheDir"),
  getSourceMapsSupport() {
    return Object.freeze({ __proto__: null, enabled: false, nodeModules: false, generatedCode: false });
  },
  createRequire,
  builtinModules,
  globalPaths: [],
  isBuiltin,
  _cache: { __proto__: null },
  _extensions: { __proto__: null },
  _pathCache: { __proto__: null },
  Module,
});
for (
  const name of [
    "SourceMap", "_debug", "_findPath", "_initPaths", "_load", "_nodeModulePaths", "_preloadModules",
    "_resolveFilename", "_resolveLookupPaths", "findPackageJSON", "findSourceMap", "register", "registerHooks",
    "runMain", "setSourceMapsSupport", "stripTypeScriptTypes", "syncBuiltinESMExports", "wrap",
  ]
) {
  Module[name] = unsupported(name, 0, `module.${name}`);
}

export const {
  SourceMap, _cache, _debug, _extensions, _findPath, _initPaths, _load, _nodeModulePaths, _pathCache,
  _preloadModules, _resolveFilename, _resolveLookupPaths, constants, enableCompileCache, findPackageJSON,
  findSourceMap, flushCompileCache, getCompileCacheDir, getSourceMapsSupport, globalPaths, register, registerHooks,
  runMain, setSourceMapsSupport, stripTypeScriptTypes, syncBuiltinESMExports, wrap,
} = Module;
export { Module, builtinModules, createRequire, isBuiltin };
export default Module;
