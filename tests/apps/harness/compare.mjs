// What two runtimes let a client see, and what it should have been.

/**
 * Verdicts by the name of the observation: `same`; `different` (between the runtimes, or only one has it); `wrong` (the same in both,
 * and not what is expected).
 */
export function compare(workerd, celld) {
  const names = [...new Set([...workerd, ...celld].map(({ name }) => name))];
  return names.map((name) => {
    const left = workerd.find((each) => each.name === name);
    const right = celld.find((each) => each.name === name);
    const isEqual = left && right && left.observed === right.observed;
    return {
      name,
      verdict: !isEqual ? "different" : left.met && right.met ? "same" : "wrong",
      wanted: (left ?? right).wanted,
      workerd: left?.observed,
      celld: right?.observed,
    };
  });
}

/**
 * Whether `value` is what `wanted` describes: a regular expression matches a text, a function says so, an array and an object have
 * exactly the members that are wanted, anything else is equal.
 */
export function meets(value, wanted) {
  if (wanted instanceof RegExp) return typeof value === "string" && wanted.test(value);
  if (typeof wanted === "function") return wanted(value) === true;
  if (wanted === null || typeof wanted !== "object") return Object.is(value, wanted);
  if (value === null || typeof value !== "object" || Array.isArray(value) !== Array.isArray(wanted)) return false;
  const keys = Object.keys(wanted);
  return keys.length === Object.keys(value).length && keys.every((key) => key in value && meets(value[key], wanted[key]));
}

/** Whether an answer is what is wanted of it: of its headers, those that are named; what is no text is the JSON of the body. */
export function answers(response, { status = 200, headers = {}, body, ...rest }) {
  if (Object.keys(rest).length) throw new Error(`an answer has no ${Object.keys(rest)[0]}`);
  if (response.status !== status) return false;
  for (const [name, wanted] of Object.entries(headers)) if (!meets(response.headers[name], wanted)) return false;
  if (body === undefined) return true;
  if (typeof body === "string" || typeof body === "function" || body instanceof RegExp) return meets(response.body, body);
  try {
    return meets(JSON.parse(response.body), body);
  } catch {
    return false;
  }
}

/** A value as the text that is compared and shown. */
export function show(value) {
  return JSON.stringify(value, (_, each) =>
    each instanceof RegExp ? `${each}` : typeof each === "function" ? `(${each})` : each === undefined ? "undefined" : each,
  );
}
