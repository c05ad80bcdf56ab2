// The module `cloudflare:workflows`.

/** Thrown in a step that shall not run again. */
class NonRetryableError extends Error {
  constructor(message, name = "NonRetryableError") {
    super(message);
    this.name = name;
  }
}

export { NonRetryableError };
