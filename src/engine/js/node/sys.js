// node:sys: an old name of node:util.

import util from "node:celld/util";

export const {
  MIMEParams, MIMEType, TextDecoder, TextEncoder, _errnoException, _exceptionWithHostPort, _extend, aborted,
  callbackify, convertProcessSignalToExitCode, debug, debuglog, deprecate, diff, format, formatWithOptions,
  getCallSite, getCallSites, getSystemErrorMap, getSystemErrorMessage, getSystemErrorName, inherits, inspect,
  isArray, isBoolean, isBuffer, isDate, isDeepStrictEqual, isError, isFunction, isNull, isNullOrUndefined, isNumber,
  isObject, isPrimitive, isRegExp, isString, isSymbol, isUndefined, log, parseArgs, parseEnv, promisify,
  setTraceSigInt, stripVTControlCharacters, styleText, toUSVString, transferableAbortController,
  transferableAbortSignal, types,
} = util;
export default util;
