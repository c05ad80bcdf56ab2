// `structuredClone` as the platform has it: errors keep their own properties, transferred buffers are detached, and objects of Web APIs
// are cloned or refused by name.

import { core } from "ext:core/mod.js";

const { isUncloneable, structuredClone: clonePlain } = core.loadExtScript("ext:deno_web/13_message_port.js");
const { DOMException } = core.loadExtScript("ext:deno_web/01_dom_exception.js");
const { Headers } = core.loadExtScript("ext:deno_fetch/20_headers.js");
const { FormData } = core.loadExtScript("ext:deno_fetch/21_formdata.js");
const { Request } = core.loadExtScript("ext:deno_fetch/23_request.js");
const { Response } = core.loadExtScript("ext:deno_fetch/23_response.js");
const { AbortSignal } = core.loadExtScript("ext:deno_web/03_abort_signal.js");
const { Event } = core.loadExtScript("ext:deno_web/02_event.js");
const { TextDecoder, TextEncoder } = core.loadExtScript("ext:deno_web/08_text_encoding.js");
const { CryptoKey } = core.loadExtScript("ext:deno_crypto/00_crypto.js");
const { File } = core.loadExtScript("ext:deno_web/09_file.js");

/** Classes of Deno's that V8 takes for plain objects, or that are not cloned on the platform. */
const REFUSED = [AbortSignal, CryptoKey, Event, File, FormData, TextDecoder, TextEncoder];

/** What an object of a Web API is called in an error. */
function refusal(value) {
  const name = value[Symbol.toStringTag];
  if (name === "ReadableStream" || name === "WritableStream") return `${name} can only be serialized for RPC.`;
  if (name === "AbortSignal") return "AbortSignal serialization is not enabled.";
  return `Could not serialize object of type "${name}". This type does not support serialization.`;
}

/** A clone of an error: V8 keeps message, stack and cause, here also what else it owns. */
function cloneError(error) {
  const errors = error instanceof AggregateError ? error.errors : undefined;
  const clone = Array.isArray(errors) ? new AggregateError(clonePlain(errors), error.message) : clonePlain(error);
  for (const key of Object.keys(error)) {
    if (key !== "errors") clone[key] = clonePlain(error[key]);
  }
  return clone;
}

function cloneObject(value) {
  if (core.isNativeError(value)) return cloneError(value);
  if (value instanceof Headers) return new Headers(value);
  if (value instanceof Request || value instanceof Response) return value.clone();
  if (core.isArrayBuffer(value) && value.detached) {
    throw new DOMException("An ArrayBuffer is detached and could not be cloned.", "DataCloneError");
  }
  if (isUncloneable(value) || REFUSED.some((Class) => value instanceof Class)) throw new DOMException(refusal(value), "DataCloneError");
  return clonePlain(value);
}

function structuredClone(value, options = undefined) {
  if (arguments.length === 0) return clonePlain();
  const transfer = options?.transfer;
  if (transfer !== undefined && transfer !== null) {
    const buffers = [...new Set(transfer)];
    if (!buffers.every((each) => core.isArrayBuffer(each))) throw new TypeError("Object is not transferable");
    const clone = cloneValue(value);
    for (const buffer of buffers) buffer.transfer();
    return clone;
  }
  return cloneValue(value);
}

function cloneValue(value) {
  return typeof value === "object" && value !== null ? cloneObject(value) : clonePlain(value);
}

Object.defineProperty(structuredClone, "length", { value: 1 });

export { structuredClone };
