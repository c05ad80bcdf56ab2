//! The session record `sessions/<session>.json`: how far the session's log has been folded, and whether somebody is taking it
//! over. Two of the rules that carry the proof live here: the mark is raised before anything is deleted, and only while the
//! record is unclaimed.

use std::time::Duration;

use celld_bucket::{Bucket, BucketError, WriteOutcome};
use celld_ids::SessionId;
use serde::{Deserialize, Serialize};
use tokio::time::sleep;

use crate::entry::EntryNo;
use crate::json::{self, RecordError, Versioned};
use crate::keys;

/// How often a change of the record is tried when others change it or its outcome is unknown, and any other call while the store
/// has a passing problem.
const ATTEMPTS: u32 = 8;

/// The record of one session.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SessionRecord {
    /// Whose it is.
    pub session: SessionId,
    /// All entries up to this number are in their cells' history; their objects may be gone. Zero at the start.
    pub folded: u64,
    /// Where the session stands in its life.
    pub phase: Phase,
}

/// The life of a session's log. It only moves forward.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Phase {
    /// The session writes and folds.
    Open,
    /// A successor is looking for the end. The mark stands still from here on.
    Claimed {
        /// The first successor that tried; any other may carry on.
        by: SessionId,
    },
    /// The seal stands, but the entries before it are not all folded.
    Sealed {
        /// Where the seal stands.
        at: u64,
    },
    /// Every entry before the seal is folded; their objects are being deleted.
    Folded {
        /// Where the seal stands.
        at: u64,
    },
    /// Nothing is left of the log but its seal.
    Closed {
        /// Where the seal stands.
        at: u64,
    },
}

/// What became of an attempt to raise the mark.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Raised {
    /// The mark stands at or after the number: entries up to it may be deleted.
    Yes,
    /// A successor has claimed the session: nothing may be deleted, and nothing more will be acknowledged for long.
    Claimed,
}

/// Reads the record of `session`.
pub(crate) async fn read(
    bucket: &Bucket,
    session: &SessionId,
) -> Result<Option<Versioned<SessionRecord>>, RecordError> {
    json::read(bucket, &keys::session(session)).await
}

/// Creates the record of a new session. `false` when the session has lived before: its ID must not be used again.
pub(crate) async fn create(bucket: &Bucket, session: &SessionId) -> Result<bool, RecordError> {
    let key = keys::session(session);
    let record = SessionRecord { session: session.clone(), folded: 0, phase: Phase::Open };
    let bytes = json::bytes(&key, &record)?;
    let mut unknown = false;
    for attempt in 0..ATTEMPTS {
        match bucket.create(&key, bytes.clone()).await {
            WriteOutcome::Done(_) => return Ok(true),
            // After an unknown attempt the one that stands there may be ours, and nobody can have used it yet: session IDs
            // are random, and a record in its first state has not been touched by anybody.
            WriteOutcome::Refused if unknown => {
                return Ok(read(bucket, session).await?.is_some_and(|found| found.record == record));
            }
            WriteOutcome::Refused => return Ok(false),
            WriteOutcome::Unknown(error) => {
                unknown = true;
                tracing::debug!(%session, %error, "creating the session record has an unknown outcome");
            }
            WriteOutcome::Failed(error) if !error.is_transient() => return Err(error.into()),
            WriteOutcome::Failed(_) => {}
        }
        sleep(pause(&key, attempt)).await;
    }
    Err(RecordError::Contended { key, problem: "no answer from the store".into() })
}

/// Raises the folded mark to `to`, unless a successor has claimed the session.
///
/// Every entry up to `to` must be in its cell's history already. Only after `Raised::Yes` may those entries be deleted.
pub(crate) async fn raise_mark(
    bucket: &Bucket,
    session: &SessionId,
    to: EntryNo,
) -> Result<Raised, RecordError> {
    let outcome = change(bucket, session, |record| {
        if record.folded >= to.0 {
            return Step::Leave(Raised::Yes);
        }
        if record.phase != Phase::Open {
            return Step::Leave(Raised::Claimed);
        }
        Step::Write(SessionRecord { folded: to.0, ..record.clone() })
    });
    // A record that is gone belongs to a session that somebody has cleared away.
    Ok(outcome.await?.unwrap_or(Raised::Claimed))
}

/// What to do with a record that was read.
pub(crate) enum Step<T> {
    /// It is as it should be (or cannot be changed): the answer.
    Leave(T),
    /// Replace it, then read again.
    Write(SessionRecord),
}

/// Reads the record, lets `decide` say what to do, and does it until `decide` is satisfied with what it reads. That resolves an
/// unknown outcome too: only what stands in the bucket counts. `None` when there is no record.
pub(crate) async fn change<T>(
    bucket: &Bucket,
    session: &SessionId,
    mut decide: impl FnMut(&SessionRecord) -> Step<T>,
) -> Result<Option<T>, RecordError> {
    let key = keys::session(session);
    let mut problem = String::from("it kept changing");
    for attempt in 0..ATTEMPTS {
        let found = match json::read_once(bucket, &key).await {
            Ok(Some(found)) => found,
            Ok(None) => return Ok(None),
            Err(RecordError::Bucket(error)) if error.is_transient() => {
                problem = error.to_string();
                sleep(pause(&key, attempt)).await;
                continue;
            }
            Err(error) => return Err(error),
        };
        let next = match decide(&found.record) {
            Step::Leave(answer) => return Ok(Some(answer)),
            Step::Write(next) => next,
        };
        match bucket.update(&key, json::bytes(&key, &next)?, &found.version).await {
            // Decided on what now stands there: the writer of a change is the first to know it.
            WriteOutcome::Done(_) => {
                if let Step::Leave(answer) = decide(&next) {
                    return Ok(Some(answer));
                }
            }
            WriteOutcome::Refused => {}
            WriteOutcome::Unknown(error) => {
                problem = error.to_string();
                sleep(pause(&key, attempt)).await;
            }
            WriteOutcome::Failed(error) if error.is_transient() => {
                problem = error.to_string();
                sleep(pause(&key, attempt)).await;
            }
            WriteOutcome::Failed(error) => return Err(error.into()),
        }
    }
    Err(RecordError::Contended { key, problem })
}

/// Repeats a call that may be repeated (a read, a write of the same bytes, a deletion) while the store has a passing problem.
pub(crate) async fn patiently<T, C>(mut call: impl FnMut() -> C) -> Result<T, BucketError>
where
    C: Future<Output = Result<T, BucketError>>,
{
    let mut attempt = 0;
    loop {
        match call().await {
            Err(error) if error.is_transient() && attempt + 1 < ATTEMPTS => backoff(attempt).await,
            result => return result,
        }
        attempt += 1;
    }
}

/// The pause before attempt `attempt + 2` at the object `key`: up to 20 ms, 40 ms … 1.3 s, and at least half of it. Which part
/// is chosen by the key, without dice: the processes of a fleet, which meet the same trouble in the same instant, work on
/// different objects and do not come back together.
pub(crate) fn pause(key: &str, attempt: u32) -> Duration {
    let hash = crc_fast::checksum(crc_fast::CrcAlgorithm::Crc64Nvme, key.as_bytes())
        .wrapping_add(u64::from(attempt));
    let part = hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48;
    Duration::from_millis(20 << attempt.min(6)).mul_f64(0.5 + part as f64 / f64::from(1u32 << 17))
}

/// 20 ms to 1.3 s. The store's client spreads the requests of a fleet below this.
pub(crate) async fn backoff(attempt: u32) {
    sleep(Duration::from_millis(20 << attempt.min(6))).await;
}
