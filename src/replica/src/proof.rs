//! The promise of the crate, tested whole: whatever the store does and whoever crashes when, nothing acknowledged is missing from
//! a restore. The same test must notice when any of the four rules is broken.

use std::sync::Arc;
use std::time::Duration;

use celld_bucket::{Bucket, Faults};
use celld_ids::{CellScope, Epoch, SessionId};
use celld_ltx::{File, Image, PAGE_SIZE, Page, Txid};
use parking_lot::Mutex;
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::{sleep, timeout};

use crate::entry::{AlarmChange, EntryNo};
use crate::hedge::Hedge;
use crate::log::{CellTx, LogOptions, SessionLog};
use crate::publish::{Patience, publish};
use crate::{FoldError, Restored, SealError, keys, restore, seal_session};

/// A rule to break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Broken {
    None,
    /// Rule 1: acknowledge an entry whose predecessors are still on their way.
    AckAnyOrder,
    /// Rule 2: take an unknown outcome for success.
    AssumeDone,
    /// Rule 3: delete entries before the mark covers them.
    DeleteBeforeMark,
    /// Rule 3: delete entries although a successor has stopped the mark.
    DeleteWhileClaimed,
    /// Rule 4: delete the seal.
    DeleteSeal,
}

const CELLS: usize = 3;

pub(crate) fn scope(cell: usize) -> CellScope {
    CellScope::new("Room", format!("c{cell}")).unwrap()
}

pub(crate) fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

/// What transaction `txid` of `cell` does: its content tells which it was, and its size changes.
pub(crate) fn transaction(cell: usize, txid: u64) -> CellTx {
    let commit = 1 + (txid * 7 % 4) as u32;
    let page = |pgno: u32| {
        let mut data = vec![(cell as u8) ^ (pgno as u8); PAGE_SIZE];
        data[..8].copy_from_slice(&txid.to_be_bytes());
        Page { pgno, data: data.into() }
    };
    let mut pages = vec![page(1)];
    if commit > 1 {
        pages.push(page(commit));
    }
    CellTx {
        scope: scope(cell),
        epoch: Epoch(1),
        txid: Txid(txid),
        commit,
        pages,
        timestamp_ms: txid as i64,
        alarm: AlarmChange::Unchanged,
    }
}

/// The database of `cell` after transaction `txid`.
pub(crate) fn expected(cell: usize, txid: u64) -> Vec<u8> {
    let mut image = Image::empty();
    for txid in 1..=txid {
        let tx = transaction(cell, txid);
        image.apply(&File::transaction(tx.txid, tx.commit, tx.pages, 0).unwrap(), 100).unwrap();
    }
    image.into_bytes()
}

pub(crate) fn options(broken: Broken) -> LogOptions {
    LogOptions {
        depth: 4,
        entry_bytes: 3 * 8192,
        attempt_timeout: Duration::from_millis(500),
        fold_entries: 4,
        fold_interval: Duration::from_millis(100),
        merge_bytes: 4 * 4096,
        keep_bytes: 4096,
        compact_txids: 12,
        broken,
        ..LogOptions::default()
    }
}

fn faults(random: &mut StdRng) -> Faults {
    Faults {
        seed: random.random(),
        latency: Duration::from_millis(2),
        jitter: Duration::from_millis(random.random_range(1..120)),
        lost_request: 0.06,
        lost_response: 0.06,
        late: 0.06,
        late_by: Duration::from_millis(random.random_range(1..3000)),
        throttled: 0.04,
        ..Faults::default()
    }
}

/// How a history ends badly.
#[derive(Debug)]
enum Failure {
    /// Something acknowledged is not there, or not what it was.
    Promise(String),
    /// Nothing is lost, but the takeover does not come to an end.
    Progress(String),
}

/// One history: a session writes, at some time it dies (or only seems to), and successors, some of which die half-way too, take
/// over. Says what was lost.
async fn history(seed: u64, broken: Broken) -> Result<(), Failure> {
    let mut random = StdRng::seed_from_u64(seed);
    let bucket = Bucket::in_memory();
    let old = session("old.1");
    let mut store = faults(&mut random);
    if broken == Broken::DeleteSeal {
        // What the seal is for: a create that arrives after the takeover, of a session that could not look meanwhile.
        store = Faults { late: 0.25, late_by: store.late_by * 4, lost_request: 0.3, ..store };
    }
    let Ok(log) = SessionLog::start(bucket.with_faults(store), old.clone(), options(broken)).await else {
        return Ok(());
    };

    // The writer runs on its own, also while it is being fenced.
    let appended = Arc::new(Mutex::new(Vec::new()));
    let writer = {
        let (log, appended) = (log.clone(), appended.clone());
        let mut random = StdRng::seed_from_u64(seed ^ 1);
        tokio::spawn(async move {
            let mut txids = [0; CELLS];
            for _ in 0..200 {
                let cell = random.random_range(0..CELLS);
                txids[cell] += 1;
                let position = log.append(transaction(cell, txids[cell]));
                appended.lock().push((position, cell, txids[cell]));
                if random.random_bool(0.6) {
                    sleep(Duration::from_millis(random.random_range(0..40))).await;
                }
                if log.failed().is_some() {
                    break;
                }
            }
        })
    };
    sleep(Duration::from_millis(random.random_range(0..2500))).await;
    let mut log = Some(log);
    let mut acknowledged = None;
    if random.random_bool(0.3) {
        // Dropping the last handle stops the log's tasks where they are.
        writer.abort();
        let _ = writer.await;
        acknowledged = log.take().map(|log| log.durable());
    }

    let mut by = 0;
    loop {
        by += 1;
        let successor = session(&format!("new.{by}"));
        let store = bucket.with_faults(faults(&mut random));
        let patience = Duration::from_millis(if by < 4 { random.random_range(1..1500) } else { 600_000 });
        match timeout(patience, seal_session(&store, &old, &successor)).await {
            Ok(Ok(_)) => break,
            Ok(Err(SealError::Fold(FoldError::Missing { key }))) if by > 10 => {
                return Err(Failure::Promise(format!("{key} is missing")));
            }
            Ok(Err(error)) if by > 10 => return Err(Failure::Progress(error.to_string())),
            _ => {}
        }
    }
    let mut restored = Vec::new();
    for cell in 0..CELLS {
        restored.push(readable(&bucket, cell).await?);
    }
    if broken == Broken::DeleteSeal {
        for listed in bucket.list(&keys::log_dir(&old), None, 1000).await.unwrap() {
            bucket.delete(&listed.key).await.unwrap();
        }
    }

    // The old session goes on until it notices, and every delayed request arrives.
    sleep(Duration::from_secs(60)).await;
    let acknowledged = log.map(|log| log.durable()).or(acknowledged);
    for &(position, cell, txid) in appended.lock().iter() {
        if Some(position) <= acknowledged && restored[cell].txid < Txid(txid) {
            return Err(Failure::Promise(format!("acknowledged transaction {txid} of cell {cell} is lost")));
        }
    }
    for (cell, first) in restored.iter().enumerate() {
        if first.image != expected(cell, first.txid.0) {
            return Err(Failure::Promise(format!("cell {cell} has a wrong image")));
        }
        let again = readable(&bucket, cell).await?;
        if again.txid != first.txid || again.image != first.image {
            return Err(Failure::Promise(format!("cell {cell} changed after its takeover")));
        }
    }
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn nothing_acknowledged_is_ever_lost() {
    for seed in 0..500 {
        if let Err(failure) = history(seed, Broken::None).await {
            panic!("seed {seed}: {failure:?}");
        }
    }
}

async fn readable(bucket: &Bucket, cell: usize) -> Result<Restored, Failure> {
    restore(bucket, &scope(cell)).await.map_err(|error| Failure::Promise(error.to_string()))
}

async fn is_noticed(broken: Broken) {
    for seed in 0..2000 {
        match history(seed, broken).await {
            Err(Failure::Promise(lost)) => {
                println!("{broken:?} is noticed by seed {seed}: {lost}");
                return;
            }
            Err(Failure::Progress(problem)) => println!("seed {seed} does not end: {problem}"),
            Ok(()) => {}
        }
    }
    panic!("nobody noticed {broken:?}");
}

#[tokio::test(start_paused = true)]
async fn acknowledging_out_of_order_is_noticed() {
    is_noticed(Broken::AckAnyOrder).await;
}

#[tokio::test(start_paused = true)]
async fn assuming_success_is_noticed() {
    is_noticed(Broken::AssumeDone).await;
}

#[tokio::test(start_paused = true)]
async fn deleting_before_the_mark_is_noticed() {
    is_noticed(Broken::DeleteBeforeMark).await;
}

#[tokio::test(start_paused = true)]
async fn deleting_after_a_claim_is_noticed() {
    is_noticed(Broken::DeleteWhileClaimed).await;
}

#[tokio::test(start_paused = true)]
async fn deleting_the_seal_is_noticed() {
    is_noticed(Broken::DeleteSeal).await;
}

#[tokio::test(start_paused = true)]
async fn a_clean_stop_leaves_nothing_to_do() {
    let bucket = Bucket::in_memory();
    let old = session("old.1");
    let log = SessionLog::start(bucket.clone(), old.clone(), options(Broken::None)).await.unwrap();
    for txid in 1..=40 {
        log.append(transaction(0, txid));
    }
    log.close().await.unwrap();
    assert_eq!(log.durable(), log.appended());
    assert_eq!(log.backlog_bytes(), 0);
    assert_eq!(log.append(transaction(0, 41)), crate::Position::NEVER);

    let left = bucket.list(&keys::log_dir(&old), None, 10).await.unwrap();
    assert_eq!(left.len(), 1, "only the seal is left: {left:?}");
    let tail = seal_session(&bucket, &old, &session("new.1")).await.unwrap();
    assert_eq!(left[0].key, keys::log(&old, tail.seal));
    assert_eq!(tail.seal, tail.mark.next());
    let restored = restore(&bucket, &scope(0)).await.unwrap();
    assert_eq!((restored.txid, restored.image), (Txid(40), expected(0, 40)));
}

#[tokio::test(start_paused = true)]
async fn a_session_that_was_sealed_fails_and_acknowledges_nothing_more() {
    let bucket = Bucket::in_memory();
    let old = session("old.1");
    let log = SessionLog::start(bucket.clone(), old.clone(), options(Broken::None)).await.unwrap();
    let first = log.append(transaction(0, 1));
    log.wait(first).await.unwrap();
    let tail = seal_session(&bucket, &old, &session("new.1")).await.unwrap();
    let late = log.append(transaction(0, 2));
    let error = log.wait(late).await.unwrap_err();
    assert!(
        matches!(&*error, crate::LogError::Sealed { by } if by.as_str() == "new.1")
            || matches!(&*error, crate::LogError::Claimed),
        "{error}"
    );
    assert!(tail.seal > EntryNo(1));
    assert_eq!(restore(&bucket, &scope(0)).await.unwrap().txid, Txid(1));
}

#[tokio::test(start_paused = true)]
async fn a_store_that_never_answers_fails_the_entry_in_time() {
    let lost = Faults { lost_request: 1.0, ..Faults::default() };
    let slow = Faults { latency: Duration::from_secs(3600), ..Faults::default() };
    for faults in [lost, slow] {
        let store = Bucket::in_memory().with_faults(faults);
        let start = tokio::time::Instant::now();
        let patience = Patience {
            attempt: Duration::from_secs(3),
            total: Duration::from_secs(10),
            broken: Broken::None,
        };
        let result = publish(
            &store,
            &session("old.1"),
            EntryNo(1),
            &"entry".into(),
            &Hedge::new(true),
            patience,
            None,
        )
        .await;
        assert!(matches!(result, Err(crate::LogError::Unresolved { .. })));
        assert!(start.elapsed() < Duration::from_secs(12), "{:?}", start.elapsed());
    }
}

#[tokio::test]
async fn a_damaged_object_is_named() {
    let bucket = Bucket::in_memory();
    let log = SessionLog::start(bucket.clone(), session("old.1"), options(Broken::None)).await.unwrap();
    log.append(transaction(0, 1));
    log.fold().await.unwrap();
    let key = bucket.list("cells", None, 10).await.unwrap()[0].key.clone();
    let mut bytes = bucket.get(&key).await.unwrap().unwrap().bytes.to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    bucket.put(&key, bytes.into()).await.unwrap();
    let error = restore(&bucket, &scope(0)).await.unwrap_err().to_string();
    assert!(error.starts_with(&key), "{error}");
}

#[tokio::test]
async fn a_damaged_entry_is_named_and_nothing_is_taken_over() {
    let bucket = Bucket::in_memory();
    let old = SessionId::new("n.1").unwrap();
    let log = SessionLog::start(bucket.clone(), old.clone(), LogOptions::default()).await.unwrap();
    for txid in 1..=3 {
        log.wait(log.append(transaction(0, txid))).await.unwrap();
    }
    // As after a crash: nothing is folded or sealed.
    drop(log);
    let keys: Vec<String> = bucket
        .list(&keys::log_dir(&old), None, 10)
        .await
        .unwrap()
        .into_iter()
        .map(|listed| listed.key)
        .collect();
    assert_eq!(keys.len(), 3);
    let whole = bucket.get(&keys[1]).await.unwrap().unwrap().bytes;
    let successor = SessionId::new("n.2").unwrap();
    for at in [0, 9, 20, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.to_vec();
        damaged[at] ^= 0x40;
        bucket.put(&keys[1], damaged.into()).await.unwrap();
        let error = seal_session(&bucket, &old, &successor).await.unwrap_err().to_string();
        assert!(error.contains(&keys[1]), "byte {at}: {error}");
    }
    bucket.put(&keys[1], whole.slice(..whole.len() - 5)).await.unwrap();
    assert!(seal_session(&bucket, &old, &successor).await.unwrap_err().to_string().contains(&keys[1]));

    // Once it is whole again, everything that was acknowledged is there.
    bucket.put(&keys[1], whole).await.unwrap();
    seal_session(&bucket, &old, &successor).await.unwrap();
    assert_eq!(restore(&bucket, &scope(0)).await.unwrap().txid, Txid(3));
}
