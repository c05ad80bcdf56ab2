//! Requests and answers: streaming, limits, calls into cells, a graceful stop.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::{Duration, Instant};

use celld_tests::{Dev, PATIENCE, Project, celld, get, request};

/// Starts `celld dev` with settings of the environment.
fn with(project: &Project, settings: &[(&str, &str)]) -> Dev {
    let mut command = celld();
    command.args(["dev", "--port", "0", "--no-watch"]).arg(project.path());
    command.envs(settings.iter().copied());
    let mut dev = Dev::spawn(command);
    dev.address();
    dev
}

fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the node accepts");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout can be set");
    stream
}

#[test]
fn bodies_stream_both_ways() {
    let project = Project::worker(
        r#"export default {
          fetch(request) {
            const upper = new TransformStream({
              transform(chunk, controller) {
                controller.enqueue(new TextEncoder().encode(new TextDecoder().decode(chunk).toUpperCase()));
              },
            });
            return new Response(request.body.pipeThrough(upper));
          },
        };"#,
    );
    let mut dev = Dev::ready(project.path(), &[]);
    let mut stream = connect(dev.address());
    stream
        .write_all(b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n3\r\none\r\n")
        .expect("the request can be sent");
    let mut answer = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
    let mut line = String::new();
    while line != "ONE\r\n" {
        line.clear();
        answer.read_line(&mut line).expect("the first chunk comes back before the request has ended");
        assert_ne!(line, "", "the connection ended");
    }
    stream.write_all(b"3\r\ntwo\r\n0\r\n\r\n").expect("the rest can be sent");
    let mut rest = String::new();
    while !rest.contains("TWO") {
        answer.read_line(&mut rest).expect("the second chunk comes back");
    }
}

/// A body that was looked at and not read is over with the answer: whoever reads it later is told so, and the connection goes on or ends.
#[test]
fn a_body_that_nobody_reads_holds_nothing_up() {
    let project = Project::worker(
        r#"let late = "nothing yet";
        export default {
          async fetch(request, env, ctx) {
            const { pathname } = new URL(request.url);
            if (pathname === "/late") return new Response(late);
            if (pathname === "/read") return new Response(await request.text());
            const body = request.body;
            ctx.waitUntil((async () => {
              try { late = await new Response(body).text(); } catch (error) { late = String(error); }
            })());
            return new Response("answered");
          },
        };"#,
    );
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    let address = dev.address();
    let mut stream = connect(address);
    stream
        .write_all(b"POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\n1234")
        .expect("the request can be sent");
    let mut answer = BufReader::new(stream.try_clone().expect("a socket can be cloned"));
    let mut text = String::new();
    while !text.contains("answered") {
        assert_ne!(answer.read_line(&mut text).expect("the answer comes"), 0, "{text}");
        if text.ends_with("\r\n\r\n") {
            let mut body = [0; 8];
            answer.read_exact(&mut body).expect("the body comes");
            text.push_str(&String::from_utf8_lossy(&body));
        }
    }
    // The rest may find the connection closed; it may not find it silent.
    let _ = stream.write_all(b"567890GET /late HTTP/1.1\r\nhost: x\r\n\r\n");
    let mut next = String::new();
    let _ = answer.read_line(&mut next);
    assert!(next.is_empty() || next.starts_with("HTTP/1.1 200"), "{next}");
    let late = celld_tests::eventually("the late reader is told", || {
        get(address, "/late").ok().map(|answer| answer.body).filter(|late| late != "nothing yet")
    });
    assert_eq!(late, "TypeError: Can't read from request stream after response has been sent.");
    let whole = celld_tests::post(address, "/read", "all of it").expect("the node answers");
    assert_eq!(whole.body, "all of it");
}

#[test]
fn a_reader_that_stops_reading_stops_the_writer() {
    let project = Project::worker(
        r#"let made = 0;
        export default {
          fetch(request) {
            if (new URL(request.url).pathname === "/made") return new Response(String(made));
            return new Response(new ReadableStream({
              pull(controller) { made++; controller.enqueue(new Uint8Array(65536)); },
            }));
          },
        };"#,
    );
    // One shard, so that `made` is one variable.
    let mut dev = with(&project, &[("CELLD_SHARDS", "1")]);
    let address = dev.address();
    let mut stream = connect(address);
    stream.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n").expect("the request can be sent");
    stream.read_exact(&mut [0; 1024]).expect("the answer begins");
    let made = || get(address, "/made").expect("the node answers").body.parse::<u64>().expect("a number");
    let mut before = made();
    let settled = Instant::now();
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = made();
        if now == before {
            break;
        }
        assert!(settled.elapsed() < PATIENCE, "the stream was never held up");
        before = now;
    }
    assert!(before < 2000, "{before} chunks of 64 KiB were made for a client that read one kilobyte");
}

#[test]
fn a_body_over_the_limit_is_refused() {
    let project = Project::worker(
        "export default { async fetch(r) { return new Response(String((await r.text()).length)); } };",
    );
    let mut dev = with(&project, &[("CELLD_MAX_REQUEST_BODY_BYTES", "1000")]);
    let address = dev.address();
    assert_eq!(request(address, "POST", "/", &"x".repeat(1000)).expect("an answer").body, "1000");
    assert_eq!(request(address, "POST", "/", &"x".repeat(1001)).expect("an answer").status, 413);
}

const COUNTER: &str = r#"
import { DurableObject } from "cloudflare:workers";
export class Cell extends DurableObject {
  async increment() {
    // Reads and writes that other events must not come between.
    const n = (await this.ctx.storage.get("n")) ?? 0;
    await null;
    await this.ctx.storage.put("n", n + 1);
    return n + 1;
  }
  fail(kind) {
    if (kind === "range") throw new RangeError("out of range");
    throw Object.assign(new Error("plain"), { custom: 1 });
  }
  echo(...args) { return args; }
  async fetch(request) {
    const url = new URL(request.url);
    if (url.pathname === "/slow") { await new Promise((r) => setTimeout(r, 1000)); return new Response("slow"); }
    return new Response(`${request.method} ${request.headers.get("x-a")} ${await request.text()}`, {
      status: 201, headers: { "x-b": "b" },
    });
  }
}
export default {
  async fetch(request, env) {
    const url = new URL(request.url);
    const cell = env.CELL.getByName(url.searchParams.get("name") ?? "a");
    switch (url.pathname) {
      case "/increment": return new Response(String(await cell.increment()));
      case "/fail":
        try { await cell.fail(url.searchParams.get("kind")); } catch (e) {
          return Response.json({ name: e.name, message: e.message, range: e instanceof RangeError, remote: e.remote });
        }
        return new Response("no error");
      case "/echo": {
        const [map, date, bytes] = await cell.echo(new Map([["k", [1n]]]), new Date(5), new Uint8Array([1, 2]));
        return new Response(`${map instanceof Map} ${map.get("k")[0]} ${date.getTime()} ${bytes.byteLength}`);
      }
      case "/missing":
        try { await cell.nothingOfTheKind(); } catch (e) { return new Response(`${e.name}: ${e.message}`); }
        return new Response("no error");
      default: return cell.fetch(request);
    }
  },
};
"#;

fn cells() -> Project {
    let project = Project::worker(COUNTER);
    project.write(
        "wrangler.json",
        r#"{ "name": "cells", "main": "src/index.js", "compatibility_date": "2026-01-01",
             "durable_objects": { "bindings": [{ "name": "CELL", "class_name": "Cell" }] },
             "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Cell"] }] }"#,
    );
    project
}

fn body(address: SocketAddr, path: &str) -> String {
    get(address, path).expect("an answer").body
}

/// Names that lie on different shards, whatever the hash is.
const NAMES: [&str; 8] = ["a", "b", "c", "d", "e", "f", "g", "h"];

#[test]
fn calls_reach_cells_on_every_shard() {
    let project = cells();
    let mut dev = with(&project, &[("CELLD_SHARDS", "3")]);
    let address = dev.address();
    for name in NAMES {
        let at = |path: &str| format!("{path}?name={name}");
        let get = |path: &str| body(address, &at(path));
        let fetched = request(address, "POST", &at("/any"), "body").expect("an answer");
        assert_eq!((fetched.status, fetched.body.as_str()), (201, "POST null body"), "{name}");
        assert_eq!(fetched.header("x-b"), Some("b"));
        assert_eq!(get("/increment"), "1");
        assert_eq!(get("/increment"), "2");
        assert_eq!(get("/echo"), "true 1 5 2");
        assert_eq!(get("/fail"), r#"{"name":"Error","message":"plain","range":false,"remote":true}"#);
        let range = body(address, &format!("/fail?kind=range&name={name}"));
        assert_eq!(range, r#"{"name":"RangeError","message":"out of range","range":true,"remote":true}"#);
        assert_eq!(
            get("/missing"),
            r#"TypeError: The RPC receiver does not implement the method "nothingOfTheKind"."#
        );
    }
}

#[test]
fn concurrent_events_of_a_cell_lose_no_update() {
    let project = cells();
    let mut dev = with(&project, &[("CELLD_SHARDS", "2")]);
    let address = dev.address();
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                for _ in 0..25 {
                    assert_eq!(get(address, "/increment").expect("an answer").status, 200);
                }
            });
        }
    });
    assert_eq!(get(address, "/increment").expect("an answer").body, "401");
}

#[test]
fn a_cell_that_is_full_says_so_before_it_starts_anything() {
    let project = cells();
    let mut dev = with(&project, &[("CELLD_MAX_CELL_REQUESTS", "2"), ("CELLD_SHARDS", "2")]);
    let address = dev.address();
    for name in ["a", "b"] {
        let answers: Vec<_> = std::thread::scope(|scope| {
            let all: Vec<_> = (0..4)
                .map(|_| scope.spawn(move || get(address, &format!("/slow?name={name}")).expect("an answer")))
                .collect();
            all.into_iter().map(|one| one.join().expect("no panic")).collect()
        });
        let refused: Vec<_> = answers.iter().filter(|a| a.status == 503).collect();
        assert_eq!(refused.len(), 2, "{name}");
        assert!(refused.iter().all(|a| a.header("retry-after") == Some("1")));
        assert!(refused.iter().all(|a| a.header("x-celld-overload") == Some("cell")));
    }
}

#[test]
fn a_stop_lets_requests_finish() {
    let project = cells();
    let mut dev = with(&project, &[]);
    let address = dev.address();
    let slow = std::thread::spawn(move || get(address, "/slow"));
    std::thread::sleep(Duration::from_millis(300));
    assert!(dev.stop().success());
    assert_eq!(slow.join().expect("no panic").expect("an answer").body, "slow");
}

#[test]
fn health_is_the_nodes_own_answer() {
    let project = Project::text("everything");
    let mut dev = Dev::ready(project.path(), &[]);
    let health = dev.get("/.well-known/celld/health");
    assert_eq!((health.status, health.body.as_str()), (200, "ok\n"));
    assert_eq!(dev.get("/.well-known/other").body, "everything");
}

#[test]
fn the_internal_listener_is_closed_to_user_code() {
    let project = Project::worker(
        r#"export default {
          async fetch(request) {
            const target = new URL(request.url).searchParams.get("target");
            try { return new Response(await (await fetch(target)).text()); } catch (e) { return new Response(`refused: ${e.message}`); }
          },
        };"#,
    );
    let mut dev = with(&project, &[]);
    let address = dev.address();
    // Every listener of the node but the public one is the internal one.
    let node = format!("/proc/{}/net/tcp", dev.node().as_raw_nonzero());
    let table = std::fs::read_to_string(node).expect("the node's sockets can be read");
    let inodes: Vec<String> = std::fs::read_dir(format!("/proc/{}/fd", dev.node().as_raw_nonzero()))
        .expect("the node's files can be listed")
        .filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok())
        .filter_map(|link| Some(link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.to_owned()))
        .collect();
    let ports = table.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let listens =
            fields.get(3) == Some(&"0A") && inodes.iter().any(|i| Some(&i.as_str()) == fields.get(9));
        let port = u16::from_str_radix(fields.get(1)?.split(':').nth(1)?, 16).ok()?;
        (listens && port != address.port()).then_some(port)
    });
    let ports: Vec<u16> = ports.collect();
    assert_eq!(ports.len(), 1, "{ports:?}");
    let hosts = [
        "127.0.0.1",
        "localhost",
        "0.0.0.0",
        "0",
        "127.1",
        "[::1]",
        "[::]",
        "[::ffff:0:0]",
        "[::ffff:127.0.0.1]",
    ];
    for host in hosts {
        let answer = get(address, &format!("/?target=http://{host}:{}/state", ports[0])).expect("an answer");
        assert!(answer.body.starts_with("refused"), "{host}: {}", answer.body);
    }
}

#[test]
fn small_promises_of_the_platform() {
    let project = Project::worker(
        r#"import { DurableObject } from "cloudflare:workers";
        export class Cell extends DurableObject {
          own = "own";
          get shared() { return { a: [1] }; }
        }
        const answers = {
          "/equals": (env) => env.CELL.idFromName("a").equals(env.CELL.idFromName("a")),
          "/atob": () => { try { atob("*"); } catch (e) { return `${e instanceof DOMException} ${e.name}`; } },
          "/random": () => { try { crypto.getRandomValues(new Uint8Array(70000)); } catch (e) { return e.name; } },
          "/variable": () => process.env.NAME,
          "/property": async (env) => JSON.stringify(await env.CELL.getByName("a").shared),
          "/own": async (env) => { try { return await env.CELL.getByName("a").own; } catch (e) { return e.name; } },
        };
        export default {
          async fetch(request, env) {
            const path = new URL(request.url).pathname;
            if (path === "/length") return new Response("abc", { headers: { "content-length": "10" } });
            if (path === "/used") { const used = new Response("b"); await used.text(); return used; }
            return new Response(String(await answers[path](env)));
          },
        };"#,
    );
    project.write(
        "wrangler.json",
        r#"{ "name": "cells", "main": "src/index.js", "compatibility_date": "2026-01-01",
             "compatibility_flags": ["nodejs_compat"], "vars": { "NAME": "value" },
             "durable_objects": { "bindings": [{ "name": "CELL", "class_name": "Cell" }] },
             "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Cell"] }] }"#,
    );
    let mut dev = with(&project, &[]);
    for (path, expected) in [
        ("/equals", "true"),
        ("/atob", "true InvalidCharacterError"),
        ("/random", "QuotaExceededError"),
        ("/variable", "value"),
        ("/property", r#"{"a":[1]}"#),
        ("/own", "TypeError"),
        ("/length", "abc"),
    ] {
        assert_eq!(dev.get(path).body, expected, "{path}");
    }
    assert_eq!(dev.get("/used").status, 500);
    dev.says("Body has already been used");
}

#[test]
fn a_worker_that_handles_nothing_replaces_nothing() {
    let project = Project::text("before");
    let mut dev = Dev::ready(project.path(), &[]);
    project.write("src/index.js", "export const x = 1;");
    dev.says("no event handlers");
    assert_eq!(dev.get("/").body, "before");
}

#[test]
fn what_is_thrown_in_a_timer_is_logged_with_the_users_frames() {
    let project = Project::worker(
        r#"import { DurableObject } from "cloudflare:workers";
        export class Cell extends DurableObject {
          fetch(request) {
            setTimeout(() => this.ctx.abort("an abort"), 1);
            return new Response("before");
          }
        }
        export default {
          fetch(request, env) {
            if (new URL(request.url).pathname === "/abort") return env.CELL.getByName("a").fetch(request);
            setTimeout(function mine() { throw Object.assign(new TypeError("a mistake"), { code: 7 }); }, 20);
            return new Response("before");
          },
        };"#,
    );
    project.write(
        "wrangler.json",
        r#"{ "name": "cells", "main": "src/index.js", "compatibility_date": "2026-01-01",
             "durable_objects": { "bindings": [{ "name": "CELL", "class_name": "Cell" }] },
             "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Cell"] }] }"#,
    );
    let mut dev = with(&project, &[]);
    for path in ["/abort", "/"] {
        assert_eq!(dev.get(path).body, "before", "{path}");
    }
    dev.says("code: 7");
    let log = dev.log();
    assert!(
        log.contains("Uncaught TypeError: a mistake\n") && log.contains("at mine (src/index.js:"),
        "{log}"
    );
    // An abort is no mistake, and the platform's functions are not the user's.
    assert!(!log.contains("an abort") && !log.contains("ext:"), "{log}");
}
