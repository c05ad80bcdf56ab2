// node:console with the exports that the platform has.

import { unsupported } from "ext:celld_node/errors.js";
import base from "node:console";

base.context ??= unsupported("context", 0, "Console.context");
base.createTask ??= unsupported("createTask", 0, "Console.createTask");
const console = base;

export const {
  Console, assert, clear, context, count, countReset, createTask, debug, dir, dirxml, error, group, groupCollapsed,
  groupEnd, info, log, profile, profileEnd, table, time, timeEnd, timeLog, timeStamp, trace, warn,
} = console;
export default console;
