import { suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

// Node.js's own list, and the prefix-only modules.
const modules =
  `_http_agent _http_client _http_common _http_incoming _http_outgoing _http_server _stream_duplex _stream_passthrough _stream_readable
_stream_transform _stream_wrap _stream_writable _tls_common _tls_wrap assert assert/strict async_hooks buffer child_process cluster console constants crypto dgram
diagnostics_channel dns dns/promises domain events fs fs/promises http http2 https inspector inspector/promises module net os path path/posix path/win32 perf_hooks
process punycode querystring readline readline/promises repl sea sqlite stream stream/consumers stream/promises stream/web string_decoder sys test test/reporters
timers timers/promises tls trace_events tty url util util/types v8 vm wasi worker_threads zlib`.split(/\s+/);

for (const name of modules) {
  test(`import: node:${name}`, async () => typeof (await import(`node:${name}`)));
  test(`exports: node:${name}`, async () => {
    const module = await import(`node:${name}`);
    return Object.keys(module)
      .sort()
      .map((each) => `${each}: ${typeof module[each]}`);
  });
  test(`without prefix: ${name}`, async () => (await import(name)) === (await import(`node:${name}`)));
}
test("default of node:path is its namespace", async () => {
  const module = await import("node:path");
  return Object.keys(module.default).filter((name) => module[name] !== module.default[name]);
});
test("import: node:nope", async () => typeof (await import("node:nope")));
test("process.getBuiltinModule", async () => process.getBuiltinModule("node:path") === (await import("node:path")).default, true);
test("process.getBuiltinModule of what is none", () => process.getBuiltinModule("nope"), undefined);
test(
  "require from node:module",
  async () => {
    const { createRequire } = await import("node:module");
    return typeof createRequire("file:///x.js")("node:path").join;
  },
  "function",
);
