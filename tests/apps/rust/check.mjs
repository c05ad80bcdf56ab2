export default async function ({ ask, see, open, connect }) {
  await ask("GET /", { headers: { "content-type": "text/plain; charset=utf-8" }, body: "Hello, world!" });
  await ask("GET /limits", { headers: { "content-type": "application/json" }, body: { most: 3 } });
  await ask("GET /users/J%C3%BCrgen/a/b", { body: ["J%C3%BCrgen", "a/b", null] });
  await ask("GET /query?a=1&b=%C3%A4+x&a=", {
    body: [
      ["a", "1"],
      ["b", "ä x"],
      ["a", ""],
    ],
  });
  await ask(
    "GET /headers",
    { headers: { "x-sent": "sent" } },
    { headers: { "x-many": "a, b", "set-cookie": ["a=1", "b=2; Path=/"] }, body: "sent" },
  );
  await ask("POST /note", { body: { title: "Momo ü", tags: ["x"] } }, { status: 201, body: { title: "Momo ü", stars: 1, tags: ["x"] } });
  await ask("POST /note", { name: "no note", body: "{" }, { status: 400, body: "no note" });
  const part = (head, text) => `--XX\r\nContent-Disposition: form-data; ${head}\r\n\r\n${text}\r\n`;
  const form = `${part('name="a"', "ä")}${part('name="file"; filename="f.txt"\r\nContent-Type: text/x-y', "content")}--XX--\r\n`;
  await ask(
    "POST /form",
    { headers: { "content-type": "multipart/form-data; boundary=XX" }, body: form },
    { body: ["ä", null, ["f.txt", "text/x-y", "content"]] },
  );
  await ask("POST /bytes", { body: Buffer.from([255, 0, 1]) }, { headers: { "content-type": "application/octet-stream" }, body: "0100ff" });
  await ask("POST /upper", { body: "upper".repeat(10_000) }, { body: "UPPER".repeat(10_000) });
  const stream = await open("/stream");
  await see("a stream comes in parts", [await stream.until(/part 0\n/), await stream.rest()], ["part 0\n", "part 1\npart 2\n"]);
  await ask("GET /redirect", { status: 302, headers: { location: "http://HOST/" } });
  await ask("GET /error", { status: 418, body: "not today" });
  await ask("GET /sum", { body: /^\d+$/ });
  await ask("GET /nowhere", { status: 404 });
  await ask("DELETE /", { status: 405 });

  const socket = await connect("/socket?said");
  socket.send("text", "one ü");
  socket.send("binary", Buffer.from([1, 2, 3]));
  await see("a WebSocket echoes", [await socket.next(), await socket.next()], ["text said: one ü", "binary 010203"]);
  socket.send("text", "close");
  await see("the server closes", socket.next(), "close 4000 as asked");
  socket.close(4000, "as asked");
  socket.destroy();

  await ask("POST /counter/one/kv", { body: 1 });
  await ask("POST /counter/one/kv", { name: "a second time" }, { body: 2 });
  await ask("POST /counter/two/kv", { body: 1 });
  await ask("DELETE /counter/one/kv", { body: true });
  await ask("POST /counter/one/kv", { name: "after it was deleted" }, { body: 1 });
  const watcher = await connect("/counter/one/socket");
  await ask("POST /counter/one/a", { body: 1 });
  await ask("POST /counter/one/a", { name: "a second count" }, { body: 2 });
  await ask("POST /counter/one/b", { body: 1 });
  await see(
    "who watches is told",
    [await watcher.next(), await watcher.next(), await watcher.next()],
    ["text /counter/one/a is 1", "text /counter/one/a is 2", "text /counter/one/b is 1"],
  );
  await ask("GET /counter/one/list", {
    body: [
      { name: "a", n: 2 },
      { name: "b", n: 1 },
    ],
  });
  await ask("GET /counter/two/list", { body: [] });
  watcher.send("text", "größe");
  watcher.send("binary", Buffer.from([9]));
  await see("a message to the object", [await watcher.next(), await watcher.next()], ["text GRÖSSE", "binary 09"]);
  await ask("POST /counter/one/alarm", { body: true });
  await see("the alarm", watcher.next(), "text the alarm");
  watcher.close(4321, "enough");
  await see("the answer to a close", watcher.next(), "close 4321 enough");
  watcher.destroy();

  await ask("GET /fails", { status: 500 });
  await ask("GET /panic", { status: 500 });
  await ask("GET /", { name: "after a panic" }, { body: "Hello, world!" });
}
