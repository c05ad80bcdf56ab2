// An area on workerd.

import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

import { copyModules } from "./area.mjs";
import { startServer } from "./server.mjs";

const require = createRequire(import.meta.url);

/** What Wrangler puts behind `cloudflare:email`, which workerd has without its inside. */
export const EMAIL = `(modules = [ (name = "cloudflare-internal:email", internal = true, esModule =
    "export default { EmailMessage: class EmailMessage { constructor(from, to) { this.from = from; this.to = to; } } };") ])`;

/** The native program, without the package's launcher in front. */
export function workerdExecutable() {
  const platform = `@cloudflare/workerd-${process.platform}-${process.arch === "x64" ? "64" : process.arch}`;
  const launcher = dirname(require.resolve("workerd/package.json"));
  return join(dirname(require.resolve(`${platform}/package.json`, { paths: [launcher] })), "bin/workerd");
}

export async function startWorkerd(area, directory) {
  copyModules(area, directory);
  mkdirSync(join(directory, "disk"));
  copyFileSync(new URL("cache-service.js", import.meta.url), join(directory, "cache-service.js"));
  writeFileSync(join(directory, "config.capnp"), config(area));
  return startServer(workerdExecutable(), ["serve", "--control-fd=3", "config.capnp"], {
    cwd: directory,
    portOf: (text) => /"event":"listen","socket":"http","port":(\d+)/.exec(text)?.[1],
  });
}

const text = (value) => JSON.stringify(value);

/** The binding of a variable, as `Object.entries` gives it. */
export function variable([name, value]) {
  return typeof value === "string"
    ? `(name = ${text(name)}, text = ${text(value)})`
    : `(name = ${text(name)}, json = ${text(JSON.stringify(value))})`;
}

function config(area) {
  const modules = area.modules
    // The entry point is the first module.
    .toSorted((a, b) => (b.name === "worker.js") - (a.name === "worker.js"))
    .map(({ name, kind }) => `(name = ${text(name)}, ${kind} = embed ${text(name)})`);
  const classes = [...new Set(Object.values(area.objects))];
  const namespaces = classes.map((name) => `(className = ${text(name)}, uniqueKey = ${text(name)}, enableSql = true)`);
  const bindings = [
    ...Object.entries(area.objects).map(([name, target]) => `(name = ${text(name)}, durableObjectNamespace = ${text(target)})`),
    ...Object.entries(area.services).map(
      ([name, entrypoint]) =>
        `(name = ${text(name)}, service = (name = "main"${entrypoint === "default" ? "" : `, entrypoint = ${text(entrypoint)}`}))`,
    ),
    ...Object.entries(area.vars).map(variable),
  ];
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "cache", worker = (modules = [ (name = "cache.js", esModule = embed "cache-service.js") ], compatibilityDate = ${text(area.date)})),
    (name = "disk", disk = (path = "disk", writable = true)),
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [ (name = "http", address = "127.0.0.1:0", http = (), service = "main") ],
  extensions = [ ${EMAIL} ],
);
const worker :Workerd.Worker = (
  modules = [${modules.join(", ")}],
  compatibilityDate = ${text(area.date)},
  compatibilityFlags = [${area.flags.map(text).join(", ")}],
  durableObjectNamespaces = [${namespaces.join(", ")}],
  durableObjectStorage = (localDisk = "disk"),
  cacheApiOutbound = "cache",
  bindings = [${bindings.join(", ")}],
);
`;
}
