//! Point-in-time recovery: a cell takes itself back, and takes that back.

use celld_tests::{Dev, Project, eventually};
use rustix::process::Signal;

const WORKER: &str = r#"
import { DurableObject } from "cloudflare:workers";

export class Notes extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS notes(id INTEGER PRIMARY KEY, text TEXT)");
  }
  add(text) {
    this.ctx.storage.sql.exec("INSERT INTO notes(text) VALUES (?)", text);
    return this.ctx.storage.getCurrentBookmark();
  }
  list() {
    return this.ctx.storage.sql.exec("SELECT text FROM notes ORDER BY id").toArray().map((row) => row.text);
  }
  now() {
    return this.ctx.storage.getCurrentBookmark();
  }
  at(time) {
    return this.ctx.storage.getBookmarkForTime(time);
  }
  later(bookmark) {
    return this.ctx.storage.onNextSessionRestoreBookmark(bookmark);
  }
  async back(bookmark) {
    const undo = await this.ctx.storage.onNextSessionRestoreBookmark(bookmark);
    this.ctx.waitUntil(scheduler.wait(20).then(() => this.ctx.abort("taken back")).catch(() => {}));
    return undo;
  }
}

export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const [, method, ...args] = url.pathname.split("/").map(decodeURIComponent);
    try {
      return Response.json(await env.NOTES.getByName("n")[method](...args.map((each) => method === "at" ? Number(each) : each)));
    } catch (error) {
      return Response.json({ error: `${error.name}: ${error.message}` });
    }
  },
};
"#;

const CONFIG: &str = r#"{
  "name": "notes", "main": "src/index.js", "compatibility_date": "2026-01-01",
  "durable_objects": { "bindings": [{ "name": "NOTES", "class_name": "Notes" }] },
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Notes"] }]
}"#;

fn text(dev: &mut Dev, path: &str) -> String {
    let answer = dev.get(path).json();
    answer.as_str().unwrap_or_else(|| panic!("{path}: {answer}")).to_owned()
}

/// Waits until the notes are these.
fn becomes(dev: &mut Dev, notes: &[&str]) {
    let mut last = Default::default();
    eventually("the notes", || {
        last = dev.get("/list").json();
        (last == serde_json::json!(notes)).then_some(())
    });
}

#[test]
fn a_cell_goes_back_to_a_bookmark_and_forward_again() {
    let project = Project::new(&[("wrangler.jsonc", CONFIG), ("src/index.js", WORKER)]);
    let mut dev = Dev::ready(project.path(), &["--no-watch"]);
    let first = text(&mut dev, "/add/one");
    let second = text(&mut dev, "/add/two");
    let third = text(&mut dev, "/add/three");
    assert!(first < second && second < third, "bookmarks sort in the order of what they mark");
    assert_eq!(text(&mut dev, "/now"), third);
    becomes(&mut dev, &["one", "two", "three"]);

    let undo = text(&mut dev, &format!("/back/{first}"));
    assert!(undo > third);
    becomes(&mut dev, &["one"]);
    assert!(text(&mut dev, "/add/other") > undo, "the history goes on");
    becomes(&mut dev, &["one", "other"]);

    // It is durable like any other write.
    assert!(dev.stop().success());
    let mut dev = Dev::ready(project.path(), &["--no-watch"]);
    becomes(&mut dev, &["one", "other"]);

    // The recovery itself is taken back, once: the request that stands in that state is not met again.
    text(&mut dev, &format!("/back/{undo}"));
    becomes(&mut dev, &["one", "two", "three"]);
    let now = text(&mut dev, "/now");
    becomes(&mut dev, &["one", "two", "three"]);
    assert_eq!(text(&mut dev, &format!("/at/{}", 4_102_444_800_000_u64)), now);

    // Asked for, and met by the next process: this one dies before the cell begins anew.
    text(&mut dev, &format!("/later/{first}"));
    dev.signal(Signal::KILL);
    dev.ended();
    let mut dev = Dev::ready(project.path(), &["--no-watch"]);
    becomes(&mut dev, &["one"]);

    // What is no bookmark, or none of this cell, is refused and changes nothing.
    let refused = dev.get("/back/nonsense").json();
    assert!(refused["error"].as_str().is_some_and(|e| e.contains("is no bookmark")), "{refused}");
    let refused = dev.get("/at/1000").json();
    assert!(refused.is_string() || refused["error"].is_string(), "{refused}");
    becomes(&mut dev, &["one"]);
    assert!(dev.stop().success(), "{}", dev.log());
}
