import { DurableObject } from "cloudflare:workers";
// A .sql file is imported as text.
import schema from "./schema.sql";
import page from "./page.html";

interface Env {
  GUEST_BOOK: DurableObjectNamespace<GuestBook>;
}

type Entry = {
  id: number;
  author: string;
  message: string;
  written_at: number;
};

/** A guest book with a SQLite database of its own. */
export class GuestBook extends DurableObject<Env> {
  private sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.sql.exec(schema);
  }

  write(author: string, message: string): Entry {
    return this.sql
      .exec<Entry>(
        "INSERT INTO entries (author, message, written_at) VALUES (?, ?, ?) RETURNING *",
        author,
        message,
        Date.now(),
      )
      .one();
  }

  /** The newest entries, of one author if given. */
  entries(author: string | null, limit: number): Entry[] {
    return this.sql
      .exec<Entry>(
        "SELECT * FROM entries WHERE ?1 IS NULL OR author = ?1 ORDER BY id DESC LIMIT ?2",
        author,
        limit,
      )
      .toArray();
  }

  statistics(): { entries: number; authors: number; bytes: number } {
    const counts = this.sql
      .exec<{ entries: number; authors: number }>(
        "SELECT count(*) AS entries, count(DISTINCT author) AS authors FROM entries",
      )
      .one();
    return { ...counts, bytes: this.sql.databaseSize };
  }
}

export default {
  async fetch(request: Request, env: Env): Promise<Response> {
    const url = new URL(request.url);
    const book = env.GUEST_BOOK.getByName("main");

    switch (`${request.method} ${url.pathname}`) {
      case "GET /":
        return new Response(page, { headers: { "Content-Type": "text/html; charset=utf-8" } });
      case "GET /entries":
        return Response.json(await book.entries(url.searchParams.get("author"), 50));
      case "GET /statistics":
        return Response.json(await book.statistics());
      case "POST /entries": {
        const { author, message } = await request.json<{ author?: unknown; message?: unknown }>();
        if (typeof author !== "string" || typeof message !== "string" || !author || !message) {
          return Response.json({ error: "author and message are required" }, { status: 400 });
        }
        return Response.json(await book.write(author, message), { status: 201 });
      }
      default:
        return new Response("Not found\n", { status: 404 });
    }
  },
};
