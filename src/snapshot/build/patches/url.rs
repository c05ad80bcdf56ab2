//! URLs, patterns, files and event sources.

use super::Change;

pub const URL: &[Change] = &[
    (
        "    throw new TypeError(
      `Invalid URL: '${href}'` +
        (maybeBase ? ` with base '${maybeBase}'` : \"\"),
    );",
        "    throw new TypeError('Invalid URL string.');",
    ),
    (
        "    const status = opUrlParse(value);
    this.#serialization = getSerialization(status, value);",
        "    const status = opUrlParse(value);
    if (status !== 0 && status !== 1) {
      throw new TypeError(\"Failed to set the 'href' property on 'URL': the provided value is not of type 'valid URL string'.\");
    }
    this.#serialization = getSerialization(status, value);",
    ),
    (
        "            const err = new TypeError(
              \"Each query pair must be an iterable [name, value] tuple\",
            );
            err.code = \"ERR_INVALID_TUPLE\";
            throw err;
          }
          ArrayPrototypePush(pairs, entry);",
        "            throw new TypeError('Invalid URL search params sequence.');
          }
          ArrayPrototypePush(pairs, entry);",
    ),
];

pub const URL_PATTERN: &[Change] = &[(
    "    const parsed = op_urlpattern_parse(input, baseURL, options);",
    "    let parsed;
    try {
      parsed = op_urlpattern_parse(input, baseURL, options);
    } catch {
      throw new TypeError('Failed to construct URLPattern');
    }",
)];

pub const FILE: &[Change] = &[
    // An object URL would keep its blob for ever; the platform has none.
    (
        "function createObjectURL(blob) {
  const prefix",
        "function createObjectURL(blob) {
  throw new Error('URL.createObjectURL() is not implemented');
  const prefix",
    ),
];

pub const EVENT_SOURCE: &[Change] = &[
    (
        "      throw new DOMException(e.message, \"SyntaxError\");",
        "      throw new DOMException(`Cannot open an EventSource to '${url}'. The URL is invalid.`, 'SyntaxError');",
    ),
    (
        "  close() {
    webidl.assertBranded(this, EventSourcePrototype);",
        "  [Symbol.dispose]() {
    this.close();
  }

  close() {
    webidl.assertBranded(this, EventSourcePrototype);",
    ),
    // `EventSource.from`: the events of a stream that is already there.
    (
        "class EventSource extends EventTarget {
",
        "const kFromStream = Symbol('from stream');

class EventSource extends EventTarget {
  static from(stream) {
    return new EventSource(kFromStream, stream);
  }

",
    ),
    (
        "    const prefix = \"Failed to construct 'EventSource'\";
",
        "    if (url === kFromStream) {
      this.#url = null;
      this.#withCredentials = false;
      this.#readyState = OPEN;
      this.#read({ body: { stream: eventSourceInitDict }, url: () => '' });
      return;
    }
    const prefix = \"Failed to construct 'EventSource'\";
",
    ),
    (
        "    let data = \"\";
    let eventType = \"\";
    let lastEventId = this.#lastEventId;
",
        "    return this.#read(res);
  }

  async #read(res) {
    let data = \"\";
    let eventType = \"\";
    let lastEventId = this.#lastEventId;
",
    ),
    (
        "    if (this.#readyState === CLOSED) {
      return;
    }
    this.#readyState = CONNECTING;",
        "    if (this.#url === null) {
      this.#failConnection();
      return;
    }
    if (this.#readyState === CLOSED) {
      return;
    }
    this.#readyState = CONNECTING;",
    ),
];

pub const DOM_EXCEPTION: &[Change] = &[
    // The platform knows no cause of a DOMException.
    ("      if (ReflectHas(options, \"cause\")) {", "      if (false) {"),
];
