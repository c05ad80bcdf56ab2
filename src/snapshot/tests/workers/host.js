// Every way to the machine that Node's API offers, and that must lead nowhere.
import child_process from "node:child_process";
import fs from "node:fs";
import http from "node:http";
import net from "node:net";
import os from "node:os";
import process from "node:process";
import tty from "node:tty";
import { equal, fails, ok } from "./assert.js";

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
  () => http.createServer().listen(0),
  () => net.connect("/var/run/docker.sock"),
  () => http.get({ socketPath: "/var/run/docker.sock", path: "/" }),
  () => new net.Socket({ fd: 1 }).write("x"),
  () => new tty.WriteStream(1),
]) {
  await failure(run);
}

// Deno's version reports nothing at all when it cannot start a process.
equal(child_process.spawnSync("id").pid, undefined);
equal(child_process.spawnSync("id").stdout, undefined);

for (
  const name of [
    "abort", "binding", "chdir", "dlopen", "kill", "_kill", "loadEnvFile", "reallyExit", "setuid", "setgid",
    "_linkedBinding",
  ]
) {
  equal(process[name], undefined, name);
}
await fails(() => process.exit(1), "process.exit");
equal(JSON.stringify(process.env), "{}");
equal(process.pid, 1);
equal(os.hostname(), "localhost");
ok(!process.argv.join().includes("celld"));
