// node:child_process: nothing can be started.

import { EventEmitter } from "node:events";
import { ERR_METHOD_NOT_IMPLEMENTED, unsupported } from "ext:celld_node/errors.js";

class ChildProcess extends EventEmitter {
  constructor() {
    super();
    throw new ERR_METHOD_NOT_IMPLEMENTED("child_process.ChildProcess");
  }
}

const all = { ChildProcess };
for (const name of ["_forkChild", "exec", "execFile", "execFileSync", "execSync", "fork", "spawn", "spawnSync"]) {
  all[name] = unsupported(name, 0, `child_process.${name}`);
}

export const {
  _forkChild, exec, execFile, execFileSync, execSync, fork, spawn, spawnSync,
} = all;
export { ChildProcess };
export default {
  ChildProcess, _forkChild, exec, execFile, execFileSync, execSync, fork, spawn, spawnSync,
};
