import { DurableObject } from "cloudflare:workers";

export type Note = { id: number; text: string };

/** Notes in a SQLite table. */
export class Notes extends DurableObject {
  private sql: SqlStorage;

  constructor(ctx: DurableObjectState, env: unknown) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.sql.exec("CREATE TABLE IF NOT EXISTS notes (id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL)");
  }

  list(): Note[] {
    return this.sql.exec<Note>("SELECT id, text FROM notes ORDER BY id").toArray();
  }

  add(text: string): Note {
    return this.sql.exec<Note>("INSERT INTO notes (text) VALUES (?) RETURNING id, text", text).one();
  }

  remove(id: number): boolean {
    return this.sql.exec("DELETE FROM notes WHERE id = ?", id).rowsWritten > 0;
  }
}
