//! What the log does when the store is full, slow, or too slow: it acknowledges nothing that is not there, and goes on when it can.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use celld_bucket::{Bucket, Fate, Faults};
use celld_ltx::Txid;
use tokio::time::{Instant, sleep};

use crate::log::{LogError, LogOptions, Position, SessionLog};
use crate::proof::{Broken, options, scope, session, transaction};
use crate::{restore, seal_session};

/// A log behind a store of these fates, and the store without them.
async fn log(fates: impl Fn(&'static str, &str) -> Fate + Send + Sync + 'static) -> (Bucket, SessionLog) {
    let bucket = Bucket::in_memory();
    let options = LogOptions { durability_timeout: Duration::from_secs(10), ..options(Broken::None) };
    let log = SessionLog::start(bucket.with_fates(fates), session("old.1"), options).await.unwrap();
    (bucket, log)
}

fn writes_an_entry(verb: &str, key: &str) -> bool {
    verb == "create" && key.starts_with("log/")
}

#[tokio::test(start_paused = true)]
async fn a_full_disk_that_is_freed_in_time_costs_only_time() {
    let full = Arc::new(AtomicBool::new(true));
    let is_full = full.clone();
    let fates = move |verb: &'static str, key: &str| {
        if writes_an_entry(verb, key) && is_full.load(Ordering::Relaxed) { Fate::Full } else { Fate::Good }
    };
    let (bucket, log) = log(fates).await;
    for txid in 1..=20 {
        log.append(transaction(0, txid));
        sleep(Duration::from_millis(100)).await;
    }
    sleep(Duration::from_secs(5)).await;
    assert_eq!(log.durable(), Position(0), "nothing is there");
    full.store(false, Ordering::Relaxed);
    log.wait(Position(20)).await.unwrap();
    log.close().await.unwrap();
    assert_eq!(restore(&bucket, &scope(0)).await.unwrap().txid, Txid(20));
}

#[tokio::test(start_paused = true)]
async fn a_disk_that_stays_full_ends_the_log_in_time_and_is_named() {
    let seen = AtomicU32::new(0);
    let fates = move |verb: &'static str, key: &str| {
        let first = || seen.fetch_add(1, Ordering::Relaxed) == 0;
        if writes_an_entry(verb, key) && !first() { Fate::Full } else { Fate::Good }
    };
    let (bucket, log) = log(fates).await;
    log.wait(log.append(transaction(0, 1))).await.unwrap();
    let start = Instant::now();
    let error = log.wait(log.append(transaction(0, 2))).await.unwrap_err();
    assert!(matches!(&*error, LogError::NotWritten { .. }), "{error:?}");
    let text = error.to_string();
    assert!(text.contains("cannot create log/old.1/") && text.contains("no storage space"), "{text}");
    assert!((10..12).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    assert_eq!(log.durable(), Position(1));
    seal_session(&bucket, &session("old.1"), &session("new.1")).await.unwrap();
    assert_eq!(restore(&bucket, &scope(0)).await.unwrap().txid, Txid(1));
}

#[tokio::test(start_paused = true)]
async fn a_transaction_waits_for_its_turn_only_so_long() {
    // Every create takes 9 s, one at a time, of one transaction each.
    let fates = |verb: &'static str, key: &str| {
        if writes_an_entry(verb, key) { Fate::Slow(Duration::from_secs(9)) } else { Fate::Good }
    };
    let bucket = Bucket::in_memory().with_fates(fates);
    let slow = LogOptions {
        depth: 1,
        entry_bytes: 1,
        attempt_timeout: Duration::from_secs(10),
        durability_timeout: Duration::from_secs(10),
        ..options(Broken::None)
    };
    let log = SessionLog::start(bucket, session("old.1"), slow).await.unwrap();
    let start = Instant::now();
    for txid in 1..=20 {
        log.append(transaction(0, txid));
    }
    let error = log.wait(log.appended()).await.unwrap_err();
    assert!(matches!(&*error, LogError::Overdue { .. }), "{error:?}");
    assert_eq!(start.elapsed().as_secs(), 60);
    assert_eq!(log.durable(), Position(6), "those whose turn had come are acknowledged");
}

#[tokio::test(start_paused = true)]
async fn a_log_is_congested_until_the_bucket_has_caught_up() {
    let fates = |verb: &'static str, key: &str| {
        if writes_an_entry(verb, key) { Fate::Slow(Duration::from_secs(1)) } else { Fate::Good }
    };
    let bucket = Bucket::in_memory().with_fates(fates);
    let attempt_timeout = Duration::from_secs(3);
    let small = LogOptions { backlog_bytes: 20 << 10, attempt_timeout, ..options(Broken::None) };
    let log = SessionLog::start(bucket, session("old.1"), small).await.unwrap();
    log.append(transaction(0, 1));
    assert!(!log.is_congested());
    log.ready().await.unwrap();
    for txid in 2..=10 {
        log.append(transaction(0, txid));
    }
    assert!(log.is_congested());
    let start = Instant::now();
    log.ready().await.unwrap();
    assert!(start.elapsed() >= Duration::from_secs(1) && !log.is_congested());
    log.close().await.unwrap();
}

/// Commits one after the other; returns how many took longer than 100 ms and how many creates there were.
async fn with_a_heavy_tail(hedged: bool) -> (u32, u32) {
    let tail = Faults {
        seed: 5,
        latency: Duration::from_millis(20),
        tail: 0.01,
        tail_by: Duration::from_millis(500),
        ..Faults::default()
    };
    let creates = Arc::new(AtomicU32::new(0));
    let counted = creates.clone();
    let bucket = Bucket::in_memory().with_faults(tail).with_fates(move |verb, key| {
        counted.fetch_add(writes_an_entry(verb, key).into(), Ordering::Relaxed);
        Fate::Good
    });
    let attempt_timeout = Duration::from_secs(3);
    let options = LogOptions { hedge: hedged, attempt_timeout, ..options(Broken::None) };
    let log = SessionLog::start(bucket, session("old.1"), options).await.unwrap();
    let mut slow = 0;
    for txid in 1..=2000 {
        let start = Instant::now();
        log.wait(log.append(transaction(0, txid))).await.unwrap();
        slow += u32::from(start.elapsed() > Duration::from_millis(100));
    }
    (slow, creates.load(Ordering::Relaxed))
}

#[tokio::test(start_paused = true)]
async fn a_slow_create_is_sent_again_and_nobody_waits_for_the_first() {
    let (slow, creates) = with_a_heavy_tail(false).await;
    assert!(slow >= 10 && creates == 2000, "the store has no tail: {slow} slow, {creates} creates");
    let (slow, creates) = with_a_heavy_tail(true).await;
    assert!(slow <= 2 && creates <= 2060, "{slow} slow, {creates} creates");
}

/// No good store does it, but what is torn must be named by whoever meets it, and nothing be acknowledged on top of it.
#[tokio::test(start_paused = true)]
async fn an_entry_that_is_torn_is_named_by_its_writer_and_its_successor() {
    let torn = |verb: &'static str, key: &str| {
        if writes_an_entry(verb, key) && key.ends_with('2') { Fate::Torn } else { Fate::Good }
    };
    let (bucket, log) = log(torn).await;
    log.wait(log.append(transaction(0, 1))).await.unwrap();
    let error = log.wait(log.append(transaction(0, 2))).await.unwrap_err();
    assert!(matches!(&*error, LogError::Foreign { .. }), "{error}");
    assert_eq!(log.durable(), Position(1));
    let error = seal_session(&bucket, &session("old.1"), &session("new.1")).await.unwrap_err().to_string();
    assert!(error.contains("log/old.1/0000000000000002 is damaged"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_history_object_that_is_torn_is_written_again() {
    let torn = AtomicU32::new(0);
    let fates = move |verb: &'static str, key: &str| {
        let first = || torn.fetch_add(1, Ordering::Relaxed) == 0;
        if verb == "write" && key.starts_with("cells/") && first() { Fate::Torn } else { Fate::Good }
    };
    let (bucket, log) = log(fates).await;
    log.append(transaction(0, 1));
    log.fold().await.unwrap();
    assert_eq!(restore(&bucket, &scope(0)).await.unwrap().txid, Txid(1));
}
