// `DurableObjectNamespace` IDs: 32 bytes, of which the last 16 prove that the first 16 belong to the namespace.

import { op_cell_id_from_name, op_cell_id_from_string, op_cell_id_unique } from "ext:core/ops";

const kConstruct = Symbol("construct");

class DurableObjectId {
  #hex;
  #className;

  constructor(key, className, hex, name) {
    if (key !== kConstruct) throw new TypeError("Illegal constructor");
    this.#className = className;
    this.#hex = hex;
    // What the ID was made from, if it was made by `idFromName`; as on the platform, all that JSON shows of it.
    if (name !== undefined) this.name = name;
  }

  toString() {
    return this.#hex;
  }

  equals(other) {
    if (!isId(other)) {
      throw new TypeError(
        "Failed to execute 'equals' on 'DurableObjectId': parameter 1 is not of type 'DurableObjectId'.",
      );
    }
    return other.#hex === this.#hex;
  }

  static is(value) {
    return typeof value === "object" && value !== null && #hex in value;
  }

  static classOf(id) {
    return id.#className;
  }
}

const isId = DurableObjectId.is;
const classOf = DurableObjectId.classOf;
delete DurableObjectId.is;
delete DurableObjectId.classOf;
Object.defineProperty(DurableObjectId.prototype, Symbol.toStringTag, { value: "DurableObjectId", configurable: true });

function makeId(className, hex, name) {
  return new DurableObjectId(kConstruct, className, hex, name);
}

function idFromName(className, name) {
  const text = String(name);
  return makeId(className, op_cell_id_from_name(className, text), text);
}

function newUniqueId(className) {
  return makeId(className, op_cell_id_unique(className), undefined);
}

function idFromString(className, text) {
  return makeId(className, op_cell_id_from_string(className, String(text)), undefined);
}

export { classOf, DurableObjectId, idFromName, idFromString, isId, makeId, newUniqueId };
