// node:path with the exports that the platform has.

import path from "node:path";

for (const each of [path, path.posix, path.win32]) {
  delete each._makeLong;
}

export const {
  basename, delimiter, dirname, extname, format, isAbsolute, join, matchesGlob, normalize, parse, posix, relative,
  resolve, sep, toNamespacedPath, win32,
} = path;
export default path;
