// A WebSocket client that shows frames as they are: RFC 6455 without extensions, and without the courtesies of a library.

import { randomBytes } from "node:crypto";
import net from "node:net";

const NAMES = { 0: "continuation", 1: "text", 2: "binary", 8: "close", 9: "ping", 10: "pong" };
const CODES = Object.fromEntries(Object.entries(NAMES).map(([code, name]) => [name, Number(code)]));
const LIMIT_MS = 3000;

/** Connects; rejects with the answer's head when it is not 101. Of longer messages than `shown` only the length is shown. */
export function openWebSocket(port, path, headers = {}, { shown = 64 } = {}) {
  return new Promise((resolve, reject) => {
    const socket = net.connect(port, "127.0.0.1");
    const extra = Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("");
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${extra}\r\n`,
    );
    let head = Buffer.alloc(0);
    const timer = setTimeout(() => reject(new Error("timeout")), LIMIT_MS);
    socket.on("error", reject);
    socket.on("close", () => reject(new Error(`closed: ${head.toString("latin1").split("\r\n")[0]}`)));
    socket.on("data", function receive(data) {
      head = Buffer.concat([head, data]);
      const end = head.indexOf("\r\n\r\n");
      if (end < 0) return;
      clearTimeout(timer);
      socket.off("data", receive);
      const text = head.subarray(0, end).toString("latin1");
      if (!text.startsWith("HTTP/1.1 101")) {
        socket.destroy();
        return reject(new Error(text.split("\r\n")[0]));
      }
      resolve(new WebSocketClient(socket, text, head.subarray(end + 4), shown));
    });
  });
}

class WebSocketClient {
  #buffer;
  #frames = [];
  #waiting = [];
  #ended = false;
  #shown;

  constructor(socket, head, rest, shown) {
    this.#shown = shown;
    this.socket = socket;
    this.head = head;
    this.#buffer = rest;
    socket.on("data", (data) => {
      this.#buffer = Buffer.concat([this.#buffer, data]);
      this.#parse();
    });
    const end = () => {
      this.#ended = true;
      this.#settle();
    };
    socket.on("close", end);
    socket.on("error", end);
    this.#parse();
  }

  /** Sends one frame; `final` false leaves the message open. */
  send(name, payload, { final = true } = {}) {
    const data = Buffer.isBuffer(payload) ? payload : Buffer.from(payload ?? "");
    const mask = randomBytes(4);
    const length =
      data.length < 126
        ? Buffer.from([0x80 | data.length])
        : data.length < 65536
          ? Buffer.from([0xfe, data.length >> 8, data.length & 255])
          : Buffer.concat([Buffer.from([0xff]), big(data.length)]);
    const masked = Buffer.from(data.map((byte, i) => byte ^ mask[i & 3]));
    this.socket.write(Buffer.concat([Buffer.from([(final ? 0x80 : 0) | CODES[name]]), length, mask, masked]));
  }

  close(code, reason = "") {
    this.send("close", code === undefined ? "" : Buffer.concat([Buffer.from([code >> 8, code & 255]), Buffer.from(reason)]));
  }

  /** The next frame, `"end"` when the connection has ended, `"nothing"` when none comes. */
  next(limit = LIMIT_MS) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => {
        this.#waiting = this.#waiting.filter((each) => each !== give);
        resolve("nothing");
      }, limit);
      const give = (frame) => {
        clearTimeout(timer);
        resolve(frame);
      };
      this.#waiting.push(give);
      this.#settle();
    });
  }

  destroy() {
    this.socket.destroy();
  }

  #settle() {
    while (this.#waiting.length && this.#frames.length) this.#waiting.shift()(this.#frames.shift());
    while (this.#waiting.length && this.#ended) this.#waiting.shift()("end");
  }

  #parse() {
    for (;;) {
      const buffer = this.#buffer;
      if (buffer.length < 2) return;
      let length = buffer[1] & 127;
      let at = 2;
      if (length === 126) {
        if (buffer.length < 4) return;
        length = buffer.readUInt16BE(2);
        at = 4;
      } else if (length === 127) {
        if (buffer.length < 10) return;
        length = Number(buffer.readBigUInt64BE(2));
        at = 10;
      }
      if (buffer.length < at + length) return;
      const name = NAMES[buffer[0] & 15];
      const data = buffer.subarray(at, at + length);
      this.#buffer = buffer.subarray(at + length);
      this.#frames.push(show(name, data, Boolean(buffer[0] & 128), this.#shown));
      this.#settle();
    }
  }
}

function show(name, data, final, shown) {
  const more = final ? "" : " …";
  if (name === "close") return data.length < 2 ? "close" : `close ${data.readUInt16BE(0)} ${data.subarray(2)}`.trim();
  if (name === "binary") return `binary ${data.length > shown ? `${data.length} bytes` : data.toString("hex")}${more}`;
  return `${name} ${data.length > shown ? `${data.length} bytes` : data}${more}`;
}

function big(length) {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(length));
  return bytes;
}
