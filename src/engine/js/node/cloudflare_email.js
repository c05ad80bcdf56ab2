// The module `cloudflare:email`. No binding here takes a message, but programs that could send one can be loaded.

class EmailMessage {
  #raw;
  constructor(from, to, raw) {
    this.from = from;
    this.to = to;
    this.#raw = raw;
  }
  /** A stream or a text: the whole message with its headers. */
  get raw() {
    return this.#raw;
  }
}

export { EmailMessage };
