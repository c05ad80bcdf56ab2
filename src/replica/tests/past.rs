//! Restoring a cell's past: by time, transaction and bookmark, from the history and from the log that is not folded yet.

mod cell;

use std::time::Duration;

use cell::{Cell, time};
use celld_bucket::Bucket;
use celld_ids::{Epoch, SessionId};
use celld_ltx::{Image, Txid};
use celld_replica::{
    AlarmChange, CellTx, ExportError, Level, LogOptions, PastError, SessionLog, Target, Timeline,
    bookmark_at, bookmark_of, changed_pages, claim, compact_cell, restore_at, restore_to_file, seal_session,
};

async fn past(bucket: &Bucket, cell: &Cell, target: Target) -> (u64, bool) {
    let restored = restore_at(bucket, &cell.scope, target).await.unwrap();
    let txid = restored.moment.point.txid.0;
    assert!(restored.image == cell.images[txid as usize], "transaction {txid}");
    (txid, restored.moment.exact)
}

#[tokio::test]
async fn a_moment_is_found_by_time_transaction_and_bookmark() {
    let cell = Cell::random(1, 20, 12);
    let bucket = Bucket::in_memory();
    cell.put_all(&bucket, 8).await;
    for txid in 1..=20 {
        assert_eq!(past(&bucket, &cell, Target::Txid(Txid(txid))).await, (txid, true));
        assert_eq!(past(&bucket, &cell, Target::Time(time(txid))).await, (txid, true));
        assert_eq!(past(&bucket, &cell, Target::Time(time(txid) + 999)).await, (txid, true));
        let bookmark = bookmark_at(&bucket, &cell.scope, time(txid) + 1).await.unwrap();
        assert_eq!(bookmark, bookmark_of(Epoch(1 + (txid - 1) / 8), Txid(txid)));
        let bookmark = bookmark.to_string().parse().unwrap();
        assert_eq!(past(&bucket, &cell, Target::Bookmark(bookmark)).await, (txid, true));
        // An owner that has not written yet calls the last transaction by its own epoch.
        let later = bookmark_of(Epoch(9), Txid(txid));
        assert_eq!(past(&bucket, &cell, Target::Bookmark(later)).await, (txid, true));
    }
    assert_eq!(past(&bucket, &cell, Target::Last).await, (20, true));
    assert_eq!(past(&bucket, &cell, Target::Time(u64::MAX)).await, (20, true));
    assert_eq!(past(&bucket, &cell, Target::Time(time(0))).await, (0, true), "before the first transaction");
    assert_eq!(past(&bucket, &cell, Target::Txid(Txid::ZERO)).await, (0, true));

    let fail = async |target| restore_at(&bucket, &cell.scope, target).await.unwrap_err();
    assert!(matches!(fail(Target::Txid(Txid(21))).await, PastError::NotYet { .. }));
    let lost = bookmark_of(Epoch(1), Txid(20));
    assert!(matches!(fail(Target::Bookmark(lost)).await, PastError::OtherEpoch { .. }));
    let nobody = celld_ids::CellScope::new("Room", "b").unwrap();
    let empty = restore_at(&bucket, &nobody, Target::Last).await.unwrap_err();
    assert!(matches!(empty, PastError::Empty { .. }));
}

#[tokio::test]
async fn what_was_merged_away_says_where_it_lies() {
    let cell = Cell::random(2, 30, 12);
    let bucket = Bucket::in_memory();
    cell.put(&bucket, 1, Level::L9, 1, 10).await;
    cell.put(&bucket, 1, Level::L0, 11, 11).await;
    cell.put(&bucket, 1, Level::L1, 11, 20).await;
    cell.put(&bucket, 1, Level::L0, 21, 30).await;
    for target in
        [Target::Txid(Txid(15)), Target::Time(time(15)), Target::Bookmark(bookmark_of(Epoch(1), Txid(15)))]
    {
        let restored = restore_at(&bucket, &cell.scope, target).await.unwrap();
        assert!(restored.image == cell.images[11]);
        let moment = restored.moment;
        assert!(!moment.exact);
        assert_eq!(moment.point.txid, Txid(11));
        assert_eq!(moment.before.map(|point| point.txid), Some(Txid(10)));
        assert_eq!(moment.after.map(|point| point.txid), Some(Txid(20)));
    }
    assert_eq!(past(&bucket, &cell, Target::Txid(Txid(11))).await, (11, true));
    // By time nobody knows: transaction 12 may be as early.
    assert_eq!(past(&bucket, &cell, Target::Time(time(11))).await, (11, false));
    for early in [Target::Txid(Txid(5)), Target::Time(time(5))] {
        let error = restore_at(&bucket, &cell.scope, early).await.unwrap_err();
        assert!(matches!(error, PastError::TooEarly { first, .. } if first.txid == Txid(10)), "{error}");
    }
}

#[tokio::test]
async fn a_hole_ends_the_past_and_is_named() {
    let cell = Cell::random(3, 20, 12);
    let bucket = Bucket::in_memory();
    cell.put(&bucket, 1, Level::L0, 1, 8).await;
    cell.put(&bucket, 1, Level::L0, 10, 20).await;
    let timeline = Timeline::read(&bucket, &cell.scope).await.unwrap();
    assert!(timeline.problem().unwrap().to_string().contains("lacks transactions 9 to 9"));
    assert_eq!(timeline.points().len(), 1);
    assert_eq!(past(&bucket, &cell, Target::Txid(Txid(8))).await, (8, true));
}

fn session(name: &str) -> SessionId {
    SessionId::new(name).unwrap()
}

async fn append(log: &SessionLog, cell: &Cell, txids: std::ops::RangeInclusive<u64>) {
    for txid in txids {
        let file = &cell.files[txid as usize - 1];
        let position = log.append(CellTx {
            scope: cell.scope.clone(),
            epoch: Epoch::FIRST,
            txid: Txid(txid),
            commit: file.header().commit,
            pages: file.pages().to_vec(),
            timestamp_ms: time(txid) as i64,
            alarm: AlarmChange::Unchanged,
        });
        log.wait(position).await.unwrap();
    }
}

/// What the owner has acknowledged counts, folded or not, while it lives, after it has crashed, and after a successor came.
#[tokio::test]
async fn the_log_of_the_owner_is_part_of_the_past() {
    let cell = Cell::random(4, 40, 12);
    let bucket = Bucket::in_memory();
    let old = session("old.1");
    let options = LogOptions { fold_interval: Duration::from_secs(3600), ..LogOptions::default() };
    let log = SessionLog::start(bucket.clone(), old.clone(), options).await.unwrap();
    claim(&bucket, &cell.scope, None, &old).await.unwrap();
    append(&log, &cell, 1..=15).await;
    assert_eq!(Timeline::read(&bucket, &cell.scope).await.unwrap().unfolded(), 15);
    assert_eq!(past(&bucket, &cell, Target::Last).await, (15, true));
    log.fold().await.unwrap();
    append(&log, &cell, 16..=40).await;
    let timeline = Timeline::read(&bucket, &cell.scope).await.unwrap();
    assert_eq!((timeline.unfolded(), timeline.points().last().unwrap().txid), (25, Txid(40)));
    for txid in [15, 16, 29, 40] {
        assert_eq!(past(&bucket, &cell, Target::Time(time(txid))).await, (txid, true));
    }
    drop(log);
    assert_eq!(past(&bucket, &cell, Target::Last).await, (40, true), "after a crash");
    assert_eq!(Timeline::read(&bucket, &cell.scope).await.unwrap().unfolded(), 25, "reading changes nothing");
    seal_session(&bucket, &old, &session("new.1")).await.unwrap();
    assert_eq!(Timeline::read(&bucket, &cell.scope).await.unwrap().unfolded(), 0);
    assert_eq!(past(&bucket, &cell, Target::Last).await, (40, true), "after a takeover");
}

/// A bookmark that was handed out stays exact, whatever is folded together with its transaction.
#[tokio::test]
async fn a_kept_point_is_not_merged_over() {
    let cell = Cell::random(11, 20, 12);
    let bucket = Bucket::in_memory();
    let owner = session("old.1");
    let options = LogOptions { fold_interval: Duration::from_secs(3600), ..LogOptions::default() };
    let log = SessionLog::start(bucket.clone(), owner.clone(), options).await.unwrap();
    claim(&bucket, &cell.scope, None, &owner).await.unwrap();
    append(&log, &cell, 1..=5).await;
    log.keep_point(&cell.scope, Txid(5));
    append(&log, &cell, 6..=20).await;
    log.close().await.unwrap();
    assert_eq!(past(&bucket, &cell, Target::Txid(Txid(5))).await, (5, true));
    assert_eq!(past(&bucket, &cell, Target::Txid(Txid(19))).await, (5, false));
    assert_eq!(past(&bucket, &cell, Target::Last).await, (20, true));
}

/// A cell whose owners each add little gets a short history all the same.
#[tokio::test]
async fn a_long_history_that_was_found_is_shortened() {
    let cell = Cell::random(12, 71, 12);
    let bucket = Bucket::in_memory();
    for txid in 1..=70 {
        cell.put(&bucket, txid, Level::L0, txid, txid).await;
    }
    let objects = celld_replica::restore(&bucket, &cell.scope).await.unwrap().objects;
    assert_eq!(objects, 70);
    let owner = session("old.1");
    let options = LogOptions { retention: Duration::ZERO, ..LogOptions::default() };
    let log = SessionLog::start(bucket.clone(), owner.clone(), options).await.unwrap();
    log.found_history(&cell.scope, Epoch(71), objects);
    let file = &cell.files[70];
    let position = log.append(CellTx {
        scope: cell.scope.clone(),
        epoch: Epoch(71),
        txid: Txid(71),
        commit: file.header().commit,
        pages: file.pages().to_vec(),
        timestamp_ms: time(71) as i64,
        alarm: AlarmChange::Unchanged,
    });
    log.wait(position).await.unwrap();
    log.fold().await.unwrap();
    // The compaction runs beside.
    for _ in 0..500 {
        if celld_replica::list_history(&bucket, &cell.scope).await.unwrap().len() == 1 {
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(celld_replica::list_history(&bucket, &cell.scope).await.unwrap().len(), 1);
    assert_eq!(past(&bucket, &cell, Target::Last).await, (71, true));
}

/// A reader meets an owner that writes, folds and compacts as fast as it can, and never sees less than was acknowledged before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_beside_a_busy_owner_misses_nothing() {
    let cell = Cell::random(5, 400, 8);
    let bucket = Bucket::in_memory();
    let owner = session("old.1");
    let options = LogOptions {
        fold_entries: 5,
        fold_interval: Duration::from_millis(1),
        compact_txids: 20,
        retention: Duration::ZERO,
        ..LogOptions::default()
    };
    let log = SessionLog::start(bucket.clone(), owner.clone(), options).await.unwrap();
    claim(&bucket, &cell.scope, None, &owner).await.unwrap();
    append(&log, &cell, 1..=1).await;
    let cell = std::sync::Arc::new(cell);
    let (told, acknowledged) = tokio::sync::watch::channel(1);
    let (finished, mut reads_seen) = tokio::sync::watch::channel(0);
    let writer = tokio::spawn({
        let (log, cell) = (log.clone(), cell.clone());
        async move {
            for txid in 2..=cell.last() {
                append(&log, &cell, txid..=txid).await;
                told.send_replace(txid);
                // On a machine where every read meets a newer fold, the writer lets one through now and then.
                if txid % 100 == 0 {
                    let before = *reads_seen.borrow_and_update();
                    reads_seen.wait_for(|reads| *reads > before).await.unwrap();
                }
            }
        }
    });
    while !writer.is_finished() {
        let before = *acknowledged.borrow();
        match restore_at(&bucket, &cell.scope, Target::Last).await {
            Ok(restored) => {
                let txid = restored.moment.point.txid.0;
                assert!(txid >= before, "{txid} of {before}");
                assert!(restored.image == cell.images[txid as usize]);
                finished.send_modify(|reads| *reads += 1);
            }
            // It says so when the owner is faster.
            Err(
                PastError::Moving { .. } | PastError::Restore(celld_replica::RestoreError::Missing { .. }),
            ) => {}
            Err(error) => panic!("{error}"),
        }
    }
    writer.await.unwrap();
    log.close().await.unwrap();
    assert_eq!(past(&bucket, &cell, Target::Last).await, (400, true));
}

#[tokio::test]
async fn a_file_appears_whole_or_not_at_all() {
    let cell = Cell::random(6, 30, 600);
    let bucket = Bucket::in_memory();
    cell.put_all(&bucket, 100).await;
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("db");
    let target = Target::Txid(Txid(21));
    let moment = restore_to_file(&bucket, &cell.scope, target, &file, false).await.unwrap();
    assert_eq!(moment.point.txid, Txid(21));
    assert!(std::fs::read(&file).unwrap() == cell.images[21]);

    let again = restore_to_file(&bucket, &cell.scope, Target::Last, &file, false).await;
    assert!(matches!(again, Err(ExportError::Exists(_))));
    assert!(std::fs::read(&file).unwrap() == cell.images[21]);
    restore_to_file(&bucket, &cell.scope, Target::Last, &file, true).await.unwrap();
    assert!(std::fs::read(&file).unwrap() == cell.images[30]);
    restore_to_file(&bucket, &cell.scope, Target::Txid(Txid::ZERO), &file, true).await.unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 0);

    let (name, bytes) = cell.object(1, Level::L0, 25, 25);
    let mut bytes = bytes.to_vec();
    let last = bytes.len() - 1;
    bytes[last] ^= 1;
    bucket.put(&cell.key(&name), bytes.into()).await.unwrap();
    let error = restore_to_file(&bucket, &cell.scope, Target::Last, &file, true).await.unwrap_err();
    assert!(error.to_string().contains(&cell.key(&name)), "{error}");
    assert_eq!(std::fs::metadata(&file).unwrap().len(), 0, "as it was");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1, "no other file is left");
    let nowhere = dir.path().join("no/such/dir/db");
    let error = restore_to_file(&bucket, &cell.scope, target, &nowhere, false).await.unwrap_err();
    assert!(matches!(error, ExportError::Io { .. }), "{error}");
}

#[tokio::test]
async fn a_cell_is_taken_back_by_its_next_transaction() {
    let cell = Cell::random(7, 30, 20);
    for (now, then) in [(30, 3), (3, 30), (12, 0), (0, 12), (9, 9)] {
        let (commit, pages) = changed_pages(&cell.images[now], &cell.images[then]).unwrap();
        assert!(now != then || pages.is_empty());
        let mut image = Image::new(cell.images[now].clone(), Txid(100)).unwrap();
        let file = celld_ltx::File::transaction(Txid(101), commit, pages, 0).unwrap();
        image.apply(&file, 1 << 20).unwrap();
        assert!(image.bytes() == cell.images[then]);
    }
    assert!(changed_pages(&[0; 100], &[]).is_err());
}

/// The points survive a compaction that keeps a window, and the result is the same bytes.
#[tokio::test]
async fn a_bookmark_outlives_a_compaction() {
    let cell = Cell::random(8, 120, 20);
    let bucket = Bucket::in_memory();
    cell.put_all(&bucket, 1000).await;
    let bookmark = bookmark_at(&bucket, &cell.scope, time(60)).await.unwrap();
    compact_cell(&bucket, &cell.scope, Epoch(1), Duration::from_secs(3600)).await.unwrap();
    assert_eq!(past(&bucket, &cell, Target::Bookmark(bookmark)).await, (60, true));
    assert_eq!(past(&bucket, &cell, Target::Bookmark(bookmark_of(Epoch(1), Txid(60)))).await, (60, true));
}
