//! The Google store against Google: `CELLD_TEST_GCS` is a bucket's URL, and the credentials come from the environment as for
//! celld itself. `STORAGE_EMULATOR_HOST` may name an emulator, which has to know uploads of the XML API and their conditions;
//! fake-gcs-server as published does not (`answers.rs` checks what is sent).

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
