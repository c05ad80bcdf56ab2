//! Cells that are brought here from a bucket, in every way there is.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use celld_bucket::{Bucket, Fate};
use celld_ids::{CellScope, Epoch, SessionId};
use celld_images::{CleanCell, From, Images, MARKER, Options};
use celld_ltx::{File, Header, Page, Txid, encode};
use celld_replica::{MIN_OBJECT_BYTES, PageSums};
use celld_storage::{CellDb, CommittedTx, Image, StorageError, Value};

fn scope() -> CellScope {
    CellScope::new("Room", "a").unwrap()
}

/// Writes one object of the cell's history, as celld does.
async fn put(bucket: &Bucket, level: &str, min: u64, max: u64, tx: CommittedTx) {
    let CommittedTx { commit, pages } = tx;
    let header =
        Header { min_txid: Txid(min), max_txid: Txid(max), commit, timestamp_ms: 1, pre_apply: None };
    let file = File::new(header, pages, None).unwrap();
    let bytes = encode(&file);
    let stem = format!("cells/Room/a/ltx/e0000000000000001/{level}/{min:016x}-{max:016x}");
    let size = bytes.len() as u64;
    if size >= MIN_OBJECT_BYTES {
        bucket.put(&format!("{stem}.sums"), PageSums::of(&file, size).encode()).await.unwrap();
    }
    bucket.put(&format!("{stem}.ltx"), bytes.into()).await.unwrap();
}

/// A cell with a table of `rows` rows of about 1 KiB that do not compress, and two later transactions.
async fn history(bucket: &Bucket, rows: u32) -> Vec<u8> {
    let mut db = CellDb::new(Image::Empty, None, Arc::default()).unwrap();
    db.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, v BLOB)", &[]).unwrap();
    db.exec("CREATE VIRTUAL TABLE f USING fts5(body)", &[]).unwrap();
    for first in (0..rows).step_by(500) {
        let fill = "WITH RECURSIVE n(i) AS (SELECT ?1 UNION ALL SELECT i + 1 FROM n WHERE i < ?2)
            INSERT INTO t SELECT i, 'key ' || i, randomblob(1000) FROM n";
        let last = (first + 500).min(rows) - 1;
        db.exec(fill, &[Value::Integer(first.into()), Value::Integer(last.into())]).unwrap();
    }
    db.commit().unwrap().unwrap();
    let image = db.image().unwrap();
    let pages =
        (1u32..).zip(image.chunks(4096)).map(|(pgno, data)| Page { pgno, data: data.into() }).collect();
    put(bucket, "L9", 1, 10, CommittedTx { commit: (image.len() / 4096) as u32, pages }).await;
    for txid in [11, 12] {
        db.exec("UPDATE t SET v = randomblob(1000) WHERE id = ?", &[Value::Integer(txid as i64)]).unwrap();
        db.exec("INSERT INTO f VALUES('hello world')", &[]).unwrap();
        let tx = db.commit().unwrap().unwrap();
        put(bucket, "L0", txid, txid, tx).await;
    }
    db.image().unwrap()
}

fn one(db: &mut CellDb, sql: &str) -> Result<String, StorageError> {
    let Some(cursor) = db.exec(sql, &[])?.cursor else { return Ok(String::new()) };
    let row = db.next_row(cursor, |row| match row.get(0) {
        Value::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    })?;
    db.close_cursor(cursor);
    Ok(row.value)
}

fn open(image: Image) -> CellDb {
    CellDb::new(image, None, Arc::default()).unwrap()
}

/// SQLite blocks, so it gets a thread, as a cell has one.
async fn on_a_thread<R: Send + 'static>(f: impl FnOnce() -> R + Send + 'static) -> R {
    tokio::task::spawn_blocking(f).await.unwrap()
}

fn paging(hydrate: Option<u64>) -> Options {
    Options { paged_min_bytes: 1 << 20, hydrate, page_deadline: Duration::from_secs(5), ..Options::default() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_way_depends_on_the_size() {
    let dir = tempfile::tempdir().unwrap();
    let bucket = Bucket::in_memory();
    let images = Arc::new(Images::open(dir.path().join("cells"), bucket.clone(), paging(None)).unwrap());
    let nothing = images.activate(&scope(), None).await.unwrap();
    assert_eq!((nothing.from, nothing.txid), (From::Nothing, Txid(0)));

    for (rows, wanted) in [(10, From::Clone), (400, From::Clone), (4000, From::Pages)] {
        let bucket = Bucket::in_memory();
        let dir = tempfile::tempdir().unwrap();
        let whole = history(&bucket, rows).await;
        let images = Arc::new(Images::open(dir.path().join("cells"), bucket.clone(), paging(None)).unwrap());
        // As the node does it: on the I/O runtime, from anywhere.
        let activated =
            tokio::spawn(async move { images.activate(&scope(), None).await }).await.unwrap().unwrap();
        assert_eq!((activated.from, activated.txid), (wanted, Txid(12)), "{rows} rows");
        assert_eq!(matches!(activated.image, Image::Memory(_)), rows == 10);
        assert!(on_a_thread(move || open(activated.image).image().unwrap()).await == whole);

        // A database that is not to be paged is copied.
        let options = Options { paged: false, ..paging(None) };
        let images = Images::open(dir.path().join("other"), bucket.clone(), options).unwrap();
        let copied = images.activate(&scope(), None).await.unwrap();
        assert_eq!(copied.from, From::Clone);
        assert!(open(copied.image).image().unwrap() == whole);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_first_read_of_a_paged_cell_takes_few_round_trips() {
    let bucket = Bucket::in_memory();
    history(&bucket, 20_000).await;
    let calls = Arc::new(AtomicU64::new(0));
    let counted = calls.clone();
    let counting = bucket.with_fates(move |_, _| {
        counted.fetch_add(1, Ordering::Relaxed);
        Fate::Good
    });
    let dir = tempfile::tempdir().unwrap();
    let images = Images::open(dir.path().join("cells"), counting, paging(None)).unwrap();
    let activated = images.activate(&scope(), None).await.unwrap();
    let activation = calls.swap(0, Ordering::Relaxed);
    // The listing; three parts of the snapshot and two small objects, all at once.
    assert_eq!(activation, 6);
    let value =
        on_a_thread(|| one(&mut open(activated.image), "SELECT id FROM t WHERE k = 'key 17000'")).await;
    assert_eq!(value.unwrap(), "Integer(17000)");
    let read = calls.load(Ordering::Relaxed);
    println!("{activation} requests in 2 round trips, then {read} one after another");
    assert!(activation + read <= 14 && 2 + read <= 10, "{read}");
}

/// Writes, among them FTS5's, while the file fills, and with a store that fails now and then: in the end the file is complete and
/// holds what a whole cell would hold.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_paged_cell_is_written_while_it_fills() {
    let bucket = Bucket::in_memory();
    let whole = history(&bucket, 8000).await;
    let seen = AtomicU64::new(0);
    let faulty = bucket.with_fates(move |verb, _| match seen.fetch_add(1, Ordering::Relaxed) {
        n if verb == "read" && n % 7 == 6 => Fate::LostRequest,
        n if verb == "read" && n % 11 == 3 => Fate::Slow(Duration::from_millis(3)),
        _ => Fate::Good,
    });
    let dir = tempfile::tempdir().unwrap();
    let images = Arc::new(Images::open(dir.path().join("cells"), faulty, paging(Some(30 << 20))).unwrap());
    let activated = loop {
        match images.activate(&scope(), None).await {
            Ok(activated) => break activated,
            Err(error) => println!("{error}"),
        }
    };
    let Image::Paged(paged) = &activated.image else { panic!("{activated:?}") };
    let paged = paged.clone();
    assert!(!paged.is_complete());
    on_a_thread(move || {
        let (mut there, mut here) = (open(activated.image), open(Image::Memory(whole)));
        for round in 0..300 {
            for db in [&mut there, &mut here] {
                let key = Value::Integer(round * 7919 % 8000);
                db.exec("UPDATE t SET v = zeroblob(900) WHERE id = ?", &[key]).unwrap();
                db.exec("INSERT INTO f VALUES('round ' || ?)", &[Value::Integer(round)]).unwrap();
                if round % 50 == 49 {
                    db.exec("DELETE FROM t WHERE id % 100 = 3", &[]).unwrap();
                }
                db.commit().unwrap().unwrap();
            }
        }
        let begun = Instant::now();
        while !paged.is_complete() {
            assert!(begun.elapsed() < Duration::from_secs(60), "{paged:?}");
            std::thread::sleep(Duration::from_millis(20));
        }
        for sql in [
            "SELECT count(*) || ' ' || sum(length(v)) || ' ' || sum(id) FROM t",
            "SELECT count(*) FROM f WHERE f MATCH 'round'",
            "PRAGMA quick_check",
        ] {
            assert_eq!(one(&mut there, sql).unwrap(), one(&mut here, sql).unwrap());
        }
        // The bytes are the same too: both did the same from the same start.
        assert!(there.image().unwrap() == here.image().unwrap());
        there.rollback().unwrap();
        assert!(there.close_idle());
        assert!(matches!(there.into_image().unwrap(), Image::File(_)));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_does_not_answer_fails_the_read_in_time() {
    let bucket = Bucket::in_memory();
    history(&bucket, 4000).await;
    let down = Arc::new(AtomicBool::new(false));
    let switch = down.clone();
    let flaky = bucket.with_fates(move |_, _| match switch.load(Ordering::Relaxed) {
        true => Fate::Slow(Duration::from_secs(3600)),
        false => Fate::Good,
    });
    let dir = tempfile::tempdir().unwrap();
    let options = Options { page_deadline: Duration::from_millis(300), ..paging(None) };
    let images = Images::open(dir.path().join("cells"), flaky, options).unwrap();
    let activated = images.activate(&scope(), None).await.unwrap();
    down.store(true, Ordering::Relaxed);
    on_a_thread(move || {
        let mut db = open(activated.image);
        let begun = Instant::now();
        let error = one(&mut db, "SELECT sum(length(v)) FROM t").unwrap_err();
        assert!(error.to_string().contains("did not answer within 300 ms"), "{error}");
        assert!(begun.elapsed() < Duration::from_secs(30));
        down.store(false, Ordering::Relaxed);
        assert_eq!(one(&mut db, "SELECT sum(length(v)) FROM t").unwrap(), "Integer(4000000)");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn damage_reaches_the_statement_that_meets_it() {
    let bucket = Bucket::in_memory();
    history(&bucket, 4000).await;
    let key = "cells/Room/a/ltx/e0000000000000001/L9/0000000000000001-000000000000000a.ltx";
    let mut bytes = bucket.get(key).await.unwrap().unwrap().bytes.to_vec();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    bucket.put(key, bytes.into()).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let images = Images::open(dir.path().join("cells"), bucket, paging(Some(100 << 20))).unwrap();
    let activated = images.activate(&scope(), None).await.unwrap();
    let error =
        on_a_thread(|| one(&mut open(activated.image), "SELECT sum(length(v)) FROM t").unwrap_err()).await;
    assert!(error.to_string().contains(&format!("in {key} is damaged")), "{error}");
}

/// A node stops cleanly, starts, uses the file without reading the history, and crashes: then nothing local counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clean_stop_saves_a_restore() {
    let bucket = Bucket::in_memory();
    let whole = history(&bucket, 400).await;
    let dir = tempfile::tempdir().unwrap();
    let cells = dir.path().join("cells");
    let (session, epoch) = (SessionId::new("n.1").unwrap(), Epoch(1));
    let options = || Options { paged: false, ..Options::default() };
    let images = Images::open(cells.clone(), bucket.clone(), options()).unwrap();
    let activated = images.activate(&scope(), None).await.unwrap();
    let Image::File(file) = open(activated.image).into_image().unwrap() else { panic!("no file") };
    let cell = CleanCell { scope: scope(), epoch, txid: Txid(12), file };
    let deadline = Instant::now() + Duration::from_secs(10);
    assert_eq!(images.clean_stop(&session, vec![cell], deadline).unwrap().kept, 1);
    assert!(dir.path().join(MARKER).exists());

    let images = Images::open(cells.clone(), bucket.clone(), options()).unwrap();
    assert!(!dir.path().join(MARKER).exists());
    let activated = images.activate(&scope(), Some((&session, epoch))).await.unwrap();
    assert_eq!((activated.from, activated.txid), (From::LocalFile, Txid(12)));
    assert!(open(activated.image).image().unwrap() == whole);

    let images = Images::open(cells.clone(), bucket.clone(), options()).unwrap();
    assert_eq!(std::fs::read_dir(&cells).unwrap().count(), 0);
    let activated = images.activate(&scope(), Some((&session, epoch))).await.unwrap();
    assert_eq!(activated.from, From::Clone);
}
