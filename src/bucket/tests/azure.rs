//! The Azure store against Azurite: `AZURITE_BLOB_STORAGE_URL` is its address (the client reads the same variable), and it has
//! the container `celld-test`. For example, with `npm install azurite`:
//!
//! ```sh
//! azurite-blob --inMemoryPersistence --skipApiVersionCheck --blobPort 10601 &
//! AZURITE_BLOB_STORAGE_URL=http://127.0.0.1:10601 cargo test --release -p celld-bucket --test azure
//! ```

mod cloud;

use celld_bucket::Bucket;

fn bucket(base: &str) -> Option<Bucket> {
    cloud::server("AZURITE_BLOB_STORAGE_URL")?;
    Some(cloud::open(base, &cloud::options(None, &[("AZURE_STORAGE_USE_EMULATOR", "true")])))
}

#[tokio::test]
async fn it_qualifies() {
    let Some(b) = bucket("az://celld-test") else { return };
    cloud::probe(&b).await;
}

#[tokio::test]
async fn conditional_writes() {
    let Some(b) = bucket("az://celld-test") else { return };
    cloud::conditional_writes(&b).await;
}

#[tokio::test]
async fn reads() {
    let Some(b) = bucket("az://celld-test") else { return };
    cloud::reads(&b).await;
}

#[tokio::test]
async fn uploads() {
    let Some(b) = bucket("az://celld-test") else { return };
    cloud::uploads(&b).await;
}

#[tokio::test]
async fn listings() {
    let Some(b) = bucket("az://celld-test") else { return };
    cloud::listings(&b).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn races() {
    let Some(b) = bucket("az://celld-test") else { return };
    cloud::races(&b).await;
}

#[tokio::test]
async fn a_missing_container() {
    let Some(b) = bucket("az://celld-test-that-does-not-exist") else { return };
    cloud::no_bucket(&b).await;
}
