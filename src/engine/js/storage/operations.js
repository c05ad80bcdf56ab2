// The key-value operations that storage and transactions have in common. All are synchronous; a promise is only a form.

import { core, primordials } from "ext:core/mod.js";
import {
  op_storage_kv_delete,
  op_storage_kv_delete_many,
  op_storage_kv_get,
  op_storage_kv_get_many,
  op_storage_kv_list,
  op_storage_kv_put,
  op_storage_kv_put_many,
} from "ext:core/ops";
import {
  checkOptions,
  isEntries,
  toKey,
  toKeys,
  toListBounds,
  wrongType,
} from "ext:celld_storage/arguments.js";

const { ArrayIsArray, Map, MapPrototypeSet, TypeError } = primordials;

const { DOMException } = core.loadExtScript("ext:deno_web/01_dom_exception.js");

// What `data_clone` in src/storage/error.rs throws.
core.registerErrorBuilder("CelldDataCloneError", (message) => new DOMException(message, "DataCloneError"));

/** A `Map` of keys and values that come in turn. */
function toMap(flat) {
  const map = new Map();
  for (let i = 0; i < flat.length; i += 2) MapPrototypeSet(map, flat[i], flat[i + 1]);
  return map;
}

function get(cell, owner, key, options) {
  checkOptions(options, "get", owner, 2, "GetOptions");
  if (ArrayIsArray(key)) return toMap(op_storage_kv_get_many(cell, toKeys(key)));
  return op_storage_kv_get(cell, toKey(key, "get", owner, "string or Array"));
}

function list(cell, owner, options) {
  return toMap(op_storage_kv_list(cell, toListBounds(options, owner)));
}

function put(cell, owner, keyOrEntries, value, options) {
  if (isEntries(keyOrEntries)) {
    checkOptions(value, "put", owner, 2, "PutOptions");
    op_storage_kv_put_many(cell, keyOrEntries, value?.allowUnconfirmed === true);
    return;
  }
  if (keyOrEntries === undefined) throw wrongType("put", owner, 1, "string or object");
  const key = toKey(keyOrEntries, "put", owner);
  if (value === undefined) throw new TypeError("put() called with undefined value.");
  checkOptions(options, "put", owner, 3, "PutOptions");
  op_storage_kv_put(cell, key, value, options?.allowUnconfirmed === true);
}

function remove(cell, owner, key, options) {
  checkOptions(options, "delete", owner, 2, "PutOptions");
  if (ArrayIsArray(key)) return op_storage_kv_delete_many(cell, toKeys(key), options?.allowUnconfirmed === true);
  return op_storage_kv_delete(cell, toKey(key, "delete", owner, "string or Array"), options?.allowUnconfirmed === true);
}

export { get, list, put, remove };
