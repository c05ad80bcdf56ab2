//! `kill -9` at random moments under load, with nothing left but the bucket: every acknowledged write is there afterwards.
//!
//! `CELLD_CRASH_SEED` chooses another sequence of crashes, `CELLD_CRASHES` how many there are.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};
use std::{fs, thread};

use celld_tests::{Dev, PATIENCE, Project, Response, eventually, get, request};
use rustix::process::{Signal, kill_process};

/// `PUT /CELL` counts one more and answers the new number, `GET /CELL` the number and what SQLite thinks of the file.
///
/// Cells named `kv…` count in one value, with a read and a write that only an input gate keeps together; the others in rows,
/// whose payload makes the database outgrow memory.
const WORKER: &str = r#"
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

const CONFIG: &str = r#"{
  "name": "crash", "main": "src/index.js", "compatibility_date": "2026-01-01",
  "durable_objects": { "bindings": [{ "name": "COUNTER", "class_name": "Counter" }] },
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Counter"] }]
}"#;

const CELLS: [&str; 6] = ["/kv-a", "/kv-b", "/kv-c", "/rows-a", "/rows-b", "/rows-c"];
const CLIENTS: usize = 4;

/// Acknowledged increments at least, whatever the machine.
const ENOUGH: u64 = 200;

#[test]
fn what_was_acknowledged_survives_kill_9() {
    let random = Random(AtomicU64::new(number("CELLD_CRASH_SEED", 1)));
    let crashes = number("CELLD_CRASHES", 24);
    let project = Project::new(&[("wrangler.jsonc", CONFIG), ("src/index.js", WORKER)]);
    let load = Load::default();

    let mut dev = thread::scope(|scope| {
        for _ in 0..CLIENTS {
            scope.spawn(|| load.run(&random));
        }
        // However it ends, the clients end too.
        let _over = Over(&load.over);
        let mut dev = Dev::start(project.path(), &[]);
        for crash in 1..=crashes {
            // Some crashes hit the start, in which the log of the crash before is sealed; most hit the load.
            if crash % 20 == 10 {
                // Long enough for the node's own fold, which comes 10 s after the first entry, and for compaction.
                load.aim(Some(dev.address()));
                thread::sleep(Duration::from_millis(9_800 + random.below(1_000)));
            } else if random.below(4) > 0 {
                load.aim(Some(dev.address()));
                load.wait(random.below(60) + 1);
                thread::sleep(Duration::from_millis(random.below(20)));
            } else {
                thread::sleep(Duration::from_millis(random.below(600)));
            }
            if crash % 4 == 0 {
                // The supervisor survives and starts another node on the same listener.
                kill(&dev);
                continue;
            }
            // Requests that are on their way meet the crash; no more are sent to a port that may belong to somebody else then.
            load.aim(None);
            if random.below(2) == 0 {
                kill(&dev);
            }
            dev.signal(Signal::KILL);
            dev.ended();
            lose_all_but_the_bucket(&project);
            dev = Dev::start(project.path(), &[]);
        }
        load.aim(Some(dev.address()));
        load.wait(ENOUGH.saturating_sub(load.acknowledged()).max(1));
        dev
    });

    let counts = load.check(&mut dev);
    println!(
        "{crashes} crashes, {} increments acknowledged of {}: {counts:?}",
        load.acknowledged(),
        load.sent()
    );
    assert!(dev.stop().success(), "{}", dev.log());
    lose_all_but_the_bucket(&project);
    assert_eq!(load.check(&mut Dev::ready(project.path(), &[])), counts, "over a clean stop");
}

/// Kills the node process alone, if it gets as far as having one.
fn kill(dev: &Dev) {
    // It may have ended by itself between the two.
    let _ = kill_process(dev.node(), Signal::KILL);
}

fn lose_all_but_the_bucket(project: &Project) {
    // A process that was killed a moment ago may still write its last file.
    eventually("the local state is deleted", || {
        for entry in fs::read_dir(project.file(".celld/dev")).ok()? {
            let path = entry.ok()?.path();
            if path.is_dir() && !path.ends_with("bucket") {
                fs::remove_dir_all(path).ok()?;
            } else if path.is_file() {
                fs::remove_file(path).ok()?;
            }
        }
        Some(())
    });
}

fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |value| value.parse().expect("a number"))
}

/// SplitMix64, shared by all threads: the seed chooses the moments, the machine the interleaving.
struct Random(AtomicU64);

impl Random {
    fn below(&self, bound: u64) -> u64 {
        let mut z = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

struct Over<'a>(&'a AtomicBool);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The clients, and what they know.
#[derive(Default)]
struct Load {
    /// Where the application is served; `None` while it is not.
    address: Mutex<Option<SocketAddr>>,
    over: AtomicBool,
    cells: [Cell; CELLS.len()],
    /// The proof that an acknowledged increment was lost.
    lost: Mutex<Option<String>>,
}

/// What the clients know of one cell.
#[derive(Default)]
struct Cell {
    sent: AtomicU64,
    /// The numbers that were answered, each of which is one increment.
    acknowledged: Mutex<HashSet<u64>>,
}

impl Load {
    fn aim(&self, address: Option<SocketAddr>) {
        *self.address.lock().expect("no panic under the lock") = address;
    }

    fn acknowledged(&self) -> u64 {
        self.cells.iter().map(Cell::acknowledged).sum()
    }

    fn sent(&self) -> u64 {
        self.cells.iter().map(|cell| cell.sent.load(Ordering::Relaxed)).sum()
    }

    /// Waits for `count` more acknowledgements.
    fn wait(&self, count: u64) {
        let wanted = self.acknowledged() + count;
        let deadline = Instant::now() + PATIENCE;
        while self.acknowledged() < wanted {
            self.assert_nothing_lost();
            assert!(Instant::now() < deadline, "the application acknowledges nothing");
            thread::sleep(Duration::from_millis(1));
        }
    }

    fn assert_nothing_lost(&self) {
        let lost = self.lost.lock().expect("no panic under the lock").clone();
        assert!(lost.is_none(), "an acknowledged increment was lost: {lost:?}");
    }

    /// One client: one increment after the other, each of some cell.
    fn run(&self, random: &Random) {
        while !self.over.load(Ordering::Relaxed) {
            let at = random.below(CELLS.len() as u64) as usize;
            let address = *self.address.lock().expect("no panic under the lock");
            let Some(address) = address else {
                thread::sleep(Duration::from_millis(5));
                continue;
            };
            let cell = &self.cells[at];
            cell.sent.fetch_add(1, Ordering::Relaxed);
            match request(address, "PUT", CELLS[at], "") {
                Ok(answer) if answer.status == 200 => {
                    if !cell.acknowledge(&answer) {
                        let lost =
                            format!("{} has answered the same number twice: {}", CELLS[at], answer.body);
                        *self.lost.lock().expect("no panic under the lock") = Some(lost);
                        return;
                    }
                }
                // Refused, cut off, or nobody there: it may have happened or not.
                _ => thread::sleep(Duration::from_millis(5)),
            }
        }
    }

    /// Compares every cell with what the clients know of it, and returns the cells' numbers.
    fn check(&self, dev: &mut Dev) -> Vec<u64> {
        self.assert_nothing_lost();
        let check = |(name, cell): (&&str, &Cell)| {
            let answer = eventually(&format!("{name} can be read"), || {
                get(dev.address(), name).ok().filter(|answer| answer.status == 200)
            });
            let value = answer.json()["value"].as_u64().unwrap_or_default();
            let highest = cell.acknowledged.lock().expect("no panic under the lock").iter().max().copied();
            let (acknowledged, sent) = (cell.acknowledged(), cell.sent.load(Ordering::Relaxed));
            let context = format!(
                "{name} is at {value}: {acknowledged} acknowledged up to {highest:?}, {sent} sent\n{}",
                dev.log()
            );
            assert_eq!(answer.json()["check"], "ok", "{context}");
            assert!(value >= acknowledged.max(highest.unwrap_or(0)) && value <= sent, "{context}");
            value
        };
        CELLS.iter().zip(&self.cells).map(check).collect()
    }
}

impl Cell {
    fn acknowledged(&self) -> u64 {
        self.acknowledged.lock().expect("no panic under the lock").len() as u64
    }

    /// `false` when another increment was acknowledged with the same number.
    fn acknowledge(&self, answer: &Response) -> bool {
        let value = answer.json()["value"].as_u64().unwrap_or_default();
        self.acknowledged.lock().expect("no panic under the lock").insert(value)
    }
}
