// The process object: what the platform says of itself, which is nothing about the host. Deno's own stays inside; only its
// environment, which is in memory, is taken from it.

import { core } from "ext:core/mod.js";
import { EventEmitter } from "node:events";
import { builtin } from "ext:celld_node/builtin.js";
import { inert, unsupported } from "ext:celld_node/errors.js";
import { config } from "ext:celld_node/process_config.js";
import { stderr, stdin, stdout } from "ext:celld_node/stdio.js";
import {
  ERR_INVALID_ARG_TYPE,
  ERR_INVALID_ARG_VALUE,
  ERR_OUT_OF_RANGE,
  validateString,
} from "ext:celld_node/internal.js";

const { console, queueMicrotask } = globalThis;
const { env } = core.loadExtScript("ext:deno_node/_process/process.ts");
const loadAssert = core.createLazyLoader("node:assert");
const loadFs = core.createLazyLoader("node:celld/fs");
const loadUtil = core.createLazyLoader("node:celld/util");

/** The release of Node.js whose API the platform follows. */
const NODE = "22.23.4";
const OTHER_VERSIONS = [
  "v8", "modules", "zlib", "brotli", "zstd", "ares", "napi", "llhttp", "nghttp2", "acorn", "ada", "simdutf", "nbytes",
  "ncrypto", "uvwasi", "uv", "openssl", "sqlite", "icu", "undici", "simdjson", "unicode", "cldr", "tz",
  "cjs_module_lexer", "amaro", "merve",
];
const DEFAULT_UMASK = 0o22;

const process = new EventEmitter();
let directory = "/bundle";

function nextTick(callback, ...args) {
  queueMicrotask(() => callback(...args));
}

function hrtime(time) {
  if (time !== undefined) {
    if (!Array.isArray(time)) {
      throw new ERR_INVALID_ARG_TYPE("time", "tuple of integers", time);
    }
    if (time.length !== 2) {
      throw new ERR_OUT_OF_RANGE("time", "2", time);
    }
  }
  const now = hrtime.bigint();
  let seconds = Number(now / 1_000_000_000n);
  let nanoseconds = Number(now % 1_000_000_000n);
  if (time !== undefined) {
    seconds -= time[0];
    nanoseconds -= time[1];
    if (nanoseconds < 0) {
      seconds -= 1;
      nanoseconds += 1e9;
    }
  }
  return [seconds, nanoseconds];
}
hrtime.bigint = () => BigInt(Date.now()) * 1_000_000n;

function emitWarning(warning, options, codeOrConstructor, constructor) {
  const details = { name: "Warning", code: undefined, detail: undefined, Class: undefined };
  if (typeof options === "object" && options !== null && !Array.isArray(options)) {
    details.name = options.type ?? details.name;
    ({ code: details.code, detail: details.detail, ctor: details.Class } = options);
  } else if (typeof options === "string") {
    details.name = options;
    if (typeof codeOrConstructor === "function") {
      details.Class = codeOrConstructor;
    } else if (typeof codeOrConstructor === "string") {
      details.code = codeOrConstructor;
      details.Class = constructor;
    } else if (codeOrConstructor !== undefined) {
      throw new ERR_INVALID_ARG_TYPE("ctor", "function", codeOrConstructor);
    }
  } else if (typeof options === "function") {
    details.Class = options;
  } else if (options !== undefined) {
    throw new ERR_INVALID_ARG_TYPE("options", "object", options);
  }
  if (details.Class !== undefined && typeof details.Class !== "function") {
    throw new ERR_INVALID_ARG_TYPE("ctor", "function", details.Class);
  }
  let error = warning;
  if (typeof warning === "string") {
    error = new (details.Class ?? Error)(warning);
    error.name = details.name;
  } else if (!(warning instanceof Error)) {
    throw new ERR_INVALID_ARG_TYPE("warning", "string or Error", warning);
  }
  if (details.code !== undefined) {
    error.code = details.code;
  }
  if (typeof details.detail === "string") {
    error.detail = details.detail;
  }
  queueMicrotask(() => process.emit("warning", error));
}

function umask(mask) {
  if (typeof mask === "string" && /^[0-7]+$/.test(mask)) {
    mask = Number.parseInt(mask, 8);
  } else if (mask !== undefined && typeof mask !== "number" && typeof mask !== "string") {
    throw new ERR_INVALID_ARG_TYPE("mask", "number", mask);
  }
  if (mask !== undefined && !(Number.isInteger(mask) && mask >= 0 && mask <= 0xffffffff)) {
    throw new ERR_INVALID_ARG_VALUE("mask", mask, "must be a 32-bit unsigned integer or an octal string");
  }
  return DEFAULT_UMASK;
}

function chdir(path) {
  validateString(path, "directory");
  const { default: fs } = loadFs();
  if (!fs.statSync(path).isDirectory()) {
    throw Object.assign(new Error(`ENOTDIR: not a directory, chdir '${path}'`), { code: "ENOTDIR" });
  }
  directory = path;
}

function notPermitted(syscall) {
  const error = new Error("operation not permitted");
  Object.assign(error, { syscall, errno: -1, code: "EPERM" });
  throw error;
}

function setId(syscall) {
  return {
    [syscall](id) {
      if (id !== 0) {
        notPermitted(syscall);
      }
    },
  }[syscall];
}

function loadEnvFile(path = ".env") {
  const text = loadFs().default.readFileSync(path instanceof URL ? path : String(path), "utf8");
  Object.assign(process.env, loadUtil().default.parseEnv(text));
}

// Ends the event and what it has started; the isolate lives on.
function exit(code) {
  const error = new Error(`process.exit(${code ?? ""}) ends the event`);
  throw Object.assign(error, { code: "ERR_PROCESS_EXIT" });
}

const refused = (name, length = 0) => unsupported(name, length, `process.${name}`);
const refusedOf = (object, name) => unsupported(name, 0, `process.${object}.${name}`);

Object.assign(process, {
  assert(value, message) {
    loadAssert().default(value, message);
  },
  version: `v${NODE}`,
  versions: Object.fromEntries([["node", NODE], ...OTHER_VERSIONS.map((name) => [name, ""])]),
  title: "workerd",
  argv: ["workerd"],
  argv0: "workerd",
  execArgv: [],
  arch: "x64",
  platform: "linux",
  config,
  pid: 1,
  ppid: 0,
  getegid: () => 0,
  getgid: () => 0,
  getgroups: () => [0],
  geteuid: () => 0,
  getuid: () => 0,
  setegid: setId("setegid"),
  setgid: setId("setgid"),
  setgroups(_groups) {
    notPermitted("setgroups");
  },
  seteuid: setId("seteuid"),
  setuid: setId("setuid"),
  initgroups(_user, _group) {
    notPermitted("initgroups");
  },
  setSourceMapsEnabled: inert("setSourceMapsEnabled", 2),
  getSourceMapsSupport: () => ({ enabled: false, nodeModules: false, generatedCode: false }),
  nextTick,
  emitWarning,
  env,
  exit,
  abort() {
    exit(1);
  },
  getBuiltinModule: builtin,
  features: {
    cached_builtins: true,
    debug: false,
    inspector: false,
    ipv6: true,
    openssl_is_boringssl: true,
    require_module: false,
    tls: true,
    tls_alpn: true,
    tls_ocsp: true,
    tls_sni: true,
    typescript: false,
    uv: true,
  },
  allowedNodeEnvironmentFlags: new Set(),
  kill: refused("kill", 2),
  ref: inert("ref"),
  unref: inert("unref"),
  chdir,
  cwd: () => directory,
  umask,
  hrtime,
  uptime: () => 0,
  loadEnvFile,
  exitCode: undefined,
  channel: null,
  connected: false,
  binding: refused("binding", 1),
  debugPort: 0,
  dlopen: refused("dlopen", 3),
  finalization: Object.fromEntries(
    ["register", "registerBeforeExit", "unregister"].map((name) => [name, refusedOf("finalization", name)]),
  ),
  getActiveResourcesInfo: refused("getActiveResourcesInfo"),
  setUncaughtExceptionCaptureCallback: refused("setUncaughtExceptionCaptureCallback", 1),
  hasUncaughtExceptionCaptureCallback: refused("hasUncaughtExceptionCaptureCallback"),
  memoryUsage: Object.assign(
    () => ({ rss: 0, heapTotal: 0, heapUsed: 0, external: 0, arrayBuffers: 0 }),
    { rss: () => 0 },
  ),
  noDeprecation: false,
  permission: { has: refusedOf("permission", "has") },
  release: { name: "node", lts: true, sourceUrl: "", headersUrl: "" },
  report: {
    compact: false,
    directory: "",
    filename: "",
    getReport: () => ({}),
    reportOnFatalError: false,
    reportOnSignal: false,
    reportOnUncaughtException: false,
    excludeNetwork: false,
    excludeEnv: false,
    signal: "SIGUSR2",
    writeReport: refusedOf("report", "writeReport"),
  },
  resourceUsage: () => ({
    userCPUTime: 0,
    systemCPUTime: 0,
    maxRSS: 0,
    sharedMemorySize: 0,
    unsharedDataSize: 0,
    unsharedStackSize: 0,
    minorPageFault: 0,
    majorPageFault: 0,
    swappedOut: 0,
    fsRead: 0,
    fsWrite: 0,
    ipcSent: 0,
    ipcReceived: 0,
    signalsCount: 0,
    voluntaryContextSwitches: 0,
    involuntaryContextSwitches: 0,
  }),
  send: (_message, _handle) => false,
  traceDeprecation: false,
  throwDeprecation: false,
  sourceMapsEnabled: false,
  threadCpuUsage: refused("threadCpuUsage"),
  cpuUsage: refused("cpuUsage", 1),
  execPath: "",
  constrainedMemory: () => 0,
  availableMemory: () => 0,
  execve: refused("execve", 3),
  openStdin: () => stdin(),
  _rawDebug(...args) {
    console.log(...args);
  },
  moduleLoadList: [],
  _linkedBinding: refused("_linkedBinding", 1),
  domain: null,
  _exiting: false,
  _getActiveRequests: () => [],
  _getActiveHandles: () => [],
  reallyExit(code) {
    exit(code || 0);
  },
  _kill: refused("_kill", 2),
  _fatalException: (_error) => false,
  _tickCallback: inert("_tickCallback"),
  _debugProcess: inert("_debugProcess", 1),
  _debugEnd: inert("_debugEnd"),
  _startProfilerIdleNotifier: inert("_startProfilerIdleNotifier"),
  _stopProfilerIdleNotifier: inert("_stopProfilerIdleNotifier"),
  _preload_modules: [],
  _disconnect: undefined,
  _handleQueue: undefined,
  _pendingMessage: undefined,
  _channel: undefined,
  _send: undefined,
});

// Made at first use: streams are much code.
for (const [name, make] of Object.entries({ stdin, stdout, stderr })) {
  Object.defineProperty(process, name, {
    get: make,
    set(value) {
      Object.defineProperty(process, name, { value, writable: true, enumerable: true, configurable: true });
    },
    enumerable: true,
    configurable: true,
  });
}
Object.defineProperty(process, Symbol.toStringTag, { value: "process", configurable: true });

globalThis.addEventListener("unhandledrejection", (event) => {
  if (process.emit("unhandledRejection", event.reason, event.promise)) {
    event.preventDefault();
  }
});
globalThis.addEventListener("rejectionhandled", (event) => {
  process.emit("rejectionHandled", event.promise);
});

export default process;
