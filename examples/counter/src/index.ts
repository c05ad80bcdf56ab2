import { DurableObject } from "cloudflare:workers";

interface Env {
  COUNTER: DurableObjectNamespace<Counter>;
}

/** One number that outlives every process. Each name has a counter of its own. */
export class Counter extends DurableObject<Env> {
  async value(): Promise<number> {
    return (await this.ctx.storage.get<number>("value")) ?? 0;
  }

  async add(amount: number): Promise<number> {
    const value = (await this.value()) + amount;
    await this.ctx.storage.put("value", value);
    return value;
  }
}

// GET /NAME, POST /NAME/increment, POST /NAME/decrement
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const [name = "", action, ...rest] = new URL(request.url).pathname.slice(1).split("/");
    const counter = env.COUNTER.getByName(name || "default");
    if (rest.length > 0) return new Response("Not found\n", { status: 404 });

    switch (`${request.method} ${action ?? ""}`) {
      case "GET ":
        return Response.json({ name, value: await counter.value() });
      case "POST increment":
        return Response.json({ name, value: await counter.add(1) });
      case "POST decrement":
        return Response.json({ name, value: await counter.add(-1) });
      default:
        return new Response("Not found\n", { status: 404 });
    }
  },
};
