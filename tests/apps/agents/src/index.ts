import { getAgentByName, routeAgentRequest } from "agents";
import type { TaskAgent } from "./task";

export { TaskAgent } from "./task";

type Env = { TaskAgent: DurableObjectNamespace<TaskAgent> };

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname.startsWith("/rpc/")) {
      const agent = await getAgentByName(env.TaskAgent, url.searchParams.get("name")!);
      switch (url.pathname) {
        case "/rpc/add":
          return Response.json(await agent.add(url.searchParams.get("title")!));
        case "/rpc/list":
          return Response.json(await agent.list());
        case "/rpc/plan":
          return Response.json(await agent.plan());
        case "/rpc/queue":
          return Response.json(await agent.enqueue());
        case "/rpc/work":
          return Response.json(await agent.work());
        case "/rpc/destroy":
          return Response.json((await agent.destroy()) ?? null);
        case "/rpc/log":
          return Response.json(await agent.log());
      }
    }
    return (await routeAgentRequest(request, env as never)) ?? new Response("no agent here", { status: 404 });
  },
};
