// A runtime that serves one area: started, waited for, stopped.

import { spawn } from "node:child_process";

const START_LIMIT_MS = 20_000;

/** Whatever ends this process ends the runtimes too. */
const running = new Set();
process.on("exit", () => {
  for (const child of running) process.kill(-child.pid, "SIGKILL");
});
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

/**
 * Starts `command`. `portOf(text)` finds the port in what the process has written to its standard output, or to file descriptor 3.
 * Gives `{ port, output(), stop() }`; throws with the process's output when it ends or says nothing.
 */
export async function startServer(command, args, { cwd, env, portOf }) {
  // A process group of its own: `celld dev` has a child, and both end together.
  const { CELLD_BIN, ...inherited } = process.env;
  const child = spawn(command, args, { cwd, env: { ...inherited, ...env }, stdio: ["ignore", "pipe", "pipe", "pipe"], detached: true });
  let output = "";
  let control = "";
  const stop = () =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve();
      child.once("exit", resolve);
      process.kill(-child.pid, "SIGKILL");
    });
  const port = new Promise((resolve, reject) => {
    const look = () => {
      const found = portOf(control + output);
      if (found) resolve(found);
    };
    child.stdio[3].on("data", (data) => ((control += data), look()));
    child.stdout.on("data", (data) => ((output += data), look()));
    child.stderr.on("data", (data) => (output += data));
    child.on("error", reject);
    child.on("exit", (code) => reject(new Error(`${command} ended with ${code}\n${output}`)));
    setTimeout(() => reject(new Error(`${command} did not start\n${output}`)), START_LIMIT_MS).unref();
  });
  running.add(child);
  child.once("exit", () => running.delete(child));
  try {
    return { port: await port, output: () => output, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}
