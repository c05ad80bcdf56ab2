// The client's side of a case: requests whose answer is observed on the wire.

import http from "node:http";
import net from "node:net";

import { openWebSocket } from "./websocket.mjs";

/** A case may take this long, and less when it is known to differ: some of those hang. */
const LIMIT_MS = 30_000;
const KNOWN_LIMIT_MS = 3000;

/** Headers that belong to the connection or to the clock. */
const NOT_COMPARED = new Set(["date", "connection", "keep-alive", "transfer-encoding", "content-length"]);

export class Client {
  /** `output()` is what the runtime has written to its standard output and error so far. */
  constructor(port, output) {
    this.port = port;
    this.output = output;
    this.limit = LIMIT_MS;
    // A connection for each request: a server that closes one does not disturb the next case.
    this.agent = new http.Agent({ keepAlive: false });
  }

  expectDifference(isKnown) {
    this.limit = isKnown ? KNOWN_LIMIT_MS : LIMIT_MS;
  }

  close() {
    this.agent.destroy();
  }

  /** `{ status, statusText, headers, body }`; `raw` keeps the headers of the connection too. */
  request(path, { method = "GET", headers = {}, body, raw = false } = {}) {
    return new Promise((resolve, reject) => {
      const request = http.request({ host: "127.0.0.1", port: this.port, path, method, headers, agent: this.agent }, (response) => {
        const chunks = [];
        response.on("data", (chunk) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          const pairs = [];
          for (let i = 0; i < response.rawHeaders.length; i += 2) {
            const name = response.rawHeaders[i].toLowerCase();
            if (raw || !NOT_COMPARED.has(name)) pairs.push(`${name}: ${response.rawHeaders[i + 1]}`);
          }
          resolve({
            status: response.statusCode,
            statusText: response.statusMessage,
            headers: pairs.sort(),
            body: Buffer.concat(chunks).toString("latin1"),
          });
        });
      });
      request.setTimeout(this.limit, () => request.destroy(new Error("timeout")));
      request.on("error", reject);
      if (body === undefined) request.end();
      else request.end(body);
    });
  }

  /** Sends `text` on a connection of its own; what has come back when `until` matches it, or when the server closes. */
  exchange(text, until = /$^/) {
    return new Promise((resolve, reject) => {
      const socket = net.connect(this.port, "127.0.0.1");
      let received = "";
      socket.setEncoding("latin1");
      socket.setTimeout(this.limit, () => socket.destroy(new Error("timeout")));
      socket.on("connect", () => socket.write(text));
      socket.on("data", (data) => {
        received += data;
        if (until.test(received)) socket.destroy();
      });
      socket.on("error", reject);
      socket.on("close", () => resolve(received));
    });
  }

  webSocket(path, headers) {
    return openWebSocket(this.port, path, headers);
  }

  /** A connection for cases that write and read in turns. */
  connect() {
    return new Promise((resolve, reject) => {
      const socket = net.connect(this.port, "127.0.0.1", () => resolve(socket));
      socket.on("error", reject);
    });
  }
}
