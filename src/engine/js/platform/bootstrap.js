// The entry of the platform's JavaScript. It is evaluated once, when the startup snapshot is made; what
// depends on the deployment happens in `boot`, when an isolate has started from the snapshot.
//
// Invariant: nothing named Deno, __bootstrap, core, ops, internals or primordials can be reached by
// user code after `boot`.

import { core, internals, primordials } from "ext:core/mod.js";
import "ext:celld_platform/node_host.js";
import { defineGlobals, defineNodeGlobals } from "ext:celld_platform/globals.js";
import "ext:celld_platform/json.js";
import { console } from "ext:celld_platform/console.js";
import { installReporting } from "ext:celld_platform/report.js";
import { op_stream_base_register_state } from "ext:core/ops";
import "node:celld-workers";

const { ArrayPrototypeIncludes, ObjectDefineProperty, ObjectFreeze } = primordials;

defineGlobals(globalThis);
ObjectDefineProperty(globalThis, "console", {
  __proto__: null,
  value: console,
  writable: true,
  enumerable: false,
  configurable: true,
});

// Loads the script's main module. Of the ways to load a module this is the one that tells its caller what
// the module threw; the others make an unhandled rejection of it.
function importMain(url) {
  return import(url);
}

// Called once by `boot` in isolate.rs. `hooks` are the functions by which Rust starts events, which
// celld_events leaves in `internals`.
internals.celldBoot = function boot({ compatibilityFlags, nodeTimers }) {
  delete internals.celldBoot;
  installReporting();
  if (ArrayPrototypeIncludes(compatibilityFlags, "nodejs_compat")) {
    defineNodeGlobals(globalThis, nodeTimers);
  }
  // A snapshot has the JavaScript half of it only; `node:process` in the snapshot does not register the other one again.
  if (internals.__nodeProcessBootstrapped) {
    op_stream_base_register_state(core.loadExtScript("ext:deno_node/internal_binding/stream_wrap.ts").streamBaseState);
  }
  const flags = { __proto__: null };
  for (let i = 0; i < compatibilityFlags.length; i++) {
    flags[compatibilityFlags[i]] = true;
  }
  ObjectDefineProperty(globalThis, "Cloudflare", {
    __proto__: null,
    value: ObjectFreeze({ compatibilityFlags: ObjectFreeze(flags) }),
    writable: true,
    enumerable: false,
    configurable: true,
  });
  delete globalThis.Deno;
  delete globalThis.__bootstrap;
  delete globalThis.bootstrap;
  return { importMain, fireTimer: internals.celldFireTimer, hooks: internals.celldEvents ?? {} };
};
