//! The directory store among other processes, crashes and damage.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, LocalOptions, Sync, WriteOutcome};

const ROLE: &str = "CELLD_BUCKET_TEST_ROLE";
const DIR: &str = "CELLD_BUCKET_TEST_DIR";

fn child(role: &str, dir: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child_process", "--nocapture"])
        .env(ROLE, role)
        .env(DIR, dir)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

fn lines(child: Child) -> Vec<String> {
    let out = child.wait_with_output().unwrap();
    assert!(out.status.success());
    String::from_utf8(out.stdout)
        .unwrap()
        .lines()
        .filter_map(|l| l.strip_prefix("> "))
        .map(String::from)
        .collect()
}

/// Not a test: what the other processes of the tests below do.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn child_process() {
    let (Ok(role), Ok(dir)) = (std::env::var(ROLE), std::env::var(DIR)) else { return };
    let bucket = Bucket::local_with(dir, LocalOptions::default().sync(Sync::Never)).unwrap();
    let me = std::process::id().to_string();
    match role.as_str() {
        "create" => {
            for i in 0..300 {
                match bucket.create(&format!("race/{i}"), Bytes::from(me.clone())).await {
                    WriteOutcome::Done(_) => println!("> {i}"),
                    WriteOutcome::Refused => {}
                    other => panic!("{other:?}"),
                }
            }
        }
        "count" => {
            for _ in 0..200 {
                loop {
                    let object = bucket.get("counter").await.unwrap().unwrap();
                    let n: u64 = std::str::from_utf8(&object.bytes).unwrap().parse().unwrap();
                    match bucket.update("counter", Bytes::from((n + 1).to_string()), &object.version).await {
                        WriteOutcome::Done(_) => break,
                        WriteOutcome::Refused => {}
                        other => panic!("{other:?}"),
                    }
                }
            }
        }
        // Creates and removes in one directory, so that it comes and goes.
        "churn" => {
            for i in 0..300 {
                let key = format!("churn/deep/{me}-{i}");
                assert!(bucket.create(&key, Bytes::new()).await.is_done());
                bucket.delete(&key).await.unwrap();
                // Unknown to this process's open directories: removed when it is empty.
                bucket.delete(&format!("churn/other/{i}")).await.unwrap();
                bucket.put("churn/other/x", Bytes::new()).await.unwrap();
                bucket.delete("churn/other/x").await.unwrap();
            }
        }
        // Writes until it is killed; says what has been answered.
        "write" => {
            let mut version = bucket.put("big", content(0)).await.unwrap();
            for i in 1u64.. {
                match bucket.update("big", content(i), &version).await {
                    WriteOutcome::Done(new) => version = new,
                    other => panic!("{other:?}"),
                }
                assert!(bucket.create(&format!("log/{i}"), content(i)).await.is_done());
                println!("> {i}");
            }
        }
        // The same into a journal, whose oldest objects are deleted.
        "log" => {
            assert!(bucket.begin_journal("log").await.unwrap());
            for i in 1u64.. {
                assert!(bucket.create_blocking(&format!("log/{i:08}"), &content(i)).unwrap().is_done());
                println!("> {i}");
                // Told once more when the oldest are gone.
                if i.is_multiple_of(50) {
                    let keys =
                        (i.saturating_sub(74).max(1)..=i - 25).map(|i| format!("log/{i:08}")).collect();
                    assert!(bucket.delete_many(keys).await.is_empty());
                    println!("> {i} {}", i - 25);
                }
            }
        }
        other => panic!("unknown role {other}"),
    }
}

/// 100 KB that say which write made them.
fn content(i: u64) -> Bytes {
    Bytes::from(i.to_le_bytes().repeat(12_500))
}

#[tokio::test]
async fn of_many_processes_that_create_exactly_one_wins() {
    let dir = tempfile::tempdir().unwrap();
    let bucket_dir = dir.path().join("bucket");
    // They also race to make the bucket itself.
    let children: Vec<Child> = (0..4).map(|_| child("create", &bucket_dir)).collect();
    let mut won: Vec<(u32, String)> = Vec::new();
    for child in children {
        let pid = child.id();
        won.extend(lines(child).into_iter().map(|i| (pid, i)));
    }
    assert_eq!(won.len(), 300);
    let bucket = Bucket::local(&bucket_dir).unwrap();
    for (pid, i) in won {
        assert_eq!(
            bucket.get(&format!("race/{i}")).await.unwrap().unwrap().bytes,
            Bytes::from(pid.to_string())
        );
    }
}

#[tokio::test]
async fn no_update_of_another_process_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let bucket = Bucket::local(dir.path()).unwrap();
    assert!(bucket.create("counter", Bytes::from("0")).await.is_done());
    let children: Vec<Child> = (0..4).map(|_| child("count", dir.path())).collect();
    for child in children {
        lines(child);
    }
    assert_eq!(bucket.get("counter").await.unwrap().unwrap().bytes, Bytes::from("800"));
}

#[tokio::test]
async fn directories_may_come_and_go_under_a_writer() {
    let dir = tempfile::tempdir().unwrap();
    let children: Vec<Child> = (0..3).map(|_| child("churn", dir.path())).collect();
    for child in children {
        lines(child);
    }
    assert!(Bucket::local(dir.path()).unwrap().list("", None, 9).await.unwrap().is_empty());
}

#[tokio::test]
async fn a_killed_writer_leaves_whole_objects_and_everything_it_was_told() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let bucket_dir = dir.path().join(round.to_string());
        let mut child = child("write", &bucket_dir);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        let mut told = 0;
        let mut line = String::new();
        while told < 3 + round * 7 {
            line.clear();
            assert_ne!(out.read_line(&mut line).unwrap(), 0);
            told = line.trim().strip_prefix("> ").map_or(told, |i| i.parse().unwrap());
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for rest in out.lines() {
            told = rest.unwrap().strip_prefix("> ").map_or(told, |i| i.parse().unwrap());
        }
        let bucket = Bucket::local(&bucket_dir).unwrap();
        let big = bucket.get("big").await.unwrap().unwrap().bytes;
        let i = u64::from_le_bytes(big[..8].try_into().unwrap());
        assert_eq!(big, content(i));
        assert!(i == told || i == told + 1, "{i} {told}");
        for i in 1..=told {
            assert_eq!(bucket.get(&format!("log/{i}")).await.unwrap().unwrap().bytes, content(i));
        }
        assert_eq!(
            std::fs::read_dir(bucket_dir.join("tmp")).unwrap().count(),
            0,
            "opening it alone cleans up"
        );
    }
}

#[tokio::test]
async fn a_killed_writer_of_a_journal_leaves_everything_it_was_told() {
    let dir = tempfile::tempdir().unwrap();
    for round in 0..8 {
        let bucket_dir = dir.path().join(round.to_string());
        let mut child = child("log", &bucket_dir);
        let mut out = BufReader::new(child.stdout.take().unwrap());
        // The last one that was created, and the last one that was deleted.
        let (mut created, mut deleted) = (0, 0);
        let mut note = |line: &str| {
            let numbers = line.trim().strip_prefix("> ").unwrap_or("").split_whitespace();
            let numbers: Vec<u64> = numbers.map(|n| n.parse().unwrap()).collect();
            created = numbers.first().copied().unwrap_or(created);
            deleted = numbers.get(1).copied().unwrap_or(deleted);
            created
        };
        let mut line = String::new();
        while note(&line) < 20 + round * 45 {
            line.clear();
            assert_ne!(out.read_line(&mut line).unwrap(), 0);
        }
        child.kill().unwrap();
        child.wait().unwrap();
        for rest in out.lines() {
            note(&rest.unwrap());
        }
        let bucket = Bucket::local(&bucket_dir).unwrap();
        let listed = bucket.list("log", None, 9999).await.unwrap();
        let there: Vec<u64> =
            listed.iter().map(|l| l.key.trim_start_matches("log/").parse().unwrap()).collect();
        // What it was not told of may have happened: one more object, or one more round of deletions.
        let (first, last) = (there[0], *there.last().unwrap());
        assert!(
            first == deleted + 1 || first == created - 24 && created.is_multiple_of(50),
            "{first} {deleted}"
        );
        assert!(last == created || last == created + 1, "{last} {created}");
        assert_eq!(there, (first..=last).collect::<Vec<_>>());
        // As they are, and as its successor leaves them.
        for _ in 0..2 {
            for i in &there {
                let object = bucket.get(&format!("log/{i:08}")).await.unwrap().unwrap();
                assert!(object.bytes == content(*i), "{i}");
            }
            let seal = format!("log/{:08}", last + 1);
            assert!(bucket.create(&seal, Bytes::from("seal")).await.is_done());
            assert_eq!(std::fs::read_dir(bucket_dir.join("journals")).unwrap().count(), 0);
            bucket.delete(&seal).await.unwrap();
        }
    }
}

#[tokio::test]
async fn a_directory_of_the_layout_before_becomes_one_of_this_layout() {
    let dir = tempfile::tempdir().unwrap();
    let marker = dir.path().join("celld-bucket");
    let older = |bucket: Bucket| {
        drop(bucket);
        std::fs::write(&marker, "celld bucket directory, layout 1\n").unwrap();
        std::fs::remove_dir(dir.path().join("journals")).unwrap();
    };
    let bucket = Bucket::local(dir.path()).unwrap();
    assert!(bucket.create("a", Bytes::from("hello")).await.is_done());
    older(bucket);
    let bucket = Bucket::local(dir.path()).unwrap();
    assert_eq!(bucket.get("a").await.unwrap().unwrap().bytes, "hello");
    assert_eq!(std::fs::read_to_string(&marker).unwrap(), "celld bucket directory, layout 2\n");
    assert!(bucket.begin_journal("log/s").await.unwrap());
    bucket.end_journal("log/s").await.unwrap();
    older(bucket);
    // A process that knows only that layout has it open.
    let lock = std::fs::File::open(dir.path().join("lock")).unwrap();
    lock.lock_shared().unwrap();
    let error = Bucket::local(dir.path()).unwrap_err().to_string();
    assert!(error.contains("an older version of celld has it open"), "{error}");
    assert!(std::fs::read_to_string(&marker).unwrap().ends_with("layout 1\n"));
    drop(lock);
    assert!(Bucket::local(dir.path()).unwrap().get("a").await.unwrap().is_some());
    std::fs::write(&marker, "celld bucket directory, layout 3\n").unwrap();
    let error = Bucket::local(dir.path()).unwrap_err().to_string();
    assert!(error.contains("another version of celld made it"), "{error}");
}

#[tokio::test]
async fn damage_is_reported_with_the_path() {
    let dir = tempfile::tempdir().unwrap();
    let bucket = Bucket::local(dir.path()).unwrap();
    assert!(bucket.create("a", Bytes::from("hello")).await.is_done());
    let file = dir.path().join("objects/a@");
    let good = std::fs::read(&file).unwrap();
    let mut flipped = good.clone();
    flipped[0] ^= 1;
    for bad in [&flipped[..], &good[1..], &good[..good.len() - 1], &good[..10], b"", b"{}"] {
        std::fs::write(&file, bad).unwrap();
        let error = bucket.get("a").await.unwrap_err();
        assert!(matches!(&error, BucketError::Damaged { .. }), "{error}");
        assert!(error.to_string().contains("objects/a@"), "{error}");
    }
    std::fs::write(&file, good).unwrap();
    assert!(bucket.get("a").await.unwrap().is_some());
}

#[test]
fn a_directory_of_somebody_else_is_left_alone() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join("thesis.tex"), "x").unwrap();
    let error = Bucket::local(dir.path()).unwrap_err().to_string();
    assert!(error.contains("thesis.tex") && error.contains("celld did not make it"), "{error}");
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);

    let file = dir.path().join("thesis.tex");
    assert!(Bucket::local(&file).unwrap_err().to_string().contains("not a directory"));

    let damaged = dir.path().join("damaged");
    drop(Bucket::local(&damaged).unwrap());
    std::fs::write(damaged.join("celld-bucket"), "").unwrap();
    assert!(Bucket::local(&damaged).unwrap_err().to_string().contains("damaged"));
}
