// Frames on the wire.

const cases = {};
function test(name, run, expected) {
  cases[name] = { run, expected };
}
export default cases;

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
/** The frames after `act`, until one is a close, the connection ends or nothing comes. */
const frames = async (client, path, act = () => {}, headers) => {
  const socket = await client.webSocket(path, headers);
  await act(socket);
  const seen = [];
  for (let i = 0; i < 8; i++) {
    const frame = await socket.next(i ? 400 : 1500);
    seen.push(frame);
    if (frame === "end" || frame === "nothing") break;
  }
  socket.destroy();
  return seen;
};
const json = async (client, path) => JSON.parse((await client.request(path)).body);

test(
  "handshake",
  async (client) => {
    const socket = await client.webSocket("/greets");
    socket.destroy();
    return socket.head
      .split("\r\n")
      .map((line) => line.toLowerCase())
      .filter((line) => /^(sec-websocket-accept|sec-websocket-protocol|upgrade|connection|http)/.test(line))
      .sort();
  },
  ["connection: upgrade", "http/1.1 101 switching protocols", "sec-websocket-accept: s3pplmbitxaq9kygzzhzrbk+xoo=", "upgrade: websocket"],
);
test(
  "handshake: headers of the Worker",
  async (client) => {
    const socket = await client.webSocket("/protocol", { "Sec-WebSocket-Protocol": "chat" });
    socket.destroy();
    return socket.head
      .split("\r\n")
      .filter((line) => /^(sec-websocket-protocol|x-a)/i.test(line))
      .map((line) => line.toLowerCase())
      .sort();
  },
  ["sec-websocket-protocol: chat", "x-a: 1"],
);
test(
  "handshake: refused",
  (client) =>
    client.webSocket("/refuses").then(
      () => "open",
      (error) => error.message,
    ),
  "HTTP/1.1 403 Forbidden",
);
test("a Worker that answers an ordinary request with a WebSocket", async (client) => (await client.request("/echo")).status, 500);
test("text", (client) => frames(client, "/echo", (socket) => socket.send("text", "hi")), ["text echo hi", "nothing"]);
test("binary", (client) => frames(client, "/echo", (socket) => socket.send("binary", Buffer.from([1, 2]))), ["binary 0102", "nothing"]);
test(
  "fragments",
  (client) =>
    frames(client, "/echo", (socket) => {
      socket.send("text", "a", { final: false });
      socket.send("continuation", "b", { final: false });
      socket.send("continuation", "c");
    }),
  ["text echo abc", "nothing"],
);
test("ping", (client) => frames(client, "/echo", (socket) => socket.send("ping", "p")), ["pong p", "nothing"]);
test(
  "ping between fragments",
  (client) =>
    frames(client, "/echo", (socket) => {
      socket.send("text", "a", { final: false });
      socket.send("ping", "p");
      socket.send("continuation", "b");
    }),
  ["pong p", "text echo ab", "nothing"],
);
test("a message at once", (client) => frames(client, "/greets"), ["text hello", "nothing"]);
test("a large message out", (client) => frames(client, "/big"), ["text 200000 bytes", "nothing"]);
test(
  "a large message in",
  async (client) => (await frames(client, "/echo", (socket) => socket.send("text", "y".repeat(100_000))))[0],
  "text 100005 bytes",
);
test("close by the client", (client) => frames(client, "/echo", (socket) => socket.close(1000, "bye")), ["close 1000 bye", "end"]);
test("close by the client without a code", (client) => frames(client, "/echo", (socket) => socket.close()), ["close", "end"]);
test(
  "close by the Worker",
  (client) =>
    frames(client, "/closes", async (socket) => {
      await pause(30);
      socket.close(4000);
    }),
  ["close 4000 go away", "end"],
);
test("close by the Worker, no answer", (client) => frames(client, "/closes"), ["close 4000 go away", "nothing"]);
test("text that is not UTF-8", (client) => frames(client, "/echo", (socket) => socket.send("text", Buffer.from([0xff, 0xfe]))), [
  "text echo ��",
  "nothing",
]);
test("an unmasked frame", (client) => frames(client, "/echo", (socket) => socket.socket.write(Buffer.from([0x81, 1, 65]))), [
  "text echo A",
  "nothing",
]);
test("an unknown opcode", (client) => frames(client, "/echo", (socket) => socket.socket.write(Buffer.from([0x83, 0x80, 0, 0, 0, 0]))), [
  "close 1002 Unknown opcode 3",
  "end",
]);
test("a reserved bit", (client) => frames(client, "/echo", (socket) => socket.socket.write(Buffer.from([0xc1, 0x80, 0, 0, 0, 0]))), [
  "close 1002 Received a WebSocket frame whose compression bit was set, but the compression extension was not negotiated for this connection.",
  "end",
]);
test("a continuation of nothing", (client) => frames(client, "/echo", (socket) => socket.send("continuation", "x")), [
  "close 1002 Unexpected continuation frame",
  "end",
]);
test("a long ping", (client) => frames(client, "/echo", (socket) => socket.send("ping", "x".repeat(126))), ["pong 126 bytes", "nothing"]);
test("a fragmented ping", (client) => frames(client, "/echo", (socket) => socket.send("ping", "x", { final: false })), [
  "close 1002 Received fragmented control frame",
  "end",
]);
test("a close frame of one byte", (client) => frames(client, "/echo", (socket) => socket.send("close", Buffer.from([3]))), [
  "close",
  "end",
]);
test("a close code that is not allowed", (client) => frames(client, "/echo", (socket) => socket.close(1005)), ["close", "end"]);
const remembered = async (client, act) => {
  const socket = await client.webSocket("/remembers");
  await pause(20);
  await act(socket);
  await pause(120);
  socket.destroy();
  return (await client.request("/last")).body;
};
test("the Worker sees a close", (client) => remembered(client, (socket) => socket.close(1000, "bye")), "close 1000 bye true");
test("the Worker sees a close without a code", (client) => remembered(client, (socket) => socket.close()), "close 1005  true");
test(
  "the Worker sees a lost connection",
  (client) => remembered(client, (socket) => socket.destroy()),
  "close 1006 WebSocket disconnected without sending Close frame. false",
);

test("hibernation: a message", (client) => frames(client, "/room?room=1", (socket) => socket.send("text", "hi")), [
  "text room hi",
  "nothing",
]);
test("hibernation: binary", (client) => frames(client, "/room?room=1", (socket) => socket.send("binary", Buffer.from([1]))), [
  "text binary ArrayBuffer 1",
  "nothing",
]);
test("hibernation: tags", (client) => frames(client, "/room?room=2&tag=a&tag=b", (socket) => socket.send("text", "tags")), [
  'text ["a","b"]',
  "nothing",
]);
test("hibernation: attachment", (client) => frames(client, "/room?room=2&tag=a", (socket) => socket.send("text", "attachment")), [
  'text {"tags":["a"]}',
  "nothing",
]);
test(
  "hibernation: getWebSockets",
  async (client) => {
    const sockets = [
      await client.webSocket("/room?room=3&tag=a"),
      await client.webSocket("/room?room=3&tag=a&tag=b"),
      await client.webSocket("/room?room=3"),
    ];
    const count = await json(client, "/room/count?room=3");
    for (const socket of sockets) socket.destroy();
    return count;
  },
  [3, 2, 0],
);
test(
  "hibernation: broadcast",
  async (client) => {
    const sockets = [await client.webSocket("/room?room=4"), await client.webSocket("/room?room=4")];
    await json(client, "/room/broadcast?room=4&text=all");
    const seen = [await sockets[0].next(), await sockets[1].next()];
    for (const socket of sockets) socket.destroy();
    return seen;
  },
  ["text all", "text all"],
);
test("hibernation: automatic response", (client) => frames(client, "/room/auto?room=5", (socket) => socket.send("text", "ping")), [
  "text pong",
  "nothing",
]);
test(
  "hibernation: the time of the automatic response",
  (client) =>
    frames(client, "/room/auto?room=5", async (socket) => {
      socket.send("text", "ping");
      await pause(20);
      socket.send("text", "stamp");
    }),
  ["text pong", "text true", "nothing"],
);
test("hibernation: close by the object", (client) => frames(client, "/room?room=6", (socket) => socket.send("text", "close")), [
  "close 4002 asked",
  "nothing",
]);
test(
  "hibernation: an exception in the handler",
  (client) =>
    frames(client, "/room?room=7", (socket) => {
      socket.send("text", "throw");
      socket.send("text", "after");
    }),
  ["text room after", "nothing"],
);
test(
  "hibernation: close by the client",
  async (client) => {
    const seen = await frames(client, "/room?room=8", (socket) => socket.close(3000, "bye"));
    await pause(50);
    return [seen, await json(client, "/room/log?room=8"), await json(client, "/room/count?room=8")];
  },
  [["nothing"], ["close 3000 bye true 2"], [0, 0, 0]],
);
test(
  "hibernation: close without a code",
  async (client) => {
    const seen = await frames(client, "/room?room=9", (socket) => socket.close());
    await pause(50);
    return [seen, await json(client, "/room/log?room=9")];
  },
  [["nothing"], ["close 1005  true 2"]],
);
test(
  "hibernation: a lost connection",
  async (client) => {
    const socket = await client.webSocket("/room?room=10");
    await pause(20);
    socket.destroy();
    await pause(100);
    return [await json(client, "/room/log?room=10"), await json(client, "/room/count?room=10")];
  },
  [["close 1006 WebSocket disconnected without sending Close frame. false 2"], [0, 0, 0]],
);
test(
  "hibernation: order of messages",
  (client) =>
    frames(client, "/room?room=11", (socket) => {
      for (const n of [1, 2, 3]) socket.send("text", String(n));
    }),
  ["text room 1", "text room 2", "text room 3", "nothing"],
);
