import { DurableObject } from "cloudflare:workers";
// An imported .html file is its text.
import page from "./page.html";

interface Env {
  COUNTER: DurableObjectNamespace<Counter>;
}

/**
 * A cell: one object per name, with a private database. What `ctx.storage` holds survives restarts and crashes; the
 * fields of the object do not.
 */
export class Counter extends DurableObject<Env> {
  async value(): Promise<number> {
    return (await this.ctx.storage.get<number>("value")) ?? 0;
  }

  async increment(): Promise<number> {
    const value = (await this.value()) + 1;
    await this.ctx.storage.put("value", value);
    return value;
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const counter = env.COUNTER.getByName("visits");
    switch (`${request.method} ${new URL(request.url).pathname}`) {
      case "GET /":
        return new Response(page, { headers: { "Content-Type": "text/html; charset=utf-8" } });
      case "GET /api/count":
        return Response.json({ value: await counter.value() });
      case "POST /api/count":
        return Response.json({ value: await counter.increment() });
      default:
        return new Response("Not found\n", { status: 404 });
    }
  },
};
