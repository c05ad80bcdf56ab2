// One area: every case on both runtimes, and the verdict on each.

import { canon, threw, error } from "../worker/canon.js";
import { Client } from "./client.mjs";

/**
 * Verdicts: `same`; `different` (not listed); `known` (listed, and still different); `vanished` (listed, but no longer different);
 * `wrong` (workerd, or both, miss the case's own expectation: the case is at fault, or both answers are).
 *
 * Gives `[{ name, verdict, workerd, celld, wanted, isRecorded, reason }]`.
 */
export async function judge(area, workerd, celld, known) {
  const judges = [workerd, celld].map((each) => (each.port ? new Client(each.port, each.output) : undefined));
  const results = [];
  try {
    const list = await judges[0].request("/cases");
    if (list.status !== 200) throw new Error(`${area.name} does not run on workerd: ${list.status} ${list.body}\n${workerd.output()}`);
    const inside = JSON.parse(decode(list.body)).map((name) => [name, (client) => ask(client, name)]);
    const outside = Object.entries(area.client).map(([name, each]) => [name, (client) => drive(client, each)]);
    for (const [name, observe] of [...inside, ...outside]) {
      judges[1]?.expectDifference(Boolean(known.reason(area.name, name)));
      const [left, right] = await Promise.all(
        judges.map((client) => (client ? observe(client) : { observed: { $: "did not start", is: celld.failure }, met: false })),
      );
      results.push(verdict(area, name, left, right, known));
    }
  } finally {
    for (const client of judges) client?.close();
  }
  return results;
}

function verdict(area, name, workerd, celld, known) {
  const reason = known.reason(area.name, name);
  const equal = JSON.stringify(workerd.observed) === JSON.stringify(celld.observed) && celld.met;
  const wrong = !workerd.met;
  return {
    name,
    verdict: wrong ? "wrong" : equal ? (reason ? "vanished" : "same") : reason ? "known" : "different",
    workerd: workerd.observed,
    celld: celld.observed,
    wanted: workerd.wanted,
    isRecorded: workerd.isRecorded,
    reason,
  };
}

/** A case inside the Worker. */
async function ask(client, name) {
  const path = `/?case=${encodeURIComponent(name)}`;
  try {
    const { status, body } = await client.request(path);
    const text = decode(body);
    if (status === 200) return JSON.parse(text);
    return { observed: { $: "no answer", status, body: text }, met: false };
  } catch (failure) {
    return { observed: { $: "no answer", failure: failure.message }, met: false };
  }
}

/** A case on the client's side. */
async function drive(client, { run, expected }) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error("timeout")), client.limit);
  });
  try {
    const value = await Promise.race([run(client, { threw, error }), late]);
    const met = JSON.stringify(canon(value)) === JSON.stringify(canon(expected));
    return { observed: canon(value), wanted: canon(expected), met };
  } catch (failure) {
    return { observed: { $: "no answer", failure: failure.message }, met: false };
  } finally {
    clearTimeout(timer);
  }
}

const decode = (latin1) => Buffer.from(latin1, "latin1").toString("utf8");
