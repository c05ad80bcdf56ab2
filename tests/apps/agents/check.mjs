export default async function ({ ask, see, connect }) {
  await ask("GET /", { status: 404, body: "no agent here" });
  await ask("GET /agents/nothing/x", { status: 400 });
  await ask("GET /agents/task-agent/home", {
    body: { name: "home", method: "GET", path: "/agents/task-agent/home", state: { count: 0, last: null } },
  });
  await ask("GET /rpc/add?name=home&title=read", { body: { id: 1, title: "read", done: 0 } });
  await ask(
    "GET /agents/task-agent/home",
    { name: "the state after a call" },
    { body: { name: "home", method: "GET", path: "/agents/task-agent/home", state: { count: 1, last: "read" } } },
  );
  await ask("GET /rpc/list?name=home", { body: [{ id: 1, title: "read", done: 0 }] });
  await ask("GET /rpc/list?name=other", { body: [] });

  const messages = async (socket, count) => {
    const seen = [];
    while (seen.length < count) {
      const frame = await socket.next();
      seen.push(frame.startsWith("text {") ? JSON.parse(frame.slice(5)) : frame);
    }
    return seen;
  };
  const call = async (socket, name, method, args, wanted, count = 1) => {
    socket.send("text", JSON.stringify({ type: "rpc", id: name, method, args }));
    await see(name, count === 1 ? messages(socket, 1).then(([only]) => only) : messages(socket, count), wanted);
  };
  const answer = (id, result) => ({ type: "rpc", id, done: true, success: true, result });
  const state = (count, last) => ({ type: "cf_agent_state", state: { count, last } });

  const one = await connect("/agents/task-agent/home?_pk=one");
  await see("what a client hears first", messages(one, 4), [
    { type: "cf_agent_identity", agent: "task-agent", name: "home", stateFollows: true },
    state(1, "read"),
    { type: "cf_agent_mcp_servers", mcp: { prompts: [], resources: [], servers: {}, tools: [] } },
    { type: "hello", id: "one" },
  ]);
  const two = await connect("/agents/task-agent/home?_pk=two");
  await messages(two, 4);

  await call(one, "a call", "list", [], answer("a call", [{ id: 1, title: "read", done: 0 }]));
  await call(
    one,
    "a call that changes the state",
    "add",
    ["write"],
    [state(2, "write"), answer("a call that changes the state", { id: 2, title: "write", done: 0 })],
    2,
  );
  await see("the others hear of the state", messages(two, 1), [state(2, "write")]);
  await call(one, "a call that fails", "done", [99], {
    type: "rpc",
    id: "a call that fails",
    success: false,
    error: "there is no task 99",
  });
  await call(one, "what is not callable", "secret", [], {
    type: "rpc",
    id: "what is not callable",
    success: false,
    error: /secret is not callable/,
  });
  await call(one, "what is not there", "nothing", [], { type: "rpc", id: "what is not there", success: false, error: /nothing/ });
  await call(one, "the current agent", "where", [], answer("the current agent", { same: true, name: "home", connection: "one" }));
  const part = (result) => ({ type: "rpc", id: "a stream", done: false, success: true, result });
  await call(one, "a stream", "titles", ["- "], [part("- read"), part("- write"), answer("a stream", "all")], 3);

  one.send("text", JSON.stringify({ type: "cf_agent_state", state: { count: 10, last: "sent" } }));
  await see("a client sets the state", messages(two, 1), [state(10, "sent")]);
  one.send("text", JSON.stringify({ type: "cf_agent_state", state: { count: -1, last: "bad" } }));
  await see("a state that is refused", messages(one, 1), ([{ type }]) => type === "cf_agent_state_error");
  one.send("text", "plain words");
  await see("a message", messages(one, 1), [{ type: "echo", message: "plain words", count: 10 }]);

  await call(
    one,
    "a reminder is set",
    "remind",
    [1, "tea"],
    answer("a reminder is set", { type: "delayed", callback: "reminded", payload: { text: "tea" } }),
  );
  await see("a reminder", Promise.all([messages(one, 1), messages(two, 1)]), Array(2).fill([{ type: "reminder", text: "tea" }]));
  await ask("GET /rpc/plan?name=planner", {
    body: {
      all: [
        { type: "cron", callback: "reminded", payload: { text: "monday" } },
        { type: "interval", callback: "reminded", payload: { text: "the hour" } },
        { type: "scheduled", callback: "reminded", payload: { text: "the century" } },
      ],
      time: 4070908800,
      cancelled: [true, false],
      left: [{ type: "scheduled", callback: "reminded", payload: { text: "the century" } }],
    },
  });
  await ask("GET /rpc/queue?name=worker", { body: 1 });
  await new Promise((resolve) => setTimeout(resolve, 300));
  await ask("GET /rpc/log?name=worker", { body: ["worked on 1", "worked on 2"] });
  await ask("GET /rpc/log?name=home", {
    body: [
      "state 0 from the server",
      "state 1 from the server",
      "state 2 from the server",
      "state 10 from a client",
      "reminded of tea by a delayed schedule",
    ],
  });

  await ask("GET /rpc/work?name=worker", {
    body: { fiber: "done", tried: 3, awake: "awake", callable: ["add", "done", "list", "remind", "titles", "where"] },
  });
  await ask("GET /rpc/destroy?name=worker", { body: null });
  // The object resets itself a moment later.
  await new Promise((resolve) => setTimeout(resolve, 300));
  await ask("GET /rpc/log?name=worker", { name: "after the end" }, { body: [] });

  const reader = await connect("/agents/task-agent/home?_pk=reader&readonly");
  await messages(reader, 4);
  reader.send("text", JSON.stringify({ type: "cf_agent_state", state: { count: 99, last: "no" } }));
  await see("a state from a reader", messages(reader, 1), [{ type: "cf_agent_state_error", error: "Connection is readonly" }]);
  reader.destroy();

  two.close(1000, "enough");
  await see("the answer to a close", two.next(), "close 1000 enough");
  for (const each of [one, two]) each.destroy();
}
