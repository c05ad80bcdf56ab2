// node:path/posix with the exports that the platform has.

import path from "node:path";

export const {
  basename, delimiter, dirname, extname, format, isAbsolute, join, matchesGlob, normalize, parse, posix, relative,
  resolve, sep, toNamespacedPath, win32,
} = path.posix;
export default path.posix;
