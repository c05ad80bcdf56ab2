// node:os with the exports that the platform has.

import base from "node:os";
import { validateNumber } from "ext:celld_node/internal.js";

function setPriority(pid, priority = undefined) {
  validateNumber(pid, "pid");
  if (priority !== undefined) {
    validateNumber(priority, "priority");
  }
}

// Nothing about the machine.
const all = {
  ...base,
  availableParallelism: () => 1,
  cpus: () => [],
  freemem: () => 0,
  getPriority: () => 0,
  homedir: () => "/tmp/",
  hostname: () => "localhost",
  loadavg: () => [0, 0, 0],
  networkInterfaces: () => ({}),
  release: () => "",
  setPriority,
  tmpdir: () => "/tmp/",
  totalmem: () => 0,
  uptime: () => 0,
  userInfo: () => ({}),
  version: () => "",
};

export const {
  EOL, arch, availableParallelism, constants, cpus, devNull, endianness, freemem, getPriority, homedir, hostname,
  loadavg, machine, networkInterfaces, platform, release, tmpdir, totalmem, type, uptime, userInfo, version,
} = all;
export { setPriority };
export default {
  EOL, arch, availableParallelism, constants, cpus, devNull, endianness, freemem, getPriority, homedir, hostname,
  loadavg, machine, networkInterfaces, platform, release, setPriority, tmpdir, totalmem, type, uptime, userInfo,
  version,
};
