//! How long a large cell takes to its first answer after a takeover, in round trips to the store.
//!
//!     cargo run --release -p celld-images --example first_read -- 1024
//!
//! Makes a database of so many MiB (default 64) with a history of one snapshot, one merged object and a few small ones, in a bucket in
//! memory where every request takes 50 ms; brings the cell here as a node does after it has claimed it; and runs one query by an
//! index. Nothing is filled in the background, so every request is one that the answer needed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use celld_bucket::{Bucket, Fate};
use celld_ids::CellScope;
use celld_images::{Images, Options};
use celld_ltx::{File, Header, LOCK_PAGE, PAGE_SIZE, Page, Txid, encode};
use celld_replica::{MIN_OBJECT_BYTES, PageSums};
use celld_storage::{CellDb, Image, ImagePath, Limits, Value};

const LATENCY: Duration = Duration::from_millis(50);
const ROW: u32 = 1000;

/// Requests so far, and the longest chain of them in which each began after the one before it was answered: the round trips that a
/// client waits for, whatever the machine's own speed.
#[derive(Default)]
struct Trips {
    requests: Vec<(Instant, u32)>,
    longest: u32,
}

impl Trips {
    fn request(&mut self) {
        let now = Instant::now();
        let answered = self.requests.iter().filter(|(begun, _)| *begun + LATENCY <= now);
        let trip = 1 + answered.map(|(_, trip)| *trip).max().unwrap_or(0);
        self.requests.push((now, trip));
        self.longest = self.longest.max(trip);
    }
}

async fn put(
    bucket: &Bucket,
    level: &str,
    min: u64,
    max: u64,
    commit: u32,
    pages: Vec<Page>,
) -> anyhow::Result<u64> {
    let header =
        Header { min_txid: Txid(min), max_txid: Txid(max), commit, timestamp_ms: 0, pre_apply: None };
    let file = File::new(header, pages, None)?;
    let bytes = encode(&file);
    let size = bytes.len() as u64;
    let stem = format!("cells/Room/a/ltx/e0000000000000001/{level}/{min:016x}-{max:016x}");
    if size >= MIN_OBJECT_BYTES {
        bucket.put(&format!("{stem}.sums"), PageSums::of(&file, size).encode()).await?;
    }
    bucket.put(&format!("{stem}.ltx"), bytes.into()).await?;
    Ok(size)
}

/// Returns the number of rows and the bytes of the history.
async fn make(bucket: &Bucket, mib: u32) -> anyhow::Result<(u32, u64)> {
    let dir = tempfile::tempdir()?;
    let path = ImagePath { dir: dir.path().into(), name: "cell".into() };
    let limits = Limits { uncommitted_pages: usize::MAX, ..Limits::default() };
    let mut db = CellDb::new(Image::Empty, Some(path), Arc::new(limits))?;
    db.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, v BLOB)", &[])?;
    let rows = mib * 1024 * 9 / 10;
    for first in (0..rows).step_by(20_000) {
        let last = (first + 20_000).min(rows) - 1;
        let fill = "WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
            INSERT INTO t SELECT i, 'key ' || i, randomblob(?3) FROM n";
        db.exec(fill, &[first, last, ROW].map(|number| Value::Integer(number.into())))?;
        db.commit()?;
    }
    let image = db.image()?;
    let pages: Vec<Page> = (1u32..)
        .zip(image.chunks(PAGE_SIZE))
        .filter(|(pgno, _)| *pgno != LOCK_PAGE)
        .map(|(pgno, data)| Page { pgno, data: data.into() })
        .collect();
    let size = (image.len() / PAGE_SIZE) as u32;
    drop(image);
    let mut bytes = put(bucket, "L9", 1, 100, size, pages).await?;
    let (mut merged, mut commit) = (BTreeMap::new(), 0);
    for txid in 101..=420 {
        let row = Value::Integer((txid * 7919) % i64::from(rows));
        db.exec("UPDATE t SET v = randomblob(900) WHERE id = ?", &[row])?;
        let tx = db.commit()?.context("nothing was committed")?;
        commit = tx.commit;
        if txid <= 400 {
            merged.extend(tx.pages.into_iter().map(|page| (page.pgno, page)));
        } else {
            bytes += put(bucket, "L0", txid as u64, txid as u64, commit, tx.pages).await?;
        }
    }
    bytes += put(bucket, "L1", 101, 400, commit, merged.into_values().collect()).await?;
    Ok((rows, bytes))
}

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let mib: u32 = std::env::args().nth(1).map_or(Ok(64), |mib| mib.parse())?;
    let bucket = Bucket::in_memory();
    let (rows, bytes) = make(&bucket, mib).await?;
    println!("{rows} rows, {} MiB of history", bytes >> 20);

    let trips = Arc::new(Mutex::new(Trips::default()));
    let counted = trips.clone();
    let slow = bucket.with_fates(move |_, _| {
        counted.lock().unwrap_or_else(PoisonError::into_inner).request();
        Fate::Slow(LATENCY)
    });
    let seen = || {
        let trips = trips.lock().unwrap_or_else(PoisonError::into_inner);
        format!("{} round trips, {} requests", trips.longest, trips.requests.len())
    };
    let dir = tempfile::tempdir()?;
    let options = Options { paged_min_bytes: 1 << 20, hydrate: None, ..Options::default() };
    let images = Images::open(dir.path().join("cells"), slow, options)?;
    let begun = Instant::now();
    let activated = images.activate(&CellScope::new("Room", "a")?, None).await?;
    println!("opened after {}, {:?}", seen(), begun.elapsed());
    let answer = tokio::task::spawn_blocking(move || {
        let mut db = CellDb::new(activated.image, None, Arc::default())?;
        let key = format!("key {}", rows / 3);
        let execution = db.exec("SELECT length(v) FROM t WHERE k = ?", &[Value::Text(key.as_bytes())])?;
        let cursor = execution.cursor.context("the row is gone")?;
        let row = db.next_row(cursor, |row| format!("{:?}", row.get(0)))?;
        anyhow::Ok(row.value)
    });
    let answer = answer.await??;
    if !answer.starts_with("Integer") {
        bail!("wrong answer {answer}");
    }
    println!("first answer after {}, {:?}", seen(), begun.elapsed());
    Ok(())
}
