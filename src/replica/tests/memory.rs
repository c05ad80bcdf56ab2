//! Snapshots and restores of a database that is larger than the memory they take.

#![cfg(target_os = "linux")]

use std::io::Read;
use std::time::Duration;

use bytes::Bytes;
use celld_bucket::{Bucket, LocalOptions, Sync};
use celld_ids::{CellScope, Epoch};
use celld_ltx::{Checksum, Header, PAGE_SIZE, StreamEncoder, Txid};
use celld_replica::{
    HistoryName, Level, StopSnapshot, Target, list_history, restore_to_file, snapshot_at_stop, sums_key,
};

/// 160 MiB.
const PAGES: u32 = 40_960;

/// What all windows, parts and buffers together may take, and then some for the allocator.
const ALLOWED: u64 = 110 << 20;

/// The largest the process has been, in bytes.
fn peak() -> u64 {
    let mut status = String::new();
    std::fs::File::open("/proc/self/status").unwrap().read_to_string(&mut status).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<u64>().unwrap() << 10
}

/// Page `pgno` as transaction `txid` writes it; it does not compress.
fn page(txid: u64, pgno: u32) -> Vec<u8> {
    let mut state = txid << 32 | u64::from(pgno);
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u32
    };
    (0..PAGE_SIZE / 4).flat_map(|_| next().to_be_bytes()).collect()
}

/// Writes transaction `txid` with every `step`-th page.
async fn put(bucket: &Bucket, scope: &CellScope, txid: u64, step: usize) {
    let snapshot = txid == 1;
    let header = Header {
        min_txid: Txid(txid),
        max_txid: Txid(txid),
        commit: PAGES,
        timestamp_ms: 0,
        pre_apply: snapshot.then_some(Checksum::NONE),
    };
    let level = if snapshot { Level::L9 } else { Level::L0 };
    let name =
        HistoryName { epoch: Epoch(1), level, min: header.min_txid, max: header.max_txid, timestamp_ms: 0 };
    let mut upload = bucket.upload(&sums_key(scope, &name).replace(".sums", ".ltx")).await.unwrap();
    let mut out = Vec::new();
    let mut encoder = StreamEncoder::start(header, &mut out).unwrap();
    for pgno in (1..=PAGES).step_by(step) {
        encoder.page(pgno, &page(txid, pgno), &mut out).unwrap();
        if out.len() > 1 << 20 {
            upload.write(Bytes::copy_from_slice(&out)).await.unwrap();
            out.clear();
        }
    }
    let sum = snapshot.then(|| encoder.database_checksum());
    encoder.finish(sum, &mut out).unwrap();
    upload.write(out.into()).await.unwrap();
    upload.finish().await.unwrap();
}

#[tokio::test]
async fn a_large_database_is_merged_and_restored_in_bounded_memory() {
    let dir = tempfile::tempdir().unwrap();
    let bucket =
        Bucket::local_with(dir.path().join("bucket"), LocalOptions::default().sync(Sync::Never)).unwrap();
    let scope = CellScope::new("Room", "a").unwrap();
    put(&bucket, &scope, 1, 1).await;
    for txid in 2..=6 {
        put(&bucket, &scope, txid, 10 * txid as usize).await;
    }
    let before = peak();

    let output = dir.path().join("db");
    restore_to_file(&bucket, &scope, Target::Last, &output, false).await.unwrap();
    let written = snapshot_at_stop(&bucket, &scope, Duration::from_secs(60), Duration::ZERO).await.unwrap();
    assert_eq!(written, StopSnapshot::Written);
    let taken = peak().saturating_sub(before);
    assert!(taken < ALLOWED, "{} MiB", taken >> 20);

    let objects = list_history(&bucket, &scope).await.unwrap();
    assert_eq!(objects.len(), 1);
    assert!(objects[0].size > u64::from(PAGES) * PAGE_SIZE as u64);
    let restored = dir.path().join("again");
    restore_to_file(&bucket, &scope, Target::Last, &restored, false).await.unwrap();
    for path in [output, restored] {
        let mut file = std::fs::File::open(path).unwrap();
        assert_eq!(file.metadata().unwrap().len(), u64::from(PAGES) * PAGE_SIZE as u64);
        let mut data = vec![0; PAGE_SIZE];
        for pgno in 1..=PAGES {
            file.read_exact(&mut data).unwrap();
            let at = pgno as usize - 1;
            let txid = (2..=6).rev().find(|txid| at.is_multiple_of(10 * txid)).unwrap_or(1);
            assert!(data == page(txid as u64, pgno), "page {pgno}");
        }
    }
}
