import { DurableObject } from "cloudflare:workers";
import page from "./page.html";

interface Env {
  ROOM: DurableObjectNamespace<Room>;
}

/** What a connection keeps while its room is not in memory. */
type Member = { name: string };

/** A chat room. Its connections survive while the object itself hibernates. */
export class Room extends DurableObject<Env> {
  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    // Answered without waking the room.
    ctx.setWebSocketAutoResponse(new WebSocketRequestResponsePair("ping", "pong"));
  }

  async fetch(request: Request): Promise<Response> {
    const name = new URL(request.url).searchParams.get("name") || "somebody";
    const { 0: client, 1: server } = new WebSocketPair();
    this.ctx.acceptWebSocket(server);
    server.serializeAttachment({ name } satisfies Member);
    this.broadcast(`${name} joined`, server);
    return new Response(null, { status: 101, webSocket: client });
  }

  // "/echo TEXT" answers the sender only, "/who" lists the members; anything else goes to everybody.
  async webSocketMessage(socket: WebSocket, message: string | ArrayBuffer): Promise<void> {
    if (typeof message !== "string") {
      socket.send(message);
      return;
    }
    const { name } = socket.deserializeAttachment() as Member;
    if (message.startsWith("/echo ")) {
      socket.send(message.slice("/echo ".length));
    } else if (message === "/who") {
      const members = this.ctx.getWebSockets().map((other) => (other.deserializeAttachment() as Member).name);
      socket.send(`here: ${members.sort().join(", ")}`);
    } else {
      this.broadcast(`${name}: ${message}`);
    }
  }

  async webSocketClose(socket: WebSocket, code: number, reason: string, wasClean: boolean): Promise<void> {
    const { name } = socket.deserializeAttachment() as Member;
    this.broadcast(`${name} left`, socket);
  }

  private broadcast(message: string, except?: WebSocket): void {
    for (const socket of this.ctx.getWebSockets()) {
      if (socket !== except && socket.readyState === WebSocket.OPEN) socket.send(message);
    }
  }
}

// GET / is the page, GET /room/NAME the WebSocket of a room.
export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === "/") {
      return new Response(page, { headers: { "Content-Type": "text/html; charset=utf-8" } });
    }
    const room = /^\/room\/([^/]+)$/.exec(url.pathname)?.[1];
    if (!room) return new Response("Not found\n", { status: 404 });
    if (request.headers.get("Upgrade")?.toLowerCase() !== "websocket") {
      return new Response("Expected a WebSocket\n", { status: 426, headers: { Upgrade: "websocket" } });
    }
    return env.ROOM.getByName(decodeURIComponent(room)).fetch(request);
  },
};
