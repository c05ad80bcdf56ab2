// An area on celld.

import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { copyModules } from "./area.mjs";
import { startServer } from "./server.mjs";

const root = fileURLToPath(new URL("../../..", import.meta.url));

/** The binary under test; throws when there is none. */
export function executable() {
  const path = process.env.CELLD_BIN ?? join(process.env.CARGO_TARGET_DIR ?? join(root, "target"), "release/celld");
  if (!existsSync(path)) throw new Error(`${path} does not exist: build it (cargo build --release), or name another with CELLD_BIN`);
  return path;
}

export async function startCelld(area, directory) {
  copyModules(area, directory);
  writeFileSync(join(directory, "wrangler.json"), JSON.stringify(config(area), null, 2));
  return startServer(executable(), ["dev", "--port", "0", "--no-watch", "--no-live-reload"], {
    cwd: directory,
    // One shard: a stub's call stays in the process in both runtimes.
    env: { CELLD_SHARDS: "1", NO_COLOR: "1" },
    portOf: (text) => /ready\s+http:\/\/127\.0\.0\.1:(\d+)/.exec(text)?.[1],
  });
}

function config(area) {
  const objects = Object.entries(area.objects).map(([name, class_name]) => ({ name, class_name }));
  const services = Object.entries(area.services).map(([binding, entrypoint]) => ({
    binding,
    service: "conformance",
    ...(entrypoint !== "default" && { entrypoint }),
  }));
  return {
    name: "conformance",
    main: "worker.js",
    compatibility_date: area.date,
    compatibility_flags: area.flags,
    // The modules as they are: a bundler in between would be one more thing that differs.
    no_bundle: true,
    rules: [
      { type: "ESModule", globs: ["**/*.js"] },
      { type: "Text", globs: ["**/*.txt"] },
      { type: "Data", globs: ["**/*.bin"] },
      { type: "CompiledWasm", globs: ["**/*.wasm"] },
    ],
    ...(Object.keys(area.vars).length && { vars: area.vars }),
    ...(objects.length && {
      durable_objects: { bindings: objects },
      migrations: [{ tag: "v1", new_sqlite_classes: [...new Set(Object.values(area.objects))] }],
    }),
    ...(services.length && { services }),
  };
}
