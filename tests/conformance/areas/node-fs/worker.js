import fs from "node:fs";
import promises from "node:fs/promises";

import { suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;

// A directory for each case: what one writes is not what another finds.
let next = 0;
const place = () => {
  const path = `/tmp/case${next++}`;
  fs.mkdirSync(path);
  return path;
};
const cases = {
  "the root": () => fs.readdirSync("/").sort(),
  "/bundle": () => fs.readdirSync("/bundle").includes("worker.js"),
  "/bundle: reading": () => fs.readFileSync("/bundle/canon.js", "utf8").slice(0, 6),
  "/bundle: writing": () => fs.writeFileSync("/bundle/x", "x"),
  "/dev": () => fs.readdirSync("/dev").sort(),
  "/dev/null": () => [fs.readFileSync("/dev/null").length, fs.writeFileSync("/dev/null", "x")],
  "/dev/zero": () => {
    const fd = fs.openSync("/dev/zero");
    const data = Buffer.alloc(4, 1);
    const count = fs.readSync(fd, data);
    fs.closeSync(fd);
    return [count, [...data]];
  },
  "/etc/passwd": () => fs.readFileSync("/etc/passwd"),
  "/proc": () => fs.readdirSync("/proc"),
  "write and read": () => {
    const path = `${place()}/a`;
    fs.writeFileSync(path, "é");
    return [fs.readFileSync(path, "utf8"), fs.readFileSync(path).length, fs.existsSync(path)];
  },
  "read of what is absent": () => fs.readFileSync("/tmp/absent"),
  "read of a directory": () => fs.readFileSync(place()),
  append: () => {
    const path = `${place()}/a`;
    fs.writeFileSync(path, "a");
    fs.appendFileSync(path, "b");
    return fs.readFileSync(path, "utf8");
  },
  "mkdir: exists": () => {
    const path = place();
    fs.mkdirSync(path);
  },
  "mkdir: recursive": () => {
    const path = place();
    return [fs.mkdirSync(`${path}/a/b/c`, { recursive: true })?.replace(path, ""), fs.readdirSync(path, { recursive: true })];
  },
  "readdir: withFileTypes": () => {
    const path = place();
    fs.mkdirSync(`${path}/d`);
    fs.writeFileSync(`${path}/f`, "");
    return fs
      .readdirSync(path, { withFileTypes: true })
      .map((each) => [each.name, each.isDirectory(), each.isFile()])
      .sort();
  },
  stat: () => {
    const path = `${place()}/a`;
    fs.writeFileSync(path, "abc");
    const stat = fs.statSync(path);
    return [
      stat.size,
      stat.isFile(),
      stat.isDirectory(),
      stat.isSymbolicLink(),
      typeof stat.mtimeMs,
      stat.mtime instanceof Date,
      stat.mode.toString(8),
      stat.uid,
      stat.nlink,
    ];
  },
  "stat: bigint": () => typeof fs.statSync(place(), { bigint: true }).size,
  "stat: absent": () => fs.statSync("/tmp/absent"),
  "stat: absent without an exception": () => fs.statSync("/tmp/absent", { throwIfNoEntry: false }),
  rename: () => {
    const path = place();
    fs.writeFileSync(`${path}/a`, "x");
    fs.renameSync(`${path}/a`, `${path}/b`);
    return fs.readdirSync(path);
  },
  copyFile: () => {
    const path = place();
    fs.writeFileSync(`${path}/a`, "x");
    fs.copyFileSync(`${path}/a`, `${path}/b`);
    return fs.readdirSync(path).sort();
  },
  cp: () => {
    const path = place();
    fs.mkdirSync(`${path}/a`);
    fs.writeFileSync(`${path}/a/f`, "x");
    fs.cpSync(`${path}/a`, `${path}/b`, { recursive: true });
    return fs.readFileSync(`${path}/b/f`, "utf8");
  },
  "unlink, rmdir, rm": () => {
    const path = place();
    fs.writeFileSync(`${path}/a`, "");
    fs.unlinkSync(`${path}/a`);
    fs.mkdirSync(`${path}/d`);
    fs.rmdirSync(`${path}/d`);
    fs.mkdirSync(`${path}/e/f`, { recursive: true });
    fs.rmSync(`${path}/e`, { recursive: true });
    return fs.readdirSync(path);
  },
  "rmdir: not empty": () => {
    const path = place();
    fs.writeFileSync(`${path}/a`, "");
    fs.rmdirSync(path);
  },
  "rm: absent": () => fs.rmSync("/tmp/absent"),
  "rm: absent with force": () => fs.rmSync("/tmp/absent", { force: true }),
  symlink: () => {
    const path = place();
    fs.writeFileSync(`${path}/a`, "x");
    fs.symlinkSync(`${path}/a`, `${path}/l`);
    return [
      fs.readFileSync(`${path}/l`, "utf8"),
      fs.lstatSync(`${path}/l`).isSymbolicLink(),
      fs.readlinkSync(`${path}/l`).replace(path, ""),
      fs.realpathSync(`${path}/l`).replace(path, ""),
    ];
  },
  link: () => {
    const path = place();
    fs.writeFileSync(`${path}/a`, "x");
    fs.linkSync(`${path}/a`, `${path}/b`);
    return fs.readFileSync(`${path}/b`, "utf8");
  },
  truncate: () => {
    const path = `${place()}/a`;
    fs.writeFileSync(path, "abc");
    fs.truncateSync(path, 1);
    return fs.readFileSync(path, "utf8");
  },
  access: () => [fs.accessSync("/tmp"), fs.accessSync("/tmp", fs.constants.W_OK)],
  "access: absent": () => fs.accessSync("/tmp/absent"),
  "access: writing to /bundle": () => fs.accessSync("/bundle", fs.constants.W_OK),
  "chmod, chown, utimes": () => {
    const path = `${place()}/a`;
    fs.writeFileSync(path, "");
    return [fs.chmodSync(path, 0o600), fs.chownSync(path, 1, 1), fs.utimesSync(path, 1, 2)];
  },
  mkdtemp: () => /^\/tmp\/x.{6}$/.test(fs.mkdtempSync("/tmp/x")),
  "open, read, write, close": () => {
    const fd = fs.openSync(`${place()}/a`, "w+");
    const out = [typeof fd, fs.writeSync(fd, "hello"), fs.fstatSync(fd).size];
    const data = Buffer.alloc(3);
    out.push(fs.readSync(fd, data, 0, 3, 1), data.toString());
    fs.closeSync(fd);
    return out;
  },
  "open: wx of what exists": () => {
    const path = `${place()}/a`;
    fs.writeFileSync(path, "");
    fs.openSync(path, "wx");
  },
  "open: a wrong flag": () => fs.openSync("/tmp/a", "nope"),
  "close: a wrong descriptor": () => fs.closeSync(999),
  "writev, readv": () => {
    const fd = fs.openSync(`${place()}/a`, "w+");
    const written = fs.writevSync(fd, [Buffer.from("ab"), Buffer.from("c")]);
    const parts = [Buffer.alloc(1), Buffer.alloc(2)];
    return [written, fs.readvSync(fd, parts, 0), parts.map(String)];
  },
  "createWriteStream, createReadStream": async () => {
    const path = `${place()}/a`;
    await new Promise((resolve) => fs.createWriteStream(path).end("hello", resolve));
    let text = "";
    for await (const chunk of fs.createReadStream(path, { start: 1, end: 3, encoding: "utf8" })) text += chunk;
    return text;
  },
  "createReadStream: absent": () =>
    new Promise((resolve) => fs.createReadStream("/tmp/absent").on("error", (error) => resolve([error.code, error.message]))),
  callback: () =>
    new Promise((resolve) =>
      fs.readFile("/tmp/absent", (error, data) => resolve([error.code, error.syscall, error.path, error.errno, data])),
    ),
  "callback: it is asynchronous": () => {
    let later = false;
    return new Promise((resolve) => {
      fs.stat("/tmp", () => resolve(later));
      later = true;
    });
  },
  promises: async () => {
    const path = `${place()}/a`;
    await promises.writeFile(path, "x");
    return [await promises.readFile(path, "utf8"), (await promises.stat(path)).size, await promises.readdir(path.slice(0, -2))];
  },
  "promises: absent": () => promises.readFile("/tmp/absent"),
  "promises: open": async () => {
    const handle = await promises.open(`${place()}/a`, "w+");
    await handle.writeFile("hello");
    const { size } = await handle.stat();
    const text = (await handle.readFile("utf8")).length;
    await handle.close();
    return [size, text, handle.fd];
  },
  "promises is fs.promises": () => fs.promises === promises,
  "a Buffer and a URL as a path": () => {
    const path = place();
    fs.writeFileSync(Buffer.from(`${path}/a`), "x");
    return fs.readFileSync(new URL(`file://${path}/a`), "utf8");
  },
  "a path with a NUL": () => fs.readFileSync("/tmp/a\0b"),
  "a number as a path": () => fs.readdirSync(5),
  "a relative path": () => {
    fs.writeFileSync("relative.txt", "x");
    return fs.readFileSync("/tmp/relative.txt", "utf8");
  },
  "dots in a path": () => fs.existsSync("/tmp/../tmp/./"),
  watch: () => fs.watch("/tmp"),
  watchFile: () => typeof fs.watchFile("/tmp/x", () => {}),
  opendir: () => {
    const path = place();
    fs.writeFileSync(`${path}/a`, "");
    const directory = fs.opendirSync(path);
    const name = directory.readSync().name;
    directory.closeSync();
    return name;
  },
  glob: () => typeof fs.globSync,
  statfs: () => typeof fs.statfsSync("/tmp").bsize,
  openAsBlob: async () => {
    const path = `${place()}/a`;
    fs.writeFileSync(path, "abc");
    return (await fs.openAsBlob(path)).size;
  },
  constants: () => [fs.constants.O_RDONLY, fs.constants.O_CREAT, fs.constants.S_IFDIR, fs.constants.COPYFILE_EXCL],
  "a write of 1 MB": () => {
    const path = `${place()}/a`;
    fs.writeFileSync(path, Buffer.alloc(1 << 20));
    return fs.statSync(path).size;
  },
};
for (const [name, run] of Object.entries(cases)) test(name, run);
// Files of /tmp belong to one request.
test("files do not outlive their request: write", () => fs.writeFileSync("/tmp/outlive", "x"));
test("files do not outlive their request: read", () => fs.existsSync("/tmp/outlive"));
