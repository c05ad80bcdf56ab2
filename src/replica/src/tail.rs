//! What a cell's owner has acknowledged and not folded yet, read without disturbing the owner: for who looks at a cell from
//! outside, whether its session lives, has crashed, or is over.

use bytes::Bytes;
use celld_bucket::Bucket;
use celld_ids::{CellScope, Epoch, SessionId};
use celld_ltx::Header;
use futures::{FutureExt, StreamExt, TryStreamExt, stream};

use crate::entry::{EntryNo, LogObject};
use crate::history::HistoryObject;
use crate::keys;
use crate::owner::read_owner;
use crate::record::{self, Phase, patiently};
use crate::restore::RestoreError;
use crate::seal::occupied;
use crate::timeline::PastError;

/// How often the log is read anew when its owner folds it under our hands.
const ATTEMPTS: u32 = 8;

/// Entries fetched at once.
const AHEAD: usize = 8;

/// One transaction in the log.
#[derive(Debug, Clone)]
pub(crate) struct TailTx {
    pub epoch: Epoch,
    pub header: Header,
    pub ltx: Bytes,
}

/// The transactions of `scope` in the log of its owner, in order. What the owner folds meanwhile is missing from a part of the
/// answer that is then in the history: list the history afterwards.
///
/// An entry counts when everything before it stands, which is what makes it acknowledged, or rescued by a successor.
pub(crate) async fn unfolded(bucket: &Bucket, scope: &CellScope) -> Result<Vec<TailTx>, PastError> {
    let owner = read_owner(bucket, scope).await?.and_then(|found| found.record.session);
    // A session seals the one before it and folds its log before it becomes a cell's owner, so only the owner has anything.
    let Some(session) = owner else { return Ok(Vec::new()) };
    for _ in 0..ATTEMPTS {
        let Some(found) = record::read(bucket, &session).await? else { return Ok(Vec::new()) };
        let mark = EntryNo(found.record.folded);
        let end = match found.record.phase {
            Phase::Open | Phase::Claimed { .. } => u64::MAX,
            Phase::Sealed { at } => at,
            Phase::Folded { .. } | Phase::Closed { .. } => return Ok(Vec::new()),
        };
        if let Some(tail) = read_from(bucket, scope, &session, mark, end).await? {
            return Ok(tail);
        }
    }
    Err(PastError::Moving { scope: scope.clone() })
}

/// `None` when entries have gone meanwhile: they are folded, and the mark has moved.
async fn read_from(
    bucket: &Bucket,
    scope: &CellScope,
    session: &SessionId,
    mark: EntryNo,
    end: u64,
) -> Result<Option<Vec<TailTx>>, PastError> {
    let listed = occupied(bucket, session, mark).await?;
    let run = listed.into_iter().zip(mark.next().0..end).take_while(|(number, next)| number.0 == *next);
    let run: Vec<EntryNo> = run.map(|(number, _)| number).collect();
    if run.is_empty() {
        // Nothing, or folded between the two looks.
        let now = record::read(bucket, session).await?;
        return Ok(now.is_none_or(|now| now.record.folded == mark.0).then(Vec::new));
    }
    let mut tail = Vec::new();
    let mut objects = stream::iter(run)
        .map(|number| {
            let read = async move {
                let key = keys::log(session, number);
                let found = patiently(|| bucket.get(&key)).await.map_err(RestoreError::from)?;
                let Some(found) = found else { return Ok(None) };
                match LogObject::decode(&found.bytes) {
                    Ok(object) if object.stands_at(session, number) => Ok(Some(object)),
                    Ok(_) => Err(PastError::Log { key, problem: "it belongs to another place".into() }),
                    Err(error) => Err(PastError::Log { key, problem: error.to_string() }),
                }
            };
            read.boxed()
        })
        .buffered(AHEAD);
    while let Some(object) = objects.try_next().await? {
        match object {
            None => return Ok(None),
            Some(LogObject::Seal(_)) => break,
            Some(LogObject::Entry(entry)) => {
                for tx in entry.transactions.into_iter().filter(|tx| tx.scope == *scope) {
                    let header = Header::parse(&tx.ltx).map_err(|error| PastError::Log {
                        key: keys::log(session, entry.number),
                        problem: error.to_string(),
                    })?;
                    // A copy, so that one transaction does not keep the whole entry in memory.
                    tail.push(TailTx { epoch: tx.epoch, header, ltx: Bytes::copy_from_slice(&tx.ltx) });
                }
            }
        }
    }
    Ok(Some(tail))
}

/// The part of `tail` that follows the history: from the first transaction that `objects` do not hold.
pub(crate) fn beyond(tail: Vec<TailTx>, objects: &[HistoryObject]) -> Vec<TailTx> {
    let mut reached = objects.iter().map(|object| object.name.max).max().unwrap_or_default();
    let mut rest = Vec::new();
    for tx in tail {
        if tx.header.min_txid == reached.next() {
            reached = tx.header.max_txid;
            rest.push(tx);
        }
    }
    rest
}
