//! The storage probe: can this bucket fence? Asked when a node starts and by `celld diagnose`.

use bytes::Bytes;

use crate::{Bucket, BucketError, WriteOutcome};

/// What the probe found.
#[derive(Debug, Clone)]
pub enum Probe {
    /// Conditional writes and ranged reads do what celld needs.
    Qualified,
    /// The store answers, but a guarantee is missing: two nodes could own one cell. Nobody may serve from this bucket.
    CannotFence {
        /// The missing guarantee: `refuse a second create of one object`.
        what: &'static str,
        /// What happened instead.
        detail: String,
    },
    /// No verdict: the store is unreachable, denies access or is overloaded.
    Unreachable(BucketError),
}

/// The first content, and what the ranged read asks of the second.
const FIRST: &[u8] = b"celld storage probe, first content\n";
const SECOND: &[u8] = b"celld storage probe, second content\n";
const RANGE: std::ops::Range<u64> = 6..13;

impl Bucket {
    /// Sends four conditional writes, of which the second and the fourth must be refused, and one ranged read, to an object of
    /// its own that is removed afterwards. A lost answer is no verdict.
    pub async fn probe(&self) -> Probe {
        let mut nonce = [0; 16];
        if let Err(error) = getrandom::fill(&mut nonce) {
            let at = self.at("probe", "");
            return Probe::Unreachable(BucketError::Other { at, detail: error.to_string() });
        }
        let key = format!("probe/{:032x}", u128::from_le_bytes(nonce));
        let verdict = self.run_probe(&key).await.unwrap_or_else(|verdict| verdict);
        // What stays behind after a failure is one small object that nobody reads.
        if let Err(error) = self.delete(&key).await {
            tracing::debug!(%error, "the storage probe left an object behind");
        }
        verdict
    }

    async fn run_probe(&self, key: &str) -> Result<Probe, Probe> {
        let first = must_do(
            self.create(key, Bytes::from_static(FIRST)).await,
            "create an object that does not exist",
        )?;
        must_refuse(
            self.create(key, Bytes::from_static(SECOND)).await,
            "refuse a second create of one object",
        )?;
        let second = self.update(key, Bytes::from_static(SECOND), &first).await;
        must_do(second, "update an object whose version is known")?;
        must_refuse(
            self.update(key, Bytes::from_static(FIRST), &first).await,
            "refuse an update of a version that has been replaced",
        )?;
        let what = "return exactly the requested bytes of the last write";
        match self.get_range(key, RANGE).await {
            Ok(Some(bytes)) if bytes[..] == SECOND[RANGE.start as usize..RANGE.end as usize] => {
                Ok(Probe::Qualified)
            }
            Ok(Some(bytes)) => Err(Probe::CannotFence { what, detail: format!("it returned {bytes:?}") }),
            Ok(None) => {
                Err(Probe::CannotFence { what, detail: "it says that there is no such object".into() })
            }
            Err(error @ BucketError::Range { .. }) => {
                Err(Probe::CannotFence { what, detail: error.to_string() })
            }
            Err(error) => Err(Probe::Unreachable(error)),
        }
    }
}

fn must_do(outcome: WriteOutcome, what: &'static str) -> Result<crate::Version, Probe> {
    match outcome {
        WriteOutcome::Done(version) => Ok(version),
        WriteOutcome::Refused => Err(Probe::CannotFence { what, detail: "it refused".into() }),
        WriteOutcome::Unknown(error) => Err(Probe::Unreachable(error)),
        // The store understood the request and says no to the condition itself.
        WriteOutcome::Failed(error @ BucketError::Other { .. }) => {
            Err(Probe::CannotFence { what, detail: error.to_string() })
        }
        WriteOutcome::Failed(error) => Err(Probe::Unreachable(error)),
    }
}

fn must_refuse(outcome: WriteOutcome, what: &'static str) -> Result<(), Probe> {
    match outcome {
        WriteOutcome::Refused => Ok(()),
        WriteOutcome::Done(_) => Err(Probe::CannotFence { what, detail: "it accepted the write".into() }),
        WriteOutcome::Unknown(error) => Err(Probe::Unreachable(error)),
        WriteOutcome::Failed(error @ BucketError::Other { .. }) => {
            Err(Probe::CannotFence { what, detail: error.to_string() })
        }
        WriteOutcome::Failed(error) => Err(Probe::Unreachable(error)),
    }
}
