// `ctx.storage.kv`: the synchronous key-value API.

import { primordials } from "ext:core/mod.js";
import { op_storage_kv_delete, op_storage_kv_get, op_storage_kv_list, op_storage_kv_put } from "ext:core/ops";
import { toKey, toListBounds } from "ext:celld_storage/arguments.js";

const { MathMin, ObjectDefineProperty, SymbolToStringTag, TypeError } = primordials;

const OWNER = "SyncKvStorage";

/** Entries fetched at a time while a listing is iterated. */
const CHUNK = 64;

const INTERNAL = {};

class SyncKvStorage {
  #cell;

  constructor(token, cell) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor");
    this.#cell = cell;
  }

  get(key) {
    return op_storage_kv_get(this.#cell, toKey(key, "get", OWNER));
  }

  list(options = undefined) {
    return new ListIterator(INTERNAL, this.#cell, toListBounds(options, OWNER));
  }

  put(key, value) {
    op_storage_kv_put(this.#cell, toKey(key, "put", OWNER), value, false);
  }

  delete(key) {
    return op_storage_kv_delete(this.#cell, toKey(key, "delete", OWNER), false);
  }
}

/** Iterates a listing in chunks: memory stays small, and entries written ahead of it are seen. */
class ListIterator extends globalThis.Iterator {
  #cell;
  #bounds;
  #left;
  #entries = [];
  #at = 0;
  #ended = false;

  constructor(token, cell, bounds) {
    super();
    if (token !== INTERNAL) throw new TypeError("Illegal constructor");
    this.#cell = cell;
    this.#left = bounds.limit ?? Infinity;
    this.#bounds = bounds;
  }

  next() {
    if (this.#at >= this.#entries.length && !this.#ended) this.#fetch();
    if (this.#at >= this.#entries.length) return { done: true, value: undefined };
    const entry = [this.#entries[this.#at], this.#entries[this.#at + 1]];
    this.#at += 2;
    return { done: false, value: entry };
  }

  #fetch() {
    const bounds = this.#bounds;
    bounds.limit = MathMin(this.#left, CHUNK);
    this.#entries = bounds.limit > 0 ? op_storage_kv_list(this.#cell, bounds) : [];
    this.#at = 0;
    const count = this.#entries.length / 2;
    this.#left -= count;
    if (count < CHUNK) {
      this.#ended = true;
      return;
    }
    const last = this.#entries[this.#entries.length - 2];
    if (bounds.reverse) {
      bounds.end = last;
    } else {
      bounds.start = undefined;
      bounds.startAfter = last;
    }
  }
}

for (const [Class, name] of [[SyncKvStorage, OWNER], [ListIterator, "ListIterator"]]) {
  ObjectDefineProperty(Class.prototype, SymbolToStringTag, { __proto__: null, value: name, configurable: true });
}

const createKv = (cell) => new SyncKvStorage(INTERNAL, cell);

export { createKv };
