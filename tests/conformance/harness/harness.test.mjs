// A comparison that cannot fail proves nothing: verdicts and lists, with runtimes that are made up.

import assert from "node:assert/strict";
import http from "node:http";
import test from "node:test";

import { canon, threw } from "../worker/canon.js";
import { judge } from "./judge.mjs";
import { Known } from "./known.mjs";

/** A runtime that observes what `answers` says: case name -> `[observed, wanted]`; a name without an entry has no answer. */
async function runtime(t, answers) {
  const server = http.createServer((request, response) => {
    const url = new URL(request.url, "http://runtime");
    if (url.pathname === "/cases") return response.end(JSON.stringify(Object.keys(answers)));
    const found = answers[url.searchParams.get("case")];
    if (!found) return response.writeHead(500).end("crashed");
    const [observed, wanted] = found.map((value) => canon(value));
    response.end(JSON.stringify({ observed, wanted, met: JSON.stringify(observed) === JSON.stringify(wanted) }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return { port: server.address().port, output: () => "" };
}

async function verdicts(t, workerd, celld, differences = {}) {
  const known = new Known({ reasons: {}, differences: { area: differences } }, "");
  const servers = [await runtime(t, workerd), celld ? await runtime(t, celld) : { failure: "broken" }];
  const results = await judge({ name: "area", client: {} }, ...servers, known);
  return Object.fromEntries(results.map((each) => [each.name, each.verdict]));
}

test("the same is the same, and only that", async (t) => {
  const workerd = {
    a: [1, 1],
    b: [1, 1],
    c: [undefined, undefined],
    d: [
      [1, 2],
      [1, 2],
    ],
  };
  const celld = {
    a: [1, 1],
    b: ["1", 1],
    c: [null, undefined],
    d: [
      [2, 1],
      [1, 2],
    ],
  };
  assert.deepEqual(await verdicts(t, workerd, celld), { a: "same", b: "different", c: "different", d: "different" });
});

test("two equal answers that nobody expected are wrong", async (t) => {
  assert.deepEqual(await verdicts(t, { a: [2, 1] }, { a: [2, 1] }), { a: "wrong" });
});

test("a listed difference is known, and has vanished when both are the same", async (t) => {
  assert.deepEqual(await verdicts(t, { a: [1, 1], b: [1, 1] }, { a: [2, 1], b: [1, 1] }, { a: "why", b: "why" }), {
    a: "known",
    b: "vanished",
  });
});

test("a listed difference does not excuse workerd", async (t) => {
  assert.deepEqual(await verdicts(t, { a: [2, 1] }, { a: [3, 1] }, { a: "why" }), { a: "wrong" });
});

test("no answer and no start are differences", async (t) => {
  assert.deepEqual(await verdicts(t, { a: [1, 1] }, {}), { a: "different" });
  assert.deepEqual(await verdicts(t, { a: [1, 1] }, undefined), { a: "different" });
});

test("observations keep what JSON would lose", () => {
  const values = [
    undefined,
    null,
    NaN,
    -0,
    0,
    1n,
    "1",
    1,
    [],
    {},
    new Map(),
    new Set(),
    new Date(0),
    /a/,
    new Uint8Array(1),
    new ArrayBuffer(1),
    () => {},
    Symbol("a"),
    new Error("a"),
    new TypeError("a"),
    new DOMException("a", "AbortError"),
    threw("TypeError", "a"),
    [undefined],
    { a: undefined },
  ];
  const texts = values.map((value) => JSON.stringify(canon(value)));
  assert.equal(new Set(texts).size, values.length);
});

test("an exception is told from its value, and by class, name, message and properties", () => {
  const text = (...all) => JSON.stringify(canon(threw(...all)));
  const error = Object.assign(new RangeError("m"), { code: 5 });
  assert.equal(JSON.stringify(canon({ $: "threw", is: error })), text("RangeError", "m", "RangeError", { code: 5 }));
  assert.notEqual(text("RangeError", "m"), text("RangeError", "m", "RangeError", { code: 5 }));
  assert.notEqual(text("Error", "m"), text("Error", "m", "Named"));
});

test("the lists agree with each other and with the page", () => {
  const faults = (list, text) => new Known(list, text).faults(["area"]);
  const list = { reasons: { why: { text: "Because." } }, differences: { area: { a: "why" } } };
  const page = `before\n${new Known(list, "").section()}after\n`;
  assert.deepEqual(faults(list, page), []);
  assert.equal(faults(list, "no section").length, 1);
  assert.equal(faults(list, page.replace("Because", "Never mind")).length, 1);
  const other = { ...list, differences: { area: { a: "other", b: "why" } } };
  assert.match(faults(other, page).join("\n"), /other is no reason/);
  assert.match(faults({ ...list, differences: { nowhere: { a: "why" } } }, page).join("\n"), /no area nowhere/);
  assert.match(faults({ ...list, differences: {} }, page).join("\n"), /no case has the reason why/);
  assert.match(
    faults({ reasons: { why: { text: "Because.", untested: true } }, differences: { area: { a: "why" } } }, page).join("\n"),
    /has cases/,
  );
});
