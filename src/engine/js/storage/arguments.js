// Argument checks of the storage API, with workerd's wording.

import { primordials } from "ext:core/mod.js";

const {
  ArrayIsArray,
  Date,
  DatePrototypeGetTime,
  MathTrunc,
  Number,
  NumberIsFinite,
  NumberIsNaN,
  ObjectPrototypeIsPrototypeOf,
  String,
  TypeError,
} = primordials;

/** The last moment that the platform's dates reach (the year 2189), in milliseconds. */
const LAST_TIME = 6_911_000_000_000;

function wrongType(method, owner, parameter, type) {
  return new TypeError(
    `Failed to execute '${method}' on '${owner}': parameter ${parameter} is not of type '${type}'.`,
  );
}

/** A key, or the error for a missing one. Other types are converted, as WebIDL strings are. */
function toKey(key, method, owner, type = "string") {
  if (typeof key === "string") return key;
  if (key === undefined) throw wrongType(method, owner, 1, type);
  return String(key);
}

function toKeys(keys) {
  const strings = [];
  for (let i = 0; i < keys.length; i++) strings[i] = String(keys[i]);
  return strings;
}

/** Options are undefined, null or an object. Concurrency and cache hints have nothing to act on here. */
function checkOptions(options, method, owner, parameter, type) {
  if (options !== undefined && options !== null && typeof options !== "object" && typeof options !== "function") {
    throw wrongType(method, owner, parameter, type);
  }
}

const optionalKey = (value) => value === undefined ? undefined : String(value);

/** The bounds of a listing as `op_storage_kv_list` takes them. */
function toListBounds(options, owner) {
  checkOptions(options, "list", owner, 1, "ListOptions");
  if (options === undefined || options === null) return { reverse: false };
  const { start, startAfter, end, prefix, reverse, limit } = options;
  if (start !== undefined && startAfter !== undefined) {
    throw new TypeError("list() cannot be called with both start and startAfter values.");
  }
  let count;
  if (limit !== undefined) {
    count = MathTrunc(Number(limit));
    if (!(count > 0)) throw new TypeError("List limit must be positive.");
    if (count > 0xffff_ffff) count = 0xffff_ffff;
  }
  return {
    start: optionalKey(start),
    startAfter: optionalKey(startAfter),
    end: optionalKey(end),
    prefix: optionalKey(prefix),
    reverse: Boolean(reverse),
    limit: count,
  };
}

/** Milliseconds since the Unix epoch of a `Date` or a number. */
function toAlarmTime(time, owner, method = "setAlarm") {
  let ms;
  if (typeof time === "number") {
    ms = time;
  } else if (ObjectPrototypeIsPrototypeOf(Date.prototype, time)) {
    ms = DatePrototypeGetTime(time);
  } else {
    throw wrongType(method, owner, 1, "date");
  }
  if (NumberIsNaN(ms)) throw new TypeError("The value cannot be converted because it is not a valid Date.");
  if (!NumberIsFinite(ms) || ms > LAST_TIME) throw new TypeError("This API doesn't support dates after 2189.");
  if (ms <= 0) throw new TypeError(`${method}() cannot be called with ${method === "setAlarm" ? "an alarm" : "a"} time <= 0`);
  return MathTrunc(ms);
}

/** True for the argument of `put(entries)`; what is not an object is a key. */
function isEntries(value) {
  return typeof value === "object" && value !== null && !ArrayIsArray(value);
}

export { checkOptions, isEntries, toAlarmTime, toKey, toKeys, toListBounds, wrongType };
