use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;

use super::writer::Point;
use crate::local::LocalStore;
use crate::store::Store;
use crate::{Bucket, LocalOptions, Sync, WriteOutcome};

fn open(dir: &Path) -> (Bucket, LocalStore) {
    let store = LocalStore::open(dir, LocalOptions::default().sync(Sync::Never)).unwrap();
    (Bucket(Arc::new(store.clone())), store)
}

fn key(number: u64) -> String {
    format!("log/s/{number:08}")
}

fn body(number: u64, size: usize) -> Bytes {
    Bytes::from(format!("{number:8}").repeat(size / 8 + 1).into_bytes())
}

/// What a bucket shows below `log/s`, each object read in full.
async fn contents(bucket: &Bucket) -> BTreeMap<String, Bytes> {
    let mut all = BTreeMap::new();
    for listed in bucket.list("log/s", None, usize::MAX).await.unwrap() {
        if let Some(object) = bucket.get(&listed.key).await.unwrap() {
            assert_eq!(listed.size, object.bytes.len() as u64);
            all.insert(listed.key, object.bytes);
        }
    }
    all
}

fn segments(dir: &Path) -> usize {
    fs::read_dir(dir.join("journals"))
        .unwrap()
        .map(|j| fs::read_dir(j.unwrap().path()).unwrap().count())
        .sum()
}

/// The seal of a successor: created at the first place without an entry.
async fn seal(bucket: &Bucket, mut number: u64) -> u64 {
    while bucket.get(&key(number)).await.unwrap().is_some() {
        number += 1;
    }
    loop {
        match bucket.create(&key(number), Bytes::from("seal")).await {
            WriteOutcome::Done(_) => return number,
            WriteOutcome::Refused => number += 1,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn objects_in_a_journal_are_objects() {
    let dir = tempfile::tempdir().unwrap();
    let (bucket, _) = open(dir.path());
    assert!(bucket.create("log/other/1", Bytes::from("x")).await.is_done());
    assert!(bucket.begin_journal("log/s").await.unwrap());
    assert!(!bucket.begin_journal("log/s").await.unwrap(), "there is one");
    assert!(!bucket.begin_journal("log/other").await.unwrap(), "it has been used");
    assert!(!bucket.begin_journal("").await.unwrap());
    assert!(!bucket.begin_journal(&"long/".repeat(100)).await.unwrap());
    let version = bucket.create(&key(1), Bytes::from("hello")).await.done().unwrap();
    assert!(matches!(bucket.create_blocking(&key(2), &Bytes::new()), Some(WriteOutcome::Done(_))));
    assert!(matches!(bucket.create(&key(1), Bytes::from("again")).await, WriteOutcome::Refused));
    assert!(matches!(bucket.create_blocking(&key(2), &Bytes::new()), Some(WriteOutcome::Refused)));
    let (other, _) = open(dir.path());
    for bucket in [&bucket, &other] {
        let object = bucket.get(&key(1)).await.unwrap().unwrap();
        assert_eq!((&object.bytes[..], object.version), (&b"hello"[..], version.clone()));
        assert_eq!(bucket.get_range(&key(1), 1..3).await.unwrap().unwrap(), "el");
        assert!(bucket.get_range(&key(1), 1..6).await.is_err());
        let suffix = bucket.get_suffix(&key(1), 2).await.unwrap().unwrap();
        assert_eq!((&suffix.bytes[..], suffix.size), (&b"lo"[..], 5));
        assert_eq!(bucket.get(&key(2)).await.unwrap().unwrap().bytes, "");
        assert!(bucket.get(&key(3)).await.unwrap().is_none());
        let list = |prefix: &'static str, after: Option<String>, limit| async move {
            let listed = bucket.list(prefix, after.as_deref(), limit).await.unwrap();
            listed.into_iter().map(|listed| (listed.key, listed.size)).collect::<Vec<_>>()
        };
        let all = [("log/other/1".into(), 1), (key(1), 5), (key(2), 0)];
        assert_eq!(list("", None, 9).await, all);
        assert_eq!(list("log", None, 2).await, all[..2]);
        assert_eq!(list("log/s", Some(key(1)), 9).await, all[2..]);
        assert_eq!(list("lo", None, 9).await, []);
        assert_eq!(bucket.list_dirs("log").await.unwrap(), ["other", "s"]);
        assert_eq!(bucket.list_dirs("").await.unwrap(), ["log"]);
        assert!(bucket.list_dirs("log/s").await.unwrap().is_empty());
    }
    bucket.delete(&key(1)).await.unwrap();
    bucket.delete(&key(1)).await.unwrap();
    assert!(bucket.get(&key(1)).await.unwrap().is_none());
    assert!(other.get(&key(1)).await.unwrap().is_none());
    assert!(bucket.create(&key(1), Bytes::from("new")).await.is_done(), "what is deleted can be created");
    assert_eq!(other.get(&key(1)).await.unwrap().unwrap().bytes, "new");
    assert_eq!(segments(dir.path()), 1, "reading disturbs nobody");
    bucket.end_journal("log/s").await.unwrap();
    bucket.end_journal("log/s").await.unwrap();
    assert_eq!(fs::read_dir(dir.path().join("journals")).unwrap().count(), 0);
    for bucket in [&bucket, &other] {
        let expected = [(key(1), Bytes::from("new")), (key(2), Bytes::new())];
        assert_eq!(contents(bucket).await, BTreeMap::from(expected));
    }
}

/// A log's life: entries come, and the oldest go.
#[tokio::test]
async fn segments_are_used_again_and_readers_follow() {
    let dir = tempfile::tempdir().unwrap();
    let (bucket, _) = open(dir.path());
    let (other, _) = open(dir.path());
    assert!(bucket.begin_journal("log/s").await.unwrap());
    let size =
        |number: u64| if number.is_multiple_of(500) { 20 << 20 } else { (number * 7919 % 90_000) as usize };
    let mut oldest = 1;
    for number in 1..=3000 {
        assert!(bucket.create(&key(number), body(number, size(number))).await.is_done());
        if number % 137 == 0 {
            let gone = (oldest..number - 100).map(key).collect();
            assert!(bucket.delete_many(gone).await.is_empty());
            oldest = number - 100;
        }
        if number % 410 == 0 {
            let expected: BTreeMap<_, _> = (oldest..=number).map(|n| (key(n), body(n, size(n)))).collect();
            assert!(contents(&other).await == expected, "{number}");
            assert!(contents(&open(dir.path()).0).await == expected, "{number}");
            assert!(contents(&bucket).await == expected, "{number}");
        }
    }
    assert!((2..=4).contains(&segments(dir.path())), "{}", segments(dir.path()));
    let expected: BTreeMap<_, _> = (oldest..=3000).map(|n| (key(n), body(n, size(n)))).collect();
    // As after a crash.
    let (successor, _) = open(dir.path());
    assert_eq!(seal(&successor, oldest).await, 3001);
    assert!(matches!(bucket.create(&key(3001), Bytes::from("late")).await, WriteOutcome::Refused));
    assert!(matches!(bucket.create(&key(3000), Bytes::from("late")).await, WriteOutcome::Refused));
    successor.delete(&key(3001)).await.unwrap();
    for bucket in [&bucket, &other, &successor] {
        assert!(contents(bucket).await == expected);
    }
    assert_eq!(fs::read_dir(dir.path().join("journals")).unwrap().count(), 0);
}

/// A process that died before it had written anything.
#[tokio::test]
async fn an_unused_journal_is_removed_by_whoever_is_alone() {
    let dir = tempfile::tempdir().unwrap();
    let (bucket, store) = open(dir.path());
    assert!(bucket.begin_journal("log/s").await.unwrap());
    let (other, another) = open(dir.path());
    assert!(dir.path().join("journals/log!s").exists(), "it may be used yet");
    assert!(bucket.create(&key(1), Bytes::new()).await.is_done());
    assert!(bucket.begin_journal("log/t").await.unwrap());
    drop((bucket, store, other, another));
    let (bucket, _) = open(dir.path());
    assert!(!dir.path().join("journals/log!t").exists());
    assert_eq!(contents(&bucket).await.len(), 1);
}

#[tokio::test]
async fn whatever_else_changes_something_takes_the_journal_apart() {
    for what in ["create", "update", "put", "upload", "delete", "delete_many"] {
        for own in [true, false] {
            let dir = tempfile::tempdir().unwrap();
            let (bucket, _) = open(dir.path());
            let (other, _) = open(dir.path());
            assert!(bucket.begin_journal("log/s").await.unwrap());
            let version = bucket.create(&key(1), Bytes::from("one")).await.done().unwrap();
            assert!(bucket.create(&key(2), Bytes::from("two")).await.is_done());
            let who = if own { &bucket } else { &other };
            let (one, two) = (Bytes::from("one"), Bytes::from("two"));
            let mut expected = BTreeMap::from([(key(1), one), (key(2), two)]);
            let new = Bytes::from("new");
            match what {
                "create" => {
                    assert!(who.create(&key(3), new.clone()).await.is_done());
                    expected.insert(key(3), new);
                }
                "update" => {
                    assert!(who.update(&key(1), new.clone(), &version).await.is_done());
                    assert!(matches!(
                        who.update(&key(1), new.clone(), &version).await,
                        WriteOutcome::Refused
                    ));
                    expected.insert(key(1), new);
                }
                "put" => {
                    who.put(&key(1), new.clone()).await.unwrap();
                    expected.insert(key(1), new);
                }
                "upload" => {
                    let mut upload = who.upload(&key(1)).await.unwrap();
                    upload.write(new.clone()).await.unwrap();
                    upload.finish().await.unwrap();
                    expected.insert(key(1), new);
                }
                "delete" => {
                    who.delete(&key(1)).await.unwrap();
                    expected.remove(&key(1));
                }
                _ => {
                    assert!(who.delete_many(vec![key(2), key(7), key(1)]).await.is_empty());
                    expected.clear();
                }
            }
            let through_the_journal = own && ["create", "delete", "delete_many"].contains(&what);
            assert_eq!(segments(dir.path()) > 0, through_the_journal, "{what} {own}");
            assert_eq!(contents(&bucket).await, expected, "{what} {own}");
            assert_eq!(contents(&other).await, expected, "{what} {own}");
            // The writer goes on, with files.
            let again = bucket.create(&key(2), Bytes::new()).await;
            assert_eq!(again.is_done(), !expected.contains_key(&key(2)), "{what} {own}: {again:?}");
            assert!(bucket.create(&key(9), Bytes::from("nine")).await.is_done());
            assert_eq!(other.get(&key(9)).await.unwrap().unwrap().bytes, "nine");
            bucket.delete(&key(9)).await.unwrap();
            assert!(other.get(&key(9)).await.unwrap().is_none());
        }
    }
}

/// A writer sleeps at the worst moments while a successor seals its log, and while that one's work is repeated.
#[test]
fn a_writer_that_was_asleep_acknowledges_nothing_that_its_successor_did_not_see() {
    for point in [Point::BeforeWriting, Point::BeforeLooking] {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
        let (bucket, store) = open(dir.path());
        assert!(runtime.block_on(bucket.begin_journal("log/s")).unwrap());
        for number in 1..=5 {
            assert!(runtime.block_on(bucket.create(&key(number), body(number, 100))).is_done());
        }
        let sealed = Arc::new(AtomicU64::new(0));
        let writer = store.journals().own("log/s").unwrap();
        *writer.asleep.lock() = Some(Box::new({
            let (sealed, path) = (sealed.clone(), dir.path().to_owned());
            move |now| {
                if now == point {
                    let (successor, _) = open(&path);
                    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    sealed.store(runtime.block_on(seal(&successor, 1)), Ordering::Relaxed);
                }
            }
        }));
        let outcome = store.create_blocking(&key(6), &body(6, 100)).unwrap();
        let seal = sealed.load(Ordering::Relaxed);
        let (reader, _) = open(dir.path());
        let all = runtime.block_on(contents(&reader));
        for number in 1..=5 {
            assert_eq!(all[&key(number)], body(number, 100));
        }
        assert_eq!(all[&key(seal)], "seal");
        assert_eq!(all.len() as u64, seal);
        match point {
            // It came too late.
            Point::BeforeWriting => {
                assert!(matches!(outcome, WriteOutcome::Refused), "{outcome:?}");
                assert_eq!(seal, 6);
            }
            // The successor has found it; the writer must look what stands there.
            Point::BeforeLooking => {
                assert!(matches!(outcome, WriteOutcome::Refused), "{outcome:?}");
                assert_eq!((seal, &all[&key(6)]), (7, &body(6, 100)));
            }
        }
        let next = runtime.block_on(bucket.create(&key(seal), Bytes::new()));
        assert!(matches!(next, WriteOutcome::Refused));
    }
}

/// A record that came too late is in the files of a journal that its successor could not remove any more.
#[tokio::test]
async fn a_late_record_never_stands_before_a_file() {
    let dir = tempfile::tempdir().unwrap();
    let (bucket, _) = open(dir.path());
    assert!(bucket.begin_journal("log/s").await.unwrap());
    for number in 1..=3 {
        assert!(bucket.create(&key(number), body(number, 100)).await.is_done());
    }
    let journal = dir.path().join("journals/log!s");
    let copy = fs::read(journal.join("0")).unwrap();
    // Up to the second record: the third comes late.
    let file = fs::OpenOptions::new().write(true).open(journal.join("0")).unwrap();
    file.set_len(3 * 4096).unwrap();
    let (successor, _) = open(dir.path());
    assert_eq!(seal(&successor, 1).await, 3);
    // The successor crashed before its work was durable, and the disk has the journal again.
    let stopped = dir.path().join("journals/log!s~");
    fs::create_dir(&stopped).unwrap();
    fs::write(stopped.join("0"), copy).unwrap();
    let (reader, _) = open(dir.path());
    for _ in 0..2 {
        assert_eq!(reader.get(&key(3)).await.unwrap().unwrap().bytes, "seal");
        assert_eq!(reader.list("log/s", None, 9).await.unwrap()[2].size, 4);
        assert!(matches!(reader.create(&key(3), Bytes::new()).await, WriteOutcome::Refused));
    }
    assert!(!stopped.exists());
}

/// A reader has opened a journal and sleeps. Meanwhile a successor takes the journal's name and reads it, and then a late record comes.
#[tokio::test]
async fn a_reader_that_was_asleep_shows_only_what_will_stand() {
    for list in [true, false] {
        let dir = tempfile::tempdir().unwrap();
        let (bucket, _) = open(dir.path());
        assert!(bucket.begin_journal("log/s").await.unwrap());
        for number in 1..=3 {
            assert!(bucket.create(&key(number), body(number, 100)).await.is_done());
        }
        let file =
            fs::OpenOptions::new().write(true).read(true).open(dir.path().join("journals/log!s/0")).unwrap();
        let mut late = vec![0; 4096];
        file.read_exact_at(&mut late, 3 * 4096).unwrap();
        file.set_len(3 * 4096).unwrap();
        let (_, successor) = open(dir.path());
        let (reader, store) = open(dir.path());
        *store.journals().asleep.lock() = Some(Box::new(move || {
            assert_eq!(successor.journals().stop("log/s").unwrap().unwrap().len(), 2);
            file.write_all_at(&late, 3 * 4096).unwrap();
        }));
        let seen = if list {
            reader.list("log/s", None, 9).await.unwrap().len() == 3
        } else {
            reader.get(&key(3)).await.unwrap().is_some()
        };
        // Whatever it has seen is decided.
        assert_eq!(dir.path().join("objects/log/s/00000003@").exists(), seen);
        assert_eq!(segments(dir.path()), 0);
    }
}

#[tokio::test]
async fn what_power_cut_short_is_not_there_and_the_rest_is() {
    let dir = tempfile::tempdir().unwrap();
    let (bucket, _) = open(dir.path());
    assert!(bucket.begin_journal("log/s").await.unwrap());
    let sizes = [10, 5000, 0, 9000, 4096, 100];
    for (number, size) in (1..).zip(sizes) {
        assert!(bucket.create(&key(number), body(number, size)).await.is_done());
    }
    let file = dir.path().join("journals/log!s/0");
    let whole = fs::read(&file).unwrap();
    // Where each record's last byte is followed by zeros or another record.
    let mut ends = Vec::new();
    let mut next = 4096;
    for (number, size) in (1..).zip(sizes) {
        let (key, body) = (key(number), body(number, size));
        ends.push(next + 40 + key.len() + body.len());
        next += super::record::Record::extent(&key, &body) as usize;
    }
    for cut in (0..next + 4096).step_by(1024) {
        for filler in [0, 0xa5] {
            let torn = dir.path().join(format!("torn-{cut}-{filler}"));
            drop(open(&torn));
            fs::create_dir(torn.join("journals/log!s")).unwrap();
            let mut bytes = whole[..cut].to_vec();
            bytes.resize(whole.len(), filler);
            fs::write(torn.join("journals/log!s/0"), bytes).unwrap();
            let (bucket, _) = open(&torn);
            let left = ends.iter().take_while(|end| **end <= cut).count();
            let found = contents(&bucket).await;
            assert_eq!(found.len(), left, "{cut}");
            for (number, size) in (1..=found.len() as u64).zip(sizes) {
                assert_eq!(found[&key(number)], body(number, size));
            }
            assert_eq!(seal(&bucket, 1).await, found.len() as u64 + 1);
            assert_eq!(contents(&bucket).await.len(), found.len() + 1);
        }
    }
}

/// Several processes at once: one writes, some read, some seal.
#[test]
fn a_log_that_is_sealed_at_any_moment_has_one_history() {
    for round in 0..25_u64 {
        let dir = tempfile::tempdir().unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let (bucket, store) = open(dir.path());
        assert!(runtime.block_on(bucket.begin_journal("log/s")).unwrap());
        let done = AtomicU64::new(0);
        let (acknowledged, seals) = std::thread::scope(|scope| {
            let writer = scope.spawn(|| {
                let mut acknowledged = 0;
                for number in 1..=100_000 {
                    match store.create_blocking(&key(number), &body(number, 3000)).unwrap() {
                        WriteOutcome::Done(_) => acknowledged = number,
                        WriteOutcome::Refused => {
                            let stands = runtime.block_on(bucket.get(&key(number))).unwrap().unwrap().bytes;
                            if stands == "seal" {
                                break;
                            }
                            assert_eq!(stands, body(number, 3000));
                            acknowledged = number;
                        }
                        other => panic!("{other:?}"),
                    }
                    done.store(number, Ordering::Relaxed);
                    std::thread::sleep(Duration::from_micros(100));
                }
                done.store(u64::MAX, Ordering::Relaxed);
                acknowledged
            });
            let mut others = Vec::new();
            for other in 0..3 {
                let (done, path) = (&done, dir.path());
                others.push(scope.spawn(move || {
                    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
                    let (bucket, _) = open(path);
                    while done.load(Ordering::Relaxed) < round * 7 + other {
                        runtime.block_on(contents(&bucket));
                        std::thread::sleep(Duration::from_millis(2));
                    }
                    // One process seals each number at most once; only one of them gets the first place.
                    runtime.block_on(seal(&bucket, 1))
                }));
            }
            let seals: Vec<u64> = others.into_iter().map(|other| other.join().unwrap()).collect();
            (writer.join().unwrap(), seals)
        });
        let first = *seals.iter().min().unwrap();
        let all = runtime.block_on(contents(&open(dir.path()).0));
        assert_eq!(acknowledged + 1, first, "round {round}: {seals:?}");
        for number in 1..=acknowledged {
            assert_eq!(all[&key(number)], body(number, 3000), "round {round}");
        }
        for seal in &seals {
            assert_eq!(all[&key(*seal)], "seal");
        }
        assert_eq!(all.len() as u64, acknowledged + 3);
    }
}

#[test]
fn what_a_successor_may_have_found_is_never_said_to_have_failed() {
    let dir = tempfile::tempdir().unwrap();
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap();
    let (bucket, store) = open(dir.path());
    assert!(runtime.block_on(bucket.begin_journal("log/s")).unwrap());
    let writer = store.journals().own("log/s").unwrap();
    *writer.asleep.lock() = Some(Box::new({
        let (path, (_, other)) = (dir.path().to_owned(), open(dir.path()));
        move |now| {
            if now == Point::BeforeLooking {
                other.journals().stop("log/s").unwrap();
                // So that taking the journal apart fails as well.
                fs::remove_dir_all(path.join("tmp")).unwrap();
            }
        }
    }));
    let outcome = store.create_blocking(&key(1), &body(1, 100)).unwrap();
    assert!(matches!(outcome, WriteOutcome::Unknown(_)), "{outcome:?}");
    // It can be read all the same, and is there for whoever takes over when that works.
    assert_eq!(runtime.block_on(contents(&bucket)).len(), 1);
    fs::create_dir(dir.path().join("tmp")).unwrap();
    assert_eq!(runtime.block_on(seal(&open(dir.path()).0, 1)), 2);
}

#[tokio::test]
async fn segments_are_given_back_and_readers_let_go_of_them() {
    let dir = tempfile::tempdir().unwrap();
    let (bucket, _) = open(dir.path());
    let (reader, _) = open(dir.path());
    assert!(bucket.begin_journal("log/s").await.unwrap());
    for number in 1..=24 {
        assert!(bucket.create(&key(number), body(number, 5 << 20)).await.is_done());
    }
    assert_eq!(contents(&reader).await.len(), 24);
    assert_eq!(segments(dir.path()), 8);
    for number in 1..=24 {
        bucket.delete(&key(number)).await.unwrap();
    }
    for number in 25..=32 {
        assert!(bucket.create(&key(number), body(number, 5 << 20)).await.is_done());
        assert_eq!(contents(&reader).await, BTreeMap::from([(key(number), body(number, 5 << 20))]));
        bucket.delete(&key(number)).await.unwrap();
    }
    assert!(segments(dir.path()) <= 3, "{}", segments(dir.path()));
    bucket.end_journal("log/s").await.unwrap();
    assert!(contents(&reader).await.is_empty());
    let open = fs::read_dir("/proc/self/fd").map_or(0, |fds| {
        let of = |fd: std::io::Result<fs::DirEntry>| fs::read_link(fd.ok()?.path()).ok();
        let below = |target: &std::path::PathBuf| target.starts_with(dir.path().join("journals/log!s"));
        fds.filter_map(of).filter(below).count()
    });
    assert_eq!(open, 0);
}

/// A journal whose objects are files, and some of whose own files are removed: among them the one that says what is deleted.
#[tokio::test]
async fn what_is_left_of_a_journal_brings_nothing_back() {
    let dir = tempfile::tempdir().unwrap();
    let (bucket, _) = open(dir.path());
    assert!(bucket.begin_journal("log/s").await.unwrap());
    assert!(bucket.create(&key(1), body(1, 100)).await.is_done());
    let copy = fs::read(dir.path().join("journals/log!s/0")).unwrap();
    bucket.delete(&key(1)).await.unwrap();
    bucket.end_journal("log/s").await.unwrap();
    let left = dir.path().join("journals/log!s#");
    fs::create_dir(&left).unwrap();
    fs::write(left.join("0"), copy).unwrap();
    let (reader, _) = open(dir.path());
    assert!(left.exists(), "nobody is alone");
    assert!(contents(&reader).await.is_empty());
    assert!(reader.create(&key(1), Bytes::new()).await.is_done());
    drop((bucket, reader));
    // Neither is anybody while a store is being dropped on another thread.
    for _ in 0..100 {
        let (bucket, _) = open(dir.path());
        assert_eq!(contents(&bucket).await.len(), 1);
        if !left.exists() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("it stays");
}
