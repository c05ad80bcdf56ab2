// Cases that run inside a Durable Object, each in an object of its own.

import { DurableObject } from "cloudflare:workers";

import { canon, Threw } from "./canon.js";

/**
 * `inside(name, act, expected)` is a case like those of `suite()` whose `act(state, object)` runs in an object of class `Cell`, which
 * the area exports and binds as CELL.
 */
export function cells(test) {
  const acts = new Map();

  class Cell extends DurableObject {
    async fetch(request) {
      const name = new URL(request.url).searchParams.get("act");
      let value;
      try {
        value = await acts.get(name)(this.ctx, this);
      } catch (error) {
        value = new Threw(error);
      }
      return Response.json(canon(value));
    }
  }

  function inside(name, act, ...expected) {
    acts.set(name, act);
    test(
      name,
      async ({ env }) => {
        const response = await env.CELL.get(env.CELL.idFromName(name)).fetch(`http://cell/?act=${encodeURIComponent(name)}`);
        return response.json();
      },
      ...expected,
    );
  }
  return { Cell, inside };
}
