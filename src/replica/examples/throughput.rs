//! Durable commits per second, their latency, and what they cost in objects:
//!
//!     cargo run --release -p celld-replica --example throughput -- store          a store that answers after 20 ms
//!     cargo run --release -p celld-replica --example throughput -- tail           the same with jitter and a heavy tail
//!     cargo run --release -p celld-replica --example throughput -- disk DIRECTORY a directory, as in `celld dev`
//!
//! `--seconds N` measures each line for N seconds (default: 5).
//!
//! Each cell commits two pages of text, waits until they are durable, and commits again. Folding and compaction run as they do
//! in a node. The directory must be empty or absent, and on the disk that is to be measured. Run it on a quiet machine.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use celld_bucket::{Bucket, Fate, Faults};
use celld_ids::{CellScope, Epoch, SessionId};
use celld_ltx::{PAGE_SIZE, Page, Txid};
use celld_replica::{AlarmChange, CellTx, LogOptions, SessionLog};
use tokio::task::JoinSet;
use tokio::time::Instant;

#[tokio::main]
async fn main() -> Result<()> {
    let mut seconds = 5;
    let mut words = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--seconds" {
            seconds = arguments.next().context("--seconds needs a number")?.parse()?;
        } else {
            words.push(argument);
        }
    }
    let bench = Bench { time: Duration::from_secs(seconds) };
    let latency = Duration::from_millis(20);
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["store"] => {
            let faults = Faults { latency, ..Faults::default() };
            bench.table("20 ms", &Bucket::in_memory().with_faults(faults), true).await
        }
        ["tail"] => {
            let (jitter, tail_by) = (Duration::from_millis(5), Duration::from_millis(500));
            let faults = Faults { latency, jitter, tail: 0.01, tail_by, ..Faults::default() };
            for hedge in [false, true] {
                let what = if hedge { "heavy tail, hedged" } else { "heavy tail, not hedged" };
                bench.table(what, &Bucket::in_memory().with_faults(faults.clone()), hedge).await?;
            }
            Ok(())
        }
        ["disk", directory] => bench.table("disk", &Bucket::local(directory)?, true).await,
        _ => bail!("usage: throughput store | tail | disk DIRECTORY  [--seconds N]"),
    }
}

struct Bench {
    /// How long each line is measured.
    time: Duration,
}

/// What one number of cells came to.
struct Line {
    rate: f64,
    p50: f64,
    p99: f64,
    creates: f64,
}

impl Bench {
    async fn table(&self, what: &str, store: &Bucket, hedge: bool) -> Result<()> {
        let usual = usual(store).await?;
        println!("{what}: one create takes {:.2} ms", usual * 1e3);
        println!(
            "{:>6} {:>11} {:>9} {:>9} {:>8} {:>9} {:>12}",
            "cells", "commits/s", "p50 ms", "p99 ms", "p50/L", "x 1 cell", "creates/ack"
        );
        let mut one = None;
        for cells in [1, 16, 64, 256, 1000] {
            let line = self.line(store, cells, hedge).await?;
            let times = line.rate / *one.get_or_insert(line.rate);
            println!(
                "{cells:>6} {:>11.0} {:>9.2} {:>9.2} {:>8.2} {times:>9.1} {:>12.4}",
                line.rate,
                line.p50 * 1e3,
                line.p99 * 1e3,
                line.p50 / usual,
                line.creates
            );
        }
        Ok(())
    }

    async fn line(&self, store: &Bucket, cells: usize, hedge: bool) -> Result<Line> {
        let session = SessionId::new(&format!("throughput-{cells}.1"))?;
        let creates = Arc::new(AtomicU64::new(0));
        // A directory is measured as it is: its log is written without detours.
        let bucket = if store.is_on_disk() { store.clone() } else { counted(store, &creates) };
        let log = SessionLog::start(bucket, session, LogOptions { hedge, ..LogOptions::default() }).await?;
        let start = Instant::now();
        let until = start + self.time;
        let mut running = JoinSet::new();
        for cell in 0..cells {
            running.spawn(run(log.clone(), CellScope::new("Cell", format!("{cells}-{cell}"))?, until));
        }
        let mut latencies = Vec::new();
        while let Some(done) = running.join_next().await {
            latencies.extend(done??);
        }
        let took = start.elapsed().as_secs_f64();
        latencies.sort_unstable();
        let at =
            |part: usize| latencies[(latencies.len() * part / 100).min(latencies.len() - 1)].as_secs_f64();
        let creates = creates.load(Ordering::Relaxed).max(log.entries());
        let count = latencies.len() as f64;
        let line = Line { rate: count / took, p50: at(50), p99: at(99), creates: creates as f64 / count };
        log.close().await?;
        Ok(line)
    }
}

/// `store`, with the creates of log entries counted.
fn counted(store: &Bucket, creates: &Arc<AtomicU64>) -> Bucket {
    let creates = creates.clone();
    store.with_fates(move |verb, key| {
        creates.fetch_add(u64::from(verb == "create" && key.starts_with("log/")), Ordering::Relaxed);
        Fate::Good
    })
}

/// The median time of a create, in seconds.
async fn usual(store: &Bucket) -> Result<f64> {
    let mut times = Vec::new();
    for i in 0..51 {
        let start = Instant::now();
        if !store.create(&format!("usual/{i}"), vec![7; 1500].into()).await.is_done() {
            bail!("{store} is not empty, or does not work");
        }
        times.push(start.elapsed().as_secs_f64());
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// One cell. Returns how long each of its commits took.
async fn run(log: SessionLog, scope: CellScope, until: Instant) -> Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    let mut txid = Txid(0);
    while latencies.is_empty() || Instant::now() < until {
        txid = txid.next();
        let text = format!("{{\"cell\":\"{scope}\",\"count\":{},\"note\":\"a row\"}}\n", txid.0);
        let data: Vec<u8> = text.bytes().cycle().take(PAGE_SIZE).collect();
        let pages = (1..=2).map(|pgno| Page { pgno, data: data.clone().into() }).collect();
        let start = Instant::now();
        let position = log.append(CellTx {
            scope: scope.clone(),
            epoch: Epoch::FIRST,
            txid,
            commit: 2,
            pages,
            timestamp_ms: 0,
            alarm: AlarmChange::Unchanged,
        });
        log.wait(position).await?;
        latencies.push(start.elapsed());
    }
    Ok(latencies)
}
