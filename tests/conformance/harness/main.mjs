// The command: runs areas, prints the table, decides the exit code.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { areaNames, loadArea, recordedPath } from "./area.mjs";
import { executable, startCelld } from "./celld.mjs";
import { judge } from "./judge.mjs";
import { Known } from "./known.mjs";
import { startWorkerd } from "./workerd.mjs";

const HELP = `Runs small Workers on celld and on workerd, and compares what each of their cases observes.

Usage: tests/conformance/run [OPTIONS] [AREA…]      (no AREA: all)

  --list            List the areas
  --verbose         Show the known differences too
  --json FILE       Write every verdict and observation to FILE
  --prune           Take differences that have vanished out of known.json and docs/compatibility.md
  --accept REASON   Put the differences that are not listed into known.json, with this reason of its
  --write-docs      Only write the section of docs/compatibility.md from known.json
  --record          Write recorded.js of the AREAs from what workerd does. Read what changes
  --workerd         Run on workerd only: do the cases meet their own expectations?

The binary under test is target/release/celld, or CELLD_BIN. Exit code 1: a difference that is not listed, an expectation that was
not met, a listed difference that has vanished, or a list that does not agree with docs/compatibility.md.
`;

/** Areas that run at the same time. Each is two processes that mostly wait. */
const AT_ONCE = 3;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    help: { type: "boolean" },
    list: { type: "boolean" },
    verbose: { type: "boolean" },
    json: { type: "string" },
    prune: { type: "boolean" },
    accept: { type: "string" },
    "write-docs": { type: "boolean" },
    record: { type: "boolean" },
    workerd: { type: "boolean" },
  },
});
const all = areaNames();
const names = positionals.length ? positionals : all;
const known = new Known();

if (options.help) {
  process.stdout.write(HELP);
} else if (options["write-docs"]) {
  known.writeDocs();
} else if (options.list) {
  console.log(all.join("\n"));
} else if (names.some((name) => !all.includes(name))) {
  console.error(`there is no area ${names.find((name) => !all.includes(name))}; --list lists them`);
  process.exitCode = 2;
} else if (options.accept && !known.reasons[options.accept]) {
  console.error(`known.json has no reason ${options.accept}: write one, as it shall stand in docs/compatibility.md`);
  process.exitCode = 2;
} else {
  process.exitCode = await main().catch((failure) => {
    console.error(failure.message);
    return 2;
  });
}

async function main() {
  if (!options.workerd && !options.record) executable();
  const temporary = mkdtempSync(join(tmpdir(), "celld-conformance-"));
  try {
    const results = await inTurns(names, (name) =>
      runArea(name, temporary).catch((failure) => [{ name: "the area runs", verdict: "wrong", workerd: failure.message }]),
    );
    return report(new Map(names.map((name, i) => [name, results[i]])));
  } finally {
    // A killed node's child may need a moment to be gone.
    rmSync(temporary, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

async function runArea(name, temporary) {
  const area = await loadArea(name);
  const [workerd, celld] = await Promise.all([
    startWorkerd(area, join(temporary, name, "workerd")),
    options.workerd || options.record
      ? { failure: "not asked", stop() {} }
      : startCelld(area, join(temporary, name, "celld")).catch((failure) => ({ failure: failure.message, stop() {} })),
  ]);
  try {
    const results = await judge(area, workerd, celld, known);
    if (options.record) record(area, results);
    return results;
  } finally {
    await Promise.all([workerd.stop(), celld.stop()]);
  }
}

/** Cases without an expectation of their own expect what workerd has been seen to do. */
function record(area, results) {
  const recorded = results.filter((each) => each.isRecorded);
  if (!recorded.length) return;
  const lines = recorded.map(({ name, workerd }) => `  ${JSON.stringify(name)}: ${JSON.stringify(workerd)},\n`);
  writeFileSync(
    recordedPath(area),
    `// Written by tests/conformance/run --record ${area.name}: what the pinned workerd does. Read what a new recording changes.\nexport default {\n${lines.join("")}};\n`,
  );
}

function report(results) {
  const every = [...results].flatMap(([area, cases]) => cases.map((each) => ({ area, ...each })));
  if (options.json) writeFileSync(options.json, JSON.stringify(every, null, 1));
  if (options.workerd || options.record) {
    const bad = options.record ? [] : every.filter((each) => each.verdict === "wrong");
    show(bad);
    console.log(`${every.length} cases on workerd, ${bad.length} miss their expectation`);
    return bad.length ? 1 : 0;
  }
  if (options.prune) for (const each of every.filter((each) => each.verdict === "vanished")) known.set(each.area, each.name, undefined);
  if (options.accept)
    for (const each of every.filter((each) => each.verdict === "different")) known.set(each.area, each.name, options.accept);
  if (options.prune || options.accept) known.save();
  // What has just been settled is no longer a failure.
  const settled = [options.prune && "vanished", options.accept && "different"];

  const bad = every.filter((each) => !["same", "known", ...settled].includes(each.verdict));
  show(options.verbose ? every.filter((each) => each.verdict !== "same") : bad);
  table(results);
  const absent = Object.entries(known.differences).flatMap(([area, cases]) =>
    Object.keys(cases)
      .filter((name) => results.has(area) && !results.get(area).some((each) => each.name === name))
      .map((name) => `known.json: ${area} has no case ${name}`),
  );
  const faults = [...absent, ...known.faults(all)];
  for (const fault of faults) console.log(fault);
  return bad.length || faults.length ? 1 : 0;
}

function show(cases) {
  const text = (value) => JSON.stringify(value) ?? "undefined";
  const down = new Set();
  for (const { area, name, verdict, workerd, celld, wanted, reason } of cases) {
    if (celld?.$ === "did not start" && verdict !== "wrong") {
      if (!down.has(area)) console.log(`\n${area} did not start on celld: ${celld.is}`);
      down.add(area);
      continue;
    }
    console.log(`\n${verdict.toUpperCase()} ${area}: ${name}${reason ? ` (${reason})` : ""}`);
    if (verdict === "wrong") console.log(`  expected ${text(wanted)}`);
    console.log(`  workerd  ${text(workerd)}\n  celld    ${text(celld)}`);
  }
}

function table(results) {
  const columns = ["cases", "same", "different", "known", "vanished", "wrong"];
  const count = (cases, column) => (column === "cases" ? cases.length : cases.filter((each) => each.verdict === column).length);
  const row = (name, cells) => console.log(name.padEnd(24) + cells.map((cell) => String(cell).padStart(10)).join(""));
  console.log();
  row("area", columns);
  for (const [name, cases] of results)
    row(
      name,
      columns.map((column) => count(cases, column)),
    );
  row(
    "all",
    columns.map((column) => count([...results.values()].flat(), column)),
  );
}

/** `work(item)` for every item, some of them at a time; the results in the order of the items. */
async function inTurns(items, work) {
  const results = [];
  let next = 0;
  const worker = async () => {
    while (next < items.length) {
      const index = next++;
      results[index] = await work(items[index]);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
  return results;
}
