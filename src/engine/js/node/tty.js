// node:tty with the exports that the platform has.

import base from "node:tty";

function isatty(_fd) {
  return false;
}

const all = { ...base, isatty };

export const {
  ReadStream, WriteStream,
} = all;
export { isatty };
export default {
  ReadStream, WriteStream, isatty,
};
