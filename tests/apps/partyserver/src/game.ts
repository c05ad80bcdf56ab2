import { type Connection, Server, type WSMessage } from "partyserver";

/** A server that stays in memory with its connections. */
export class Game extends Server {
  score = new Map<string, number>();

  async onStart() {
    await this.ctx.storage.put("started", this.name);
  }

  onConnect(connection: Connection) {
    this.score.set(connection.id, 0);
    connection.addEventListener("message", ({ data }) => {
      if (data === "listener") connection.send("heard by a listener");
    });
  }

  async onMessage(connection: Connection, message: WSMessage) {
    if (message === "point") this.score.set(connection.id, this.score.get(connection.id)! + 1);
    if (message === "score") this.broadcast(JSON.stringify(Object.fromEntries(this.score)));
    if (message === "started") connection.send(String(await this.ctx.storage.get("started")));
    if (message === "bye") connection.close(1000, "bye");
  }

  onClose(connection: Connection) {
    this.score.delete(connection.id);
  }
}
