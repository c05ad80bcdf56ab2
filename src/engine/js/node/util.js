// node:util with the exports that the platform has.

import base from "node:util";
import { Buffer } from "node:buffer";
import types from "node:celld/util/types";
import { unsupported } from "ext:celld_node/errors.js";

function parseEnv(content) {
  return { ...base.parseEnv(content) };
}
const all = {
  ...base,
  types,
  parseEnv,
  _errnoException: unsupported("_errnoException"),
  _exceptionWithHostPort: unsupported("_exceptionWithHostPort"),
  getCallSite: base.getCallSites,
  // Deprecated in Node.js, some taken out there.
  isArray: Array.isArray,
  isBoolean: (value) => typeof value === "boolean",
  isBuffer: (value) => Buffer.isBuffer(value),
  isDate: (value) => value instanceof Date,
  isError: (value) => Error.isError(value),
  isFunction: (value) => typeof value === "function",
  isNull: (value) => value === null,
  isNullOrUndefined: (value) => value === null || value === undefined,
  isNumber: (value) => typeof value === "number",
  isObject: (value) => value !== null && typeof value === "object",
  isPrimitive: (value) => value === null || (typeof value !== "object" && typeof value !== "function"),
  isRegExp: (value) => value instanceof RegExp,
  isString: (value) => typeof value === "string",
  isSymbol: (value) => typeof value === "symbol",
  isUndefined: (value) => value === undefined,
};

export const {
  MIMEParams, MIMEType, TextDecoder, TextEncoder, _errnoException, _exceptionWithHostPort, _extend, aborted,
  callbackify, convertProcessSignalToExitCode, debug, debuglog, deprecate, diff, format, formatWithOptions,
  getCallSite, getCallSites, getSystemErrorMap, getSystemErrorMessage, getSystemErrorName, inherits, inspect,
  isArray, isBoolean, isBuffer, isDate, isDeepStrictEqual, isError, isFunction, isNull, isNullOrUndefined, isNumber,
  isObject, isPrimitive, isRegExp, isString, isSymbol, isUndefined, log, parseArgs, promisify, setTraceSigInt,
  stripVTControlCharacters, styleText, toUSVString, transferableAbortController, transferableAbortSignal,
} = all;
export { parseEnv, types };
export default {
  MIMEParams, MIMEType, TextDecoder, TextEncoder, _errnoException, _exceptionWithHostPort, _extend, aborted,
  callbackify, convertProcessSignalToExitCode, debug, debuglog, deprecate, diff, format, formatWithOptions,
  getCallSite, getCallSites, getSystemErrorMap, getSystemErrorMessage, getSystemErrorName, inherits, inspect,
  isArray, isBoolean, isBuffer, isDate, isDeepStrictEqual, isError, isFunction, isNull, isNullOrUndefined, isNumber,
  isObject, isPrimitive, isRegExp, isString, isSymbol, isUndefined, log, parseArgs, parseEnv, promisify,
  setTraceSigInt, stripVTControlCharacters, styleText, toUSVString, transferableAbortController,
  transferableAbortSignal, types,
};
