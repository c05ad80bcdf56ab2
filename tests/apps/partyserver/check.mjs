export default async function ({ ask, see, connect }) {
  await ask("GET /", { status: 404, body: "no party here" });
  await ask("GET /parties/nothing/x", { status: 400 });
  await ask("GET /parties/chat-room/blue", {
    body: { room: "blue", path: "/parties/chat-room/blue", routed: "chat-room/blue", method: "GET", open: 0 },
  });
  await ask("GET /parties/chat-room/a%20b/sub/path", { status: 200 });
  await ask("GET /parties/game/x", { status: 404 });
  await ask(
    "GET /parties/chat-room/blue?cors",
    { headers: { origin: "https://a.test" } },
    { headers: { "access-control-allow-origin": "*" } },
  );
  await ask(
    "OPTIONS /parties/chat-room/blue?cors",
    { headers: { origin: "https://a.test", "access-control-request-method": "POST" } },
    { headers: { "access-control-allow-origin": "*" } },
  );
  await see(
    "a connection is refused",
    connect("/parties/chat-room/blue?refused").catch((failure) => failure.message),
    /^HTTP\/1\.1 403/,
  );

  const ada = await connect("/parties/chat-room/blue?_pk=ada-1&user=ada&team=red");
  await see("a welcome", ada.next(), 'text {"welcome":"ada","id":"ada-1","tags":["ada-1","red"],"uri":"/parties/chat-room/blue"}');
  const bob = await connect("/parties/chat-room/blue?_pk=bob-1&user=bob&team=red");
  await see("the welcome of another", bob.next(), /^text \{"welcome":"bob"/);
  await see("the other is announced", ada.next(), "text bob is here");
  const eve = await connect("/parties/chat-room/blue?_pk=eve-1&user=eve");
  const next = (...sockets) => Promise.all(sockets.map((socket) => socket.next()));
  await next(eve, ada, bob);

  ada.send("text", "say hello to all");
  await see("a message to all", next(ada, bob, eve), Array(3).fill("text ada (1): hello to all"));
  ada.send("text", "say again");
  await see("the state of a connection", next(ada, bob, eve), Array(3).fill("text ada (2): again"));
  eve.send("text", "team red go");
  await see("a message to those with a tag", next(ada, bob), Array(2).fill("text to red: go"));
  eve.send("text", "who");
  await see("all connections", eve.next(), "text ada, bob, eve");
  bob.send("binary", Buffer.from([1, 2, 3]));
  await see("a binary message", bob.next(), "binary 030201");
  await ask(
    "POST /parties/chat-room/blue",
    { body: "posted" },
    { body: { room: "blue", path: "/parties/chat-room/blue", routed: "chat-room/blue", method: "POST", open: 3 } },
  );
  await see("a request reaches the connections", next(ada, bob, eve), Array(3).fill("text posted"));
  bob.send("text", "fail");
  bob.send("text", "who");
  await see("an error in a handler", bob.next(), "text ada, bob, eve");
  ada.send("text", "later");
  await see("the alarm", next(ada, bob, eve), Array(3).fill("text the alarm of blue"));

  const other = await connect("/parties/chat-room/green?_pk=zoe&user=zoe");
  await see("another room", other.next(), /"welcome":"zoe"/);
  other.send("text", "who");
  await see("a room of its own", other.next(), "text zoe");

  ada.send("text", "kick eve-1");
  await see("a connection is closed by the server", eve.next(), "close 4001 kicked");
  eve.close(4001, "kicked");
  await see("the end of a connection", next(ada, bob), Array(2).fill("text eve left: 4001 kicked"));
  bob.close(4321, "enough");
  await see("the answer to a close", bob.next(), "close 4321 enough");
  await see("a connection was closed by the client", ada.next(), "text bob left: 4321 enough");
  await ask("GET /history?room=blue", {
    body: {
      name: "blue",
      starts: 1,
      messages: [
        { user: "ada", text: "hello to all" },
        { user: "ada", text: "again" },
      ],
    },
  });
  ada.destroy();

  const one = await connect("/parties/game/g1?_pk=one");
  const two = await connect("/parties/game/g1?_pk=two");
  one.send("text", "started");
  await see("what was stored at the start", one.next(), "text g1");
  one.send("text", "listener");
  await see("a listener of its own", one.next(), "text heard by a listener");
  two.send("text", "point");
  two.send("text", "score");
  await see("what is in memory", next(one, two), Array(2).fill('text {"one":0,"two":1}'));
  two.send("text", "bye");
  await see("the server closes", two.next(), "close 1000 bye");
  two.close(1000, "bye");
  one.send("text", "score");
  await see("who has left is forgotten", one.next(), 'text {"one":0}');
  for (const each of [one, two, bob, eve, other]) each.destroy();
}
