//! Merging, snapshots and collection: what is deleted is never missed, wherever the process stops.

mod cell;

use std::ops::RangeInclusive;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use cell::{Cell, copy, time};
use celld_bucket::{Bucket, Fate};
use celld_ids::Epoch;
use celld_ltx::{Checksum, File, Page, Txid};
use celld_replica::{
    Level, PageSums, StopSnapshot, Target, Timeline, compact_cell, list_history, restore, restore_at,
    snapshot_at_stop, sums_key,
};
use rand::rngs::StdRng;
use rand::{RngCore, SeedableRng};

const DAY: Duration = Duration::from_secs(24 * 3600);

async fn check(cell: &Cell, bucket: &Bucket) {
    let restored = restore(bucket, &cell.scope).await.unwrap();
    assert_eq!(restored.txid, Txid(cell.last()));
    assert!(restored.image == cell.images[cell.last() as usize]);
}

/// Every point that is offered gives the database of its transaction.
async fn check_points(cell: &Cell, bucket: &Bucket) -> usize {
    let timeline = Timeline::read(bucket, &cell.scope).await.unwrap();
    assert!(timeline.problem().is_none());
    for point in timeline.points() {
        let restored = restore_at(bucket, &cell.scope, Target::Txid(point.txid)).await.unwrap();
        assert!(restored.moment.exact);
        assert!(restored.image == cell.images[point.txid.0 as usize], "transaction {}", point.txid.0);
        assert_eq!(point.timestamp_ms, time(point.txid.0));
    }
    timeline.points().len()
}

#[tokio::test]
async fn a_shortened_history_gives_the_same_database() {
    for seed in 0..12 {
        let cell = Cell::random(seed, 150, 40);
        let bucket = Bucket::in_memory();
        cell.put_all(&bucket, [1, 7, 200][seed as usize % 3]).await;
        let retention = if seed % 2 == 0 { Duration::ZERO } else { DAY };
        let epoch = list_history(&bucket, &cell.scope).await.unwrap().last().unwrap().name.epoch;
        compact_cell(&bucket, &cell.scope, epoch, retention).await.unwrap();
        check(&cell, &bucket).await;
        let points = check_points(&cell, &bucket).await;
        let objects = list_history(&bucket, &cell.scope).await.unwrap().len();
        if retention.is_zero() {
            assert!(objects <= 64, "{objects} objects are left");
            assert!(points <= objects);
        } else {
            assert_eq!(points, 150, "every moment of the last day is kept");
        }
    }
}

/// The process stops after any number of calls to the store, whose last one may still have had its effect.
#[tokio::test(start_paused = true)]
async fn a_stop_after_any_call_leaves_a_restorable_history() {
    for retention in [Duration::ZERO, Duration::from_secs(60)] {
        let cell = Cell::random(77, 110, 6);
        let original = Bucket::in_memory();
        // A snapshot, L1 with its L0 still there, fresh L0: everything that a compaction finds.
        cell.put_all(&original, 30).await;
        cell.put(&original, 1, Level::L1, 2, 20).await;
        cell.put(&original, 1, Level::L9, 1, 25).await;
        let mut calls = 0;
        loop {
            let mut finished = true;
            for last in [Fate::LostRequest, Fate::LostResponse] {
                let bucket = copy(&original).await;
                let count = Arc::new(AtomicUsize::new(0));
                let counted = count.clone();
                let stopping = bucket.with_fates(move |_, _| match counted.fetch_add(1, Ordering::Relaxed) {
                    n if n < calls => Fate::Good,
                    n if n == calls => last,
                    _ => Fate::LostRequest,
                });
                let result = compact_cell(&stopping, &cell.scope, Epoch(4), retention).await;
                let stopped = count.load(Ordering::Relaxed) > calls;
                assert!(stopped || result.is_ok());
                finished &= !stopped;
                check(&cell, &bucket).await;
                // Nothing of the window is lost either: the moments of the last minute are all there.
                if !retention.is_zero() {
                    for txid in [50, 51, 77, 110] {
                        let past = restore_at(&bucket, &cell.scope, Target::Time(time(txid))).await.unwrap();
                        assert!(past.moment.exact && past.image == cell.images[txid as usize]);
                    }
                }
                // Another process carries on.
                compact_cell(&bucket, &cell.scope, Epoch(4), retention).await.unwrap();
                check(&cell, &bucket).await;
                if calls % 16 == 0 {
                    check_points(&cell, &bucket).await;
                }
            }
            if finished {
                break;
            }
            calls += 1;
        }
        assert!(calls > 20, "only {calls} calls were stopped");
    }
}

#[tokio::test]
async fn a_damaged_object_is_named_and_nothing_is_made_of_it() {
    let cell = Cell::random(5, 80, 30);
    for (damage, victim) in [("flip", 40), ("cut", 41), ("flip", 1)] {
        let bucket = Bucket::in_memory();
        cell.put_all(&bucket, 1000).await;
        let (name, bytes) = cell.object(1, Level::L0, victim, victim);
        let mut bytes = bytes.to_vec();
        match damage {
            "cut" => bytes.truncate(bytes.len() - 30),
            // A page's number of bytes, its content and the index are covered alike; this is the stored time.
            _ => bytes[37] ^= 1,
        }
        bucket.put(&cell.key(&name), bytes.into()).await.unwrap();
        let before = bucket.list("", None, 1000).await.unwrap();
        let error = compact_cell(&bucket, &cell.scope, Epoch(1), Duration::ZERO).await.unwrap_err();
        assert!(error.to_string().contains(&cell.key(&name)), "{error}");
        assert_eq!(bucket.list("", None, 1000).await.unwrap(), before, "nothing was written or deleted");
    }
}

#[tokio::test]
async fn large_objects_have_page_checksums_as_long_as_they_live() {
    // Incompressible, so that the snapshot of the first five transactions is large; the last one leaves a small database.
    let mut random = StdRng::seed_from_u64(1);
    let mut transaction = |(txid, commit, pages): (u64, u32, RangeInclusive<u32>)| {
        let pages = pages.map(|pgno| {
            let mut data = vec![0; celld_ltx::PAGE_SIZE];
            random.fill_bytes(&mut data);
            Page { pgno, data: data.into() }
        });
        File::transaction(Txid(txid), commit, pages.collect(), time(txid) as i64).unwrap()
    };
    let long =
        [(1, 800, 1..=800), (2, 800, 7..=9), (3, 801, 801..=801), (4, 800, 1..=1), (5, 800, 700..=710)];
    let short = (6..=10).map(|txid| (txid, 2, 1..=2));
    let files: Vec<File> = long.into_iter().chain(short).map(&mut transaction).collect();
    let mut cell = Cell::new(files[..5].to_vec());
    let bucket = Bucket::in_memory();
    cell.put_all(&bucket, 5).await;
    let in_time = Duration::from_secs(10);
    let written = snapshot_at_stop(&bucket, &cell.scope, in_time, Duration::ZERO).await.unwrap();
    assert_eq!(written, StopSnapshot::Written);
    let object = list_history(&bucket, &cell.scope).await.unwrap().remove(0);
    let sums = bucket.get(&sums_key(&cell.scope, &object.name)).await.unwrap().unwrap();
    let sums = PageSums::decode(&sums.bytes).unwrap();
    let file = celld_ltx::decode(&bucket.get(&cell.key(&object.name)).await.unwrap().unwrap().bytes).unwrap();
    let numbers = file.pages().iter().map(|page| page.pgno);
    let checked = sums.check(file.header(), numbers, object.size).unwrap();
    let expected: Vec<Checksum> =
        file.pages().iter().map(|page| Checksum::of_page(page.pgno, &page.data)).collect();
    assert_eq!(checked, expected);
    check(&cell, &bucket).await;

    // A later snapshot takes both away, and checksums whose object never came.
    let orphan = celld_replica::HistoryName { max: Txid(3), timestamp_ms: time(3), ..object.name };
    bucket.put(&sums_key(&cell.scope, &orphan), "x".into()).await.unwrap();
    cell = Cell::new(files);
    for txid in 6..=10 {
        cell.put(&bucket, 2, Level::L0, txid, txid).await;
    }
    let written = snapshot_at_stop(&bucket, &cell.scope, in_time, Duration::ZERO).await.unwrap();
    assert_eq!(written, StopSnapshot::Written);
    let keys: Vec<_> = bucket.list("", None, 9).await.unwrap().into_iter().map(|listed| listed.key).collect();
    assert_eq!(keys.len(), 1, "{keys:?}");
    check(&cell, &bucket).await;
}

#[tokio::test]
async fn a_busy_cell_with_a_long_window_stays_one_listing() {
    let cell = Cell::random(3, 3000, 4);
    let bucket = Bucket::in_memory();
    for txid in 1..=cell.last() {
        cell.put(&bucket, 1, Level::L0, txid, txid).await;
        if txid % 10 == 0 {
            compact_cell(&bucket, &cell.scope, Epoch(1), DAY).await.unwrap();
        }
    }
    let objects = list_history(&bucket, &cell.scope).await.unwrap();
    assert!(objects.len() < 900, "{} objects", objects.len());
    check(&cell, &bucket).await;
    // The last transactions are all there, older ones more and more coarsely, and the oldest day has some.
    let timeline = Timeline::read(&bucket, &cell.scope).await.unwrap();
    let points: Vec<u64> = timeline.points().iter().map(|point| point.txid.0).collect();
    assert!((2800..=3000).all(|txid| points.contains(&txid)));
    assert!(points.iter().filter(|txid| **txid < 1500).count() >= 2, "{points:?}");
    for txid in points.iter().step_by(13) {
        let past = restore_at(&bucket, &cell.scope, Target::Txid(Txid(*txid))).await.unwrap();
        assert!(past.image == cell.images[*txid as usize]);
    }
}

#[tokio::test]
async fn what_is_older_than_the_window_goes_once_it_is_covered() {
    let cell = Cell::random(4, 200, 10);
    let bucket = Bucket::in_memory();
    for txid in 1..=cell.last() {
        cell.put(&bucket, 1, Level::L0, txid, txid).await;
        if txid % 20 == 0 {
            compact_cell(&bucket, &cell.scope, Epoch(1), Duration::from_secs(50)).await.unwrap();
        }
    }
    check(&cell, &bucket).await;
    let timeline = Timeline::read(&bucket, &cell.scope).await.unwrap();
    let points: Vec<u64> = timeline.points().iter().map(|point| point.txid.0).collect();
    assert!((150..=200).all(|txid| points.contains(&txid)), "{points:?}");
    // One object covers the rest before the window: only the ends of merged runs are left.
    assert!(points.iter().filter(|txid| **txid < 140).count() <= 8, "{points:?}");
    check_points(&cell, &bucket).await;
}

#[tokio::test]
async fn a_stop_writes_one_snapshot_when_it_is_worth_it_and_fits() {
    let cell = Cell::random(6, 30, 20);
    let bucket = Bucket::in_memory();
    cell.put_all(&bucket, 10).await;
    let stop =
        async |deadline| snapshot_at_stop(&bucket, &cell.scope, deadline, Duration::ZERO).await.unwrap();
    assert_eq!(stop(Duration::ZERO).await, StopSnapshot::TooLarge);
    assert_eq!(list_history(&bucket, &cell.scope).await.unwrap().len(), 30);
    assert_eq!(stop(Duration::from_secs(10)).await, StopSnapshot::Written);
    let objects = list_history(&bucket, &cell.scope).await.unwrap();
    assert_eq!(objects.len(), 1);
    assert_eq!((objects[0].name.level, objects[0].name.epoch), (Level::L9, Epoch(3)));
    check(&cell, &bucket).await;
    assert_eq!(stop(Duration::from_secs(10)).await, StopSnapshot::Short);
}
