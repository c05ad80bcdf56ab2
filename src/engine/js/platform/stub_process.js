// Stands for deno_process: there are no child processes.
(function () {
function unavailable() {
  const error = new Error("child processes are not available to a Worker");
  error.code = "ERR_ACCESS_DENIED";
  throw error;
}
class ChildProcess {
  constructor() {
    unavailable();
  }
}
return {
  ChildProcess,
  Command: ChildProcess,
  Process: ChildProcess,
  kArgv0: Symbol("argv0"),
  kExtraStdio: Symbol("extraStdio"),
  kInputOption: Symbol("input"),
  kIpc: Symbol("ipc"),
  kKillSignalOption: Symbol("killSignal"),
  kNeedsNpmProcessState: Symbol("needsNpmProcessState"),
  kSerialization: Symbol("serialization"),
  kTimeoutOption: Symbol("timeout"),
  kill: unavailable,
  nodeSpawnChild: unavailable,
  nodeSpawnSyncChild: unavailable,
  run: unavailable,
  spawn: unavailable,
  spawnSync: unavailable,
};
})();
