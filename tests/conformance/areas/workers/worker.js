import * as workers from "cloudflare:workers";

import { members, names } from "./surface.js";
import recorded from "./recorded.js";
import { suite, threw } from "./suite.js";

const { test, handler } = suite(recorded);
export default handler;

export class Entry extends workers.WorkerEntrypoint {
  hello(name) {
    return `hello ${name}`;
  }
  props() {
    return this.ctx.props;
  }
}
export class Cell extends workers.DurableObject {
  hello() {
    return "cell";
  }
}
const exported = [
  "DurableObject",
  "RpcPromise",
  "RpcProperty",
  "RpcStub",
  "RpcTarget",
  "ServiceStub",
  "WorkerEntrypoint",
  "WorkflowEntrypoint",
  "abortIsolate",
  "cache",
  "env",
  "exports",
  "restore",
  "tracing",
  "waitUntil",
  "withEnv",
  "withEnvAndExports",
  "withExports",
];
for (const name of exported) test(`export: ${name}`, () => typeof workers[name]);
test("no other exports", () => Object.keys(workers).filter((name) => !exported.includes(name)), []);
test("env is the handler's", ({ env }) => [workers.env.TEXT, workers.env.JSON, env.TEXT], ["text", { a: [1], b: null }, "text"]);
test("env: Object.keys", () => Object.keys(workers.env).sort(), ["CELL", "JSON", "TEXT"]);
test("env of the handler: Object.keys", ({ env }) => Object.keys(env).sort(), ["CELL", "JSON", "TEXT"]);
test("env can be written", ({ env }) => {
  env.NEW = 1;
  const seen = env.NEW;
  delete env.NEW;
  return seen;
}, 1);
test("env: JSON is fresh", ({ env }) => env.JSON === env.JSON, true);
test("withEnv", () => workers.withEnv({ TEXT: "other" }, () => workers.env.TEXT), "other");
test(
  "withEnv: async",
  async () =>
    workers.withEnv({ TEXT: "other" }, async () => {
      await scheduler.wait(1);
      return workers.env.TEXT;
    }),
  "other",
);
test(
  "withEnv: ends",
  async () => {
    await workers.withEnv({ TEXT: "other" }, async () => {});
    return workers.env.TEXT;
  },
  "text",
);
test(
  "waitUntil",
  async () => {
    let done = false;
    workers.waitUntil(scheduler.wait(1).then(() => (done = true)));
    await scheduler.wait(10);
    return done;
  },
  true,
);
test("waitUntil: no promise", () => workers.waitUntil(5), undefined);
test("exports: keys", () => Object.keys(workers.exports).sort(), ["Cell", "Entry", "default"]);
test("exports: an entrypoint", () => workers.exports.Entry.hello("x"), "hello x");
test("exports: an entrypoint with props", () => workers.exports.Entry({ props: { a: 1 } }).props(), { a: 1 });
test("exports: a Durable Object", () => workers.exports.Cell.getByName("a").hello(), "cell");
test("exports: default", async () => (await workers.exports.default.fetch("http://a/absent")).status, 404);
test("ctx.exports", ({ ctx }) => ctx.exports.Entry.hello("ctx"), "hello ctx");
test(
  "ctx: members",
  ({ ctx }) =>
    ["waitUntil", "passThroughOnException", "props", "exports", "abort", "version", "access", "cache", "tracing"].map(
      (name) => `${name} ${typeof ctx[name]}`,
    ),
  [
    "waitUntil function",
    "passThroughOnException function",
    "props object",
    "exports object",
    "abort function",
    "version undefined",
    "access undefined",
    "cache undefined",
    "tracing object",
  ],
);
test("ctx: tag", ({ ctx }) => Object.prototype.toString.call(ctx), "[object ExecutionContext]");
test("ctx: all members", ({ ctx }) => members(ctx), [
  "@@toStringTag",
  "abort",
  "access",
  "cache",
  "constructor",
  "exports",
  "mapVirtualHost",
  "passThroughOnException",
  "props",
  "tracing",
  "waitUntil",
]);
test("ctx.props", ({ ctx }) => ctx.props, {});
test("ctx.waitUntil: no promise", ({ ctx }) => ctx.waitUntil(5), undefined);
test(
  "ctx.waitUntil: nothing",
  ({ ctx }) => ctx.waitUntil(),
  threw("TypeError", "Failed to execute 'waitUntil' on 'ExecutionContext': parameter 1 is not of type 'Promise'."),
);
test("ctx.waitUntil: gives nothing", ({ ctx }) => ctx.waitUntil(Promise.resolve(1)), undefined);
test("ctx.passThroughOnException", ({ ctx }) => ctx.passThroughOnException(), undefined);
test(
  "ctx.waitUntil: detached",
  ({ ctx }) => {
    const { waitUntil } = ctx;
    return waitUntil(Promise.resolve());
  },
  threw(
    "TypeError",
    "Illegal invocation: function called with incorrect `this` reference. See https://developers.cloudflare.com/workers/observability/errors/#illegal-invocation-errors for details.",
  ),
);
for (const name of ["DurableObject", "WorkerEntrypoint", "RpcTarget", "WorkflowEntrypoint"]) {
  test(`class ${name}: prototype`, () => names(workers[name].prototype));
  test(`class ${name}: without new`, () => workers[name]());
  test(`class ${name}: name`, () => [workers[name].name, workers[name].length]);
}
test(
  "Cloudflare.compatibilityFlags",
  () => [
    typeof Cloudflare.compatibilityFlags,
    Cloudflare.compatibilityFlags.nodejs_compat,
    Cloudflare.compatibilityFlags.enable_request_signal,
    Cloudflare.compatibilityFlags.no_such_flag,
  ],
  ["object", false, false, undefined],
);
for (const flag of [
  "formdata_parser_supports_files",
  "fetch_refuses_unknown_protocols",
  "streams_enable_constructors",
  "transformstream_enable_standard_constructor",
  "url_standard",
  "global_navigator",
  "delete_all_deletes_alarm",
  "rpc",
  "fetcher_no_get_put_delete",
  "brotli_content_encoding",
  "unwrap_custom_thenables",
  "cache_option_enabled",
]) {
  test(`flag: ${flag}`, () => Cloudflare.compatibilityFlags[flag]);
}
test("eval", () => eval("1 + 1"), threw("EvalError", "Code generation from strings disallowed for this context"));
test("new Function", () => new Function("return 1")(), threw("EvalError", "Code generation from strings disallowed for this context"));
test(
  "WebAssembly.compile of bytes",
  () => WebAssembly.compile(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])),
  threw("CompileError", "WebAssembly.compile(): Wasm code generation disallowed by embedder"),
);
test(
  "new WebAssembly.Module of bytes",
  () => new WebAssembly.Module(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])),
  threw("CompileError", "WebAssembly.Module(): Wasm code generation disallowed by embedder"),
);
test("WebAssembly.validate", () => WebAssembly.validate(new Uint8Array([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0])), true);
test("import of cloudflare:nope", () => import("cloudflare:nope"), threw("Error", 'No such module "cloudflare:nope".'));
for (const name of [
  "cloudflare:workers",
  "cloudflare:sockets",
  "cloudflare:email",
  "cloudflare:workflows",
  "cloudflare:node",
  "cloudflare:vectorize-api",
  "cloudflare:br",
]) {
  test(`import of ${name}`, async () => Object.keys(await import(name)).sort());
}
test("import.meta", () => Object.keys(import.meta).sort(), []);
test("import.meta.url", () => import.meta.url, undefined);
test("import.meta.main", () => import.meta.main, undefined);
test("top-level this", () => (() => this)(), undefined);
test(
  "navigator",
  () => [navigator.userAgent, navigator.language, typeof navigator.hardwareConcurrency, navigator.platform, String(navigator)],
  ["Cloudflare-Workers", "en", "number", "", "[object Navigator]"],
);
test("origin and location", () => [typeof origin, typeof location], ["string", "undefined"]);
