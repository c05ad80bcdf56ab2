// The known differences: `known.json` says which cases differ and why, docs/compatibility.md says the reasons to the reader.

import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const file = fileURLToPath(new URL("../known.json", import.meta.url));
const page = fileURLToPath(new URL("../../../docs/compatibility.md", import.meta.url));
const BEGIN = "<!-- Written by tests/conformance/run --write-docs from tests/conformance/known.json -->\n";
const END = "<!-- End of the known differences -->\n";

export class Known {
  /** `list` is the content of known.json, `text` that of docs/compatibility.md. */
  constructor(list = JSON.parse(readFileSync(file)), text = readFileSync(page, "utf8")) {
    this.reasons = list.reasons;
    this.differences = list.differences;
    this.text = text;
  }

  reason(area, name) {
    return this.differences[area]?.[name];
  }

  /** What is wrong with the lists themselves, whatever the runtimes do. */
  faults(areas) {
    const used = new Set(Object.values(this.differences).flatMap((cases) => Object.values(cases)));
    return [
      ...Object.keys(this.differences)
        .filter((area) => !areas.includes(area))
        .map((area) => `known.json: there is no area ${area}`),
      ...[...used].filter((id) => !this.reasons[id]).map((id) => `known.json: ${id} is no reason`),
      ...Object.entries(this.reasons)
        .filter(([id, { untested }]) => Boolean(untested) === used.has(id))
        .map(([id, { untested }]) =>
          untested ? `known.json: ${id} has cases, so it is not untested` : `known.json: no case has the reason ${id}`,
        ),
      ...(this.section() === this.#written()
        ? []
        : ["docs/compatibility.md: the known differences are not those of known.json (run --write-docs)"]),
    ];
  }

  /** Sets or removes the reason of a case. */
  set(area, name, reason) {
    const cases = (this.differences[area] ??= {});
    if (reason) cases[name] = reason;
    else delete cases[name];
    if (!Object.keys(cases).length) delete this.differences[area];
  }

  /** Writes both lists; a reason that no case has any more goes too. */
  save() {
    const used = new Set(Object.values(this.differences).flatMap((cases) => Object.values(cases)));
    this.reasons = Object.fromEntries(Object.entries(this.reasons).filter(([id, { untested }]) => untested || used.has(id)));
    const sorted = (object) => Object.fromEntries(Object.entries(object).sort(([a], [b]) => (a < b ? -1 : 1)));
    const differences = sorted(Object.fromEntries(Object.entries(this.differences).map(([area, cases]) => [area, sorted(cases)])));
    writeFileSync(file, `${JSON.stringify({ reasons: this.reasons, differences }, null, 2)}\n`);
    this.writeDocs();
  }

  writeDocs() {
    this.text = this.text.replace(this.#written() ?? "", () => this.section());
    writeFileSync(page, this.text);
  }

  /** The reasons as the page has them. */
  section() {
    return `${BEGIN}\n${Object.values(this.reasons)
      .map(({ text }) => wrap(text))
      .join("")}\n${END}`;
  }

  #written() {
    const from = this.text.indexOf(BEGIN);
    const to = this.text.indexOf(END);
    return from < 0 || to < 0 ? undefined : this.text.slice(from, to + END.length);
  }
}

/** A list item, wrapped as the page is. */
function wrap(text, width = 135) {
  const lines = ["*"];
  for (const word of text.split(" ")) {
    if (lines.at(-1).length + word.length + 1 > width) lines.push(" ");
    lines[lines.length - 1] += ` ${word}`;
  }
  return `${lines.join("\n")}\n`;
}
