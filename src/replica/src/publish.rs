//! Putting one entry at its place in the log, and knowing for certain that it stands there.

use std::time::Duration;

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, WriteOutcome};
use celld_ids::SessionId;
use tokio::time::{Instant, sleep_until, timeout_at};

use crate::entry::{EntryNo, LogObject};
use crate::hedge::Hedge;
use crate::keys;
use crate::log::LogError;
use crate::record::pause;

/// How long to try.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// For one call to the store, after which its outcome counts as unknown.
    pub attempt: Duration,
    /// For the whole entry.
    pub total: Duration,
    #[cfg(test)]
    pub broken: crate::proof::Broken,
}

/// Creates the entry. `Ok` only after the store has confirmed the create, or a read has found exactly these bytes.
///
/// A create that the store has certainly not carried out is sent again while its cause may pass. One of unknown fate is sent again
/// only after a read has found the place empty, or as the hedge of a slow one; it carries the same bytes and the same condition, so
/// whichever attempt arrives first makes the object and the others are refused.
///
/// `first` is how an attempt ended that the caller has made already.
pub(crate) async fn publish(
    bucket: &Bucket,
    session: &SessionId,
    number: EntryNo,
    bytes: &Bytes,
    hedge: &Hedge,
    patience: Patience,
    mut first: Option<WriteOutcome>,
) -> Result<(), LogError> {
    let place = Place { bucket, key: keys::log(session, number), session, number, bytes };
    let deadline = Instant::now() + patience.total;
    // No attempt so far can have been carried out.
    let mut certain = true;
    let mut last: Option<BucketError> = None;
    for tries in 0.. {
        let until = deadline.min(Instant::now() + patience.attempt);
        let created = match first.take() {
            Some(outcome) => Ok(outcome),
            None => timeout_at(until, place.create(hedge)).await,
        };
        match created {
            Ok(WriteOutcome::Done(_)) => return Ok(()),
            Ok(WriteOutcome::Failed(error)) => {
                if certain && !error.may_pass() {
                    return Err(LogError::NotWritten { cause: error });
                }
                if last.is_none() {
                    tracing::warn!(%error, "an entry of the log is not written yet; trying again");
                }
                last = Some(error);
            }
            // Something stands there: an earlier attempt of ours (the store's client may have sent it twice), or a seal.
            Ok(WriteOutcome::Refused) => certain = false,
            #[cfg(test)]
            Ok(WriteOutcome::Unknown(_)) if patience.broken == crate::proof::Broken::AssumeDone => {
                return Ok(());
            }
            Ok(WriteOutcome::Unknown(error)) => {
                certain = false;
                last = Some(error);
            }
            Err(_) => certain = false,
        }
        // Whatever happened, only what stands there counts; nothing can stand there while every attempt has certainly failed.
        if !certain && place.stands(deadline, patience.attempt, &mut last).await? {
            return Ok(());
        }
        if Instant::now() >= deadline {
            break;
        }
        sleep_until(deadline.min(Instant::now() + pause(&place.key, tries))).await;
    }
    Err(match last {
        Some(cause) if certain => LogError::NotWritten { cause },
        last => LogError::Unresolved { key: place.key, problem: text(last) },
    })
}

fn text(problem: Option<BucketError>) -> String {
    problem.map_or_else(|| "the store does not answer".into(), |error| error.to_string())
}

/// The place of an entry, and what belongs there.
struct Place<'a> {
    bucket: &'a Bucket,
    key: String,
    session: &'a SessionId,
    number: EntryNo,
    bytes: &'a Bytes,
}

impl Place<'_> {
    /// Sends the create, and once more when the answer is unusually late. The first answer that says something counts.
    async fn create(&self, hedge: &Hedge) -> WriteOutcome {
        let start = Instant::now();
        let send = || self.bucket.create(&self.key, self.bytes.clone());
        let mut first = std::pin::pin!(send());
        let outcome = match hedge.after() {
            None => first.await,
            Some(after) => tokio::select! {
                biased;
                outcome = &mut first => outcome,
                () = sleep_until(start + after) => {
                    if hedge.spend() {
                        either(first, std::pin::pin!(send())).await
                    } else {
                        first.await
                    }
                }
            },
        };
        if outcome.is_done() {
            hedge.answered(start.elapsed());
        }
        outcome
    }

    /// Looks until it is known whether the entry stands at its place, at most until the deadline. `false`: not yet.
    async fn stands(
        &self,
        deadline: Instant,
        attempt: Duration,
        last: &mut Option<BucketError>,
    ) -> Result<bool, LogError> {
        for tries in 0.. {
            let until = deadline.min(Instant::now() + attempt);
            match timeout_at(until, self.bucket.get(&self.key)).await {
                Ok(Ok(None)) => return Ok(false),
                Ok(Ok(Some(object))) if object.bytes == *self.bytes => return Ok(true),
                Ok(Ok(Some(object))) => return Err(self.taken(&object.bytes)),
                Ok(Err(error)) => *last = Some(error),
                Err(_) => {}
            }
            if Instant::now() >= deadline {
                break;
            }
            sleep_until(deadline.min(Instant::now() + pause(&self.key, tries))).await;
        }
        Err(LogError::Unresolved { key: self.key.clone(), problem: text(last.take()) })
    }

    /// What it means that something else stands there.
    fn taken(&self, bytes: &Bytes) -> LogError {
        match LogObject::decode(bytes) {
            Ok(LogObject::Seal(seal)) if seal.session == *self.session && seal.number == self.number => {
                LogError::Sealed { by: seal.by }
            }
            _ => LogError::Foreign { key: self.key.clone() },
        }
    }
}

/// Of two creates of the same object, the answer that settles it: a success at once, anything else only from the last one. After
/// one unknown attempt nothing is certain, so a failure of the other is unknown too.
async fn either(
    first: std::pin::Pin<&mut impl Future<Output = WriteOutcome>>,
    second: std::pin::Pin<&mut impl Future<Output = WriteOutcome>>,
) -> WriteOutcome {
    let (one, other) = match futures::future::select(first, second).await {
        futures::future::Either::Left((done @ WriteOutcome::Done(_), _)) => return done,
        futures::future::Either::Right((done @ WriteOutcome::Done(_), _)) => return done,
        futures::future::Either::Left((one, rest)) => (one, rest.await),
        futures::future::Either::Right((one, rest)) => (one, rest.await),
    };
    match (one, other) {
        (_, done @ WriteOutcome::Done(_)) => done,
        (WriteOutcome::Refused, _) | (_, WriteOutcome::Refused) => WriteOutcome::Refused,
        (WriteOutcome::Failed(_), WriteOutcome::Failed(error)) => WriteOutcome::Failed(error),
        (WriteOutcome::Unknown(error), _) | (_, WriteOutcome::Unknown(error)) => WriteOutcome::Unknown(error),
        (_, other) => other,
    }
}
