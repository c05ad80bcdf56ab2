//! The storage probe, as the commands use it: a store that does not keep its promises loses data, so it is tried out before
//! anything is served from it.

use std::time::Duration;

use celld_bucket::{Bucket, BucketError, Probe};

/// Waits between the attempts while the store gives no verdict.
const PAUSES: [Duration; 4] =
    [Duration::from_millis(250), Duration::from_millis(500), Duration::from_secs(1), Duration::from_secs(2)];

/// A verdict, or the trouble that lasted through all attempts.
pub(crate) async fn patiently(bucket: &Bucket) -> Probe {
    for pause in PAUSES {
        match bucket.probe().await {
            Probe::Unreachable(error) if is_an_outage(&error) => {
                tracing::debug!(%error, "the storage probe has no verdict yet");
                tokio::time::sleep(pause).await;
            }
            verdict => return verdict,
        }
    }
    bucket.probe().await
}

fn is_an_outage(error: &BucketError) -> bool {
    error.is_transient()
}

/// Lets a node start on a store that qualifies. An outage is no reason to stay down: what the node needs of the store next says
/// whether it has ended.
///
/// # Errors
/// A store that cannot fence, or that refuses this node.
pub(crate) async fn before_serving(bucket: &Bucket) -> anyhow::Result<()> {
    match patiently(bucket).await {
        Probe::Qualified => Ok(()),
        Probe::CannotFence { what, detail } => anyhow::bail!("{}", unfit(bucket, what, &detail)),
        Probe::Unreachable(error) if is_an_outage(&error) => {
            tracing::warn!(%bucket, %error, "the storage probe got no verdict: nobody knows whether this store can fence");
            Ok(())
        }
        Probe::Unreachable(error) => Err(error.into()),
    }
}

/// How the fault of a store is put.
pub(crate) fn unfit(bucket: &Bucket, what: &str, detail: &str) -> String {
    format!("{bucket} is not fit for celld: the store does not {what} ({detail})")
}
