// Exceptions that nobody caught and promises whose rejection nobody handled: first an event on the
// global, as on the platform, then a line in the log. Neither ends the isolate.

import { core, internals, primordials } from "ext:core/mod.js";
import { op_celld_uncaught } from "ext:core/ops";

const { SafeWeakSet, StringPrototypeStartsWith, WeakSetPrototypeAdd, WeakSetPrototypeHas } = primordials;
const { PromiseRejectionEvent, reportException } = core.loadExtScript("ext:deno_web/02_event.js");
const { inspect } = core.loadExtScript("ext:deno_web/01_console.js");

/** Errors that only end the code they are thrown in: what they say is told in another way. */
const silent = new SafeWeakSet();

function keepSilent(error) {
  WeakSetPrototypeAdd(silent, error);
}

/** Whether `value`, which may be anything, is to be reported. */
function isReported(value) {
  return typeof value !== "object" || value === null || !WeakSetPrototypeHas(silent, value);
}

// The innermost frame of user code, already in positions of the source.
function userFrame(error) {
  const { frames } = core.destructureError(error);
  for (let i = 0; i < frames.length; i++) {
    const frame = frames[i];
    if (
      typeof frame.fileName === "string" && !StringPrototypeStartsWith(frame.fileName, "ext:") &&
      !StringPrototypeStartsWith(frame.fileName, "node:")
    ) {
      return frame;
    }
  }
  return undefined;
}

function describe(value) {
  try {
    return inspect(value, { colors: false });
  } catch {
    // A getter or an inspection hook of the value threw.
    return "an exception that cannot be shown";
  }
}

// Writes to the log that `prefix` happened with `value`, which may be anything.
function report(prefix, value) {
  let frame;
  try {
    frame = userFrame(value);
  } catch {
    frame = undefined;
  }
  const text = `${prefix} ${describe(value)}`;
  op_celld_uncaught(text, frame?.fileName ?? "", frame?.lineNumber ?? 0, frame?.columnNumber ?? 0);
}

// `reportException` dispatches the "error" event; what no handler took it passes on to this (a change
// by the build script of celld-snapshot: Deno would end the isolate's event loop).
internals.celldReportUncaught = (error) => report("Uncaught", error);

function reportUncaught(error) {
  if (isReported(error)) reportException(error);
}

function reportRejection(promise, reason) {
  if (!isReported(reason)) return true;
  const event = new PromiseRejectionEvent("unhandledrejection", { cancelable: true, promise, reason });
  if (globalThis.dispatchEvent(event)) {
    report("Uncaught (in promise)", reason);
  }
  // `true`: the runtime goes on.
  return true;
}

function reportLateHandling(promise, reason) {
  globalThis.dispatchEvent(new PromiseRejectionEvent("rejectionhandled", { promise, reason }));
}

// Hooks live in the isolate, not in the snapshot.
function installReporting() {
  core.setReportExceptionCallback(reportUncaught);
  core.setUnhandledPromiseRejectionHandler(reportRejection);
  core.setHandledPromiseRejectionHandler(reportLateHandling);
}

export { installReporting, keepSilent, report };
