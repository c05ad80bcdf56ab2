//! What one operation on a directory bucket costs: `cargo run --release -p celld-bucket --example local_cost -- DIR`.

use std::time::{Duration, Instant};

use bytes::Bytes;
use celld_bucket::Bucket;

const ROUNDS: usize = 500;

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort();
    println!("{name:<24} p50 {:>8.1?}  p99 {:>8.1?}", times[times.len() / 2], times[times.len() * 99 / 100]);
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let dir =
        std::env::args().nth(1).ok_or("usage: local_cost DIR (a new directory on the disk to measure)")?;
    let bucket = Bucket::local(&dir)?;
    let body = Bytes::from(vec![7; 4096]);
    let (mut creates, mut updates, mut reads) = (Vec::new(), Vec::new(), Vec::new());
    let mut version = bucket.put("record", body.clone()).await?;
    for i in 0..ROUNDS {
        let start = Instant::now();
        let outcome = bucket.create(&format!("log/session/{i:08}"), body.clone()).await;
        creates.push(start.elapsed());
        outcome.done().ok_or("a create was not done; give a new directory")?;
        let start = Instant::now();
        version =
            bucket.update("record", body.clone(), &version).await.done().ok_or("an update was not done")?;
        updates.push(start.elapsed());
        let start = Instant::now();
        bucket.get("record").await?;
        reads.push(start.elapsed());
    }
    report("create 4 KB, durable", creates);
    report("update 4 KB, durable", updates);
    report("read 4 KB", reads);
    let start = Instant::now();
    let tasks: Vec<_> = (0..ROUNDS)
        .map(|i| {
            let (bucket, body) = (bucket.clone(), body.clone());
            tokio::spawn(async move { bucket.create(&format!("log/parallel/{i:08}"), body).await.is_done() })
        })
        .collect();
    for task in tasks {
        if !task.await? {
            return Err("a parallel create was not done".into());
        }
    }
    println!("{ROUNDS} creates in parallel  {:.1?} each", start.elapsed() / ROUNDS as u32);
    Ok(())
}
