//! The S3 store against a server: `CELLD_TEST_S3` is its address, and it has the bucket `celld-test`. For example:
//!
//! ```sh
//! pip install 'moto[server,s3]' && moto_server -p 5601 &
//! curl -X PUT http://127.0.0.1:5601/celld-test
//! CELLD_TEST_S3=http://127.0.0.1:5601 cargo test --release -p celld-bucket --test s3
//! ```

mod cloud;

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, Probe, StoreOptions, WriteOutcome};

fn options(endpoint: &str) -> StoreOptions {
    let variables =
        [("AWS_ACCESS_KEY_ID", "test"), ("AWS_SECRET_ACCESS_KEY", "test"), ("AWS_REGION", "us-east-1")];
    cloud::options(Some(endpoint), &variables)
}

fn bucket(base: &str) -> Option<Bucket> {
    let endpoint = cloud::server("CELLD_TEST_S3")?;
    Some(cloud::open(base, &options(&endpoint)))
}

#[tokio::test]
async fn it_qualifies() {
    let Some(b) = bucket("s3://celld-test") else { return };
    cloud::probe(&b).await;
}

#[tokio::test]
async fn conditional_writes() {
    let Some(b) = bucket("s3://celld-test") else { return };
    cloud::conditional_writes(&b).await;
}

#[tokio::test]
async fn reads() {
    let Some(b) = bucket("s3://celld-test") else { return };
    cloud::reads(&b).await;
}

#[tokio::test]
async fn uploads() {
    let Some(b) = bucket("s3://celld-test") else { return };
    cloud::uploads(&b).await;
}

#[tokio::test]
async fn listings() {
    let Some(b) = bucket("s3://celld-test") else { return };
    cloud::listings(&b).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn races() {
    let Some(b) = bucket("s3://celld-test") else { return };
    cloud::races(&b).await;
}

#[tokio::test]
async fn a_missing_bucket() {
    let Some(b) = bucket("s3://celld-test-that-does-not-exist") else { return };
    cloud::no_bucket(&b).await;
}

#[tokio::test]
async fn a_missing_server_is_an_outage_and_nothing_was_written() {
    let nobody = cloud::open("s3://celld-test", &options("http://127.0.0.1:9"));
    let outcome = nobody.create("k", Bytes::new()).await;
    assert!(matches!(&outcome, WriteOutcome::Failed(BucketError::Unavailable { .. })), "{outcome:?}");
    assert!(matches!(nobody.probe().await, Probe::Unreachable(_)));
}
