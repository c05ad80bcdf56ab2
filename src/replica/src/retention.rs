//! Which objects of a cell's history may go. Restoring the last state needs none that another one outranks; restoring an earlier
//! moment is what they are kept for.
//!
//! The window counts back from the cell's own last transaction, so no clock takes part, and a cell that has rested for a week can
//! still be taken back to before its last change.

use celld_ltx::Txid;

use crate::history::HistoryObject;
use crate::keys::{HistoryName, Level};

/// How many superseded objects are kept at most, so that a listing of a cell stays one request. Of those that only a run of others
/// leads to, the oldest go: what is left of a run must be whole.
const KEEP_L0: usize = 256;
const KEEP_L1: usize = 128;

/// Of those that stand by themselves, snapshots and what follows an object that stays, the ones go that stand closest to others: the
/// choice of moments gets coarser, and reaches as far back as before.
const KEEP_ANCHORS: usize = 96;

/// Chooses what may be deleted of a history in which moments of the last `window_ms` milliseconds before the last transaction are
/// to stay restorable. `names` may contain the names of objects that are not there but left something beside them.
///
/// Whatever is deleted of the result, in whatever order, each transaction that was restorable as the last one still is.
pub(crate) fn garbage(objects: &[HistoryObject], names: &[HistoryName], window_ms: u64) -> Vec<HistoryName> {
    let Some(last) = objects.iter().map(|object| &object.name).max_by_key(|name| name.max) else {
        return Vec::new();
    };
    let horizon = last.timestamp_ms.saturating_sub(window_ms);
    let mut kept: Vec<HistoryName> = Vec::new();
    let mut garbage = Vec::new();
    for name in names {
        let mut above =
            objects.iter().map(|object| &object.name).filter(|other| outranks(other, name)).peekable();
        if above.peek().is_none() {
            continue;
        }
        // The one above serves every moment from its own last transaction on.
        if window_ms == 0 || above.any(|other| other.timestamp_ms <= horizon) {
            garbage.push(*name);
        } else {
            kept.push(*name);
        }
    }
    let (anchors, runs): (Vec<_>, Vec<_>) = kept.iter().copied().partition(|name| stands(objects, name));
    let (l0, l1): (Vec<_>, Vec<_>) = runs.into_iter().partition(|name| name.level == Level::L0);
    garbage.extend(oldest(l0, KEEP_L0));
    garbage.extend(oldest(l1, KEEP_L1));
    garbage.extend(closest(anchors, KEEP_ANCHORS));
    garbage
}

/// `true` when nothing but what stays for the last state is needed to restore the end of `name`.
fn stands(objects: &[HistoryObject], name: &HistoryName) -> bool {
    let stays = |other: &HistoryName| !objects.iter().any(|above| outranks(&above.name, other));
    name.min == Txid(1)
        || objects.iter().any(|before| before.name.max.next() == name.min && stays(&before.name))
}

/// `true` when `above` holds everything that `name` does and is the one to keep of the two. A strict order: of any number of
/// objects at least one is outranked by none.
fn outranks(above: &HistoryName, name: &HistoryName) -> bool {
    let same = (above.min, above.max) == (name.min, name.max);
    let rank = |name: &HistoryName| (name.level, name.epoch, name.timestamp_ms);
    above.covers(name) && (!same || rank(above) > rank(name))
}

/// The oldest of `names`, as far as there are more than `keep`.
fn oldest(mut names: Vec<HistoryName>, keep: usize) -> Vec<HistoryName> {
    names.sort_by_key(|name| (name.max, name.min));
    names.truncate(names.len().saturating_sub(keep));
    names
}

/// Those of `names` with the closest neighbours, as far as there are more than `keep`. The first and the last stay.
fn closest(mut names: Vec<HistoryName>, keep: usize) -> Vec<HistoryName> {
    names.sort_by_key(|name| (name.max, name.min));
    let mut gone = Vec::new();
    while names.len() > keep.max(2) {
        let gap = |at: &usize| names[at + 1].timestamp_ms.saturating_sub(names[at - 1].timestamp_ms);
        let Some(at) = (1..names.len() - 1).min_by_key(gap) else { break };
        gone.push(names.remove(at));
    }
    gone
}

#[cfg(test)]
mod tests {
    use celld_ids::Epoch;
    use proptest::prelude::*;

    use super::*;
    use crate::history::plan;

    fn object(level: Level, min: u64, max: u64) -> HistoryObject {
        let (min, timestamp_ms) = (Txid(min), max * 1000);
        HistoryObject {
            name: HistoryName { epoch: Epoch(1), level, min, max: Txid(max), timestamp_ms },
            size: 1,
        }
    }

    /// A history as folds and compactions make it, and what may be left of it when some deletions did not happen.
    fn history() -> impl Strategy<Value = Vec<HistoryObject>> {
        let cut = (1..40u64, 0..12u64, 0..3usize);
        prop::collection::vec(cut, 0..30).prop_map(|cuts| {
            let mut objects: Vec<_> = (1..=50).map(|txid| object(Level::L0, txid, txid)).collect();
            for (min, len, level) in cuts {
                let level = [Level::L0, Level::L1, Level::L9][level];
                let min = if level == Level::L9 { 1 } else { min };
                objects.push(object(level, min, min + len));
            }
            objects.sort_by_key(|object| object.name);
            objects.dedup();
            objects
        })
    }

    proptest! {
        #[test]
        fn any_part_of_the_garbage_may_go(objects in history(), window in 0..60u64, gone in any::<u64>()) {
            let scope = celld_ids::CellScope::new("A", "a").unwrap();
            let names: Vec<_> = objects.iter().map(|object| object.name).collect();
            let garbage = garbage(&objects, &names, window * 1000);
            let mut bits = gone;
            let left: Vec<HistoryObject> = objects
                .iter()
                .filter(|object| {
                    bits = bits.rotate_left(1);
                    !garbage.contains(&object.name) || bits & 1 == 0
                })
                .cloned()
                .collect();
            let chain = plan(&scope, &left).unwrap();
            prop_assert_eq!(chain.last().map(|object| object.name.max), Some(Txid(50)));
            // Every moment of the window is as it was.
            for txid in 50 - window.min(49)..=50 {
                let until: Vec<_> = left.iter().filter(|object| object.name.max.0 <= txid).cloned().collect();
                let reached = plan(&scope, &until).unwrap().last().map_or(0, |object| object.name.max.0);
                prop_assert_eq!(reached, txid);
            }
        }
    }

    #[test]
    fn without_a_window_only_what_is_needed_stays() {
        let objects = [
            object(Level::L0, 1, 1),
            object(Level::L0, 2, 9),
            object(Level::L1, 2, 20),
            object(Level::L9, 1, 20),
            object(Level::L0, 21, 22),
        ];
        let names: Vec<_> = objects.iter().map(|object| object.name).collect();
        assert_eq!(garbage(&objects, &names, 0), names[..3]);
        assert_eq!(garbage(&objects, &names, 100_000), []);
    }
}
