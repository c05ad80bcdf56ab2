//! Putting one entry at its place in the log, and knowing for certain that it stands there.

use std::time::Duration;

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, WriteOutcome};
use celld_ids::SessionId;
use tokio::time::{Instant, timeout_at};

use crate::entry::{EntryNo, LogObject};
use crate::keys;
use crate::log::LogError;
use crate::record::backoff;

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

/// What stands at the entry's place.
enum Found {
    Ours,
    Nothing,
}

/// Creates the entry. `Ok` only after the store has confirmed the create, or a read has found exactly these bytes.
///
/// The create is sent again only after a read has found the place empty; it carries the same bytes and the same condition, so
/// whichever attempt arrives first makes the object and the others are refused.
pub(crate) async fn publish(
    bucket: &Bucket,
    session: &SessionId,
    number: EntryNo,
    bytes: &Bytes,
    patience: Patience,
) -> Result<(), LogError> {
    let key = keys::log(session, number);
    let deadline = Instant::now() + patience.total;
    let mut problem = String::from("no answer");
    let mut tries = 0;
    loop {
        let until = deadline.min(Instant::now() + patience.attempt);
        match timeout_at(until, bucket.create(&key, bytes.clone())).await {
            Ok(WriteOutcome::Done(_)) => return Ok(()),
            // Something stands there: an earlier attempt of ours (the store's client may have sent it twice), or a seal.
            Ok(WriteOutcome::Refused) => problem = "the place is taken".into(),
            #[cfg(test)]
            Ok(WriteOutcome::Unknown(_)) if patience.broken == crate::proof::Broken::AssumeDone => {
                return Ok(());
            }
            Ok(WriteOutcome::Unknown(error) | WriteOutcome::Failed(error)) => problem = error.to_string(),
            Err(_) => {}
        }
        // Whatever happened, only what stands there counts.
        loop {
            let until = deadline.min(Instant::now() + patience.attempt);
            match timeout_at(until, look(bucket, session, number, &key, bytes)).await {
                Ok(Ok(Found::Ours)) => return Ok(()),
                Ok(Ok(Found::Nothing)) => break,
                Ok(Err(Look::Log(error))) => return Err(error),
                Ok(Err(Look::Bucket(error))) => problem = error.to_string(),
                Err(_) => problem = "no answer to a read".into(),
            }
            if Instant::now() >= deadline {
                return Err(LogError::Unresolved { key, problem });
            }
            backoff(tries).await;
            tries += 1;
        }
        if Instant::now() >= deadline {
            return Err(LogError::Unresolved { key, problem });
        }
        backoff(tries).await;
        tries += 1;
    }
}

/// Why a look at the place did not settle the matter.
enum Look {
    Bucket(BucketError),
    Log(LogError),
}

async fn look(
    bucket: &Bucket,
    session: &SessionId,
    number: EntryNo,
    key: &str,
    bytes: &Bytes,
) -> Result<Found, Look> {
    let Some(object) = bucket.get(key).await.map_err(Look::Bucket)? else {
        return Ok(Found::Nothing);
    };
    if object.bytes == *bytes {
        return Ok(Found::Ours);
    }
    match LogObject::decode(&object.bytes) {
        Ok(LogObject::Seal(seal)) if seal.session == *session && seal.number == number => {
            Err(Look::Log(LogError::Sealed { by: seal.by }))
        }
        _ => Err(Look::Log(LogError::Foreign { key: key.to_owned() })),
    }
}
