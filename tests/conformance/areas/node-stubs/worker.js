// Modules that exist so that programs which import them can be loaded: what works of them, and how the rest refuses.
import { suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

const cases = {
  "node:cluster": {
    "fork": (m) => m.default.fork(),
    "disconnect": (m) => m.default.disconnect(),
    "setupMaster": (m) => m.default.setupMaster(),
    "is an emitter": (m) => m.default.on("x", () => {}) === m.default,
    "Worker": (m) => {
      const worker = new m.Worker({ id: 3 });
      return [worker.id, worker.isConnected(), worker.isDead(), worker.send("x")];
    },
  },
  "node:dgram": {
    "createSocket of nothing": (m) => m.createSocket(),
    "methods": (m) => {
      const socket = m.createSocket("udp4");
      return [socket.bind() === socket, socket.address(), socket.send("x"), socket.getSendQueueSize(), socket.close() === socket];
    },
  },
  "node:domain": {
    "run": (m) => m.createDomain().run(() => 7),
    "bind": (m) => m.createDomain().bind(() => 8)(),
    "_errorHandler": (m) => m.createDomain()._errorHandler(new Error("x")),
  },
  "node:http2": {
    "connect": (m) => m.connect("https://a"),
    "createServer": (m) => m.createServer(),
    "Http2ServerRequest": (m) => new m.Http2ServerRequest(),
    "settings": (m) => m.getPackedSettings({}).length,
    "constants": (m) => [Object.keys(m.constants).length, m.constants.HTTP2_HEADER_PATH, m.constants.NGHTTP2_CANCEL],
  },
  "node:inspector": {
    "Session": (m) => new m.Session(),
    "Network": (m) => m.Network.requestWillBeSent(),
    "open": (m) => typeof m.open()[Symbol.dispose],
    "console": (m) => [m.console.log("x"), m.url(), m.close()],
  },
  "node:inspector/promises": { "open": (m) => m.open() },
  "node:repl": {
    "start": (m) => m.start(),
    "REPLServer": (m) => new m.REPLServer(),
    "Recoverable": (m) => String(new m.Recoverable(new Error("x")).err),
    "builtinModules": (m) => m.builtinModules,
  },
  "node:sqlite": {
    "DatabaseSync": (m) => new m.DatabaseSync(":memory:"),
    "backup": (m) => m.backup(),
    "constants": (m) => m.constants,
  },
  "node:test": {
    "fn": (m) => {
      const twice = m.mock.fn((a) => 2 * a);
      return [twice(2), twice.mock.callCount(), twice.mock.calls[0].arguments, twice.mock.calls[0].result];
    },
    "method": (m) => {
      const object = { a: () => 1 };
      const method = m.mock.method(object, "a", () => 2);
      const mocked = object.a();
      m.mock.restoreAll();
      return [mocked, object.a(), method.mock.callCount()];
    },
    "once": (m) => {
      const one = m.mock.fn(() => 1);
      one.mock.mockImplementationOnce(() => 5);
      return [one(), one()];
    },
  },
  "node:trace_events": {
    "createTracing": (m) => {
      const tracing = m.createTracing({ categories: ["a", "b"] });
      tracing.enable();
      return [tracing.categories, tracing.enabled];
    },
    "no options": (m) => m.createTracing(),
    "no categories": (m) => m.createTracing({ categories: [] }),
  },
  "node:v8": {
    "serialize": (m) => m.serialize({}),
    "Serializer": (m) => new m.Serializer(),
    "setFlagsFromString": (m) => m.setFlagsFromString("--expose-gc"),
    "setFlagsFromString of nothing": (m) => m.setFlagsFromString(),
    "getHeapStatistics": (m) => m.getHeapStatistics(),
    "getHeapSnapshot": (m) => m.getHeapSnapshot(),
    "startupSnapshot": (m) => m.startupSnapshot.isBuildingSnapshot(),
  },
  "node:vm": {
    "runInThisContext": (m) => m.runInThisContext("1"),
    "runInNewContext": (m) => m.runInNewContext("1", {}),
    "runInContext": (m) => m.runInContext("1", {}),
    "Script": (m) => new m.Script("1").runInThisContext(),
    "compileFunction": (m) => m.compileFunction("1"),
    "isContext": (m) => m.isContext(m.createContext({})),
  },
  "node:wasi": { "WASI": (m) => new m.WASI({ version: "preview1" }) },
  "node:worker_threads": {
    "Worker": (m) => new m.Worker("x"),
    "BroadcastChannel": (m) => new m.BroadcastChannel("x"),
    "postMessageToThread": (m) => m.postMessageToThread(1),
    "environment": (m) => {
      m.setEnvironmentData("a", 1);
      return m.getEnvironmentData("a");
    },
    "values": (m) => [m.isMainThread, m.threadId, m.parentPort, m.workerData, m.receiveMessageOnPort()],
    "channels": (m) => m.MessageChannel === MessageChannel,
  },
  "node:_stream_wrap": { "of nothing": (m) => new m.default() },
  "node:_tls_common": { "translatePeerCertificate": (m) => m.translatePeerCertificate(null) },
  "node:module": {
    "Module": (m) => new m.Module(),
    "findPackageJSON": (m) => m.findPackageJSON("x"),
    "enableCompileCache": (m) => m.enableCompileCache(),
    "require of what is absent": (m) => m.createRequire("/x")("nope"),
    "createRequire of a name": (m) => m.createRequire("x"),
    "isBuiltin": (m) => ["fs", "node:fs", "node:test", "test", "nope", "sqlite", "_http_agent"].map((name) => m.isBuiltin(name)),
    "builtinModules": (m) => m.builtinModules,
  },
};

for (const [name, each] of Object.entries(cases)) {
  for (const [what, run] of Object.entries(each)) test(`${name}: ${what}`, async () => run(await import(name)));
}
