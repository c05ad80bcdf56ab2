// An area: a directory below `areas` with `worker.js` and, if it needs them, `area.json`, `client.mjs`, `recorded.js` and modules.

import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync } from "node:fs";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

const here = fileURLToPath(new URL("..", import.meta.url));
const areasDirectory = join(here, "areas");
const workerDirectory = join(here, "worker");

/** The compatibility date of every area; the newest that the pinned Wrangler of the benchmarks accepts. */
const DATE = "2026-05-01";

/** Modules by extension; other files are not part of the Worker. */
const KINDS = { ".js": "esModule", ".txt": "text", ".bin": "data", ".wasm": "wasm" };

export function areaNames() {
  return readdirSync(areasDirectory)
    .filter((name) => existsSync(join(areasDirectory, name, "worker.js")))
    .sort();
}

/**
 * `{ name, directory, date, flags, vars, objects, services, modules, client }`: `objects` maps a binding to a Durable Object class,
 * `services` a binding to an entrypoint of the area's own Worker, `modules` lists `{ name, kind }`.
 */
export async function loadArea(name) {
  const directory = join(areasDirectory, name);
  const file = join(directory, "area.json");
  const settings = existsSync(file) ? JSON.parse(readFileSync(file)) : {};
  const client = join(directory, "client.mjs");
  return {
    name,
    directory,
    date: DATE,
    flags: [],
    vars: {},
    objects: {},
    services: {},
    ...settings,
    modules: [...files(directory), ...files(workerDirectory)],
    client: existsSync(client) ? (await import(pathToFileURL(client))).default : {},
  };
}

/** Copies what the Worker consists of to `target`. */
export function copyModules(area, target) {
  mkdirSync(target, { recursive: true });
  for (const directory of [area.directory, workerDirectory]) cpSync(directory, target, { recursive: true });
}

function files(root, directory = root) {
  return readdirSync(directory).flatMap((entry) => {
    const path = join(directory, entry);
    if (statSync(path).isDirectory()) return files(root, path);
    const kind = KINDS[/\.[a-z]+$/.exec(entry)?.[0]];
    return kind ? [{ name: relative(root, path), kind }] : [];
  });
}

export function recordedPath(area) {
  return join(area.directory, "recorded.js");
}
