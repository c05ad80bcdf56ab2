// Stands for deno_os: an environment in memory and a machine without properties.
(function () {
const variables = { __proto__: null };
let exitCode = 0;
function unavailable(name) {
  return () => {
    const error = new Error(`${name} is not available to a Worker`);
    error.code = "ERR_ACCESS_DENIED";
    throw error;
  };
}
const env = {
  get: (name) => variables[name],
  toObject: () => ({ ...variables }),
  set(name, value) {
    variables[name] = String(value);
  },
  has: (name) => name in variables,
  delete(name) {
    delete variables[name];
  },
};
return {
  env,
  execPath: () => "/usr/bin/worker",
  exit: unavailable("process.exit"),
  getExitCode: () => exitCode,
  setExitCode(code) {
    exitCode = code;
  },
  setExitHandler() {},
  gid: () => 0,
  uid: () => 0,
  hostname: () => "localhost",
  loadavg: () => [0, 0, 0],
  networkInterfaces: () => [],
  osRelease: () => "0",
  osUptime: () => 0,
  systemMemoryInfo: () => ({
    total: 128 << 20,
    free: 64 << 20,
    available: 64 << 20,
    buffers: 0,
    cached: 0,
    swapTotal: 0,
    swapFree: 0,
  }),
};
})();
