//! What the writer has acknowledged and the fold task has not folded: the way between the two.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use celld_ids::CellScope;
use celld_ltx::Txid;

use crate::entry::EntryNo;
use crate::fold::Written;
use crate::log::LogOptions;
use crate::merged::{Kept, Merged};
use crate::writer::Encoded;

/// How many transactions are remembered to be kept apart.
const MAX_KEPT: usize = 100_000;

/// Entries in the order of the log.
enum Waiting {
    /// Merged as they came.
    Merged(Group),
    /// Those that came while there was no room for that.
    Late(VecDeque<Late>),
}

/// Merged entries.
#[derive(Default)]
struct Group {
    last: EntryNo,
    merged: Merged,
    /// How many there are, and the bytes of their objects.
    entries: usize,
    bytes: u64,
}

/// An entry that is not merged.
pub(crate) struct Late {
    pub number: EntryNo,
    /// The object, unless it must be read back.
    pub kept: Option<Bytes>,
    /// Bytes of the object.
    size: u64,
}

impl Late {
    fn kept_bytes(&self) -> u64 {
        self.kept.as_ref().map_or(0, |bytes| bytes.len() as u64)
    }
}

/// What the fold task gets.
pub(crate) enum Given {
    /// Transactions up to an entry.
    Merged(EntryNo, Merged),
    /// Entries whose transactions it has to merge itself; at least one.
    Late(Vec<Late>),
}

/// The entries that wait for the fold task. The writer merges into it, also while a fold is under way.
#[derive(Default)]
pub(crate) struct Pending {
    waiting: VecDeque<Waiting>,
    /// Acknowledged entries that are not given to the fold task yet, and the bytes of their objects.
    entries: usize,
    bytes: u64,
    /// Bytes of merged pages, here and with the fold task.
    pages: u64,
    folding_pages: u64,
    /// Bytes of entries that are kept as they are, here and with the fold task.
    kept_bytes: u64,
    folding_kept: u64,
    /// There was no room for pages, and not half of it is free again.
    is_full: bool,
    kept: Arc<Kept>,
}

impl Pending {
    /// Takes an acknowledged entry, the next one.
    pub fn take(&mut self, number: EntryNo, entry: Encoded, options: &LogOptions) {
        let Encoded { bytes, transactions } = entry;
        let size = bytes.len() as u64;
        self.entries += 1;
        self.bytes += size;
        // More than the pages will add where they replace others.
        let pages =
            transactions.iter().flat_map(|tx| tx.file.pages()).map(|page| page.data.len() as u64).sum();
        if !self.has_room(pages, options.merge_bytes) {
            let keeps = self.kept_bytes + self.folding_kept + size <= options.keep_bytes;
            let late = Late { number, kept: keeps.then_some(bytes), size };
            self.kept_bytes += late.kept_bytes();
            match self.waiting.back_mut() {
                Some(Waiting::Late(entries)) => entries.push_back(late),
                _ => self.waiting.push_back(Waiting::Late(VecDeque::from([late]))),
            }
            return;
        }
        if !matches!(self.waiting.back(), Some(Waiting::Merged(_))) {
            self.waiting.push_back(Waiting::Merged(Group::default()));
        }
        if let Some(Waiting::Merged(group)) = self.waiting.back_mut() {
            group.last = number;
            group.entries += 1;
            group.bytes += size;
            let before = group.merged.bytes();
            for tx in transactions {
                group.merged.add(tx, &self.kept);
            }
            self.pages += group.merged.bytes() - before;
        }
    }

    /// Whether `new` bytes of pages may come. Once they may not, it takes half of the room to be free: every change between the two kinds of
    /// waiting is a fold of its own.
    fn has_room(&mut self, new: u64, most: u64) -> bool {
        let held = self.pages + self.folding_pages;
        if self.is_full && held > most / 2 {
            return false;
        }
        self.is_full = held + new > most;
        !self.is_full
    }

    /// Acknowledged entries that are not given to the fold task yet, and the bytes of their objects.
    pub fn waiting(&self) -> (usize, u64) {
        (self.entries, self.bytes)
    }

    /// Gives the fold task what comes next. What it was given before has become history.
    pub fn give(&mut self, options: &LogOptions) -> Option<Given> {
        match self.waiting.pop_front()? {
            Waiting::Merged(Group { last, merged, entries, bytes }) => {
                self.entries -= entries;
                self.bytes -= bytes;
                self.pages -= merged.bytes();
                self.folding_pages = merged.bytes();
                Some(Given::Merged(last, merged))
            }
            Waiting::Late(mut entries) => {
                let mut given = Vec::new();
                let mut size = 0;
                while given.len() < options.fold_entries.max(1)
                    && let Some(entry) = entries.pop_front()
                {
                    if !given.is_empty() && size + entry.size > options.fold_bytes {
                        entries.push_front(entry);
                        break;
                    }
                    size += entry.size;
                    given.push(entry);
                }
                if !entries.is_empty() {
                    self.waiting.push_front(Waiting::Late(entries));
                }
                self.entries -= given.len();
                self.bytes -= size;
                let kept: u64 = given.iter().map(Late::kept_bytes).sum();
                self.kept_bytes -= kept;
                self.folding_kept = kept;
                Some(Given::Late(given))
            }
        }
    }

    /// The fold task has merged entries that it was given.
    pub fn merged_late(&mut self, merged: &Merged) {
        self.folding_pages = merged.bytes();
        self.folding_kept = 0;
    }

    /// What was given has become history, in the objects that were `written`.
    pub fn folded(&mut self, written: &[Written]) {
        self.folding_pages = 0;
        if self.kept.is_empty() {
            return;
        }
        let kept = Arc::make_mut(&mut self.kept);
        for Written { scope, name, .. } in written {
            let old = kept.range((scope.clone(), Txid(0))..=(scope.clone(), name.max));
            for key in old.cloned().collect::<Vec<_>>() {
                kept.remove(&key);
            }
        }
    }

    /// Keeps a transaction apart from those after it.
    pub fn keep(&mut self, scope: CellScope, txid: Txid) {
        let kept = Arc::make_mut(&mut self.kept);
        if kept.len() >= MAX_KEPT {
            kept.pop_first();
        }
        kept.insert((scope, txid));
    }

    /// The transactions that are kept apart.
    pub fn kept(&self) -> Arc<Kept> {
        self.kept.clone()
    }

    /// Bytes of the pages that are merged here, of those with the fold task, and of the entries that are kept by either.
    #[cfg(test)]
    pub fn held(&self) -> (u64, u64, u64) {
        (self.pages, self.folding_pages, self.kept_bytes + self.folding_kept)
    }

    #[cfg(test)]
    pub fn is_full(&self) -> bool {
        self.is_full
    }
}

#[cfg(test)]
mod tests {
    use celld_ids::Epoch;
    use celld_ltx::{File, PAGE_SIZE, Page};

    use super::*;
    use crate::entry::AlarmChange;
    use crate::merged::Logged;

    fn scope() -> CellScope {
        CellScope::new("Room", "a").unwrap()
    }

    fn entry(txid: u64, pgno: u32) -> Encoded {
        let pages = vec![Page { pgno, data: [1; PAGE_SIZE].as_slice().into() }];
        let file = File::transaction(Txid(txid), 9, pages, 0).unwrap();
        let tx = Logged { scope: scope(), epoch: Epoch(1), alarm: AlarmChange::Unchanged, file };
        Encoded { bytes: vec![0; 100].into(), transactions: vec![tx] }
    }

    /// Room for the pages of two transactions and the bytes of two entries.
    fn options() -> LogOptions {
        LogOptions {
            merge_bytes: 2 * PAGE_SIZE as u64,
            keep_bytes: 200,
            fold_entries: 2,
            fold_bytes: 1000,
            ..LogOptions::default()
        }
    }

    fn late(given: Option<Given>) -> Vec<(u64, bool)> {
        let Some(Given::Late(entries)) = given else { panic!("not late") };
        entries.iter().map(|entry| (entry.number.0, entry.kept.is_some())).collect()
    }

    #[test]
    fn entries_wait_merged_or_kept_or_in_the_bucket_and_come_in_order() {
        let mut pending = Pending::default();
        let options = options();
        // The second writes the same page again; that is known only when it is merged.
        for (number, page) in [(2, 1), (3, 1), (4, 2), (5, 3), (6, 4), (7, 5)] {
            pending.take(EntryNo(number - 1), entry(number, page), &options);
        }
        assert_eq!((pending.waiting(), pending.held()), ((6, 600), (2 * PAGE_SIZE as u64, 0, 200)));

        let Some(Given::Merged(EntryNo(3), merged)) = pending.give(&options) else { panic!("not merged") };
        assert_eq!((pending.waiting(), merged.bytes()), ((3, 300), 2 * PAGE_SIZE as u64));
        // The fold task still holds them.
        pending.take(EntryNo(7), entry(8, 1), &options);
        pending.folded(&[]);
        assert_eq!(late(pending.give(&options)), [(4, true), (5, true)]);
        // There is room again, but order is kept.
        pending.take(EntryNo(8), entry(9, 1), &options);
        pending.folded(&[]);
        assert_eq!(late(pending.give(&options)), [(6, false), (7, false)]);
        assert!(matches!(pending.give(&options), Some(Given::Merged(EntryNo(8), _))));
        assert!(pending.give(&options).is_none());
        assert_eq!(pending.waiting(), (0, 0));
    }

    #[test]
    fn points_that_are_history_are_forgotten() {
        let mut pending = Pending::default();
        for txid in [3, 5, 9] {
            pending.keep(scope(), Txid(txid));
        }
        let name = crate::keys::HistoryName::of(
            Epoch(1),
            crate::keys::Level::L0,
            entry(5, 1).transactions[0].file.header(),
        );
        pending.folded(&[Written { scope: scope(), name, size: 1 }]);
        assert_eq!(*pending.kept(), Kept::from([(scope(), Txid(9))]));
    }
}
