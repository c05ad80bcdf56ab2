#![allow(dead_code, reason = "not every server's tests use all of it")]
//! What a bucket of any cloud has to do, for the tests against the real servers.

use std::io::Write;

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, Faults, Probe, StoreOptions, WriteOutcome};

/// The value of the variable that names a server, or `None` after a line about it that no test runner hides.
pub fn server(variable: &str) -> Option<String> {
    let value = std::env::var(variable).ok().filter(|value| !value.is_empty());
    if value.is_none() {
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: {variable} names no server");
    }
    value
}

/// Options with these variables instead of the process's own.
pub fn options(endpoint: Option<&str>, variables: &[(&str, &str)]) -> StoreOptions {
    let mut options = StoreOptions::new(endpoint.map(str::to_owned), None);
    options.variables = Some(variables.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect());
    options
}

/// The bucket `base` with a prefix that nobody has used.
pub fn open(base: &str, options: &StoreOptions) -> Bucket {
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).unwrap();
    let url = format!("{base}/t/{:016x}", u64::from_le_bytes(nonce));
    Bucket::open(&url.parse().unwrap(), options).unwrap()
}

fn text(s: &str) -> Bytes {
    Bytes::copy_from_slice(s.as_bytes())
}

pub async fn probe(b: &Bucket) {
    let probe = b.probe().await;
    assert!(matches!(probe, Probe::Qualified), "{probe:?}");
    assert!(b.list("", None, 9).await.unwrap().is_empty());
}

pub async fn conditional_writes(b: &Bucket) {
    let v1 = b.create("a/b", text("one")).await.done().unwrap();
    assert!(b.create("a/b", text("two")).await.is_refused());
    let v2 = b.update("a/b", text("two"), &v1).await.done().unwrap();
    assert_ne!(v1, v2);
    assert!(b.update("a/b", text("x"), &v1).await.is_refused());
    let object = b.get("a/b").await.unwrap().unwrap();
    assert_eq!((object.bytes, &object.version), (text("two"), &v2));
    assert!(b.update("none", text("x"), &v2).await.is_refused());
    assert!(b.get("none").await.unwrap().is_none());
    // The version of an unconditional write, and the one that a read shows, are conditions too.
    let v3 = b.put("a/b", text("three")).await.unwrap();
    let read = b.get("a/b").await.unwrap().unwrap().version;
    assert_eq!(v3, read);
    assert!(b.update("a/b", text("four"), &read).await.is_done());
    b.delete("a/b").await.unwrap();
    b.delete("a/b").await.unwrap();
    assert!(b.update("a/b", text("x"), &v2).await.is_refused());
    assert!(b.create("a/b", text("again")).await.is_done());
}

pub async fn reads(b: &Bucket) {
    b.put("k", text("0123456789")).await.unwrap();
    assert_eq!(b.get_range("k", 2..5).await.unwrap().unwrap(), text("234"));
    assert_eq!(b.get_range("k", 0..10).await.unwrap().unwrap(), text("0123456789"));
    assert_eq!(b.get_range("k", 3..3).await.unwrap().unwrap(), Bytes::new());
    for outside in [5..11, 10..11, 20..30] {
        let error = b.get_range("k", outside).await.unwrap_err();
        assert!(matches!(error, BucketError::Range { .. }), "{error}");
    }
    let tail = b.get_suffix("k", 4).await.unwrap().unwrap();
    assert_eq!((tail.bytes, tail.size), (text("6789"), 10));
    assert_eq!(b.get_suffix("k", 40).await.unwrap().unwrap().size, 10);
    assert!(b.get_suffix("none", 4).await.unwrap().is_none());
    assert!(b.get_range("none", 0..1).await.unwrap().is_none());
    b.put("empty", Bytes::new()).await.unwrap();
    assert_eq!(b.get("empty").await.unwrap().unwrap().bytes, Bytes::new());
    assert_eq!(b.get_suffix("empty", 4).await.unwrap().unwrap().size, 0);
    let large = Bytes::from((0..3_000_000u32).map(|i| (i % 251) as u8).collect::<Vec<_>>());
    assert!(b.create("large", large.clone()).await.is_done());
    assert_eq!(b.get("large").await.unwrap().unwrap().bytes, large);
    assert_eq!(
        b.get_range("large", 1_000_000..2_000_000).await.unwrap().unwrap(),
        large[1_000_000..2_000_000]
    );
}

pub async fn listings(b: &Bucket) {
    let keys = ["a", "a-/x", "a/b", "a/b/c", "a0", "é ~#%&+/x", "z"];
    for key in keys {
        assert!(b.create(key, text("12")).await.is_done(), "{key}");
        assert_eq!(b.get(key).await.unwrap().unwrap().bytes, text("12"), "{key}");
    }
    let mut sorted = keys;
    sorted.sort_unstable();
    for limit in [1, 2, 100] {
        let mut all: Vec<String> = Vec::new();
        loop {
            let page = b.list("", all.last().map(String::as_str), limit).await.unwrap();
            if page.is_empty() {
                break;
            }
            assert!(page.len() <= limit && page.iter().all(|l| l.size == 2));
            all.extend(page.into_iter().map(|l| l.key));
        }
        assert_eq!(all, sorted, "{limit} at a time");
    }
    let below: Vec<_> = b.list("a", None, 9).await.unwrap().into_iter().map(|l| l.key).collect();
    assert_eq!(below, ["a/b", "a/b/c"]);
    assert_eq!(b.list_dirs("").await.unwrap(), ["a", "a-", "é ~#%&+"]);
    assert_eq!(b.list_dirs("a/").await.unwrap(), ["b"]);
    for key in keys {
        b.delete(key).await.unwrap();
    }
    assert!(b.list("", None, 9).await.unwrap().is_empty());
}

/// Writers on several tasks, some of whose answers are lost: one object has one creator, and no counted update is lost.
pub async fn races(b: &Bucket) {
    let mut writers = tokio::task::JoinSet::new();
    for i in 0..8 {
        let b = b.clone();
        writers.spawn(async move { b.create("race", Bytes::from(i.to_string())).await.is_done() });
    }
    assert_eq!(writers.join_all().await.into_iter().filter(|won| *won).count(), 1);

    assert!(b.create("history", Bytes::new()).await.is_done());
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..3 {
        let b = b.with_faults(Faults { seed: writer, lost_response: 0.3, ..Faults::default() });
        writers.spawn(async move {
            let mut done = Vec::new();
            for i in 0..8 {
                let Ok(Some(object)) = b.get("history").await else { continue };
                let name = format!("{writer}.{i};");
                let bytes = Bytes::from([&object.bytes[..], name.as_bytes()].concat());
                if b.update_resolved("history", bytes, &object.version).await.is_done() {
                    done.push(name);
                }
            }
            done
        });
    }
    let done = writers.join_all().await.concat();
    let history = b.get("history").await.unwrap().unwrap().bytes;
    let history = std::str::from_utf8(&history).unwrap();
    for name in &done {
        assert_eq!(history.matches(name.as_str()).count(), 1, "{name} of {history}");
    }
    assert!(!done.is_empty());
}

/// A bucket that does not exist: nothing is taken for an outage or for an empty bucket.
pub async fn no_bucket(b: &Bucket) {
    let outcome = b.create("k", Bytes::new()).await;
    assert!(matches!(&outcome, WriteOutcome::Failed(BucketError::NoBucket { .. })), "{outcome:?}");
    let read = b.get("k").await;
    assert!(matches!(&read, Err(BucketError::NoBucket { .. })), "{read:?}");
    let listing = b.list("", None, 9).await;
    assert!(matches!(&listing, Err(BucketError::NoBucket { .. })), "{listing:?}");
    let probe = b.probe().await;
    assert!(matches!(&probe, Probe::Unreachable(BucketError::NoBucket { .. })), "{probe:?}");
}

/// Objects written in pieces: empty, of exactly one part, of several; given up; over an object that is there.
pub async fn uploads(b: &Bucket) {
    const PART: usize = 8 << 20;
    for (name, size, piece) in
        [("none", 0, 1), ("small", 1000, 100), ("part", PART, 1 << 20), ("parts", 2 * PART + 7, 3_000_001)]
    {
        b.put(name, text("before")).await.unwrap();
        let content: Vec<u8> = (0..size).map(|at| (at / 1000 + at) as u8).collect();
        let mut upload = b.upload(name).await.unwrap();
        for piece in content.chunks(piece) {
            upload.write(Bytes::copy_from_slice(piece)).await.unwrap();
        }
        assert_eq!(b.get(name).await.unwrap().unwrap().bytes, text("before"), "{name} is not there yet");
        upload.finish().await.unwrap();
        let read = b.get(name).await.unwrap().unwrap();
        assert!(read.bytes == content, "{name}");
        assert!(b.update(name, text("after"), &read.version).await.is_done(), "{name}");
    }
    let mut upload = b.upload("given-up").await.unwrap();
    upload.write(vec![1; 2 * PART].into()).await.unwrap();
    drop(upload);
    assert!(b.get("given-up").await.unwrap().is_none());
    assert_eq!(b.list("", None, 9).await.unwrap().len(), 4);
}
