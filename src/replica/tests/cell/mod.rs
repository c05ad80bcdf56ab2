#![allow(dead_code, reason = "not every test file that includes this module needs all of it")]
//! A cell with a known past, made without this crate: random transactions, the database after each, and objects of its history.

use bytes::Bytes;
use celld_bucket::Bucket;
use celld_ids::{CellScope, Epoch};
use celld_ltx::{File, Image, PAGE_SIZE, Page, Txid};
use celld_replica::{HistoryName, Level, sums_key};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

/// When transaction 1 was committed; each further one is a second later.
pub const START_MS: u64 = 1_796_000_000_000;

pub struct Cell {
    pub scope: CellScope,
    /// `files[0]` is transaction 1.
    pub files: Vec<File>,
    /// `images[n]` is the database after transaction `n`.
    pub images: Vec<Vec<u8>>,
}

impl Cell {
    /// `count` transactions on a database of up to `pages` pages, which grows and shrinks.
    pub fn random(seed: u64, count: u64, pages: u32) -> Cell {
        let mut random = StdRng::seed_from_u64(seed);
        let transaction = |txid| {
            let commit = random.random_range(1..=pages);
            let mut written: Vec<u32> =
                (0..random.random_range(1..4)).map(|_| random.random_range(1..=commit)).collect();
            written.sort_unstable();
            written.dedup();
            let pages = written.into_iter().map(|pgno| page(&mut random, pgno)).collect();
            File::transaction(Txid(txid), commit, pages, time(txid) as i64).unwrap()
        };
        Cell::new((1..=count).map(transaction).collect())
    }

    /// The transactions `files`, from the first one on.
    pub fn new(files: Vec<File>) -> Cell {
        let mut image = Image::empty();
        let mut images = vec![vec![]];
        for file in &files {
            image.apply(file, 1 << 20).unwrap();
            images.push(image.bytes().to_vec());
        }
        Cell { scope: CellScope::new("Room", "a").unwrap(), files, images }
    }

    pub fn last(&self) -> u64 {
        self.files.len() as u64
    }

    /// One object with the transactions `min` to `max`.
    pub fn object(&self, epoch: u64, level: Level, min: u64, max: u64) -> (HistoryName, Bytes) {
        let file = celld_ltx::compact(&self.files[min as usize - 1..max as usize]).unwrap();
        let name = HistoryName {
            epoch: Epoch(epoch),
            level,
            min: Txid(min),
            max: Txid(max),
            timestamp_ms: time(max),
        };
        (name, celld_ltx::encode(&file).into())
    }

    pub async fn put(&self, bucket: &Bucket, epoch: u64, level: Level, min: u64, max: u64) {
        let (name, bytes) = self.object(epoch, level, min, max);
        bucket.put(&self.key(&name), bytes).await.unwrap();
    }

    /// Each transaction as an L0 object, in epochs of `each` transactions.
    pub async fn put_all(&self, bucket: &Bucket, each: u64) {
        for txid in 1..=self.last() {
            self.put(bucket, 1 + (txid - 1) / each, Level::L0, txid, txid).await;
        }
    }

    pub fn key(&self, name: &HistoryName) -> String {
        sums_key(&self.scope, name).replace(".sums", ".ltx")
    }
}

pub fn time(txid: u64) -> u64 {
    START_MS + txid * 1000
}

fn page(random: &mut StdRng, pgno: u32) -> Page {
    let mut data = vec![random.random(); PAGE_SIZE];
    let noise = random.random_range(0..PAGE_SIZE);
    random.fill(&mut data[..noise]);
    Page { pgno, data: data.into() }
}

/// A bucket in memory with the same objects.
pub async fn copy(bucket: &Bucket) -> Bucket {
    let copy = Bucket::in_memory();
    for listed in bucket.list("", None, usize::MAX).await.unwrap() {
        let object = bucket.get(&listed.key).await.unwrap().unwrap();
        copy.put(&listed.key, object.bytes).await.unwrap();
    }
    copy
}
