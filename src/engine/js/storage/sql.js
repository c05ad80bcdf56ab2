// `ctx.storage.sql`.

import { core, primordials } from "ext:core/mod.js";
import { op_storage_sql_exec, op_storage_sql_next, op_storage_sql_rest, op_storage_sql_size } from "ext:core/ops";
import { wrongType } from "ext:celld_storage/arguments.js";

const {
  ArrayBufferIsView,
  ArrayPrototypePop,
  ArrayPrototypeSlice,
  Error,
  ObjectDefineProperties,
  ObjectDefineProperty,
  String,
  SymbolIterator,
  SymbolToStringTag,
  TypeError,
  Uint8Array,
} = primordials;
const { isAnyArrayBuffer } = core;

const INTERNAL = {};

/** A number, a string, bytes or null: what `op_storage_sql_exec` binds. */
function toBinding(value) {
  switch (typeof value) {
    case "number":
    case "string":
      return value;
    case "undefined":
      return null;
    case "bigint":
      throw new TypeError("Cannot convert a BigInt value to a number");
    case "object":
      if (value === null || ArrayBufferIsView(value)) return value;
      if (isAnyArrayBuffer(value)) return new Uint8Array(value);
  }
  return String(value);
}

class SqlStorage {
  #cell;

  constructor(token, cell) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor");
    this.#cell = cell;
  }

  exec(query, ...bindings) {
    if (typeof query !== "string") {
      if (query === undefined) throw wrongType("exec", "SqlStorage", 1, "String");
      query = String(query);
    }
    for (let i = 0; i < bindings.length; i++) bindings[i] = toBinding(bindings[i]);
    return new Cursor(INTERNAL, this.#cell, op_storage_sql_exec(this.#cell, query, bindings));
  }

  get databaseSize() {
    return op_storage_sql_size(this.#cell);
  }

  get Cursor() {
    return Cursor;
  }

  get Statement() {
    return Statement;
  }
}

/** Only its name exists, for `instanceof`: the platform does not offer prepared statements. */
class Statement {
  constructor() {
    throw new TypeError("Illegal constructor");
  }
}

class Cursor {
  #cell;
  /** The open cursor of the database; 0 when no rows are left. */
  #id;
  #columns;
  #rowsRead;
  #rowsWritten;

  constructor(token, cell, execution) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor");
    this.#cell = cell;
    this.#id = execution[0];
    this.#rowsRead = execution[1];
    this.#rowsWritten = execution[2];
    this.#columns = ArrayPrototypeSlice(execution, 3);
  }

  next() {
    const row = nextValues(this);
    if (row === undefined) return { done: true, value: undefined };
    const columns = this.#columns;
    const object = {};
    for (let i = 0; i < columns.length; i++) {
      if (columns[i] === "__proto__") {
        ObjectDefineProperty(object, columns[i], {
          __proto__: null,
          value: row[i],
          configurable: true,
          enumerable: true,
          writable: true,
        });
      } else {
        object[columns[i]] = row[i];
      }
    }
    return { done: false, value: object };
  }

  toArray() {
    return rest(this, this.#columns);
  }

  one() {
    const first = this.next();
    if (first.done) throw new Error("Expected exactly one result from SQL query, but got no results.");
    if (this.#id !== 0) throw new Error("Expected exactly one result from SQL query, but got multiple results.");
    return first.value;
  }

  raw() {
    return new RawIterator(INTERNAL, this);
  }

  get columnNames() {
    return ArrayPrototypeSlice(this.#columns);
  }

  get rowsRead() {
    return this.#rowsRead;
  }

  get rowsWritten() {
    return this.#rowsWritten;
  }

  /** The values of the next row; undefined at the end. */
  static nextValues(cursor) {
    if (cursor.#id === 0) return undefined;
    const row = op_storage_sql_next(cursor.#cell, cursor.#id);
    cursor.#rowsWritten = ArrayPrototypePop(row);
    cursor.#rowsRead = ArrayPrototypePop(row);
    if (ArrayPrototypePop(row) === 0) cursor.#id = 0;
    return row;
  }

  /** All rows left, as objects if `columns` is given. */
  static rest(cursor, columns) {
    const id = cursor.#id;
    if (id === 0) return [];
    cursor.#id = 0;
    const rows = op_storage_sql_rest(cursor.#cell, id, columns);
    cursor.#rowsWritten = ArrayPrototypePop(rows);
    cursor.#rowsRead = ArrayPrototypePop(rows);
    return rows;
  }
}

const { nextValues, rest } = Cursor;
delete Cursor.nextValues;
delete Cursor.rest;

/** Rows as arrays of values: columns of the same name stay apart. */
class RawIterator {
  #cursor;

  constructor(token, cursor) {
    if (token !== INTERNAL) throw new TypeError("Illegal constructor");
    this.#cursor = cursor;
  }

  next() {
    const row = nextValues(this.#cursor);
    return row === undefined ? { done: true, value: undefined } : { done: false, value: row };
  }

  toArray() {
    return rest(this.#cursor, null);
  }
}

for (const [Class, name] of [[SqlStorage, "SqlStorage"], [Cursor, "Cursor"], [RawIterator, "RawIterator"]]) {
  ObjectDefineProperty(Class.prototype, SymbolToStringTag, { __proto__: null, value: name, configurable: true });
}
for (const Class of [Cursor, RawIterator]) {
  ObjectDefineProperties(Class.prototype, {
    [SymbolIterator]: {
      __proto__: null,
      value() {
        return this;
      },
      configurable: true,
      writable: true,
    },
  });
}

const createSql = (cell) => new SqlStorage(INTERNAL, cell);

export { createSql };
