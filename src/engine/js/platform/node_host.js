// What Deno's Node polyfills expect of the Deno runtime, which is not here.
//
// The polyfills use a free variable `Deno`. It exists in no scope that user code can see: the build
// script of celld-snapshot binds it, at the top of each polyfill that uses it, to the object made here.

import { core, internals } from "ext:core/mod.js";

// deno_fs and deno_net throw errors by class name; Node's error codes are derived from the classes.
const { errors } = core.loadExtScript("ext:celld_platform/error_classes.js");
for (const name of Object.keys(errors)) {
  // These three are registered by deno_core itself.
  if (name !== "BadResource" && name !== "Interrupted" && name !== "NotCapable") {
    core.registerErrorClass(name, errors[name]);
  }
}

// Ops of the Web APIs name the `DOMException` that they mean in the same way.
const { DOMException } = core.loadExtScript("ext:deno_web/01_dom_exception.js");
for (
  const name of [
    "AbortError",
    "DataError",
    "IndexSizeError",
    "InvalidAccessError",
    "InvalidCharacterError",
    "InvalidStateError",
    "NetworkError",
    "NotSupportedError",
    "OperationError",
    "QuotaExceededError",
    "SyntaxError",
    "TypeMismatchError",
  ]
) {
  core.registerErrorBuilder(`DOMException${name}`, (message) => new DOMException(message, name));
}

// Without it `process.arch` throws.
core.setBuildInfo("x86_64-unknown-linux-gnu");

const version = { deno: "0.0.0", v8: "0.0.0", typescript: "0.0.0" };
const host = {
  errors,
  build: core.build,
  version,
  args: [],
  pid: 1,
  ppid: 0,
  noColor: true,
  mainModule: "file:///bundle/index.js",
  cwd: () => "/bundle",
  addSignalListener() {},
  removeSignalListener() {},
  consoleSize: () => ({ columns: 80, rows: 24 }),
  memoryUsage: () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0 }),
  cpuUsage: () => ({ user: 0, system: 0 }),
  internal: Symbol("internal"),
  customInspect: Symbol.for("Deno.customInspect"),
  privateCustomInspect: Symbol.for("Deno.privateCustomInspect"),
};
host[host.internal] = internals;

// Members that live in a script of their own, loaded at first use.
function fromScript(specifier, names) {
  for (const name of names) {
    Object.defineProperty(host, name, {
      configurable: true,
      enumerable: true,
      get: () => core.loadExtScript(specifier)[name],
    });
  }
}
fromScript("ext:deno_web/01_console.js", ["inspect"]);
fromScript("ext:deno_net/01_net.js", ["connect", "resolveDns"]);
fromScript("ext:deno_os/30_os.js", [
  "env", "execPath", "exit", "gid", "hostname", "loadavg", "networkInterfaces", "osRelease", "osUptime",
  "systemMemoryInfo", "uid",
]);
fromScript("ext:deno_fs/30_fs.js", [
  "FsFile", "chdir", "chmod", "chmodSync", "chown", "chownSync", "copyFile", "copyFileSync", "link",
  "linkSync", "lstat", "lstatSync", "makeTempDir", "makeTempDirSync", "mkdir", "mkdirSync", "open",
  "openSync", "readDir", "readDirSync", "readFile", "readFileSync", "readLink", "readLinkSync",
  "readTextFile", "readTextFileSync", "realPath", "realPathSync", "remove", "removeSync", "rename",
  "renameSync", "stat", "statSync", "symlink", "symlinkSync", "truncate", "truncateSync", "umask", "utime",
  "utimeSync", "writeFile", "writeFileSync",
]);

internals.__denoNs = host;

// `node:process` bootstraps itself from these when it is first evaluated.
internals.__nodeBootstrapArgs = {
  usesLocalNodeModulesDir: false,
  runningOnMainThread: true,
  argv0: "worker",
  nodeDebug: "",
  denoArgs: [],
  denoVersion: version,
};

// CryptoKey and KeyObject share a brand that this script makes, so it comes before deno_crypto's.
core.loadExtScript("ext:deno_node/internal/crypto/constants.ts");
// Compiles a decoder from text, which is not possible any more once an isolate runs.
core.loadExtScript("ext:deno_fs/30_fs.js");
core.loadExtScript("ext:deno_node/02_register_cloneable.js");
