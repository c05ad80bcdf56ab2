// One program on two runtimes. celld builds the project; workerd gets the very modules that celld serves.

import { cpSync, existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

import { executable } from "../../conformance/harness/celld.mjs";
import { startServer } from "../../conformance/harness/server.mjs";
import { EMAIL, variable, workerdExecutable } from "../../conformance/harness/workerd.mjs";

/** Behind the content of an object in a bucket that is a directory. */
const TRAILER = 76;

/** What a module is to workerd, by its kind in the deployment's manifest. */
const KINDS = { esm: "esModule", wasm: "wasm", text: "text", data: "data", json: "json" };

/** Starts celld on a copy of `program`; gives `{ port, output(), stop(), deployment }`. */
export async function startCelld(program, directory) {
  cpSync(program, directory, { recursive: true, filter: (path) => !/\/(node_modules|\.celld)$/.test(path) });
  if (existsSync(join(program, "node_modules"))) symlinkSync(join(program, "node_modules"), join(directory, "node_modules"));
  const server = await startServer(executable(), ["dev", directory, "--port", "0", "--no-watch", "--no-live-reload"], {
    cwd: directory,
    env: { NO_COLOR: "1", NODE_ENV: "production" },
    portOf: (text) => /ready\s+http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1],
  });
  try {
    return { ...server, deployment: deploymentOf(join(directory, ".celld/dev/bucket/objects")) };
  } catch (failure) {
    await server.stop();
    throw failure;
  }
}

function deploymentOf(objects) {
  const read = (key) => readFileSync(join(objects, `${key}@`)).subarray(0, -TRAILER);
  const { id } = JSON.parse(read("deploy/current.json"));
  const manifest = JSON.parse(read(`deploy/manifests/${id}.json`));
  const modules = manifest.modules
    .filter(({ kind }) => kind in KINDS)
    .map(({ name, kind, key }) => ({ name, kind: KINDS[kind], bytes: read(key) }));
  return { ...manifest, modules };
}

export async function startWorkerd(deployment, directory) {
  mkdirSync(join(directory, "disk"), { recursive: true });
  for (const { name, bytes } of deployment.modules) {
    mkdirSync(dirname(join(directory, name)), { recursive: true });
    writeFileSync(join(directory, name), bytes);
  }
  writeFileSync(join(directory, "config.capnp"), config(deployment));
  return startServer(workerdExecutable(), ["serve", "--control-fd=3", "config.capnp"], {
    cwd: directory,
    portOf: (text) => /"event":"listen","socket":"http","port":(\d+)/.exec(text)?.[1],
  });
}

function config({ main, modules, compatibility_date, compatibility_flags, durable_objects, vars }) {
  const text = (value) => JSON.stringify(value);
  const list = modules
    // The entry point is the first module.
    .toSorted((a, b) => (b.name === main) - (a.name === main))
    .map(({ name, kind }) => `(name = ${text(name)}, ${kind} = embed ${text(name)})`);
  const classes = [...new Set(durable_objects.map((each) => each.class))];
  const namespaces = classes.map((name) => `(className = ${text(name)}, uniqueKey = ${text(name)}, enableSql = true)`);
  const bindings = [
    ...durable_objects.map((each) => `(name = ${text(each.name)}, durableObjectNamespace = ${text(each.class)})`),
    ...Object.entries(vars).map(variable),
  ];
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [
    (name = "main", worker = .worker),
    (name = "disk", disk = (path = "disk", writable = true)),
    (name = "internet", network = (allow = ["public", "private"], tlsOptions = (trustBrowserCas = true))),
  ],
  sockets = [ (name = "http", address = "127.0.0.1:0", http = (), service = "main") ],
  extensions = [ ${EMAIL} ],
);
const worker :Workerd.Worker = (
  modules = [${list.join(", ")}],
  compatibilityDate = ${text(compatibility_date)},
  compatibilityFlags = [${compatibility_flags.map(text).join(", ")}],
  durableObjectNamespaces = [${namespaces.join(", ")}],
  durableObjectStorage = (localDisk = "disk"),
  bindings = [${bindings.join(", ")}],
);
`;
}
