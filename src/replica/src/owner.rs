//! Who serves a cell: `cells/<class>/<id>/owner.json`, changed only by conditional writes.

use celld_bucket::{Bucket, WriteOutcome};
use celld_ids::{CellScope, Epoch, SessionId};
use serde::{Deserialize, Serialize};

use crate::json::{self, RecordError, Versioned};
use crate::keys;
use crate::record::backoff;

/// How often a change with an unknown outcome is read and tried again.
const ATTEMPTS: u32 = 6;

/// The record of a cell's owner.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerRecord {
    /// The session that may serve the cell; `None` when the last owner has given it up.
    pub session: Option<SessionId>,
    /// The epoch of the owner, or of the last one.
    pub epoch: Epoch,
}

/// What became of a claim.
#[derive(Debug, Clone)]
pub enum Claim {
    /// The cell is ours, under this record.
    Won(Versioned<OwnerRecord>),
    /// Somebody was faster: what stands there now (`None`: nothing, the cell's record was removed).
    Lost(Option<Versioned<OwnerRecord>>),
}

/// Reads who owns `scope`; `None` when nobody ever did.
///
/// A record that names the caller's own session is the caller's, even when it does not remember: a claim can be applied after its
/// writer has stopped waiting for it.
pub async fn read_owner(
    bucket: &Bucket,
    scope: &CellScope,
) -> Result<Option<Versioned<OwnerRecord>>, RecordError> {
    json::read(bucket, &keys::owner(scope)).await
}

/// Claims `scope` for the session `by`, provided that its record is still as it was `seen`. The new epoch is the seen one's
/// successor.
///
/// The caller has made sure that the seen owner is gone: it gave the cell up, or its log is sealed
/// ([`crate::seal_session`]).
///
/// Errors: [`RecordError::Contended`] when the outcome stays unknown. The claim may still be applied later; read before trying
/// again.
pub async fn claim(
    bucket: &Bucket,
    scope: &CellScope,
    seen: Option<&Versioned<OwnerRecord>>,
    by: &SessionId,
) -> Result<Claim, RecordError> {
    let epoch = seen.map_or(Epoch::FIRST, |seen| seen.record.epoch.next());
    let record = OwnerRecord { session: Some(by.clone()), epoch };
    let won = write(bucket, scope, seen, &record).await?;
    Ok(match won {
        Ok(owned) => Claim::Won(owned),
        Err(found) => Claim::Lost(found),
    })
}

/// Writes `record` over what was `seen`. `Ok(Err(found))` when something else stands there.
async fn write(
    bucket: &Bucket,
    scope: &CellScope,
    seen: Option<&Versioned<OwnerRecord>>,
    record: &OwnerRecord,
) -> Result<Result<Versioned<OwnerRecord>, Option<Versioned<OwnerRecord>>>, RecordError> {
    let key = keys::owner(scope);
    let bytes = json::bytes(&key, record)?;
    let mut problem = String::from("no answer from the store");
    for attempt in 0..ATTEMPTS {
        let outcome = match seen {
            None => bucket.create(&key, bytes.clone()).await,
            Some(seen) => bucket.update(&key, bytes.clone(), &seen.version).await,
        };
        match outcome {
            WriteOutcome::Done(version) => return Ok(Ok(Versioned { record: record.clone(), version })),
            WriteOutcome::Refused => {}
            WriteOutcome::Unknown(error) => problem = error.to_string(),
            WriteOutcome::Failed(error) if error.is_transient() => problem = error.to_string(),
            WriteOutcome::Failed(error) => return Err(error.into()),
        }
        // What stands there decides. No two writers ever write the same record: it holds an epoch that this caller alone
        // moves to, and its session.
        match json::read_once::<OwnerRecord>(bucket, &key).await {
            Ok(Some(found)) if found.record == *record => return Ok(Ok(found)),
            Ok(Some(found)) if seen.is_some_and(|seen| seen.version == found.version) => {}
            Ok(None) if seen.is_none() => {}
            Ok(found) => return Ok(Err(found)),
            Err(RecordError::Bucket(error)) if error.is_transient() => problem = error.to_string(),
            Err(error) => return Err(error),
        }
        backoff(attempt).await;
    }
    Err(RecordError::Contended { key, problem })
}
