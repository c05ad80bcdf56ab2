// node:repl: no terminal, and no evaluation of text.

import { Interface } from "node:readline";
import { ERR_METHOD_NOT_IMPLEMENTED, unsupported } from "ext:celld_node/errors.js";
import { builtinModules as allModules } from "ext:celld_node/builtin.js";

class REPLServer extends Interface {
  constructor() {
    throw new ERR_METHOD_NOT_IMPLEMENTED("REPLServer");
  }
  setupHistory() {}
  defineCommand() {}
  displayPrompt() {}
  clearBufferedCommand() {}
}

class Recoverable extends SyntaxError {
  constructor(err) {
    super();
    this.err = err;
  }
}

const writer = unsupported("writer");
const start = unsupported("start");
const builtinModules = allModules.filter((name) => !name.startsWith("_"));
const _builtinLibs = builtinModules;
const REPL_MODE_SLOPPY = Symbol("repl-sloppy");
const REPL_MODE_STRICT = Symbol("repl-strict");

export { _builtinLibs, builtinModules, Recoverable, REPL_MODE_SLOPPY, REPL_MODE_STRICT, REPLServer, start, writer };
export default {
  writer,
  start,
  Recoverable,
  REPLServer,
  builtinModules,
  _builtinLibs,
  REPL_MODE_SLOPPY,
  REPL_MODE_STRICT,
};
