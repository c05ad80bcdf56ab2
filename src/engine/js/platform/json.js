// JSON.parse for texts that would make more than a Worker may have. V8's own does not look whether it is to be ended, and spends a quarter
// of a minute on collections before it gives up, which costs the shard.

import { internals, primordials } from "ext:core/mod.js";
import { op_celld_json_fits } from "ext:core/ops";

const { JSONParse, ObjectDefineProperty } = primordials;

/** What is shorter fits in any case. */
const LONG = 4 << 20;

// A method: it cannot be constructed, as the one that it replaces.
const { parse } = {
  parse(text, reviver) {
    if (typeof text === "string" && text.length > LONG && !op_celld_json_fits(text)) {
      // The host has ended this code.
      for (;;);
    }
    return JSONParse(text, reviver);
  },
};

ObjectDefineProperty(JSON, "parse", { __proto__: null, value: parse, writable: true, enumerable: false, configurable: true });
// For Request and Response (a change by the build script of celld-snapshot).
internals.celldParseJson = parse;
