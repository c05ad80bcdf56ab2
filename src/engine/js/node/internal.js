// Parts of Deno's Node.js polyfills that modules here build on.

import { core } from "ext:core/mod.js";

export const {
  ERR_INVALID_ARG_TYPE,
  ERR_INVALID_ARG_VALUE,
  ERR_OUT_OF_RANGE,
  NodeTypeError,
} = core.loadExtScript("ext:deno_node/internal/errors.ts");
export const {
  validateAbortSignal,
  validateArray,
  validateBoolean,
  validateFunction,
  validateNumber,
  validateObject,
  validatePort,
  validateString,
} = core.loadExtScript("ext:deno_node/internal/validators.mjs");
