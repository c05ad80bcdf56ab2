import module from "node:module";
import process from "node:process";
import { equal, ok } from "./assert.js";
import { forbidden, walk } from "./walk.js";

ok(!("Deno" in globalThis) && !("__bootstrap" in globalThis));
const require = module.createRequire("/bundle/index.js");
const roots = { globalThis, process, module, require };
for (const name of [...module.builtinModules, "sqlite", "test"]) {
  roots[`node:${name}`] = await import(`node:${name}`);
}
for (const name of ["br", "node", "sockets", "workers", "workflows"]) {
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
  roots["node:fs"].createReadStream("/bundle/index.js").on("error", () => {}), roots["node:zlib"].createBrotliCompress(),
];
const found = [];
const visited = walk(roots, (value, path) => {
  const reason = forbidden(value, path);
  if (reason !== undefined) found.push(reason);
});
ok(visited > 4000, `only ${visited} objects visited`);
equal(found.join("\n"), "");
