//! Alarms: they fire once they are due, again when the handler fails, and after a crash without anybody asking for the cell.

use std::fs;
use std::thread::sleep;
use std::time::Duration;

use celld_tests::{Dev, Project, eventually};
use rustix::process::{Signal, kill_process};

/// `Clock` cells write what happens to them into the one `Journal` cell, so that reading the journal wakes no clock.
const WORKER: &str = r#"
import { DurableObject } from "cloudflare:workers";

export class Journal extends DurableObject {
  lines() { return this.ctx.storage.kv.get("lines") ?? []; }
  add(line) { this.ctx.storage.kv.put("lines", [...this.lines(), line]); }
}

export class Clock extends DurableObject {
  async set(after, failures) {
    this.ctx.storage.kv.put("failures", failures);
    const time = Date.now() + after;
    await this.ctx.storage.setAlarm(time);
    return (await this.ctx.storage.getAlarm()) === time;
  }
  async clear() {
    await this.ctx.storage.deleteAlarm();
    return this.ctx.storage.getAlarm();
  }
  async alarm({ retryCount, isRetry, scheduledTime }) {
    const name = this.ctx.storage.kv.get("name");
    const seen = await this.ctx.storage.getAlarm();
    const late = Date.now() - scheduledTime;
    await this.env.JOURNAL.getByName("all").add(`${name} ${retryCount} ${isRetry} ${seen} ${late >= 0}`);
    if (retryCount < this.ctx.storage.kv.get("failures")) throw new Error(`alarm ${retryCount} fails`);
    const again = this.ctx.storage.kv.get("again") ?? 0;
    if (again > 0) {
      this.ctx.storage.kv.put("again", again - 1);
      await this.ctx.storage.setAlarm(Date.now() + 10);
    }
  }
  async fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    const [, name, act] = pathname.split("/");
    this.ctx.storage.kv.put("name", name);
    if (act === "clear") return Response.json(await this.clear());
    if (act === "again") this.ctx.storage.kv.put("again", 2);
    return Response.json(await this.set(Number(searchParams.get("after")), Number(searchParams.get("failures"))));
  }
}

export class Deaf extends DurableObject {
  async fetch() {
    try {
      await this.ctx.storage.setAlarm(Date.now() + 1000);
      return new Response("set");
    } catch (error) {
      return new Response(`${error.name}: ${error.message}`);
    }
  }
}

export default {
  async fetch(request, env) {
    const { pathname } = new URL(request.url);
    if (pathname === "/journal") return Response.json(await env.JOURNAL.getByName("all").lines());
    if (pathname === "/deaf") return env.DEAF.getByName("x").fetch(request);
    return env.CLOCK.getByName(pathname.split("/")[1]).fetch(request);
  },
};
"#;

const CONFIG: &str = r#"{
  "name": "alarms", "main": "src/index.js", "compatibility_date": "2026-01-01",
  "durable_objects": { "bindings": [
    { "name": "CLOCK", "class_name": "Clock" },
    { "name": "JOURNAL", "class_name": "Journal" },
    { "name": "DEAF", "class_name": "Deaf" }
  ] },
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Clock", "Journal", "Deaf"] }]
}"#;

fn project() -> Project {
    Project::new(&[("wrangler.jsonc", CONFIG), ("src/index.js", WORKER)])
}

fn journal(dev: &mut Dev) -> Vec<String> {
    let lines = dev.get("/journal").json();
    let lines = lines.as_array().expect("an array").iter();
    lines.map(|line| line.as_str().expect("text").to_owned()).collect()
}

fn lines_of(dev: &mut Dev, name: &str, count: usize) -> Vec<String> {
    eventually("the alarm", || {
        let lines: Vec<String> =
            journal(dev).into_iter().filter(|line| line.split(' ').next() == Some(name)).collect();
        (lines.len() >= count).then_some(lines)
    })
}

#[test]
fn alarms_fire_when_they_are_due_and_until_their_handler_returns() {
    let project = project();
    let mut dev = Dev::ready(project.path(), &["--no-watch"]);
    assert_eq!(dev.get("/late/set?after=60000").body, "true");
    assert_eq!(dev.get("/late/clear").body, "null");
    assert_eq!(dev.get("/one/set?after=200").body, "true");
    assert!(journal(&mut dev).is_empty());
    assert_eq!(lines_of(&mut dev, "one", 1), ["one 0 false null true"]);

    assert_eq!(dev.get("/again/again?after=1").body, "true");
    assert_eq!(lines_of(&mut dev, "again", 3), ["again 0 false null true"; 3]);

    assert_eq!(dev.get("/flaky/set?after=1&failures=1").body, "true");
    assert_eq!(lines_of(&mut dev, "flaky", 2), ["flaky 0 false null true", "flaky 1 true null true"]);
    dev.says("alarm 0 fails");

    sleep(Duration::from_millis(300));
    assert_eq!(journal(&mut dev).len(), 6, "nothing fires twice: {:?}", journal(&mut dev));
    assert_eq!(
        dev.get("/deaf").body,
        "TypeError: Your Durable Object class must have an alarm() handler in order to call setAlarm()"
    );
    assert!(dev.stop().success());
}

#[test]
fn an_alarm_that_was_acknowledged_fires_after_a_crash() {
    let project = project();
    let mut dev = Dev::ready(project.path(), &["--no-watch"]);
    for cell in ["a", "b", "c"] {
        assert_eq!(dev.get(&format!("/{cell}/set?after=2000")).body, "true");
    }
    assert_eq!(dev.get("/b/clear").body, "null");
    kill_process(dev.pid(), Signal::KILL).expect("the process runs");
    dev.ended();
    // Nothing but the bucket is left; nobody asks for the cells.
    let _ = fs::remove_dir_all(project.file(".celld/dev/work"));
    let mut dev = Dev::ready(project.path(), &["--no-watch"]);
    assert_eq!(lines_of(&mut dev, "a", 1), ["a 0 false null true"]);
    assert_eq!(lines_of(&mut dev, "c", 1), ["c 0 false null true"]);
    assert_eq!(journal(&mut dev).len(), 2);
    assert!(dev.stop().success());

    // Over a clean stop, with an alarm that became due meanwhile.
    let mut dev = Dev::ready(project.path(), &["--no-watch"]);
    assert_eq!(dev.get("/d/set?after=300").body, "true");
    assert!(dev.stop().success());
    sleep(Duration::from_millis(400));
    let mut dev = Dev::ready(project.path(), &["--no-watch"]);
    assert_eq!(lines_of(&mut dev, "d", 1), ["d 0 false null true"]);
    assert!(dev.stop().success());
}
