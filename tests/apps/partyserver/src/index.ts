import { getServerByName, routePartykitRequest } from "partyserver";
import type { ChatRoom } from "./chat";
import type { Game } from "./game";

export { ChatRoom } from "./chat";
export { Game } from "./game";

type Env = { ChatRoom: DurableObjectNamespace<ChatRoom>; GAME: DurableObjectNamespace<Game> };

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === "/history") {
      const room = await getServerByName(env.ChatRoom, url.searchParams.get("room")!);
      return Response.json(await room.history());
    }
    const answer = await routePartykitRequest(request, env as never, {
      cors: url.searchParams.has("cors"),
      onBeforeConnect: (request) =>
        new URL(request.url).searchParams.has("refused") ? new Response("not you", { status: 403 }) : undefined,
      onBeforeRequest: (request, { party, name }) => {
        const changed = new Request(request);
        changed.headers.set("x-routed", `${party}/${name}`);
        return changed;
      },
    });
    return answer ?? new Response("no party here", { status: 404 });
  },
};
