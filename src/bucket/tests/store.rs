//! What every bucket promises, checked on the directory and the memory store.

mod cloud;

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, Fate, LocalOptions, Sync, WriteOutcome};

fn text(s: &str) -> Bytes {
    Bytes::copy_from_slice(s.as_bytes())
}

/// Each kind of bucket, with what keeps it alive.
fn buckets() -> Vec<(Option<tempfile::TempDir>, Bucket)> {
    let dir = tempfile::tempdir().unwrap();
    let local = Bucket::local_with(dir.path().join("b"), LocalOptions::default().sync(Sync::Never)).unwrap();
    vec![(Some(dir), local), (None, Bucket::in_memory())]
}

#[tokio::test]
async fn conditional_writes() {
    for (_dir, b) in &buckets() {
        let v1 = b.create("a/b", text("one")).await.done().unwrap();
        assert!(b.create("a/b", text("two")).await.is_refused());
        let v2 = b.update("a/b", text("one"), &v1).await.done().unwrap();
        assert_ne!(v1, v2, "the same content is another version");
        assert!(b.update("a/b", text("x"), &v1).await.is_refused());
        let object = b.get("a/b").await.unwrap().unwrap();
        assert_eq!((object.bytes, object.version), (text("one"), v2.clone()));
        b.delete("a/b").await.unwrap();
        b.delete("a/b").await.unwrap();
        assert!(b.get("a/b").await.unwrap().is_none());
        assert!(b.update("a/b", text("x"), &v2).await.is_refused());
        b.create("a/b", text("one")).await.done().unwrap();
        assert!(b.update("a/b", text("x"), &v2).await.is_refused(), "a new life is not the old version");
        let v3 = b.put("a/b", text("put")).await.unwrap();
        assert!(b.update("a/b", text("last"), &v3).await.is_done());
        assert!(b.update("never", text("x"), &v3).await.is_refused());
    }
}

#[tokio::test]
async fn ranged_reads_are_exact() {
    for (_dir, b) in &buckets() {
        let _ = b.create("k", text("0123456789")).await;
        assert_eq!(b.get_range("k", 2..5).await.unwrap().unwrap(), text("234"));
        assert_eq!(b.get_range("k", 0..10).await.unwrap().unwrap(), text("0123456789"));
        assert_eq!(b.get_range("k", 3..3).await.unwrap().unwrap(), text(""));
        assert!(matches!(b.get_range("k", 5..11).await, Err(BucketError::Range { .. })));
        assert!(b.get_range("none", 0..1).await.unwrap().is_none());
        assert!(b.get_range("none", 1..1).await.unwrap().is_none());
        let tail = b.get_suffix("k", 4).await.unwrap().unwrap();
        assert_eq!((tail.bytes, tail.size), (text("6789"), 10));
        assert_eq!(b.get_suffix("k", 40).await.unwrap().unwrap().bytes.len(), 10);
        assert!(b.get_suffix("none", 1).await.unwrap().is_none());
        let _ = b.create("empty", Bytes::new()).await;
        assert_eq!(b.get("empty").await.unwrap().unwrap().bytes, Bytes::new());
        assert_eq!(b.get_suffix("empty", 9).await.unwrap().unwrap().size, 0);
        assert_eq!(b.get_range("empty", 0..0).await.unwrap().unwrap(), Bytes::new());
    }
}

#[tokio::test]
async fn uploads_appear_whole_or_not_at_all() {
    for (_dir, b) in &buckets() {
        cloud::uploads(b).await;
    }
}

#[tokio::test]
async fn an_upload_meets_the_faults_of_a_write() {
    let b = Bucket::in_memory();
    for (fate, there) in [(Fate::LostRequest, false), (Fate::Throttled, false), (Fate::LostResponse, true)] {
        let faulty = b.with_fates(move |verb, _| if verb == "write" { fate } else { Fate::Good });
        let mut upload = faulty.upload("k").await.unwrap();
        upload.write(text("x")).await.unwrap();
        upload.finish().await.unwrap_err();
        assert_eq!(b.get("k").await.unwrap().is_some(), there, "{fate:?}");
    }
}

#[tokio::test]
async fn listings_follow_the_order_of_keys() {
    let long = "l".repeat(600);
    let mut keys: Vec<String> =
        ["a", "a/b", "a/b/c", "a-", "a-/x", "a.", "a0", "ab/c", "z", "é", "A", "a/.x", "a@"]
            .map(String::from)
            .into();
    keys.extend([long.clone(), format!("{long}/x"), format!("{long}-"), format!("{long}0"), "l".repeat(200)]);
    let mut sorted = keys.clone();
    sorted.sort();
    for (_dir, b) in &buckets() {
        for key in &keys {
            assert!(b.create(key, text("12")).await.is_done(), "{key}");
        }
        let all: Vec<String> = b.list("", None, 100).await.unwrap().into_iter().map(|l| l.key).collect();
        assert_eq!(all, sorted);
        for (i, key) in sorted.iter().enumerate() {
            let rest = b.list("", Some(key), 3).await.unwrap();
            let rest: Vec<String> = rest.into_iter().map(|l| l.key).collect();
            assert_eq!(rest, sorted[i + 1..].iter().take(3).cloned().collect::<Vec<_>>(), "after {key}");
        }
        let below: Vec<String> = b.list("a/", None, 9).await.unwrap().into_iter().map(|l| l.key).collect();
        assert_eq!(below, ["a/.x", "a/b", "a/b/c"]);
        assert_eq!(b.list("a", Some("a/b"), 9).await.unwrap()[0].size, 2);
        assert!(b.list("none", None, 9).await.unwrap().is_empty());
        assert_eq!(b.list_dirs("").await.unwrap(), ["a", "a-", "ab", &long]);
        assert_eq!(b.list_dirs("a").await.unwrap(), ["b"]);
        for key in &keys {
            b.delete(key).await.unwrap();
        }
        assert!(b.list("", None, 9).await.unwrap().is_empty());
        assert!(b.list_dirs("").await.unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_wrong_key_reaches_no_store() {
    for (_dir, b) in &buckets() {
        for key in ["", "/a", "a/", "../a", "a//b"] {
            assert!(matches!(b.get(key).await, Err(BucketError::InvalidKey { .. })), "{key}");
            assert!(matches!(b.create(key, Bytes::new()).await, WriteOutcome::Failed(_)), "{key}");
        }
    }
}

#[tokio::test]
async fn a_directory_that_others_removed_and_made_again_is_followed() {
    let dir = tempfile::tempdir().unwrap();
    let open = || Bucket::local_with(dir.path(), LocalOptions::default().sync(Sync::Never)).unwrap();
    let (one, two) = (open(), open());
    for round in 0..3 {
        // `one` holds d/e open; `two` removes it, and makes it again under the same name.
        assert!(one.create("d/e/x", text("x")).await.is_done());
        open().delete("d/e/x").await.unwrap();
        assert!(!dir.path().join("objects/d").exists());
        let made = two.create("d/e/y", text("y")).await.done().unwrap();
        match round {
            0 => assert!(one.update("d/e/y", text("z"), &made).await.is_done()),
            1 => drop(one.put("d/e/y", text("z")).await.unwrap()),
            _ => assert!(one.create("d/e/y", text("z")).await.is_refused()),
        }
        one.delete("d/e/y").await.unwrap();
        assert!(two.get("d/e/y").await.unwrap().is_none());
        open().delete("d/e/y").await.unwrap();
    }
}
