// What every area's Worker is made of: named cases, each run by one request `/?case=NAME` and answered with its observation.

import { canon, Threw } from "./canon.js";
export { error, threw } from "./canon.js";

/**
 * Cases and routes of one area. `recorded` holds expected observations that are too large or too many to write by hand
 * (`run --record`); a case without an expectation of its own is looked up there.
 */
export function suite(recorded = {}) {
  const cases = new Map();
  const routes = new Map();

  /**
   * A case. `run({ env, ctx, request })` returns, or throws, what is observed; it must be `expected`, a value or `threw(…)`. What
   * is random is not returned but judged.
   */
  function test(name, run, ...expected) {
    if (cases.has(name)) throw new Error(`two cases are called ${name}`);
    cases.set(name, { run, expected });
  }

  /** A path that the area's client-side cases request. */
  function route(path, handler) {
    routes.set(path, handler);
  }

  async function answer(name, request, env, ctx) {
    const { run, expected } = cases.get(name);
    let value;
    try {
      value = await run({ env, ctx, request });
    } catch (error) {
      value = new Threw(error);
    }
    const wanted = expected.length ? canon(expected[0]) : recorded[name];
    const met = JSON.stringify(canon(value)) === JSON.stringify(wanted);
    return Response.json({ observed: canon(value), wanted, met, isRecorded: !expected.length });
  }

  const handler = {
    async fetch(request, env, ctx) {
      const url = new URL(request.url);
      const name = url.searchParams.get("case");
      if (cases.has(name)) return answer(name, request, env, ctx);
      if (url.pathname === "/cases") return Response.json([...cases.keys()]);
      const serve = routes.get(url.pathname);
      return serve ? serve(request, env, ctx) : new Response("no such case", { status: 404 });
    },
  };
  return { test, route, handler };
}

/** A response as an observation: everything a client sees of it. */
export async function seen(response) {
  const { status, statusText } = response;
  return { status, statusText, headers: [...response.headers], body: await response.text() };
}

/** What `act` throws, or a promise of it rejects with; `undefined` when it does neither. */
export async function caught(act) {
  try {
    await act();
  } catch (error) {
    return error;
  }
}
