// Errors as they cross from one piece of user code to another: class name, message and own marks survive, the stack does not.

const CLASSES = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };

/** Anything that was thrown, as an `Error`. */
function toError(thrown) {
  return thrown instanceof Error ? thrown : new Error(String(thrown));
}

/** What a caller in another place may know of `thrown`. */
function describeError(thrown) {
  if (typeof thrown !== "object" || thrown === null || !(thrown instanceof Error)) {
    return { name: "Error", message: String(thrown) };
  }
  const described = { name: String(thrown.name), message: String(thrown.message) };
  if (thrown.retryable === true) described.retryable = true;
  if (thrown.overloaded === true) described.overloaded = true;
  return described;
}

/** The error that a caller sees for what was thrown on the other side. */
function remoteError(described) {
  const Class = Object.hasOwn(CLASSES, described.name) ? CLASSES[described.name] : Error;
  const error = new Class(described.message);
  if (Class === Error && described.name !== "Error") error.name = described.name;
  error.remote = true;
  if (described.retryable) error.retryable = true;
  if (described.overloaded) error.overloaded = true;
  return error;
}

export { describeError, remoteError, toError };
