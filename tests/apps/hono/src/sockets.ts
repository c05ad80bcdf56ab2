import { Hono } from "hono";
import { upgradeWebSocket } from "hono/cloudflare-workers";

export const sockets = new Hono().get(
  "/echo",
  upgradeWebSocket((c) => ({
    async onMessage(event, ws) {
      const { data } = event;
      if (data === "close") return ws.close(4000, "as asked");
      ws.send(typeof data === "string" ? `${c.req.query("prefix")}: ${data}` : await (data as Blob).arrayBuffer());
    },
  })),
);
