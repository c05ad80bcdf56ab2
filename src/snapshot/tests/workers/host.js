// Every way to the machine that Node's API offers, and that must lead nowhere.
import child_process from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import process from "node:process";
import tty from "node:tty";
import url from "node:url";
import util from "node:util";
import * as threads from "node:worker_threads";
import * as vm from "node:vm";
import zlib from "node:zlib";
import { equal, fails, ok } from "./assert.js";

// Linked, imported and required, a module is the same one: ours. deno_core would know some by name.
for (const [name, linked] of Object.entries({ url, util, zlib, worker_threads: threads.default, vm: vm.default })) {
  equal((await import(`node:${name}`)).default, linked, name);
  equal(process.getBuiltinModule(name), linked, name);
}
equal((await fails(() => new threads.Worker("x"))).code, "ERR_METHOD_NOT_IMPLEMENTED");
equal((await fails(() => vm.runInNewContext("1"))).code, "ERR_METHOD_NOT_IMPLEMENTED");

// An API that reports failure by an event, a callback, a rejection or a throw.
function failure(run) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`${run} neither failed nor finished`)), 2000);
    const done = (error) => {
      clearTimeout(timer);
      if (error) resolve(error);
      else reject(new Error(`${run} did not fail`));
    };
    try {
      const result = run(done);
      result?.on?.("error", done);
      result?.then?.(() => done(), done);
    } catch (error) {
      done(error);
    }
  });
}

for (const path of ["/etc/passwd", "/proc/self/environ", "/proc/self/exe", "/dev/null", "/root", "../etc/passwd"]) {
  await fails(() => fs.readFileSync(path), path);
  await fails(() => fs.promises.stat(path), path);
  await fails(() => fs.realpathSync(path), path);
  await fails(() => fs.opendirSync(path), path);
  await fails(() => fs.openSync(path), path);
  await fails(() => fs.cpSync(path, "/tmp/copy", { recursive: true }), path);
}
equal(fs.readdirSync("/").join(), "bundle,tmp");
await fails(() => fs.writeFileSync("/x", ""));
await fails(() => fs.symlinkSync("/etc", "/tmp/etc"));
await fails(() => fs.linkSync("/etc/passwd", "/tmp/passwd"));

for (const run of [
  () => child_process.execSync("id"),
  (done) => child_process.exec("id", done),
  () => child_process.spawn("id"),
  () => child_process.fork("/bundle/index.js"),
  () => net.createServer().listen(0),
  () => net.createServer().listen("/tmp/socket"),
  () => net.connect("/var/run/docker.sock"),
  () => http.get({ socketPath: "/var/run/docker.sock", path: "/" }),
  () => new net.Socket({ fd: 1 }).write("x"),
  () => new tty.WriteStream(1),
]) {
  await failure(run);
}

await fails(() => child_process.spawnSync("id"), "not implemented");

// A server of HTTP gets a number and no socket: nothing answers there.
const { port } = http.createServer().listen(0).address();
await failure(() => net.connect(port, "127.0.0.1"));

for (
  const run of [
    () => process.abort(),
    () => process.binding("tcp_wrap"),
    () => process.chdir("/etc"),
    () => process.dlopen({}, "/lib/x86_64-linux-gnu/libc.so.6"),
    () => process.kill(1),
    () => process._kill(1, 9),
    () => process.loadEnvFile("/proc/self/environ"),
    () => process.reallyExit(1),
    () => process.setuid(1),
    () => process.setgid(1),
    () => process._linkedBinding("os"),
    () => process.cpuUsage(),
  ]
) {
  await fails(run);
}
await fails(() => process.exit(1), "process.exit");
equal(JSON.stringify(process.env), "{}");
equal(process.pid, 1);
equal(os.hostname(), "localhost");
ok(!process.argv.join().includes("celld"));
