// `console`: Deno's formatting, our sink.

import { core, primordials } from "ext:core/mod.js";
import { op_celld_console } from "ext:core/ops";

const { ErrorCaptureStackTrace, StringPrototypeEndsWith, StringPrototypeSlice } = primordials;
const { Console, inspectArgs, setNoColorFns } = core.loadExtScript("ext:deno_web/01_console.js");

// Levels of `level` in console.rs.
const DEBUG = 0;

// Whether colours suit is for the sink to know: it may be a file, a terminal or a browser.
setNoColorFns(() => true, () => true);

function print(message, level) {
  op_celld_console(level, StringPrototypeEndsWith(message, "\n") ? StringPrototypeSlice(message, 0, -1) : message);
}

const console = new Console(print);

// Deno prints a trace in two parts; a sink gets one line a call.
console.trace = function trace(...args) {
  const error = { name: "Trace", message: inspectArgs(args) };
  ErrorCaptureStackTrace(error, trace);
  print(error.stack, DEBUG);
};

export { console };
