// `DurableObjectNamespace` IDs: 32 bytes, of which the last 16 prove that the first 16 belong to the namespace.

import { primordials } from "ext:core/mod.js";
import { op_cell_id_from_name, op_cell_id_from_string, op_cell_id_unique } from "ext:core/ops";

const { SafeMap } = primordials;

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

/** The most names of one class whose IDs are remembered, and the longest: the same few are asked for again and again. */
const MAX_NAMES = 1000;
const MAX_NAME = 100;

/** The IDs of one namespace by name. The texts are the same ones each time, so who looks a cell up by them need not read them again. */
class NamedIds {
  #className;
  #known = new SafeMap();

  constructor(className) {
    this.#className = className;
  }

  of(name) {
    const text = String(name);
    let hex = this.#known.get(text);
    if (hex === undefined) {
      hex = op_cell_id_from_name(this.#className, text);
      if (text.length <= MAX_NAME) {
        if (this.#known.size >= MAX_NAMES) this.#known.clear();
        this.#known.set(text, hex);
      }
    }
    return makeId(this.#className, hex, text);
  }
}

function newUniqueId(className) {
  return makeId(className, op_cell_id_unique(className), undefined);
}

function idFromString(className, text) {
  return makeId(className, op_cell_id_from_string(className, String(text)), undefined);
}

export { classOf, DurableObjectId, idFromString, isId, makeId, NamedIds, newUniqueId };
