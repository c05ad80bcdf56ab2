// Header lists as text for ops: `name NUL value NUL …`. On the wire a value is UTF-8, as on the platform; ops take and give one
// character a byte.

import { core } from "ext:core/mod.js";

const NOT_ASCII = /[^\x00-\x7f]/;

/** The UTF-8 of `text`, one character a byte. */
function toBytes(text) {
  if (!NOT_ASCII.test(text)) return text;
  let bytes = "";
  for (const byte of core.encode(text)) bytes += String.fromCharCode(byte);
  return bytes;
}

/** The reverse of `toBytes`; what is no UTF-8 becomes U+FFFD. */
function fromBytes(bytes) {
  if (!NOT_ASCII.test(bytes)) return bytes;
  return core.decode(Uint8Array.from(bytes, (character) => character.charCodeAt(0)));
}

/** A list of pairs from its text. */
function decodeFields(text) {
  const list = [];
  if (text.length === 0) return list;
  const parts = fromBytes(text).split("\0");
  for (let i = 0; i + 1 < parts.length; i += 2) list.push([parts[i], parts[i + 1]]);
  return list;
}

/** The reverse of `decodeFields`. */
function encodeFields(list) {
  let text = "";
  for (let i = 0; i < list.length; i++) text += list[i][0] + "\0" + list[i][1] + "\0";
  return toBytes(text);
}

export { decodeFields, encodeFields, toBytes };
