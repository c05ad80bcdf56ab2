// node:module of a process without files: `require` serves the built-in modules of the allow-list. The
// build script of celld-snapshot puts this in the place of Deno's module, whose loader reaches internal
// modules, and fills in the list.
import { core } from "ext:core/mod.js";

const builtinModules = __NODE_MODULES__;

function builtinName(id) {
  id = String(id);
  const name = id.startsWith("node:") ? id.slice(5) : id;
  return builtinModules.includes(name) ? name : undefined;
}

function isBuiltin(id) {
  return builtinName(id) !== undefined;
}

function notFound(id) {
  const error = new Error(`Cannot find module '${id}'`);
  error.code = "MODULE_NOT_FOUND";
  return error;
}

function createRequire(_filename) {
  function require(id) {
    const name = builtinName(id);
    if (name === undefined) {
      throw notFound(id);
    }
    const namespace = core.createLazyLoader(`node:${name}`)();
    return namespace.default ?? namespace;
  }
  require.resolve = function resolve(id) {
    if (!isBuiltin(id)) {
      throw notFound(id);
    }
    return id;
  };
  require.cache = Object.create(null);
  return require;
}

class Module {}
Module.Module = Module;
Module.builtinModules = [...builtinModules];
Module.createRequire = createRequire;
Module.isBuiltin = isBuiltin;

const publicBuiltinModules = Module.builtinModules;
export { createRequire, isBuiltin, Module, publicBuiltinModules as builtinModules };
export default Module;
