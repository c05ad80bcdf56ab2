//! The S3 store that the tests of production nodes use, if the environment names one.

/// Settings of a node in a bucket of the S3 store at `CELLD_TEST_S3`, below `prefix` and this process's number; nothing, and a line that
/// says so, when there is none.
#[must_use]
pub fn s3_store(prefix: &str) -> Option<Vec<(&'static str, String)>> {
    let Ok(endpoint) = std::env::var("CELLD_TEST_S3") else {
        eprintln!("SKIPPED: CELLD_TEST_S3 is not set, so there is no S3 store to test with");
        return None;
    };
    Some(vec![
        ("S3_ENDPOINT", endpoint),
        ("AWS_ACCESS_KEY_ID", "test".into()),
        ("AWS_SECRET_ACCESS_KEY", "test".into()),
        ("AWS_REGION", "us-east-1".into()),
        ("CELLD_BUCKET", format!("s3://celld-test/{prefix}-{}", std::process::id())),
    ])
}
