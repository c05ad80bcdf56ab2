// A comparison that cannot fail proves nothing: what counts as the same, with servers that are made up.

import assert from "node:assert/strict";
import http from "node:http";
import test from "node:test";

import { Client } from "./client.mjs";
import { answers, compare, meets } from "./compare.mjs";

const seen = (observed, met = true) => [{ name: "a", observed, wanted: "w", met }];
const verdict = (workerd, celld) => compare(workerd, celld).map((each) => each.verdict);

test("the same is the same and expected, and only that", () => {
  assert.deepEqual(verdict(seen("1"), seen("1")), ["same"]);
  assert.deepEqual(verdict(seen("1"), seen("2")), ["different"]);
  assert.deepEqual(verdict(seen("1", false), seen("1", false)), ["wrong"]);
  assert.deepEqual(verdict(seen("1"), []), ["different"]);
  assert.deepEqual(verdict([], seen("1")), ["different"]);
});

test("a value is what is wanted of it in every member", () => {
  assert.ok(meets({ a: [1, "x", null], b: "word" }, { a: [1, (each) => each === "x", null], b: /^w/ }));
  for (const [value, wanted] of [
    [{ a: 1, b: 2 }, { a: 1 }],
    [{ a: 1 }, { a: 1, b: undefined }],
    [[1, 2], [1]],
    [{ 0: 1 }, [1]],
    ["1", 1],
    [7, /7/],
    ["x", () => "truthy"],
    [null, {}],
  ])
    assert.ok(!meets(value, wanted), JSON.stringify([value, wanted]));
});

test("an answer has the status, the headers and the body that are wanted", () => {
  const answer = { status: 200, headers: { "x-a": "1" }, body: '{"a":1}' };
  assert.ok(answers(answer, { headers: { "x-a": "1", "x-b": undefined }, body: { a: 1 } }));
  assert.ok(answers(answer, { body: '{"a":1}' }));
  for (const wanted of [
    { status: 201 },
    { headers: { "x-a": "2" } },
    { headers: { "x-b": /./ } },
    { body: { a: 2 } },
    { body: "{}" },
    { body: 1 },
  ])
    assert.ok(!answers(answer, wanted), JSON.stringify(wanted));
  assert.ok(!answers({ ...answer, body: "no JSON" }, { body: { a: 1 } }));
  assert.throws(() => answers(answer, { boby: 1 }));
});

/** What a client keeps of one request to a server. */
async function asked(t, serve, ...request) {
  const server = http.createServer(serve);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  const client = new Client(server.address().port);
  await client.ask(...request);
  return client.seen[0];
}

test("headers count, those of the connection and what is hidden do not", async (t) => {
  let n = 0;
  const serve = (_, response) => response.writeHead(200, { "x-n": "1", age: "5", date: `${n}` }).end(`id-${n++} of two`);
  const options = { hide: [/id-\d/g] };
  const [left, right] = [
    await asked(t, serve, "GET /", options, { body: /^id-0/ }),
    await asked(t, serve, "GET /", options, { body: /^id-1/ }),
  ];
  assert.deepEqual(verdict([left], [right]), ["same"]);
  const other = await asked(t, (_, response) => response.writeHead(200, { "x-n": "2", age: "5" }).end("id-2 of two"), "GET /", options, {});
  assert.deepEqual(verdict([left], [other]), ["different"]);
});

test("no answer is never what is wanted", async (t) => {
  const broken = await asked(t, (_, response) => response.destroy(), "GET /", {});
  assert.deepEqual(verdict([broken], [broken]), ["wrong"]);
});
