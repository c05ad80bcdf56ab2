import { DurableObject } from "cloudflare:workers";

import recorded from "./recorded.js";
import { caught, suite, threw } from "./suite.js";

const { test, route, handler } = suite(recorded);
export default handler;

const pair = () => Object.values(new WebSocketPair());
const accepted = (options) => {
  const [a, b] = pair();
  a.accept(options);
  b.accept(options);
  return [a, b];
};
/** What happens at an end, as texts. */
const watch = (socket, out = []) => {
  socket.addEventListener("message", ({ data }) =>
    out.push(typeof data === "string" ? data : `${data.constructor.name} ${data.byteLength ?? data.size}`),
  );
  socket.addEventListener("close", ({ code, reason, wasClean }) => out.push(`close ${code} ${reason} ${wasClean}`));
  socket.addEventListener("error", (event) => out.push(`error ${event.message}`));
  return out;
};
/** Many turns rather than one long wait: on a busy machine a turn can take long. */
const settle = async () => {
  for (let i = 0; i < 12; i++) await scheduler.wait(4);
};

test("pair: keys", () => Object.keys(new WebSocketPair()), ["0", "1"]);
test("pair: tags", () => [String(new WebSocketPair()), String(pair()[0])], ["[object WebSocketPair]", "[object WebSocket]"]);
test(
  "pair: destructuring",
  () => {
    const [a, b] = Object.values(new WebSocketPair());
    return [a instanceof WebSocket, b instanceof WebSocket, a === b];
  },
  [true, true, false],
);
test("pair: iteration", () => [...new WebSocketPair()].length, 2);
test(
  "constants",
  () => [WebSocket.CONNECTING, WebSocket.OPEN, WebSocket.CLOSING, WebSocket.CLOSED, WebSocket.READY_STATE_OPEN],
  [0, 1, 2, 3, 1],
);
test(
  "a new end",
  () => {
    const [a] = pair();
    const { readyState, url, protocol, extensions, binaryType } = a;
    return { readyState, url, protocol, extensions, binaryType };
  },
  { readyState: 1, url: null, protocol: "", extensions: "", binaryType: "blob" },
);
test(
  "readyState through a life",
  async () => {
    const [a, b] = accepted();
    const states = [a.readyState];
    a.close(1000, "bye");
    states.push(a.readyState);
    await settle();
    states.push(a.readyState, b.readyState);
    b.close();
    await settle();
    states.push(a.readyState, b.readyState);
    return states;
  },
  [1, 2, 3, 3, 3, 3],
);
test(
  "messages",
  async () => {
    const [a, b] = accepted();
    const out = watch(b);
    a.send("one");
    a.send(new Uint8Array([1, 2]));
    a.send(new ArrayBuffer(3));
    a.send(new Uint8Array([1, 2, 3]).subarray(1));
    await settle();
    return out;
  },
  ["one", "Blob 2", "Blob 3", "Blob 2"],
);
test(
  "messages: binaryType blob",
  async () => {
    const [a, b] = accepted();
    b.binaryType = "blob";
    const out = watch(b);
    a.send(new Uint8Array([1]));
    await settle();
    return out;
  },
  ["Blob 1"],
);
test(
  "binaryType: a wrong one",
  () => {
    const [a] = pair();
    a.binaryType = "x";
    return a.binaryType;
  },
  "blob",
);
test(
  "messages: before accept are kept",
  async () => {
    const [a, b] = pair();
    a.accept();
    a.send("early");
    const out = watch(b);
    await settle();
    b.accept();
    await settle();
    return out;
  },
  ["early"],
);
test(
  "messages: a Blob, a number, an object",
  async () => {
    const [a, b] = accepted();
    const out = watch(b);
    const errors = [];
    for (const value of [new Blob(["x"]), 5, {}, null]) errors.push(await caught(() => a.send(value)));
    await settle();
    return [out, errors];
  },
  [
    ["[object Blob]", "5", "[object Object]", "null"],
    [undefined, undefined, undefined, undefined],
  ],
);
test(
  "send before accept",
  () => pair()[0].send("x"),
  threw("TypeError", "You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending messages."),
);
test(
  "close before accept",
  () => pair()[0].close(),
  threw("TypeError", "You must call one of accept() or state.acceptWebSocket() on this WebSocket before sending messages."),
);
test(
  "accept twice",
  () => {
    const [a] = pair();
    a.accept();
    a.accept();
  },
  undefined,
);
test(
  "send after close",
  () => {
    const [a] = accepted();
    a.close();
    a.send("x");
  },
  threw("TypeError", "Can't call WebSocket send() after close()."),
);
test(
  "close twice",
  () => {
    const [a] = accepted();
    a.close();
    return a.close();
  },
  undefined,
);
test(
  "send without an argument",
  () => accepted()[0].send(),
  threw("TypeError", "Failed to execute 'send' on 'WebSocket': parameter 1 is not of type 'ArrayBuffer or ArrayBufferView or string'."),
);
for (const [code, reason] of [
  [1000, "bye"],
  [1001, ""],
  [3000, "x"],
  [4999, "y"],
  [1005, ""],
  [1006, ""],
  [999, ""],
  [5000, ""],
  [1015, ""],
  [undefined, "only a reason"],
  [1002, ""],
  [1011, "server"],
]) {
  test(`close ${code} ${reason}`, async () => {
    const [a, b] = accepted();
    const [outA, outB] = [watch(a), watch(b)];
    const error = await caught(() => a.close(code, reason));
    await settle();
    b.close();
    await settle();
    return [error, outA, outB];
  });
}
test(
  "close with a reason of 124 bytes",
  () => accepted()[0].close(1000, "x".repeat(124)),
  threw("DOMException", "WebSocket close reason must not be longer than 123 bytes when UTF-8 encoded.", "SyntaxError"),
);
test(
  "close: the answer's code",
  async () => {
    const [a, b] = accepted();
    const [outA, outB] = [watch(a), watch(b)];
    a.close(3001, "first");
    await settle();
    b.close(3002, "second");
    await settle();
    return [outA, outB];
  },
  [["close 3001 first true"], ["close 3001 first true", "error Uncaught Error: Network connection lost."]],
);
test(
  "close: the other end may still send",
  async () => {
    const [a, b] = accepted({ allowHalfOpen: true });
    const out = watch(a);
    a.close(1000, "bye");
    await settle();
    const error = await caught(() => b.send("still"));
    await settle();
    b.close(1000);
    await settle();
    return [error, out];
  },
  [undefined, ["still", "close 1000  true"]],
);
test(
  "close: automatic answer",
  async () => {
    const [a, b] = accepted();
    const [outA, outB] = [watch(a), watch(b)];
    a.close(1000, "bye");
    await settle();
    return [outA, outB, a.readyState, b.readyState];
  },
  [["close 1000 bye true"], ["close 1000 bye true", "error Uncaught Error: Network connection lost."], 3, 3],
);
test(
  "serializeAttachment",
  () => {
    const [a] = pair();
    const before = a.deserializeAttachment();
    a.serializeAttachment({ n: 1 });
    return [before, a.deserializeAttachment()];
  },
  [null, { n: 1 }],
);
test(
  "serializeAttachment: too large",
  () => pair()[0].serializeAttachment("x".repeat(20_000)),
  threw("Error", "A WebSocket 'attachment' cannot be larger than 16384 bytes.'attachment' was 20006 bytes."),
);
test(
  "onmessage",
  async () => {
    const [a, b] = accepted();
    let got;
    b.onmessage = ({ data }) => (got = data);
    a.send("x");
    await settle();
    return got ?? "nothing";
  },
  "x",
);
test(
  "a message event",
  async () => {
    const [a, b] = accepted();
    const got = new Promise((resolve) => b.addEventListener("message", resolve));
    a.send("x");
    const event = await got;
    return [event.constructor.name, event.type, event.data, event.origin, event.lastEventId, event.target === b];
  },
  ["MessageEvent", "message", "x", null, "", true],
);
test(
  "a listener that throws",
  async () => {
    const [a, b] = accepted();
    const out = [];
    b.addEventListener("message", () => {
      throw new Error("ignore me");
    });
    b.addEventListener("message", ({ data }) => out.push(data));
    a.send("1");
    a.send("2");
    await settle();
    return out;
  },
  [],
);
test(
  "new WebSocket: a wrong URL",
  () => new WebSocket("nope"),
  threw("DOMException", "WebSocket Constructor: The url is invalid.", "SyntaxError"),
);
test(
  "new WebSocket: a wrong scheme",
  () => new WebSocket("ftp://a/"),
  threw("DOMException", "WebSocket Constructor: The url scheme must be ws or wss.", "SyntaxError"),
);
test(
  "new WebSocket: a fragment",
  () => new WebSocket("ws://a/#x"),
  threw("DOMException", "WebSocket Constructor: The url fragment must be empty.", "SyntaxError"),
);
test(
  "new WebSocket: a wrong protocol",
  () => new WebSocket("ws://a/", "a b"),
  threw("DOMException", "WebSocket Constructor: The protocol header token is invalid.", "SyntaxError"),
);
test(
  "new WebSocket: a protocol twice",
  () => new WebSocket("ws://a/", ["a", "a"]),
  threw("DOMException", "WebSocket Constructor: The protocols header cannot have repeating values.", "SyntaxError"),
);
test(
  "new WebSocket: nothing",
  () => new WebSocket(),
  threw("TypeError", "Failed to construct 'WebSocket': constructor parameter 1 is not of type 'string'."),
);
test(
  "new WebSocket: outbound",
  async ({ request }) => {
    const socket = new WebSocket(`ws://${new URL(request.url).host}/echo`);
    const out = [socket.readyState];
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    out.push(socket.readyState);
    const got = new Promise((resolve) => socket.addEventListener("message", ({ data }) => resolve(data)));
    socket.send("hi");
    out.push(await got);
    const closed = new Promise((resolve) =>
      socket.addEventListener("close", ({ code, reason, wasClean }) => resolve(`${code} ${reason} ${wasClean}`)),
    );
    socket.close(1000, "done");
    out.push(await closed);
    return out;
  },
  [0, 1, "echo hi", "1000 done true"],
);
test(
  "fetch: an upgrade",
  async ({ request }) => {
    const response = await fetch(`http://${new URL(request.url).host}/echo`, { headers: { upgrade: "websocket" } });
    const socket = response.webSocket;
    socket.accept();
    const got = new Promise((resolve) => socket.addEventListener("message", ({ data }) => resolve(data)));
    socket.send("hi");
    const out = [response.status, await got];
    socket.close();
    return out;
  },
  [101, "echo hi"],
);
test(
  "fetch: an upgrade that is refused",
  async ({ request }) => {
    const response = await fetch(`http://${new URL(request.url).host}/refuses`, { headers: { upgrade: "websocket" } });
    return [response.status, response.webSocket, await response.text()];
  },
  [403, null, "no"],
);
test(
  "WebSocketRequestResponsePair",
  () => {
    const pair = new WebSocketRequestResponsePair("ping", "pong");
    return [pair.request, pair.response, String(pair)];
  },
  ["ping", "pong", "[object WebSocketRequestResponsePair]"],
);

const serve = (build, init) => {
  const [client, server] = pair();
  server.accept();
  build(server);
  return new Response(null, { status: 101, webSocket: client, ...init });
};
route("/echo", () =>
  serve((socket) => {
    socket.binaryType = "arraybuffer";
    socket.addEventListener("message", ({ data }) => socket.send(typeof data === "string" ? `echo ${data}` : data));
    socket.addEventListener("close", ({ code }) => socket.close(code === 1005 ? undefined : code));
  }),
);
route("/refuses", () => new Response("no", { status: 403 }));
route("/greets", () => serve((socket) => socket.send("hello")));
route("/closes", () => serve((socket) => socket.close(4000, "go away")));
route("/big", () => serve((socket) => socket.send("x".repeat(200_000))));
route("/protocol", () => serve((socket) => socket.send("hello"), { headers: { "sec-websocket-protocol": "chat", "x-a": "1" } }));
let last = "none";
route("/remembers", () =>
  serve((socket) => {
    last = "open";
    socket.addEventListener("close", ({ code, reason, wasClean }) => (last = `close ${code} ${reason} ${wasClean}`));
    socket.addEventListener("error", ({ message }) => (last = `error ${message}`));
  }),
);
route("/last", () => new Response(last));

/** A room whose sockets hibernate. */
export class Room extends DurableObject {
  async fetch(request) {
    const url = new URL(request.url);
    const tags = url.searchParams.getAll("tag");
    if (url.pathname === "/room/auto") this.ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
    if (request.headers.get("upgrade") !== "websocket") return Response.json(await this[url.pathname.slice(6)](url));
    const [client, server] = pair();
    this.ctx.acceptWebSocket(server, tags);
    server.serializeAttachment({ tags });
    return new Response(null, { status: 101, webSocket: client });
  }
  count() {
    return [this.ctx.getWebSockets().length, this.ctx.getWebSockets("a").length, this.ctx.getWebSockets("none").length];
  }
  broadcast(url) {
    for (const socket of this.ctx.getWebSockets()) socket.send(url.searchParams.get("text"));
    return "sent";
  }
  closeAll() {
    for (const socket of this.ctx.getWebSockets()) socket.close(4001, "all");
    return "closed";
  }
  async log() {
    return (await this.ctx.storage.get("log")) ?? [];
  }
  async note(text) {
    await this.ctx.storage.put("log", [...(await this.log()), text]);
  }
  async webSocketMessage(socket, message) {
    if (message === "tags") socket.send(JSON.stringify(this.ctx.getTags(socket)));
    else if (message === "attachment") socket.send(JSON.stringify(socket.deserializeAttachment()));
    else if (message === "throw") throw new Error("ignore me");
    else if (message === "close") socket.close(4002, "asked");
    else if (message === "stamp") socket.send(String(this.ctx.getWebSocketAutoResponseTimestamp(socket) instanceof Date));
    else socket.send(typeof message === "string" ? `room ${message}` : `binary ${message.constructor.name} ${message.byteLength}`);
  }
  async webSocketClose(socket, code, reason, wasClean) {
    await this.note(`close ${code} ${reason} ${wasClean} ${socket.readyState}`);
  }
  async webSocketError(socket, error) {
    await this.note(`error ${error.name} ${error.message}`);
  }
}
const room = (env, url) => env.ROOM.get(env.ROOM.idFromName(url.searchParams.get("room") ?? "room"));
for (const path of ["/room", "/room/auto", "/room/count", "/room/broadcast", "/room/closeAll", "/room/log"]) {
  route(path, (request, env) => room(env, new URL(request.url)).fetch(request));
}
