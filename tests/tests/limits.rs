//! Code that takes more than its share: of processor time, of memory, of patience. Its event fails, its neighbours do not notice.

use std::time::Duration;

use celld_tests::{Dev, PATIENCE, Project, celld, eventually};

/// Starts `celld dev` with settings of the environment.
fn with(project: &Project, settings: &[(&str, &str)]) -> Dev {
    let mut command = celld();
    command.args(["dev", "--port", "0", "--no-watch"]).arg(project.path());
    command.envs(settings.iter().copied());
    let mut dev = Dev::spawn(command);
    dev.address();
    dev
}

/// A project with one class of Durable Objects, `Cell`, whose events may use `cpu_ms` milliseconds.
fn with_cells(source: &str, cpu_ms: u32) -> Project {
    let config = format!(
        r#"{{
          "name": "limits", "main": "src/index.js", "compatibility_date": "2026-01-01", "limits": {{ "cpu_ms": {cpu_ms} }},
          "durable_objects": {{ "bindings": [{{ "name": "CELL", "class_name": "Cell" }}] }},
          "migrations": [{{ "tag": "v1", "new_sqlite_classes": ["Cell"] }}]
        }}"#
    );
    Project::new(&[("wrangler.jsonc", &config), ("src/index.js", source)])
}

#[test]
fn an_event_that_needs_too_much_memory_fails_alone() {
    let project = Project::worker(
        r#"export default {
          fetch(request) {
            if (new URL(request.url).pathname === "/fine") return new Response("fine");
            for (const all = [];;) all.push({ n: all.length, text: "text " + all.length });
          },
        };"#,
    );
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    let node = dev.node();
    for _ in 0..5 {
        assert_eq!(dev.get("/").status, 500);
        assert_eq!(dev.get("/fine").body, "fine");
    }
    assert_eq!(dev.node(), node, "the node was not restarted");
}

/// What fills memory in ways that V8's own heap limit does not see.
const MEMORY: &str = r#"
const kept = [];
let held = null;
const acts = {
  buffers() { for (const all = [];; ) all.push(new Uint8Array(1 << 20).fill(1)); },
  wasm() {
    for (const all = [];; ) {
      const memory = new WebAssembly.Memory({ initial: 512 });
      new Uint8Array(memory.buffer).fill(1);
      all.push(memory);
    }
  },
  // Never more than 16 MiB at a time.
  garbage() { for (let i = 0; i < 500; i++) held = new Uint8Array(16 << 20); held = null; return "500 buffers"; },
  impossible() { try { new ArrayBuffer(1 << 30); } catch (error) { return `${error.name}: ${error.message}`; } },
  page() { try { new WebAssembly.Memory({ initial: 4096 }); } catch (error) { return error.name; } },
  keep() { for (;;) kept.push({ n: kept.length, text: "text " + kept.length }); },
  legal() {
    for (let round = 0; round < 6; round++) {
      let all = [];
      for (let k = 0; k < 5e5; k++) all.push({ k });
      all = null;
      held = new Uint8Array(60_000_000);
      held = null;
    }
    return "legal";
  },
  dropped() { for (let i = 0; i < 20; i++) new WebAssembly.Memory({ initial: 160 }); return "dropped"; },
  filled() { for (const all = []; ; ) all.push(new Array(1000).fill({})); },
  blobs() { const chunk = new Uint8Array(1 << 20); for (const all = []; ; ) all.push(new Blob([chunk])); },
  growable() { for (const all = []; ; ) { const b = new SharedArrayBuffer(0, { maxByteLength: 1 << 24 }); b.grow(1 << 24); new Uint8Array(b).fill(1); all.push(b); } },
  resizable() { for (const all = []; ; ) { const b = new ArrayBuffer(0, { maxByteLength: 1 << 24 }); b.resize(1 << 24); new Uint8Array(b).fill(1); all.push(b); } },
  messages() { const { port1 } = new MessageChannel(); for (;;) port1.postMessage(new Uint8Array(1 << 20)); },
  async blobgarbage() { for (let i = 0; i < 400; i++) await new Blob([new Uint8Array(1 << 20)]).arrayBuffer(); return "400 blobs"; },
  parse() { return String(JSON.parse(`[${"{},".repeat(12e6)}{}]`).length); },
  body: async () => (await new Response(`[${"{},".repeat(12e6)}{}]`).json()).length,
  // As long, and hardly more than the text.
  text() { return String(JSON.parse(`["${"{},[".repeat(3e6)}"]`)[0].length); },
  fine: () => "fine",
};
export default { async fetch(request) { return new Response(await acts[new URL(request.url).pathname.slice(1)]()); } };
"#;

/// The resident memory of a process, in MiB.
fn resident_mib(pid: impl std::fmt::Display) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).expect("the process runs");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("it has a high-water mark");
    line.trim().trim_end_matches(" kB").parse::<u64>().expect("a number") / 1024
}

#[test]
fn array_buffers_and_wasm_memories_count_as_memory() {
    let project = Project::worker(MEMORY);
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    let node = dev.node();
    for _ in 0..3 {
        for act in ["buffers", "wasm", "filled", "parse", "body"] {
            assert_eq!(dev.get(&format!("/{act}")).status, 500, "{act}");
            assert_eq!(dev.get("/fine").body, "fine", "after {act}");
        }
    }
    dev.says("Worker exceeded memory limit.");
    for (act, answer) in
        [("garbage", "500 buffers"), ("legal", "legal"), ("dropped", "dropped"), ("text", "12000000")]
    {
        assert_eq!(dev.get(&format!("/{act}")).body, answer);
    }
    assert_eq!(dev.get("/impossible").body, "RangeError: Array buffer allocation failed");
    assert_eq!(dev.get("/page").body, "RangeError");
    assert_eq!(dev.node(), node, "the node was not restarted");
    let peak = resident_mib(node);
    assert!(peak < 900, "the node took {peak} MiB");
}

#[test]
fn what_v8_does_not_count_is_memory_too() {
    let project = Project::worker(MEMORY);
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    let node = dev.node();
    for act in ["blobs", "growable", "resizable", "messages", "blobs"] {
        assert_eq!(dev.get(&format!("/{act}")).status, 500, "{act}");
        assert_eq!(dev.get("/fine").body, "fine", "after {act}");
    }
    assert_eq!(dev.get("/blobgarbage").body, "400 blobs");
    assert_eq!(dev.node(), node, "the node was not restarted");
    let peak = resident_mib(node);
    assert!(peak < 1600, "the node took {peak} MiB");
}

#[test]
fn an_isolate_that_is_full_for_good_is_replaced() {
    let project = Project::worker(MEMORY);
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    let node = dev.node();
    for _ in 0..2 {
        assert_eq!(dev.get("/keep").status, 500);
        // What was kept is gone with the isolate: there is room again.
        eventually("the isolate was replaced", || (dev.get("/garbage").status == 200).then_some(()));
        assert_eq!(dev.get("/fine").body, "fine");
    }
    dev.says("new events get a fresh isolate");
    assert_eq!(dev.node(), node, "the node was not restarted");
}

/// What V8 cannot come back from, beside cells on every shard.
const FATAL: &str = r#"
import { DurableObject } from "cloudflare:workers";

export class Cell extends DurableObject {
  add() { const n = (this.ctx.storage.kv.get("n") ?? 0) + 1; this.ctx.storage.kv.put("n", n); return n; }
  split() { return "x".repeat(5e8).split("").length; }
}
export default {
  async fetch(request, env) {
    const [, act, name] = new URL(request.url).pathname.split("/");
    const cell = env.CELL.getByName(name);
    if (act === "add") return new Response(await cell.add());
    if (act === "cell") try { return new Response(await cell.split()); } catch (error) { return new Response(error.message, { status: 599 }); }
    if (act === "split") return new Response("x".repeat(5e8).split("").length);
    return new Response("fine");
  },
};
"#;

#[test]
fn what_v8_cannot_survive_ends_a_shard_and_not_the_node() {
    let project = with_cells(FATAL, 30_000);
    let mut dev = with(&project, &[("CELLD_SHARDS", "2")]);
    let (node, address) = (dev.node(), dev.address());
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut counts = [0; 6];
    let mut add_all = |dev: &mut Dev| {
        for (name, count) in names.iter().zip(&mut counts) {
            *count += 1;
            // A connection may go to a shard that is just being replaced.
            let answer = eventually("the cell answers", || {
                celld_tests::get(address, &format!("/add/{name}")).ok().filter(|answer| answer.status == 200)
            });
            let now: u64 = answer.body.parse().expect("a number");
            assert!(now >= *count, "{name} lost a write: {now} instead of {count}; {}", dev.log());
            *count = now;
        }
    };
    add_all(&mut dev);
    // Alone, then in a cell that another shard may have called.
    let answer = celld_tests::get(address, "/split/a");
    assert!(answer.is_err(), "the connection was closed: {answer:?}");
    add_all(&mut dev);
    for _ in 0..2 {
        let answer = celld_tests::get(address, "/cell/b");
        assert!(answer.as_ref().map_or(true, |answer| answer.status == 599), "{answer:?}");
        add_all(&mut dev);
    }
    assert_eq!(dev.get("/fine").body, "fine");
    assert_eq!(dev.node(), node, "the node was not restarted: {}", dev.log());
    // The memory of what was lost stays behind: with the fourth shard the node ends in good order, to be started again.
    assert!(celld_tests::get(address, "/split/a").is_err(), "the connection was closed");
    dev.says("V8 gave up on too many isolates");
    add_all(&mut dev);
    assert_ne!(dev.node(), node, "the node was started again: {}", dev.log());
    assert!(dev.stop().success(), "{}", dev.log());
}

/// A built-in function that nothing can interrupt: it looks at nine quadrillion elements.
const DEAF: &str = r#"
import { DurableObject } from "cloudflare:workers";

const deaf = () => Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1);
export class Cell extends DurableObject {
  add() { const n = (this.ctx.storage.kv.get("n") ?? 0) + 1; this.ctx.storage.kv.put("n", n); return n; }
  runs() { return this.ctx.storage.kv.get("runs") ?? []; }
  arm() { this.ctx.storage.setAlarm(Date.now() + 300); }
  async alarm({ retryCount }) {
    const runs = this.runs();
    runs.push(retryCount);
    this.ctx.storage.kv.put("runs", runs);
    await this.ctx.storage.sync();
    if (retryCount < 2) "x".repeat(5e8).split("");
  }
}
export default {
  async fetch(request, env) {
    const [, act, name] = new URL(request.url).pathname.split("/");
    if (act === "deaf") return new Response(deaf());
    const cell = env.CELL.getByName(name);
    return Response.json((await cell[act]()) ?? null);
  },
};
"#;

#[test]
fn what_nothing_can_interrupt_loses_its_shard() {
    let project = with_cells(DEAF, 500);
    let mut dev = with(&project, &[("CELLD_SHARDS", "2")]);
    let (node, address) = (dev.node(), dev.address());
    let names = ["a", "b", "c", "d", "e", "f"];
    for name in names {
        assert_eq!(dev.get(&format!("/add/{name}")).body, "1", "{name}");
    }
    assert!(celld_tests::get(address, "/deaf").is_err(), "the connection was closed");
    dev.says("a built-in function of V8 cannot be ended");
    for name in names {
        let answer = eventually("the cell answers", || {
            celld_tests::get(address, &format!("/add/{name}")).ok().filter(|answer| answer.status == 200)
        });
        assert_eq!(answer.body, "2", "{name}");
    }
    assert_eq!(dev.node(), node, "the node was not restarted: {}", dev.log());
    assert!(dev.stop().success(), "{}", dev.log());
}

#[test]
fn an_alarm_that_costs_its_shard_has_failed() {
    let project = with_cells(DEAF, 500);
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    let address = dev.address();
    dev.get("/arm/a");
    let runs = eventually("the alarm has run three times", || {
        let answer = celld_tests::get(address, "/runs/a").ok().filter(|answer| answer.status == 200)?;
        (answer.body.matches(',').count() >= 2).then_some(answer.body)
    });
    assert_eq!(runs, "[0,1,2]", "{}", dev.log());
    assert!(dev.stop().success(), "{}", dev.log());
}

/// Bodies and sockets whose source loops for ever after the answer was sent.
const SOURCES: &str = r#"
import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";

function body() {
  let pulls = 0;
  return new ReadableStream({
    pull(controller) {
      if (pulls++ > 0) for (;;);
      controller.enqueue(new TextEncoder().encode("first"));
    },
  }, { highWaterMark: 0 });
}
function socket() {
  const { 0: client, 1: server } = new WebSocketPair();
  server.accept();
  server.addEventListener("message", () => { for (;;); });
  return new Response(null, { status: 101, webSocket: client });
}
export class Cell extends DurableObject {
  fetch(request) { return request.headers.get("upgrade") ? socket() : new Response(body()); }
}
export class Entry extends WorkerEntrypoint {
  fetch(request) { return request.headers.get("upgrade") ? socket() : new Response(body()); }
  stream() { return body(); }
}
export default {
  async fetch(request, env, ctx) {
    const { pathname } = new URL(request.url);
    if (pathname === "/fine") return new Response("fine");
    if (pathname === "/entry") return ctx.exports.Entry.fetch(request);
    if (pathname === "/entry/read") {
      const response = await ctx.exports.Entry.fetch("http://entry/");
      return new Response(await response.text().catch((error) => `caught ${error.message}`));
    }
    if (pathname === "/entry/stream") return new Response(await ctx.exports.Entry.stream());
    if (pathname.startsWith("/cell")) return env.CELL.getByName("a").fetch(request);
    return request.headers.get("upgrade") ? socket() : new Response(body());
  },
};
"#;

#[test]
fn what_an_ended_event_still_said_ends_with_it() {
    let project = with_cells(SOURCES, 300);
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    let address = dev.address();
    for path in ["/", "/cell", "/entry", "/", "/cell", "/entry"] {
        let broken = celld_tests::get(address, path).expect_err("the body has no end").to_string();
        assert!(!broken.contains("timed out"), "{path}: {broken}");
        let stream = std::net::TcpStream::connect(address).expect("a connection");
        stream.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        let (mut socket, _) = tungstenite::client(format!("ws://{address}{path}"), stream).expect("it opens");
        socket.send(tungstenite::Message::text("go")).expect("a message is sent");
        let said = socket.read();
        assert!(matches!(said, Ok(tungstenite::Message::Close(Some(_)))), "{path}: {said:?}");
        assert_eq!(dev.get("/fine").body, "fine");
    }
    // Who reads it in the same isolate ends with it, and answers.
    for path in ["/entry/stream", "/entry/read"] {
        assert_eq!(dev.get(path).status, 500, "{path}");
    }
    assert_eq!(dev.get("/fine").body, "fine");
    assert!(dev.stop().success(), "{}", dev.log());
}

/// Uses processor time in slices, none of which is long.
const SLICES: &str = r#"
import { DurableObject } from "cloudflare:workers";

const burn = (ms) => { for (const start = performance.timeOrigin + Date.now(); performance.timeOrigin + Date.now() - start < ms;); };
async function slices(times, ms, pause) {
  for (let i = 0; i < times; i++) {
    burn(ms);
    await new Promise((done) => setTimeout(done, pause));
  }
  return "done";
}
export class Cell extends DurableObject {
  slices(times, ms, pause) { return slices(times, ms, pause); }
}
export default {
  async fetch(request, env) {
    const [, where, times, ms, pause] = new URL(request.url).pathname.split("/");
    if (where === "cell") return new Response(await env.CELL.getByName("a").slices(+times, +ms, +pause));
    return new Response(await slices(+times, +ms, +pause));
  },
};
"#;

#[test]
fn processor_time_adds_up_over_an_events_pauses() {
    let project = with_cells(SLICES, 1000);
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    // Waiting costs nothing.
    assert_eq!(dev.get("/worker/3/50/700").body, "done");
    for (place, words) in [
        ("worker", "Worker exceeded CPU time limit."),
        ("cell", "Durable Object exceeded its CPU time limit and was reset."),
    ] {
        let answer = dev.get(&format!("/{place}/300/60/5"));
        assert_eq!(answer.status, 500, "{place}: {}", answer.body);
        dev.says(words);
        // The next event begins at zero.
        assert_eq!(dev.get(&format!("/{place}/3/60/5")).body, "done", "{place}");
    }
}

/// Code that is nearly always inside of `setTimeout` when it is ended, and code that is ended between two timers that are due.
const TIMERS: &str = r#"
export class Cell {}
const time = (ms) => new Promise((done) => setTimeout(done, ms));
const acts = {
  async set() { for (let i = 0; ; i++) setTimeout(() => {}, 20 + i % 50); },
  async clear() { for (let i = 0; ; i++) clearTimeout(setTimeout(() => {}, 20 + i % 50)); },
  async between() {
    const first = time(20);
    time(20);
    for (const start = Date.now(); Date.now() - start < 40; );
    await first;
    for (;;);
  },
  async callback() {
    await new Promise(() => setTimeout(() => { for (;;); }, 20));
  },
  async inside() {
    const headers = Array.from({ length: 1e5 }, (_, i) => ["x-" + i, "value"]);
    for (;;) new Headers(headers);
  },
  async time() {
    await Promise.all([20, 30, 40, 50].map(time));
    return new Response("on time");
  },
};
export default { fetch(request) { return acts[new URL(request.url).pathname.slice(1)](); } };
"#;

#[test]
fn timers_go_on_after_code_that_was_ended_among_them() {
    let project = with_cells(TIMERS, 150);
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    for _ in 0..4 {
        for act in ["clear", "set", "between", "callback"] {
            assert_eq!(dev.get(&format!("/{act}")).status, 500, "{act}");
            assert_eq!(dev.get("/time").body, "on time", "after {act}");
        }
    }
    // Nearly all of its time is spent in one function of the platform's.
    assert_eq!(dev.get("/inside").status, 500);
    dev.says("new events get a fresh isolate");
    assert_eq!(dev.get("/time").body, "on time");
}

/// Code that hears of an end, or tells of it, and has no end itself.
const HEARERS: &str = r#"
import { DurableObject } from "cloudflare:workers";
export class Cell extends DurableObject {
  spin() { for (;;); }
  fetch() { for (;;); }
  async later() { await scheduler.wait(5); for (;;); }
}
const pull = (controller) => controller.enqueue(new Uint8Array(0));
const acts = {
  async catches(cell) { try { await cell.spin(); } catch { for (;;); } },
  async awaits(cell) { try { await cell.spin(); } catch { for (;;) await null; } },
  async fetches(cell) { try { await cell.fetch("http://cell/"); } catch { for (;;); } },
  async later(cell) { try { await cell.later(); } catch { for (;;); } },
  async again(cell) { for (;;) try { await cell.spin(); } catch {} },
  async hoards(cell) { try { await cell.spin(); } catch { for (const all = []; ; ) all.push({ n: all.length }); } },
  prints() { console.log("%s", { toString() { for (;;); } }); },
  inspects() { console.log({ [Symbol.for("nodejs.util.inspect.custom")]() { for (;;); } }); },
  formats() { Error.prepareStackTrace = () => { for (;;); }; return new Error("x").stack; },
  pumps() { return new Response(new ReadableStream({ pull })); },
  pipes() {
    const { readable, writable } = new TransformStream();
    new ReadableStream({ pull }).pipeTo(writable).catch(() => {});
    return new Response(readable);
  },
  fine() { delete Error.prepareStackTrace; return new Response("fine"); },
};
export default { fetch(request, env) { return acts[new URL(request.url).pathname.slice(1)](env.CELL.getByName("a")); } };
"#;

#[test]
fn what_hears_of_an_end_can_be_ended_too() {
    let project = with_cells(HEARERS, 200);
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    for act in ["catches", "awaits", "fetches", "later", "again", "hoards", "prints", "inspects", "formats"] {
        let answer = dev.get(&format!("/{act}"));
        assert!(answer.status == 500 && !answer.body.contains("null"), "{act}: {answer:?}");
        assert_eq!(dev.get("/fine").body, "fine", "after {act}");
    }
    let address = dev.address();
    for act in ["pumps", "pipes"] {
        let broken =
            celld_tests::get(address, &format!("/{act}")).expect_err("the body has no end").to_string();
        assert!(!broken.contains("timed out") && !broken.contains("temporarily"), "{act}: {broken}");
        assert_eq!(dev.get("/fine").body, "fine", "after {act}");
    }
    assert!(dev.stop().success(), "{}", dev.log());
}

#[test]
fn exports_that_are_looked_at_without_end_are_no_deployment() {
    let project = Project::text("before");
    let mut dev = Dev::ready(project.path(), &[]);
    project.write("src/index.js", "export default { get fetch() { for (;;); } };");
    dev.says("did not finish starting within 10 seconds");
    assert_eq!(dev.get("/").body, "before");
    project.write("src/index.js", r#"export default { fetch: () => new Response("after") };"#);
    dev.becomes("/", "after");
}

/// Promises that nothing will settle, and some that only look like it.
const HUNG: &str = r#"
import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";

const forever = () => new Promise(() => {});
let open = null;
export class Cell extends DurableObject {
  wait() { return new Promise((resolve) => { open = resolve; }); }
  open() { open("opened"); }
  subscribe(callback) { this.callback = callback.dup(); }
  fire() { return this.callback("fired"); }
}
export class Entry extends WorkerEntrypoint {
  forever() { return forever(); }
  loop() { for (;;); }
  fetch(request) { if (request.url.endsWith("/forever")) return forever(); for (;;); }
}
export default {
  async fetch(request, env, ctx) {
    const cell = env.CELL.getByName("a");
    switch (new URL(request.url).pathname) {
      case "/forever": return forever();
      case "/race": return Promise.race([forever(), new Promise((done) => setTimeout(() => done(new Response("timer")), 300))]);
      case "/wait": return new Response(await cell.wait());
      case "/open": await cell.open(); return new Response("ok");
      case "/subscribe": return new Response(await new Promise((resolve) => cell.subscribe((said) => resolve(said))));
      case "/fire": await cell.fire(); return new Response("ok");
      case "/entry/forever": return new Response(await ctx.exports.Entry.forever());
      case "/entry/fetch": return ctx.exports.Entry.fetch("http://entry/forever");
      case "/loop": return new Response(await ctx.exports.Entry.loop());
      case "/loop/fetch": return ctx.exports.Entry.fetch("http://entry/");
      case "/background": ctx.waitUntil(forever()); return new Response("ok");
      case "/body": return new Response(String((await request.arrayBuffer()).byteLength));
      default: return new Response("fine");
    }
  },
};
"#;

#[test]
fn a_request_that_nothing_will_answer_fails_with_node_too() {
    let config = r#"{
      "name": "limits", "main": "src/index.js", "compatibility_date": "2026-05-01", "compatibility_flags": ["nodejs_compat"]
    }"#;
    let source = r#"
      import { setTimeout as sleep } from "node:timers/promises";
      export default {
        async fetch(request) {
          switch (new URL(request.url).pathname) {
            case "/forever": return new Promise(() => {});
            case "/unref": return new Promise((done) => setTimeout(() => done(new Response("unref")), 200).unref());
            case "/promise": return new Response(await sleep(200, "promise", { ref: false }));
            case "/immediate": return new Promise((done) => setImmediate(() => done(new Response("immediate"))).unref());
            case "/signal": return new Promise((done) => AbortSignal.timeout(200).addEventListener("abort", () => done(new Response("signal"))));
          }
        },
      };
    "#;
    let project = Project::new(&[("wrangler.jsonc", config), ("src/index.js", source)]);
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    for _ in 0..2 {
        assert_eq!(dev.get("/forever").status, 500);
        dev.says("your Worker's code had hung and would never");
        for act in ["unref", "promise", "immediate", "signal"] {
            assert_eq!(dev.get(&format!("/{act}")).body, act);
        }
    }
}

#[test]
fn a_request_that_nothing_will_answer_fails() {
    let project = with_cells(HUNG, 500);
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    for _ in 0..2 {
        assert_eq!(dev.get("/forever").status, 500);
        dev.says("your Worker's code had hung and would never");
        assert_eq!(dev.get("/race").body, "timer");
        assert_eq!(dev.get("/background").body, "ok");
    }
    // A cell may wait for its next event, and whoever was handed a function may call it.
    let address = dev.address();
    for (wait, go, answer) in [("/wait", "/open", "opened"), ("/subscribe", "/fire", "fired")] {
        let waits = std::thread::spawn(move || celld_tests::get(address, wait).expect("the node answers"));
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(dev.get(go).body, "ok");
        assert_eq!(waits.join().expect("no panic").body, answer);
    }
    // An entrypoint that is ended answers its caller.
    for path in ["/loop", "/loop/fetch"] {
        assert_eq!(dev.get(path).status, 500, "{path}");
        dev.says("Worker exceeded CPU time limit.");
    }
}

/// A Worker and a cell that misuse what they are given in every way; `/ok` and the cell `good` are their neighbours.
const MISUSE: &str = r#"
import { DurableObject } from "cloudflare:workers";

const acts = {
  ok: () => "ok",
  loop: () => { for (;;); },
  async microtasks() { for (;;) await null; },
  recursion: () => { const f = (n) => f(n + 1) + 1; return f(0); },
  string: () => "x".repeat(1 << 28).repeat(4).length,
  regexp: () => /^(a+)+$/.test("a".repeat(50) + "b"),
  async timers() {
    await Promise.all(Array.from({ length: 10_000 }, (_, i) => new Promise((done) => setTimeout(done, i % 50))));
    return "10000 timers";
  },
  quota: () => { for (;;) setTimeout(() => {}, 60_000); },
  json: () => JSON.parse("[".repeat(10_000_000)),
  arrays: () => { for (;;) new Array(1000).fill(1.5); },
  sort: () => { for (;;) Array.from({ length: 1e5 }, (_, i) => -i).sort(); },
};

export class Cell extends DurableObject {
  count() { const n = (this.ctx.storage.kv.get("n") ?? 0) + 1; this.ctx.storage.kv.put("n", n); return n; }
  async act(name) {
    this.ctx.storage.kv.put("lost", name);
    if (name !== "query") return acts[name]();
    const endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT count(*) FROM c";
    return this.ctx.storage.sql.exec(endless).toArray();
  }
  lost() { return this.ctx.storage.kv.get("lost") ?? null; }
}

export default {
  async fetch(request, env) {
    const [, where, name] = new URL(request.url).pathname.split("/");
    try {
      if (where === "count") return new Response(await env.CELL.getByName("good").count());
      if (where === "lost") return Response.json(await env.CELL.getByName(name).lost());
      if (where === "cell") return new Response(await env.CELL.getByName(name).act(name));
    } catch (error) {
      return new Response(`${error.name}: ${error.message}`, { status: 599 });
    }
    return new Response(await acts[name]());
  },
};
"#;

#[test]
fn code_that_runs_away_fails_alone_and_with_the_platforms_words() {
    let project = with_cells(MISUSE, 1000);
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    let mut counted = 0;
    for act in
        ["query", "loop", "microtasks", "regexp", "arrays", "sort", "recursion", "string", "json", "quota"]
    {
        if act != "query" {
            assert_eq!(dev.get(&format!("/worker/{act}")).status, 500, "{act}");
        }
        let of_cell = dev.get(&format!("/cell/{act}"));
        // V8 drops every microtask that waits, so a caller in the same isolate cannot go on either. What V8 and SQLite do by themselves is
        // ended when it comes back, which may be in the next microtask.
        if act == "microtasks" || (["query", "json"].contains(&act) && of_cell.status == 500) {
            assert_eq!(of_cell.status, 500, "{act}: {}", of_cell.body);
            continue;
        }
        assert_eq!(of_cell.status, 599, "{act}: {}", of_cell.body);
        let expected = match act {
            "recursion" => "RangeError: Maximum call stack size exceeded",
            "string" => "RangeError: Invalid string length",
            "json" | "query" => "",
            "quota" => "QuotaExceededError: You have exceeded the number of active timeouts you may set.",
            _ => "Error: Durable Object exceeded its CPU time limit and was reset.",
        };
        assert!(of_cell.body.starts_with(expected), "{act}: {}", of_cell.body);
        // The neighbours have not noticed, and the cell itself goes on; what it wrote in the same turn is gone with it.
        counted += 1;
        assert_eq!(dev.get("/count").body, counted.to_string(), "{act}");
        assert_eq!(dev.get("/worker/ok").body, "ok", "{act}");
        if expected.starts_with("Error: Durable Object exceeded") {
            assert_eq!(dev.get(&format!("/lost/{act}")).body, "null", "{act}");
        }
    }
    dev.says("Worker exceeded CPU time limit.");
    assert_eq!(dev.get("/worker/timers").body, "10000 timers");
    assert_eq!(dev.get("/cell/timers").body, "10000 timers");
    assert!(dev.stop().success(), "{}", dev.log());
}
