import module from "node:module";
import process from "node:process";
import { equal, ok } from "./assert.js";
import { forbidden, natives, walk } from "./walk.js";
import allowed, { closed } from "./natives.js";

ok(!("Deno" in globalThis) && !("__bootstrap" in globalThis));
const require = module.createRequire("/bundle/index.js");
const roots = { globalThis, process, module, require };
for (const name of [...module.builtinModules, "sqlite", "test"]) {
  roots[`node:${name}`] = await import(`node:${name}`);
}
for (const name of ["br", "email", "node", "sockets", "workers", "workflows"]) {
  roots[`cloudflare:${name}`] = await import(`cloudflare:${name}`);
}
for (const name of ["sea", "test/reporters", "internal/test/binding", "_http_proxy", "celld-workers", "celld/vm"]) {
  let loaded = [];
  try {
    loaded.push(require(name));
  } catch {
    // Refused.
  }
  try {
    loaded.push(await import(`node:${name}`));
  } catch {
    // Refused.
  }
  if (process.getBuiltinModule(name) !== undefined) loaded.push("builtin");
  equal(loaded.length, 0, name);
}
const { Buffer } = roots["node:buffer"];
const crypto = roots["node:crypto"];
const net = roots["node:net"];
roots.instances = [
  Buffer.from("a"), crypto.createHash("sha256"), crypto.createHmac("sha256", "k"), new net.Socket(),
  new (roots["node:stream"].PassThrough)(), roots["node:zlib"].createGzip(),
  new (roots["node:async_hooks"].AsyncLocalStorage)(), new (roots["node:events"].EventEmitter)(),
  new (roots["node:http"].Agent)(), crypto.generateKeyPairSync("ed25519"), roots["node:http"].createServer(),
  roots["cloudflare:sockets"].connect("127.0.0.1:1"), setTimeout(() => {}, 0), setImmediate(() => {}),
  process.stdin, process.stdout, new (roots["node:tls"].TLSSocket)(), roots["node:dgram"].createSocket("udp4"),
  crypto.createSecretKey(new Uint8Array(8)), crypto.createCipheriv("aes-128-cbc", new Uint8Array(16), new Uint8Array(16)),
  net.connect(1, "127.0.0.1").on("error", () => {}), roots["node:tls"].connect(1, "127.0.0.1").on("error", () => {}),
  roots["node:http"].get("http://127.0.0.1:1/").on("error", () => {}), crypto.createSign("sha256"), crypto.createECDH("secp256k1"),
  crypto.createDiffieHellman(64), roots["node:zlib"].createZstdCompress(), new (roots["node:dns"].Resolver)(),
  new (roots["node:worker_threads"].MessageChannel)(), new (roots["node:perf_hooks"].PerformanceObserver)(() => {}),
  new (roots["node:async_hooks"].AsyncResource)("x"), new (roots["node:util"].MIMEType)("a/b"), new (roots["node:net"].BlockList)(),
  roots["node:fs"].createReadStream("/bundle/index.js").on("error", () => {}), roots["node:zlib"].createBrotliCompress(),
];
const found = [];
const visited = walk(roots, (value, path) => {
  const reason = forbidden(value, path);
  if (reason !== undefined) found.push(reason);
});
ok(visited > 4000, `only ${visited} objects visited`);
equal(found.join("\n"), "");
// Nobody has looked at a native function that is not on the list.
equal(natives(roots).filter((name) => !allowed.includes(name) && !closed.includes(name)).join("\n"), "");
const handle = net.connect(1, "127.0.0.1").on("error", () => {})._handle;
for (const name of closed) {
  let thrown;
  try {
    handle[name.split("#")[1]](0, 0, 0);
  } catch (error) {
    thrown = error;
  }
  ok(/not available/.test(thrown?.message), `${name}: ${thrown}`);
}
