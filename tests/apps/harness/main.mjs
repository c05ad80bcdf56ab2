// The command: runs programs, prints the table, decides the exit code.

import { existsSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { executable } from "../../conformance/harness/celld.mjs";
import { Client } from "./client.mjs";
import { compare } from "./compare.mjs";
import { startCelld, startWorkerd } from "./runtimes.mjs";

const HELP = `Runs programs made with packages from npm on celld and on workerd, and compares what their clients see.

Usage: tests/apps/run [OPTIONS] [NAME…]      (no NAME: all)

  --list       List the programs
  --verbose    Show every observation, and what the runtimes wrote

The binary under test is target/release/celld, or CELLD_BIN. Exit code 1: an observation that differs, or one that both share and
that is not what the check expects.
`;

/** Programs that run at the same time. Each is two processes that mostly wait. */
const AT_ONCE = 3;

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: { help: { type: "boolean" }, list: { type: "boolean" }, verbose: { type: "boolean" } },
});
const home = fileURLToPath(new URL("..", import.meta.url));
const all = readdirSync(home)
  .filter((name) => existsSync(join(home, name, "check.mjs")))
  .sort();
const names = positionals.length ? positionals : all;

if (options.help) {
  process.stderr.write(HELP);
} else if (names.some((name) => !all.includes(name))) {
  console.error(`there is no program ${names.find((name) => !all.includes(name))}; --list lists them`);
  process.exitCode = 2;
} else if (options.list) {
  console.log(names.join("\n"));
} else {
  process.exitCode = await main().catch((failure) => {
    console.error(failure.message);
    return 2;
  });
}

async function main() {
  executable();
  const temporary = mkdtempSync(join(tmpdir(), "celld-apps-"));
  try {
    const results = new Map(names.map((name) => [name, []]));
    const queue = [...names];
    const worker = async () => {
      for (let name; (name = queue.shift()); )
        results.set(
          name,
          await runProgram(name, join(temporary, name)).catch((failure) => [
            { name: "the program runs", verdict: "different", failure: failure.message },
          ]),
        );
    };
    await Promise.all(Array.from({ length: AT_ONCE }, worker));
    return report(results);
  } finally {
    // A killed node's child may need a moment to be gone.
    rmSync(temporary, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

async function runProgram(name, temporary) {
  const { default: check } = await import(pathToFileURL(join(home, name, "check.mjs")));
  const celld = await startCelld(join(home, name), join(temporary, "celld"));
  try {
    const workerd = await startWorkerd(celld.deployment, join(temporary, "workerd"));
    try {
      const [left, right] = await Promise.all([workerd, celld].map((runtime) => observe(check, runtime)));
      return compare(left, right).map((each) => ({ ...each, output: { workerd: workerd.output(), celld: celld.output() } }));
    } finally {
      await workerd.stop();
    }
  } finally {
    await celld.stop();
  }
}

/** What the check sees of one runtime. */
async function observe(check, runtime) {
  const client = new Client(runtime.port);
  try {
    await check(client.tools);
  } catch (failure) {
    await client.see("the check comes to its end", `${failure.stack}`, "yes");
  } finally {
    client.close();
  }
  return client.seen;
}

function report(results) {
  for (const [program, seen] of results) {
    const bad = seen.filter(({ verdict }) => verdict !== "same");
    for (const each of options.verbose ? seen : bad) {
      console.log(`\n${each.verdict.toUpperCase()} ${program}: ${each.name}`);
      if (each.failure) console.log(`  ${each.failure}`);
      if (each.wanted !== undefined && each.verdict !== "same") console.log(`  expected ${each.wanted}`);
      if (each.workerd === each.celld && each.workerd !== undefined) console.log(`  both     ${each.workerd}`);
      else if (!each.failure) console.log(`  workerd  ${each.workerd}\n  celld    ${each.celld}`);
    }
    for (const [runtime, text] of Object.entries((options.verbose && seen[0]?.output) || {})) {
      if (text.trim()) console.log(`\n${program}: ${runtime} wrote\n${text.trim()}`);
    }
  }
  const row = (name, cells) => console.log(name.padEnd(16) + cells.map((cell) => String(cell).padStart(10)).join(""));
  const count = (seen) => {
    const same = seen.filter(({ verdict }) => verdict === "same").length;
    return [seen.length, same, seen.length - same];
  };
  console.log();
  row("app", ["requests", "same", "different"]);
  for (const [program, seen] of results) row(program, count(seen));
  const every = [...results.values()].flat();
  row("all", count(every));
  return every.length && every.every(({ verdict }) => verdict === "same") ? 0 : 1;
}
