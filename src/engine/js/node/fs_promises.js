// node:fs/promises with the exports that the platform has.

import base from "node:fs/promises";
import { FileHandle } from "ext:deno_node/internal/fs/handle.ts";

const promises = { ...base, FileHandle };

export const {
  access, appendFile, chmod, chown, constants, copyFile, cp, glob, lchmod, lchown, link, lstat, lutimes, mkdir,
  mkdtemp, open, opendir, readFile, readdir, readlink, realpath, rename, rm, rmdir, stat, statfs, symlink, truncate,
  unlink, utimes, watch, writeFile,
} = promises;
export { FileHandle };
export default promises;
