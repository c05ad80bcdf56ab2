import { type Connection, type ConnectionContext, Server, type WSMessage } from "partyserver";

type State = { user: string; said: number };

/** A room whose connections outlive its instance. */
export class ChatRoom extends Server {
  static options = { hibernate: true };
  starts = 0;

  onStart() {
    this.starts++;
    this.sql`CREATE TABLE IF NOT EXISTS messages (id INTEGER PRIMARY KEY, user TEXT, text TEXT)`;
  }

  private sql<T>(strings: TemplateStringsArray, ...values: unknown[]): T[] {
    return this.ctx.storage.sql.exec(strings.join("?"), ...values).toArray() as T[];
  }

  history() {
    return { name: this.name, starts: this.starts, messages: this.sql`SELECT user, text FROM messages ORDER BY id` };
  }

  getConnectionTags(_: Connection, { request }: ConnectionContext) {
    return [new URL(request.url).searchParams.get("team") ?? "none"];
  }

  onConnect(connection: Connection<State>, { request }: ConnectionContext) {
    const user = new URL(request.url).searchParams.get("user") ?? "nobody";
    connection.setState({ user, said: 0 });
    connection.send(
      JSON.stringify({ welcome: user, id: connection.id, tags: connection.tags, uri: connection.uri && new URL(connection.uri).pathname }),
    );
    this.broadcast(`${user} is here`, [connection.id]);
  }

  onMessage(connection: Connection<State>, message: WSMessage) {
    if (typeof message !== "string") return connection.send(new Uint8Array(message as ArrayBuffer).reverse());
    const [command, ...rest] = message.split(" ");
    const { user, said } = connection.state!;
    switch (command) {
      case "say":
        this.sql`INSERT INTO messages (user, text) VALUES (${user}, ${rest.join(" ")})`;
        connection.setState((before) => ({ ...before!, said: before!.said + 1 }));
        return this.broadcast(`${user} (${said + 1}): ${rest.join(" ")}`);
      case "team":
        for (const each of this.getConnections(rest[0])) each.send(`to ${rest[0]}: ${rest.slice(1).join(" ")}`);
        return;
      case "who":
        return connection.send(
          [...this.getConnections<State>()]
            .map((each) => each.state!.user)
            .sort()
            .join(", "),
        );
      case "kick":
        return this.getConnection(rest[0])?.close(4001, "kicked");
      case "fail":
        throw new Error("on purpose");
      case "later":
        return void this.ctx.storage.setAlarm(Date.now() + 100);
    }
  }

  onClose(connection: Connection<State>, code: number, reason: string) {
    this.broadcast(`${connection.state?.user} left: ${code} ${reason}`, [connection.id]);
  }

  onAlarm() {
    this.broadcast("the alarm of " + this.name);
  }

  async onRequest(request: Request) {
    const { pathname } = new URL(request.url);
    const body = request.method === "POST" ? await request.text() : null;
    if (body) this.broadcast(body);
    return Response.json({
      room: this.name,
      path: pathname,
      routed: request.headers.get("x-routed"),
      method: request.method,
      open: [...this.getConnections()].length,
    });
  }
}
