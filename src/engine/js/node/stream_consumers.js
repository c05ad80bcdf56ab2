// node:stream/consumers with the exports that the platform has.

import base from "node:stream/consumers";

const module = base;

export const {
  arrayBuffer, blob, buffer, json, text,
} = module;
export default {
  arrayBuffer, blob, buffer, json, text,
};
