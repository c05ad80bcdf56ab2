//! Wake entries: the alarms of all cells, in the order of their times, so that a cell which nobody holds is woken.
//!
//! An alarm is durable with the transaction that sets it, because it stands beside it in the log. The fold makes it a wake entry
//! before it raises the mark. An entry may outlive its alarm, never the other way round: whoever finds one that is due opens the
//! cell and asks its database.
//!
//! The epoch is in the key: a session that is over but does not know it yet cannot remove the entry of its successor.

use std::collections::HashMap;

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError};
use celld_ids::{CellScope, Epoch};
use futures::{StreamExt, TryStreamExt, stream};

use crate::entry::AlarmChange;
use crate::fold::PARALLEL;
use crate::keys;
use crate::record::patiently;

/// Cells whose wake entries are remembered. Beyond, all are forgotten: their entries are removed when they are due.
const MAX_REMEMBERED: usize = 100_000;

/// One wake entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wake {
    /// When the alarm is due, in milliseconds since the Unix epoch.
    pub due_ms: i64,
    /// The cell.
    pub scope: CellScope,
    /// Under which ownership the alarm was set.
    pub epoch: Epoch,
}

/// The entries that are due at `until_ms`, the earliest first; at most `limit`.
pub async fn due_wakes(bucket: &Bucket, until_ms: i64, limit: usize) -> Result<Vec<Wake>, BucketError> {
    let listed = patiently(|| bucket.list(keys::WAKES, None, limit)).await?;
    let wakes = listed.into_iter().filter_map(|object| {
        let (due_ms, scope, epoch) = keys::parse_wake(&object.key)?;
        Some(Wake { due_ms, scope, epoch })
    });
    Ok(wakes.take_while(|wake| wake.due_ms <= until_ms).collect())
}

/// Removes an entry. The caller owns the cell and knows, durably, that the alarm has another time or is gone.
pub async fn remove_wake(bucket: &Bucket, wake: &Wake) -> Result<(), BucketError> {
    bucket.delete(&keys::wake(wake.due_ms, &wake.scope, wake.epoch)).await
}

/// The wake entries that this process has written and not removed.
#[derive(Default)]
pub(crate) struct Wakes {
    written: HashMap<(CellScope, Epoch), i64>,
}

impl Wakes {
    /// Brings the wake entries up to date with `changes`, the last one of each cell, which are durable. Repeating it does no harm.
    pub async fn follow(
        &mut self,
        bucket: &Bucket,
        changes: impl Iterator<Item = (&CellScope, Epoch, AlarmChange)>,
    ) -> Result<(), BucketError> {
        if self.written.len() > MAX_REMEMBERED {
            self.written.clear();
        }
        let (mut set, mut stale) = (Vec::new(), Vec::new());
        for (scope, epoch, change) in changes {
            let before = self.written.get(&(scope.clone(), epoch)).copied();
            let now = match change {
                AlarmChange::Set(time) => Some(time),
                AlarmChange::Cleared => None,
                AlarmChange::Unchanged => continue,
            };
            if before == now {
                continue;
            }
            set.extend(now.map(|time| (scope.clone(), epoch, time)));
            stale.extend(before.map(|time| (scope.clone(), epoch, time)));
        }
        // The new ones first: there is no moment at which an alarm has no entry.
        for_each(set.clone(), |key| async move { bucket.put(&key, Bytes::new()).await.map(drop) }).await?;
        for (scope, epoch, time) in set {
            self.written.insert((scope, epoch), time);
        }
        for (scope, epoch, time) in &stale {
            let key = (scope.clone(), *epoch);
            if self.written.get(&key) == Some(time) {
                self.written.remove(&key);
            }
        }
        // One that stays is removed when it is due.
        if let Err(error) = for_each(stale, |key| async move { bucket.delete(&key).await }).await {
            tracing::debug!(%error, "a wake entry outlives its alarm");
        }
        Ok(())
    }
}

async fn for_each<C>(
    wakes: Vec<(CellScope, Epoch, i64)>,
    call: impl Fn(String) -> C,
) -> Result<(), BucketError>
where
    C: Future<Output = Result<(), BucketError>> + Send,
{
    let call = &call;
    stream::iter(wakes)
        .map(|(scope, epoch, time)| {
            let key = keys::wake(time, &scope, epoch);
            async move { patiently(|| call(key.clone())).await }
        })
        .buffer_unordered(PARALLEL)
        .try_collect()
        .await
}

#[cfg(test)]
mod tests {
    use celld_ltx::{File, PAGE_SIZE, Page, Txid};

    use super::*;
    use crate::merged::{Kept, Logged, Merged};

    /// Brings the entries up to date with transactions, each of which changes an alarm.
    async fn follow(wakes: &mut Wakes, bucket: &Bucket, changes: &[(&str, u64, AlarmChange)]) {
        let mut merged = Merged::default();
        for (number, (id, epoch, alarm)) in (1..).zip(changes) {
            let pages = vec![Page { pgno: 1, data: [0; PAGE_SIZE].as_slice().into() }];
            let file = File::transaction(Txid(number), 1, pages, 0).unwrap();
            let scope = CellScope::new("Room", *id).unwrap();
            merged.add(Logged { scope, epoch: Epoch(*epoch), alarm: *alarm, file }, &Kept::new());
        }
        wakes.follow(bucket, merged.alarms()).await.unwrap();
    }

    async fn due(bucket: &Bucket, until: i64) -> Vec<(i64, String, u64)> {
        let wakes = due_wakes(bucket, until, 100).await.unwrap();
        wakes.into_iter().map(|wake| (wake.due_ms, wake.scope.id().to_owned(), wake.epoch.0)).collect()
    }

    #[tokio::test]
    async fn the_last_change_of_an_alarm_counts() {
        use AlarmChange::{Cleared, Set, Unchanged};
        let bucket = Bucket::in_memory();
        let mut wakes = Wakes::default();
        let first = [
            ("a", 1, Set(500)),
            ("b", 1, Set(300)),
            ("a", 1, Set(200)),
            ("c", 1, Unchanged),
            ("a", 1, Unchanged),
        ];
        follow(&mut wakes, &bucket, &first).await;
        assert_eq!(due(&bucket, 1000).await, [(200, "a".into(), 1), (300, "b".into(), 1)]);
        assert_eq!(due(&bucket, 299).await, [(200, "a".into(), 1)]);

        follow(&mut wakes, &bucket, &[("a", 1, Set(900)), ("b", 1, Cleared)]).await;
        assert_eq!(due(&bucket, 1000).await, [(900, "a".into(), 1)]);
    }

    #[tokio::test]
    async fn a_session_that_is_over_leaves_the_entries_of_its_successor() {
        use AlarmChange::{Cleared, Set};
        let bucket = Bucket::in_memory();
        let (mut old, mut new) = (Wakes::default(), Wakes::default());
        follow(&mut old, &bucket, &[("a", 1, Set(500))]).await;
        follow(&mut new, &bucket, &[("a", 2, Set(500))]).await;
        follow(&mut old, &bucket, &[("a", 1, Cleared)]).await;
        assert_eq!(due(&bucket, 1000).await, [(500, "a".into(), 2)]);
        let left = due_wakes(&bucket, 1000, 1).await.unwrap();
        remove_wake(&bucket, &left[0]).await.unwrap();
        assert!(due(&bucket, 1000).await.is_empty());
    }
}
