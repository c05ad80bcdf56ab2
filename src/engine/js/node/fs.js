// node:fs with the exports that the platform has.

import promises from "node:celld/fs/promises";
import base from "node:fs";

class ERR_UNSUPPORTED_OPERATION extends Error {
  constructor() {
    super("The requested operation is unsupported");
    this.code = "ERR_UNSUPPORTED_OPERATION";
    Object.defineProperty(this, "name", { value: "Error", configurable: true });
  }
}

// Nothing changes the files of a Worker but itself.
function watch() {
  throw new ERR_UNSUPPORTED_OPERATION();
}
function watchFile() {
  throw new ERR_UNSUPPORTED_OPERATION();
}
function unwatchFile() {
  throw new ERR_UNSUPPORTED_OPERATION();
}

const { F_OK, R_OK, W_OK, X_OK } = base.constants;

// Links are not followed, and there are none.
function lchmod(path, mode, callback) {
  base.chmod(path, mode, callback);
}
function lchmodSync(path, mode) {
  base.chmodSync(path, mode);
}

const all = {
  ...base,
  F_OK,
  R_OK,
  W_OK,
  X_OK,
  FileReadStream: base.ReadStream,
  FileWriteStream: base.WriteStream,
  lchmod,
  lchmodSync,
  promises,
  unwatchFile,
  watch,
  watchFile,
};

export const {
  Dir, Dirent, FileReadStream, FileWriteStream, ReadStream, Stats, WriteStream, access, accessSync, appendFile,
  appendFileSync, chmod, chmodSync, chown, chownSync, close, closeSync, constants, copyFile, copyFileSync, cp,
  cpSync, createReadStream, createWriteStream, exists, existsSync, fchmod, fchmodSync, fchown, fchownSync, fdatasync,
  fdatasyncSync, fstat, fstatSync, fsync, fsyncSync, ftruncate, ftruncateSync, futimes, futimesSync, glob, globSync,
  lchown, lchownSync, link, linkSync, lstat, lstatSync, lutimes, lutimesSync, mkdir, mkdirSync, mkdtemp, mkdtempSync,
  open, openAsBlob, openSync, opendir, opendirSync, read, readFile, readFileSync, readSync, readdir, readdirSync,
  readlink, readlinkSync, readv, readvSync, realpath, realpathSync, rename, renameSync, rm, rmSync, rmdir, rmdirSync,
  stat, statSync, statfs, statfsSync, symlink, symlinkSync, truncate, truncateSync, unlink, unlinkSync, utimes,
  utimesSync, write, writeFile, writeFileSync, writeSync, writev, writevSync,
} = all;
export { F_OK, R_OK, W_OK, X_OK, lchmod, lchmodSync, promises, unwatchFile, watch, watchFile };
export default {
  Dir, Dirent, F_OK, FileReadStream, FileWriteStream, R_OK, ReadStream, Stats, W_OK, WriteStream, X_OK, access,
  accessSync, appendFile, appendFileSync, chmod, chmodSync, chown, chownSync, close, closeSync, constants, copyFile,
  copyFileSync, cp, cpSync, createReadStream, createWriteStream, exists, existsSync, fchmod, fchmodSync, fchown,
  fchownSync, fdatasync, fdatasyncSync, fstat, fstatSync, fsync, fsyncSync, ftruncate, ftruncateSync, futimes,
  futimesSync, glob, globSync, lchmod, lchmodSync, lchown, lchownSync, link, linkSync, lstat, lstatSync, lutimes,
  lutimesSync, mkdir, mkdirSync, mkdtemp, mkdtempSync, open, openAsBlob, openSync, opendir, opendirSync, promises,
  read, readFile, readFileSync, readSync, readdir, readdirSync, readlink, readlinkSync, readv, readvSync, realpath,
  realpathSync, rename, renameSync, rm, rmSync, rmdir, rmdirSync, stat, statSync, statfs, statfsSync, symlink,
  symlinkSync, truncate, truncateSync, unlink, unlinkSync, unwatchFile, utimes, utimesSync, watch, watchFile, write,
  writeFile, writeFileSync, writeSync, writev, writevSync,
};
