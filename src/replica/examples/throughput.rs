//! Durable commits per second with the log in a local directory, as in `celld dev`:
//!
//!     cargo run --release -p celld-replica --example throughput -- DIRECTORY [SECONDS]
//!
//! Each cell commits two pages of text, waits until they are durable, and commits again. Folding and compaction run as they do
//! in a node. The directory must be empty or absent, and on the disk that is to be measured.

use std::time::Duration;

use anyhow::{Context, Result};
use celld_bucket::Bucket;
use celld_ids::{CellScope, Epoch, SessionId};
use celld_ltx::{PAGE_SIZE, Page, Txid};
use celld_replica::{AlarmChange, CellTx, LogOptions, SessionLog};
use tokio::task::JoinSet;
use tokio::time::Instant;

#[tokio::main]
async fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let directory = arguments.next().context("usage: throughput DIRECTORY [SECONDS]")?;
    let seconds = arguments.next().map_or(Ok(5), |seconds| seconds.parse()).context("SECONDS is a number")?;
    let bucket = Bucket::local(&directory)?;
    println!("{:>6} {:>12} {:>10} {:>10}", "cells", "commits/s", "p50 ms", "p99 ms");
    for cells in [1, 16, 64, 256, 1000] {
        let session = SessionId::new(&format!("throughput-{cells}.1"))?;
        let log = SessionLog::start(bucket.clone(), session, LogOptions::default()).await?;
        let start = Instant::now();
        let until = start + Duration::from_secs(seconds);
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
        let at = |part: usize| {
            latencies[(latencies.len() * part / 100).min(latencies.len() - 1)].as_secs_f64() * 1e3
        };
        println!("{cells:>6} {:>12.0} {:>10.2} {:>10.2}", latencies.len() as f64 / took, at(50), at(99));
        log.close().await?;
    }
    Ok(())
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
