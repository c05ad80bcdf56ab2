// A client of one runtime: makes requests, and keeps what it sees.

import http from "node:http";

import { openWebSocket } from "../../conformance/harness/websocket.mjs";
import { answers, meets, show } from "./compare.mjs";

const LIMIT_MS = 30_000;

/** Headers that belong to the connection or to the clock. */
const NOT_COMPARED = new Set(["date", "connection", "keep-alive", "transfer-encoding", "content-length"]);

export class Client {
  /** `[{ name, observed, wanted, met }]` */
  seen = [];
  // A connection for each request: a server that closes one does not disturb the next.
  #agent = new http.Agent({ keepAlive: false });

  constructor(port) {
    this.port = port;
  }

  /** What a check works with. */
  get tools() {
    return Object.fromEntries(["see", "ask", "fetch", "open", "connect"].map((name) => [name, this[name].bind(this)]));
  }

  close() {
    this.#agent.destroy();
  }

  /** Keeps `value` (or what it resolves to) under a name, with what it is expected to be. */
  async see(name, value, wanted) {
    await this.#keep(name, value, wanted, meets);
  }

  /**
   * Makes a request and keeps the answer. `wanted` is `{ status, headers, body }`; of the headers, those that are named. `hide` are
   * regular expressions for what may differ from run to run: it counts for `wanted`, not for the comparison.
   */
  async ask(request, options = {}, wanted = options) {
    const { name = request, hide = [], ...rest } = wanted === options ? {} : options;
    const [method, path] = request.split(" ");
    return this.#keep(name, this.fetch(path, { method, ...rest }), wanted, answers, hide);
  }

  /** `{ status, headers, body }`, not kept. An object as the body is sent as JSON. */
  async fetch(path, options) {
    const stream = await this.open(path, options);
    return { status: stream.status, headers: stream.headers, body: await stream.rest() };
  }

  /**
   * An answer while it comes: `{ status, headers, until(regex), rest(), stop() }`. `until` gives what has come, up to and with the
   * match; `rest` what is left.
   */
  open(path, { method = "GET", headers = {}, body } = {}) {
    const isJson = body !== null && typeof body === "object" && !Buffer.isBuffer(body);
    const extra = isJson ? { "content-type": "application/json" } : {};
    const sent = isJson ? JSON.stringify(body) : body;
    return new Promise((resolve, reject) => {
      const target = { host: "127.0.0.1", port: this.port, path, method, headers: { ...extra, ...headers }, agent: this.#agent };
      const request = http.request(target, (response) => resolve(new Stream(request, response, this.port)));
      request.setTimeout(LIMIT_MS, () => request.destroy(new Error("timeout")));
      request.on("error", reject);
      request.end(sent);
    });
  }

  /** A WebSocket that shows its frames as text; see the harness of the conformance suite. */
  connect(path, headers) {
    return openWebSocket(this.port, path, headers, { shown: Infinity });
  }

  async #keep(name, value, wanted, judge, hide = []) {
    const unique = this.seen.some((each) => each.name === name) ? `${name} (${this.seen.length})` : name;
    const kept = { name: unique, wanted: show(wanted) };
    this.seen.push(kept);
    try {
      const is = await value;
      kept.met = judge(is, wanted);
      kept.observed = hide.reduce((text, pattern) => text.replace(pattern, "…"), show(is));
      return is;
    } catch (failure) {
      kept.met = false;
      kept.observed = `${failure}`;
    }
  }
}

class Stream {
  #received = Buffer.alloc(0);
  #ended = false;
  #failure;
  #wake = () => {};

  constructor(request, response, port) {
    this.request = request;
    this.host = new RegExp(`(127\\.0\\.0\\.1|localhost):${port}`, "g");
    this.status = response.statusCode;
    this.headers = {};
    for (let i = 0; i < response.rawHeaders.length; i += 2) {
      const name = response.rawHeaders[i].toLowerCase();
      const value = response.rawHeaders[i + 1].replace(this.host, "HOST");
      if (NOT_COMPARED.has(name)) continue;
      if (name === "set-cookie") (this.headers[name] ??= []).push(value);
      else this.headers[name] = name in this.headers ? `${this.headers[name]}, ${value}` : value;
    }
    // In one order, whatever the runtime's is.
    this.headers = Object.fromEntries(Object.entries(this.headers).sort(([a], [b]) => (a < b ? -1 : 1)));
    response.on("data", (data) => {
      this.#received = Buffer.concat([this.#received, data]);
      this.#wake();
    });
    response.on("error", (error) => this.#end(error));
    response.on("end", () => this.#end());
  }

  async until(pattern) {
    for (;;) {
      const text = this.#text(this.#received);
      const found = pattern.exec(text);
      if (found) {
        const taken = text.slice(0, found.index + found[0].length);
        this.#received = Buffer.from(text.slice(taken.length));
        return taken;
      }
      if (this.#failure) throw this.#failure;
      if (this.#ended) throw new Error(`the answer ended without ${pattern}: ${text}`);
      await new Promise((resolve) => (this.#wake = resolve));
    }
  }

  /** A body that is no UTF-8 is shown in hexadecimal digits. */
  async rest() {
    while (!this.#ended) await new Promise((resolve) => (this.#wake = resolve));
    if (this.#failure) throw this.#failure;
    return this.#text(this.#received);
  }

  stop() {
    this.request.destroy();
  }

  #text(bytes) {
    try {
      return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes).replace(this.host, "HOST");
    } catch {
      return bytes.toString("hex");
    }
  }

  #end(failure) {
    this.#ended = true;
    this.#failure = failure;
    this.#wake();
  }
}
