// `ctx.storage`.

import { core, primordials } from "ext:core/mod.js";
import {
  op_storage_delete_all,
  op_storage_get_alarm,
  op_storage_release,
  op_storage_rollback_to,
  op_storage_savepoint,
  op_storage_set_alarm,
  op_storage_set_rewind,
} from "ext:core/ops";
import { toAlarmTime, wrongType } from "ext:celld_storage/arguments.js";
import { createKv } from "ext:celld_storage/kv.js";
import { get, list, put, remove } from "ext:celld_storage/operations.js";
import { createSql } from "ext:celld_storage/sql.js";
import { runTransaction } from "ext:celld_storage/transaction.js";

const { ObjectDefineProperty, Symbol, SymbolToStringTag, TypeError } = primordials;
const { getAsyncContext, setAsyncContext } = core;

const OWNER = "DurableObjectStorage";
const INTERNAL = {};

/** The storage whose transaction the running code belongs to; it travels with every await. */
const kTransaction = Symbol("transaction");

const isWithin = (storage) => getAsyncContext()?.[kTransaction] === storage;

function within(storage, run) {
  const previous = getAsyncContext();
  setAsyncContext({ __proto__: null, ...previous, [kTransaction]: storage });
  try {
    return run();
  } finally {
    setAsyncContext(previous);
  }
}

class DurableObjectStorage {
  #cell;
  #hooks;
  /** Settles when the last transaction has ended: they run one after the other. */
  #lastTransaction;

  constructor(token, cell, hooks) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor");
    this.#cell = cell;
    this.#hooks = hooks;
    this.kv = createKv(cell);
    this.sql = createSql(cell);
  }

  async get(key, options = undefined) {
    return get(this.#cell, OWNER, key, options);
  }

  async list(options = undefined) {
    return list(this.#cell, OWNER, options);
  }

  async put(key, value, options = undefined) {
    put(this.#cell, OWNER, key, value, options);
  }

  async delete(key, options = undefined) {
    return remove(this.#cell, OWNER, key, options);
  }

  async deleteAll(options = undefined) {
    const withAlarm = options?.deleteAlarm === true || this.#hooks.deletesAlarm();
    op_storage_delete_all(this.#cell, withAlarm);
    if (withAlarm) this.#hooks.alarmReplaced();
  }

  /** Runs an asynchronous closure whose writes are kept together or not at all; no other event is delivered meanwhile. */
  async transaction(closure) {
    if (typeof closure !== "function") throw wrongType("transaction", OWNER, 1, "function");
    // One inside of another is a part of it: waiting for the outer one to end would be for ever.
    if (isWithin(this)) return await runTransaction(this.#cell, this.#hooks, closure);
    const previous = this.#lastTransaction;
    let release;
    const turn = new Promise((resolve) => release = resolve);
    this.#lastTransaction = turn;
    try {
      if (previous !== undefined) await previous;
      return await this.#hooks.exclusively(() => within(this, () => runTransaction(this.#cell, this.#hooks, closure)));
    } finally {
      if (this.#lastTransaction === turn) this.#lastTransaction = undefined;
      release();
    }
  }

  async getAlarm() {
    if (this.#hooks.isAlarmFiring()) return null;
    const time = op_storage_get_alarm(this.#cell);
    return time < 0 ? null : time;
  }

  async setAlarm(time) {
    const ms = toAlarmTime(time, OWNER);
    this.#hooks.checkAlarmHandler();
    op_storage_set_alarm(this.#cell, ms);
    this.#hooks.alarmReplaced();
  }

  async deleteAlarm() {
    op_storage_set_alarm(this.#cell, -1);
    this.#hooks.alarmReplaced();
  }

  /** Settles when everything written so far is durable. */
  async sync() {
    await this.#hooks.durable();
  }

  transactionSync(closure) {
    if (typeof closure !== "function") throw wrongType("transactionSync", OWNER, 1, "function");
    const savepoint = op_storage_savepoint(this.#cell);
    let result;
    try {
      result = closure();
    } catch (error) {
      op_storage_rollback_to(this.#cell, savepoint);
      throw error;
    }
    op_storage_release(this.#cell, savepoint);
    return result;
  }

  /** The bookmark of everything that has been written so far. */
  async getCurrentBookmark() {
    return await this.#hooks.bookmark();
  }

  async getBookmarkForTime(timestamp) {
    if (timestamp === undefined) throw wrongType("getBookmarkForTime", OWNER, 1, "date");
    return await this.#hooks.bookmarkAt(toAlarmTime(timestamp, OWNER, "getBookmarkForTime"));
  }

  /** Gives the bookmark by which the recovery can be taken back. */
  async onNextSessionRestoreBookmark(bookmark) {
    if (bookmark === undefined) throw wrongType("onNextSessionRestoreBookmark", OWNER, 1, "string");
    const text = String(bookmark);
    await this.#hooks.checkBookmark(text);
    op_storage_set_rewind(this.#cell, text);
    return await this.#hooks.bookmark();
  }
}

ObjectDefineProperty(DurableObjectStorage.prototype, SymbolToStringTag, {
  __proto__: null,
  value: OWNER,
  configurable: true,
});

/** For storage whose surroundings do not matter, such as a test's. */
const NO_HOOKS = {
  durable: async () => {},
  exclusively: (run) => run(),
  deletesAlarm: () => false,
  bookmark: async () => "",
  bookmarkAt: async () => "",
  checkBookmark: async () => {},
  isAlarmFiring: () => false,
  alarmReplaced() {},
  checkAlarmHandler() {},
};

/**
 * The storage of a cell. `hooks` is what storage needs of the cell's instance:
 * `durable()` resolves when everything the cell has written is durable and rejects when it never will be;
 * `exclusively(run)` runs an asynchronous function while no event is delivered, and settles as it does;
 * `deletesAlarm()` is true when `deleteAll` deletes the alarm too;
 * `bookmark()`, `bookmarkAt(ms)` and `checkBookmark(text)` are of the cell's history;
 * `checkAlarmHandler()` throws if the class has no `alarm` method; `isAlarmFiring()` is true while that method runs and has not
 * set or deleted the alarm, which `alarmReplaced()` notes.
 */
const createStorage = (cell, hooks = NO_HOOKS) => new DurableObjectStorage(INTERNAL, cell, hooks);

export { createStorage };
