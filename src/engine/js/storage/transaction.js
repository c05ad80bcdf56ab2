// `storage.transaction()`: a savepoint that stays open while an asynchronous closure runs.

import { primordials } from "ext:core/mod.js";
import {
  op_storage_get_alarm,
  op_storage_release,
  op_storage_rollback_to,
  op_storage_savepoint,
  op_storage_set_alarm,
} from "ext:core/ops";
import { get, list, put, remove } from "ext:celld_storage/operations.js";
import { toAlarmTime } from "ext:celld_storage/arguments.js";

const { Error, ObjectDefineProperty, SymbolToStringTag, TypeError } = primordials;

const OWNER = "DurableObjectTransaction";
const INTERNAL = {};

const OPEN = 0;
const ROLLED_BACK = 1;
const ENDED = 2;

class DurableObjectTransaction {
  #cell;
  #hooks;
  #savepoint;
  #phase = OPEN;

  constructor(token, cell, hooks) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor");
    this.#cell = cell;
    this.#hooks = hooks;
    this.#savepoint = op_storage_savepoint(cell);
  }

  async get(key, options = undefined) {
    return get(this.#usable("get"), OWNER, key, options);
  }

  async list(options = undefined) {
    return list(this.#usable("list"), OWNER, options);
  }

  async put(key, value, options = undefined) {
    put(this.#usable("put"), OWNER, key, value, options);
  }

  async delete(key, options = undefined) {
    return remove(this.#usable("delete"), OWNER, key, options);
  }

  deleteAll() {
    throw new Error("Cannot call deleteAll() within a transaction");
  }

  rollback() {
    if (this.#phase === ROLLED_BACK) return;
    const cell = this.#usable("rollback");
    this.#phase = ROLLED_BACK;
    op_storage_rollback_to(cell, this.#savepoint);
  }

  async getAlarm() {
    const cell = this.#usable("getAlarm");
    if (this.#hooks.isAlarmFiring()) return null;
    const time = op_storage_get_alarm(cell);
    return time < 0 ? null : time;
  }

  async setAlarm(time) {
    const ms = toAlarmTime(time, OWNER);
    this.#hooks.checkAlarmHandler();
    op_storage_set_alarm(this.#usable("setAlarm"), ms);
    this.#hooks.alarmReplaced();
  }

  async deleteAlarm() {
    op_storage_set_alarm(this.#usable("deleteAlarm"), -1);
    this.#hooks.alarmReplaced();
  }

  #usable(operation) {
    if (this.#phase === ROLLED_BACK) throw new Error(`Cannot ${operation}() on rolled back transaction`);
    if (this.#phase === ENDED) {
      throw new Error(
        `Cannot call ${operation}() on transaction that has already committed: did you move \`txn\` outside of the ` +
          "closure?",
      );
    }
    return this.#cell;
  }

  /** Ends it: keeps what was written, unless it was or is to be rolled back. */
  static end(transaction, keep) {
    if (transaction.#phase === OPEN) {
      const operation = keep ? op_storage_release : op_storage_rollback_to;
      transaction.#phase = ENDED;
      operation(transaction.#cell, transaction.#savepoint);
    }
    transaction.#phase = ENDED;
  }
}

const { end } = DurableObjectTransaction;
delete DurableObjectTransaction.end;

ObjectDefineProperty(DurableObjectTransaction.prototype, SymbolToStringTag, {
  __proto__: null,
  value: OWNER,
  configurable: true,
});

/** Runs `closure` in a transaction of its own; what it throws rolls the transaction back and is thrown on. */
async function runTransaction(cell, hooks, closure) {
  const transaction = new DurableObjectTransaction(INTERNAL, cell, hooks);
  let result;
  try {
    result = await closure(transaction);
  } catch (error) {
    end(transaction, false);
    throw error;
  }
  end(transaction, true);
  return result;
}

export { runTransaction };
