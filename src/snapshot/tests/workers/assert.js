// Assertions of the Workers in this directory.
export function ok(condition, message) {
  if (!condition) throw new Error(message ?? "assertion failed");
}

export function equal(actual, expected, message = "") {
  if (!Object.is(actual, expected)) {
    throw new Error(`${message} got ${String(actual)}, expected ${String(expected)}`);
  }
}

// The error that `run` throws or rejects with.
export async function fails(run, message = "") {
  try {
    await run();
  } catch (error) {
    return error;
  }
  throw new Error(`${message || run} did not fail`);
}
