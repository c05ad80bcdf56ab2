//! What a cell's history consists of, and which of its objects a restore needs.

use celld_bucket::{Bucket, BucketError};
use celld_ids::CellScope;
use celld_ltx::Txid;

use crate::keys::{self, HistoryName, Level};
use crate::record::patiently;

/// Objects in one answer of the store.
const PAGE: usize = 1000;

/// One object of a cell's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoryObject {
    /// What it holds.
    pub name: HistoryName,
    /// Its size in bytes.
    pub size: u64,
}

/// Why a cell's history cannot be put together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PlanError {
    /// Transactions are missing between objects that are there.
    #[error("the history of {scope} lacks transactions {from} to {to}, before {next}", from = from.0, to = to.0)]
    Gap {
        /// The cell.
        scope: CellScope,
        /// First missing transaction.
        from: Txid,
        /// Last missing transaction.
        to: Txid,
        /// The object after the hole.
        next: String,
    },
    /// Two owners have written the same transaction: the fence between them did not hold.
    #[error("two epochs of {scope} hold transaction {txid}; the later object is {key}", txid = txid.0)]
    Fork {
        /// The cell.
        scope: CellScope,
        /// The transaction.
        txid: Txid,
        /// The object of the later epoch.
        key: String,
    },
}

/// Lists the whole history of a cell: every epoch and level, in key order. That includes what others have superseded and what is
/// kept for restoring an earlier moment.
pub async fn list_history(bucket: &Bucket, scope: &CellScope) -> Result<Vec<HistoryObject>, BucketError> {
    Ok(list_all(bucket, scope).await?.objects)
}

/// What lies in a cell's history directory.
pub(crate) struct Listing {
    /// The history.
    pub objects: Vec<HistoryObject>,
    /// The objects whose page checksums are there.
    pub sums: Vec<HistoryName>,
}

pub(crate) async fn list_all(bucket: &Bucket, scope: &CellScope) -> Result<Listing, BucketError> {
    let dir = keys::history_dir(scope);
    let (mut objects, mut sums) = (Vec::new(), Vec::new());
    let mut after: Option<String> = None;
    loop {
        let page = patiently(|| bucket.list(&dir, after.as_deref(), PAGE)).await?;
        let more = page.len() == PAGE;
        after = page.last().map(|listed| listed.key.clone());
        for listed in page {
            if let Some(name) = keys::parse_history(scope, &listed.key) {
                objects.push(HistoryObject { name, size: listed.size });
            } else if let Some(name) = keys::parse_sums(scope, &listed.key) {
                sums.push(name);
            }
        }
        if !more {
            return Ok(Listing { objects, sums });
        }
    }
}

/// Chooses the objects whose application, in order, gives the cell's last state: the snapshot that reaches furthest, then always
/// the object that leads furthest from there. Empty for a cell without history.
pub(crate) fn plan(scope: &CellScope, objects: &[HistoryObject]) -> Result<Vec<HistoryObject>, PlanError> {
    check_epochs(scope, objects)?;
    let mut chosen: Vec<HistoryObject> = Vec::new();
    let mut reached = Txid::ZERO;
    loop {
        let next = reached.next();
        // A file from transaction 1 on is a snapshot and replaces everything, so it can only come first.
        let fits = |name: &HistoryName| {
            name.min <= next && name.max >= next && (name.min == Txid(1)) == chosen.is_empty()
        };
        let best = objects
            .iter()
            .filter(|object| fits(&object.name))
            .max_by_key(|object| (object.name.max, object.name.level, object.name.min));
        let Some(best) = best else { break };
        reached = best.name.max;
        chosen.push(best.clone());
    }
    match objects.iter().filter(|object| object.name.max > reached).min_by_key(|object| object.name.min) {
        None => Ok(chosen),
        Some(object) => Err(PlanError::Gap {
            scope: scope.clone(),
            from: reached.next(),
            to: Txid(object.name.min.0.saturating_sub(1)),
            next: keys::history(scope, &object.name),
        }),
    }
}

/// Each owner continues where the one before it ended: what a later epoch adds lies after all that earlier ones hold.
fn check_epochs(scope: &CellScope, objects: &[HistoryObject]) -> Result<(), PlanError> {
    let mut sorted: Vec<&HistoryObject> = objects.iter().collect();
    sorted.sort_by_key(|object| object.name.epoch);
    let mut before = Txid::ZERO;
    for epoch in sorted.chunk_by(|a, b| a.name.epoch == b.name.epoch) {
        // A snapshot repeats what earlier epochs hold; that is no fork.
        let fork = epoch.iter().find(|o| o.name.level != Level::L9 && o.name.min <= before);
        if let Some(object) = fork {
            let key = keys::history(scope, &object.name);
            return Err(PlanError::Fork { scope: scope.clone(), txid: object.name.min, key });
        }
        before = epoch.iter().map(|object| object.name.max).fold(before, Txid::max);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use celld_ids::Epoch;

    use super::*;

    fn object(epoch: u64, level: Level, min: u64, max: u64) -> HistoryObject {
        HistoryObject {
            name: HistoryName {
                epoch: Epoch(epoch),
                level,
                min: Txid(min),
                max: Txid(max),
                timestamp_ms: max * 1000,
            },
            size: 1,
        }
    }

    fn ranges(objects: &[HistoryObject]) -> Result<Vec<(u64, u64)>, PlanError> {
        let scope = CellScope::new("A", "a").unwrap();
        Ok(plan(&scope, objects)?.iter().map(|object| (object.name.min.0, object.name.max.0)).collect())
    }

    #[test]
    fn the_shortest_way_is_taken() {
        let objects = [
            object(1, Level::L0, 1, 1),
            object(1, Level::L0, 2, 5),
            object(1, Level::L0, 6, 9),
            object(1, Level::L1, 2, 9),
            object(2, Level::L0, 10, 12),
            object(2, Level::L9, 1, 12),
            object(2, Level::L0, 13, 14),
            object(3, Level::L0, 15, 15),
        ];
        assert_eq!(ranges(&objects).unwrap(), [(1, 12), (13, 14), (15, 15)]);
        assert_eq!(ranges(&objects[..5]).unwrap(), [(1, 1), (2, 9), (10, 12)]);
        assert_eq!(ranges(&[]).unwrap(), []);
    }

    #[test]
    fn two_cuts_of_the_same_log_fit_together() {
        let objects = [
            object(1, Level::L0, 1, 4),
            object(1, Level::L0, 5, 7),
            object(1, Level::L0, 5, 6),
            object(1, Level::L0, 7, 9),
        ];
        assert_eq!(ranges(&objects).unwrap(), [(1, 4), (5, 7), (7, 9)]);
    }

    #[test]
    fn holes_and_forks_are_named() {
        let hole = ranges(&[object(1, Level::L0, 1, 4), object(1, Level::L0, 6, 7)]).unwrap_err();
        assert!(matches!(&hole, PlanError::Gap { from: Txid(5), to: Txid(5), .. }), "{hole}");
        assert!(hole.to_string().contains("/0000000000000006-0000000000000007-"));
        assert!(ranges(&[object(1, Level::L0, 2, 4)]).is_err());
        let fork = ranges(&[object(1, Level::L0, 1, 4), object(2, Level::L0, 4, 5)]);
        assert!(matches!(fork, Err(PlanError::Fork { txid: Txid(4), .. })));
    }
}
