// `console`: Deno's formatting with the platform's choices, our sink.

import { core, primordials } from "ext:core/mod.js";
import { op_celld_console } from "ext:core/ops";

const {
  ArrayPrototype,
  DatePrototype,
  ErrorCaptureStackTrace,
  ObjectPrototype,
  SafeArrayIterator,
  StringPrototypeCharAt,
  StringPrototypeEndsWith,
  StringPrototypeIncludes,
  StringPrototypeIndexOf,
  StringPrototypeSlice,
} = primordials;
const { Console, inspectArgs, setNoColorFns } = core.loadExtScript("ext:deno_web/01_console.js");

// Levels of `level` in console.rs.
const DEBUG = 0;

/** How values are shown. */
const SHOWN = { __proto__: null, depth: 2, quotes: ["'", '"', "`"] };
const SHALLOW = { __proto__: null, ...SHOWN, depth: 0 };

// Whether colours suit is for the sink to know: it may be a file, a terminal or a browser.
setNoColorFns(() => true, () => true);

function print(message, level) {
  op_celld_console(level, StringPrototypeEndsWith(message, "\n") ? StringPrototypeSlice(message, 0, -1) : message);
}

/** Whether an object has no text of its own. */
function isPlain(value) {
  try {
    const { toString } = value;
    return toString === ObjectPrototype.toString || toString === ArrayPrototype.toString || toString === DatePrototype.toString;
  } catch {
    return true;
  }
}

/** `%s` shows an object that has no text of its own; Deno's makes a text of it. */
function withTexts(args) {
  const format = args[0];
  let next = 1;
  for (let at = StringPrototypeIndexOf(format, "%"); at >= 0 && next < args.length; at = StringPrototypeIndexOf(format, "%", at + 2)) {
    const kind = StringPrototypeCharAt(format, at + 1);
    if (!StringPrototypeIncludes("sdifjoOc", kind) || kind === "") continue;
    const value = args[next];
    if (kind === "s" && typeof value === "object" && value !== null && isPlain(value)) args[next] = inspectArgs([value], SHALLOW);
    next++;
  }
}

/** The text of the arguments of `console.log` and its kin. */
function textOf(args) {
  if (args.length === 1 && typeof args[0] === "string") return args[0];
  if (typeof args[0] === "string" && StringPrototypeIncludes(args[0], "%")) withTexts(args);
  return inspectArgs(args, SHOWN);
}

const console = new Console(print);

for (const name of new SafeArrayIterator(["log", "debug", "info", "warn", "error"])) {
  const original = console[name];
  ({ [name]: console[name] } = { [name]: (...args) => args.length === 0 ? original() : original(textOf(args)) });
}
const { assert, dir, timeLog } = console;
Object.assign(console, {
  assert: (condition = false, ...args) => {
    if (args.length === 0 || condition) assert(condition);
    else assert(condition, textOf(args));
  },
  dir: (value = undefined, options = undefined) => dir(value, { __proto__: null, ...SHOWN, ...options }),
  timeLog: (label = "default", ...args) => {
    if (args.length === 0) timeLog(label);
    else timeLog(label, inspectArgs(args, SHOWN));
  },
});

// Deno prints a trace in two parts; a sink gets one line a call.
console.trace = function trace(...args) {
  const error = { name: "Trace", message: textOf(args) };
  ErrorCaptureStackTrace(error, trace);
  print(error.stack, DEBUG);
};

export { console };
