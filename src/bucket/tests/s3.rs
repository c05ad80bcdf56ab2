//! The S3 store against a real server. Runs only when `CELLD_TEST_S3` is its address, for example with
//! `pip install 'moto[server,s3]' && moto_server -p 5555` and `CELLD_TEST_S3=http://127.0.0.1:5555`.

use std::collections::BTreeMap;

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, Probe, StoreOptions, WriteOutcome};

fn options(endpoint: &str) -> StoreOptions {
    let mut options = StoreOptions::new(Some(endpoint.to_owned()), Some("us-east-1".to_owned()));
    let variables = [("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test")];
    options.variables = Some(BTreeMap::from(variables.map(|(n, v)| (n.to_owned(), v.to_owned()))));
    options
}

/// A bucket with a prefix of its own, or `None` when there is no server to test with. The bucket `celld-test` must exist.
fn bucket() -> Option<Bucket> {
    let endpoint = std::env::var("CELLD_TEST_S3").ok()?;
    let mut nonce = [0; 8];
    getrandom::fill(&mut nonce).unwrap();
    let url = format!("s3://celld-test/t/{:016x}", u64::from_le_bytes(nonce));
    Some(Bucket::open(&url.parse().unwrap(), &options(&endpoint)).unwrap())
}

fn text(s: &str) -> Bytes {
    Bytes::copy_from_slice(s.as_bytes())
}

#[tokio::test]
async fn conditional_writes_reads_and_listings() {
    let Some(b) = bucket() else { return };
    assert!(matches!(b.probe().await, Probe::Qualified));

    let v1 = b.create("a/b", text("one")).await.done().unwrap();
    assert!(b.create("a/b", text("two")).await.is_refused());
    let v2 = b.update("a/b", text("two"), &v1).await.done().unwrap();
    assert!(b.update("a/b", text("x"), &v1).await.is_refused());
    let object = b.get("a/b").await.unwrap().unwrap();
    assert_eq!((object.bytes, object.version), (text("two"), v2.clone()));
    assert!(b.update("none", text("x"), &v2).await.is_refused());
    assert!(b.get("none").await.unwrap().is_none());
    b.delete("a/b").await.unwrap();
    b.delete("a/b").await.unwrap();
    assert!(b.update("a/b", text("x"), &v2).await.is_refused());

    b.put("k", text("0123456789")).await.unwrap();
    assert_eq!(b.get_range("k", 2..5).await.unwrap().unwrap(), text("234"));
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
    assert_eq!(b.get_suffix("empty", 4).await.unwrap().unwrap().size, 0);
    b.delete("empty").await.unwrap();
    b.delete("k").await.unwrap();

    let keys = ["a", "a-/x", "a/b", "a/b/c", "a0", "é ~#%&+/x", "z"];
    for key in keys {
        assert!(b.create(key, text("12")).await.is_done(), "{key}");
        assert_eq!(b.get(key).await.unwrap().unwrap().bytes, text("12"));
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
        assert_eq!(all, sorted);
    }
    assert_eq!(b.list("a", None, 9).await.unwrap().len(), 2);
    assert_eq!(b.list_dirs("").await.unwrap(), ["a", "a-", "é ~#%&+"]);
    assert_eq!(b.list_dirs("a/").await.unwrap(), ["b"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_many_writers_exactly_one_wins() {
    let Some(b) = bucket() else { return };
    let mut writers = tokio::task::JoinSet::new();
    for i in 0..8 {
        let b = b.clone();
        writers.spawn(async move { b.create("race", Bytes::from(i.to_string())).await.is_done() });
    }
    assert_eq!(writers.join_all().await.into_iter().filter(|won| *won).count(), 1);
}

#[tokio::test]
async fn a_missing_bucket_and_a_missing_server_are_told_apart() {
    let Ok(endpoint) = std::env::var("CELLD_TEST_S3") else { return };
    let url = "s3://celld-test-that-does-not-exist".parse().unwrap();
    let b = Bucket::open(&url, &options(&endpoint)).unwrap();
    let outcome = b.create("k", Bytes::new()).await;
    assert!(matches!(&outcome, WriteOutcome::Failed(BucketError::NoBucket { .. })), "{outcome:?}");

    let nobody = Bucket::open(&url, &options("http://127.0.0.1:9")).unwrap();
    let outcome = nobody.create("k", Bytes::new()).await;
    assert!(matches!(&outcome, WriteOutcome::Failed(BucketError::Unavailable { .. })), "{outcome:?}");
    assert!(matches!(nobody.probe().await, Probe::Unreachable(_)));
}
