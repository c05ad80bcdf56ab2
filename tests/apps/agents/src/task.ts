import { Agent, callable, type Connection, getCurrentAgent, type Schedule, type StreamingResponse } from "agents";

type State = { count: number; last: string | null };
type Task = { id: number; title: string; done: number };

export class TaskAgent extends Agent<Cloudflare.Env, State> {
  initialState: State = { count: 0, last: null };

  onStart() {
    this.sql`CREATE TABLE IF NOT EXISTS tasks (id INTEGER PRIMARY KEY, title TEXT NOT NULL, done INTEGER DEFAULT 0)`;
    this.sql`CREATE TABLE IF NOT EXISTS log (id INTEGER PRIMARY KEY, line TEXT)`;
  }

  note(line: string) {
    this.sql`INSERT INTO log (line) VALUES (${line})`;
  }

  log() {
    return this.sql<{ line: string }>`SELECT line FROM log ORDER BY id`.map(({ line }) => line);
  }

  @callable({ description: "adds a task" })
  add(title: string): Task {
    const [task] = this.sql<Task>`INSERT INTO tasks (title) VALUES (${title}) RETURNING *`;
    this.setState({ count: this.state.count + 1, last: title });
    return task;
  }

  @callable()
  async list() {
    return this.sql<Task>`SELECT * FROM tasks ORDER BY id`;
  }

  @callable()
  done(id: number) {
    if (!this.sql`SELECT 1 FROM tasks WHERE id = ${id}`.length) throw new Error(`there is no task ${id}`);
    this.sql`UPDATE tasks SET done = 1 WHERE id = ${id}`;
    return true;
  }

  @callable({ streaming: true })
  async titles(stream: StreamingResponse, prefix: string) {
    for (const { title } of await this.list()) {
      stream.send(`${prefix}${title}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    stream.end("all");
  }

  @callable()
  where() {
    const { agent, connection } = getCurrentAgent<TaskAgent>();
    return { same: agent === this, name: agent?.name, connection: connection?.id };
  }

  secret() {
    return "not callable";
  }

  @callable()
  async remind(seconds: number, text: string) {
    const schedule = await this.schedule(seconds, "reminded", { text });
    return { type: schedule.type, callback: schedule.callback, payload: schedule.payload };
  }

  async reminded({ text }: { text: string }, schedule: Schedule) {
    this.note(`reminded of ${text} by a ${schedule.type} schedule`);
    this.broadcast(JSON.stringify({ type: "reminder", text }));
  }

  /** Schedules of all kinds: what is listed, and what is left after one is cancelled. */
  async plan() {
    const cron = await this.schedule("0 8 * * 1", "reminded", { text: "monday" });
    const date = await this.schedule(new Date("2099-01-01T00:00:00Z"), "reminded", { text: "the century" });
    const every = await this.scheduleEvery(3600, "reminded", { text: "the hour" });
    const describe = ({ type, callback, payload }: Schedule) => ({ type, callback, payload });
    const sorted = (list: Schedule[]) => list.map(describe).sort((a, b) => (a.type < b.type ? -1 : 1));
    const all = sorted(this.getSchedules());
    const found = this.getSchedule(date.id);
    const cancelled = [await this.cancelSchedule(cron.id), await this.cancelSchedule("no such id")];
    await this.cancelSchedule(every.id);
    return { all, time: found?.time, cancelled, left: sorted(this.getSchedules()) };
  }

  /** Work that is recorded, work that is tried again, work that keeps the agent awake. */
  async work() {
    const pause = () => new Promise((resolve) => setTimeout(resolve, 10));
    const fiber = await this.runFiber("work", async (context) => {
      context.stash({ step: 1 });
      await pause();
      context.stash({ step: 2 });
      return "done";
    });
    const tried = await this.retry(
      async (attempt) => {
        if (attempt < 3) throw new Error("again");
        return attempt;
      },
      { maxAttempts: 3, baseDelayMs: 1, maxDelayMs: 5 },
    );
    const awake = await this.keepAliveWhile(async () => {
      await pause();
      return "awake";
    });
    return { fiber, tried, awake, callable: [...this.getCallableMethods().keys()].sort() };
  }

  shouldConnectionBeReadonly(_: Connection, { request }: { request: Request }) {
    return new URL(request.url).searchParams.has("readonly");
  }

  async enqueue() {
    await this.queue("worked", { n: 1, kind: "easy" });
    await this.queue("worked", { n: 2, kind: "hard" });
    return (await this.getQueues("kind", "hard")).length;
  }

  async worked({ n }: { n: number }) {
    this.note(`worked on ${n}`);
  }

  onConnect(connection: Connection) {
    connection.send(JSON.stringify({ type: "hello", id: connection.id }));
  }

  onMessage(connection: Connection, message: string) {
    connection.send(JSON.stringify({ type: "echo", message, count: this.state.count }));
  }

  onStateChanged(state: State | undefined, source: Connection | "server") {
    this.note(`state ${state?.count} from ${source === "server" ? "the server" : "a client"}`);
  }

  validateStateChange(next: State) {
    if (next.count < 0) throw new Error("a count is never negative");
  }

  onRequest(request: Request) {
    return Response.json({ name: this.name, method: request.method, path: new URL(request.url).pathname, state: this.state });
  }
}
