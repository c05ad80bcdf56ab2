//! The application that is crashed.

/// `PUT /CELL` counts one more and answers the new number, `GET /CELL` the number and what SQLite thinks of the file.
///
/// Cells named `kv…` count in one value, with a read and a write that only an input gate keeps together; the others in rows,
/// whose payload makes the database outgrow memory.
pub(super) const WORKER: &str = r#"
import { DurableObject } from "cloudflare:workers";

export class Counter extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    this.sql = ctx.storage.sql;
    this.sql.exec("CREATE TABLE IF NOT EXISTS rows(id INTEGER PRIMARY KEY, payload BLOB)");
  }
  async value(kv) {
    if (kv) return (await this.ctx.storage.get("value")) ?? 0;
    return this.sql.exec("SELECT count(*) AS n FROM rows").one().n;
  }
  async add(kv) {
    if (kv) {
      const value = (await this.value(true)) + 1;
      await this.ctx.storage.put("value", value);
      return value;
    }
    this.sql.exec("INSERT INTO rows(payload) VALUES (randomblob(abs(random()) % 3000))");
    return this.value(false);
  }
  async fetch(request) {
    const kv = new URL(request.url).pathname.startsWith("/kv");
    if (request.method === "PUT") return Response.json({ value: await this.add(kv) });
    const check = this.sql.exec("PRAGMA quick_check").one().quick_check;
    return Response.json({ value: await this.value(kv), check });
  }
}

export default {
  fetch(request, env) {
    return env.COUNTER.getByName(new URL(request.url).pathname).fetch(request);
  },
};
"#;

pub(super) const CONFIG: &str = r#"{
  "name": "crash", "main": "src/index.js", "compatibility_date": "2026-01-01",
  "durable_objects": { "bindings": [{ "name": "COUNTER", "class_name": "Counter" }] },
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Counter"] }]
}"#;
