//! Acknowledged transactions on their way into the cells' history, merged as they come.
//!
//! A cell that writes the same pages again and again waits with one version of each, however many transactions there were.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use celld_ids::{CellScope, Epoch};
use celld_ltx::{Checksum, CompactError, File, Header, InvalidFile, LOCK_PAGE, Page, Txid};

use crate::entry::AlarmChange;
use crate::keys::{HistoryName, Level};

/// Transactions that must stay restorable by themselves: nothing is merged over them on the way into the history.
pub(crate) type Kept = BTreeSet<(CellScope, Txid)>;

/// An object of a cell's history.
pub(crate) type HistoryObject = (CellScope, HistoryName, Bytes);

/// One transaction of one cell as it stands in an entry.
pub(crate) struct Logged {
    pub scope: CellScope,
    pub epoch: Epoch,
    pub alarm: AlarmChange,
    pub file: File,
}

/// Transactions of many cells in the order of the log.
#[derive(Default)]
pub(crate) struct Merged {
    cells: BTreeMap<(CellScope, Epoch), Cell>,
    /// Bytes of all pages.
    bytes: u64,
}

/// Those of one cell under one ownership.
#[derive(Default)]
struct Cell {
    /// Each becomes an object.
    runs: Vec<Run>,
    /// The last change of the alarm.
    alarm: AlarmChange,
}

/// Transactions without a hole between them.
struct Run {
    pieces: Vec<Piece>,
    max_txid: Txid,
}

/// Transactions between which the database does not shrink: of each page the last version counts.
struct Piece {
    header: Header,
    pages: BTreeMap<u32, Page>,
    /// Where the database grew and nothing was written: it reads as zeros, whatever was there long before.
    zeros: BTreeSet<u32>,
    post_apply: Option<Checksum>,
}

impl Piece {
    /// Takes the next transactions, if that is possible. Returns by how many bytes the pages grow.
    fn take(&mut self, file: &File) -> Option<u64> {
        let header = file.header();
        let before = self.header.commit;
        if header.commit < before || header.pre_apply.is_some() || self.header.pre_apply.is_some() {
            return None;
        }
        self.header.max_txid = header.max_txid;
        self.header.timestamp_ms = header.timestamp_ms;
        self.header.commit = header.commit;
        self.zeros.extend((before + 1..=header.commit).filter(|pgno| *pgno != LOCK_PAGE));
        Some(self.add(file.pages()))
    }

    fn add(&mut self, pages: &[Page]) -> u64 {
        let mut grown = 0;
        for page in pages {
            self.zeros.remove(&page.pgno);
            if self.pages.insert(page.pgno, page.clone()).is_none() {
                grown += page.data.len() as u64;
            }
        }
        grown
    }

    fn file(&self) -> Result<File, InvalidFile> {
        let mut pages = self.pages.clone();
        pages.extend(self.zeros.iter().map(|pgno| (*pgno, Page::zero(*pgno))));
        File::new(self.header, pages.into_values().collect(), self.post_apply)
    }
}

impl Merged {
    /// Adds a transaction, which comes after all others of its cell.
    pub fn add(&mut self, tx: Logged, kept: &Kept) {
        let Logged { scope, epoch, alarm, file } = tx;
        let header = *file.header();
        // A set that is empty, as nearly always, costs nothing.
        let is_kept = |txid| !kept.is_empty() && kept.contains(&(scope.clone(), txid));
        let cell = self.cells.entry((scope.clone(), epoch)).or_default();
        if alarm != AlarmChange::Unchanged {
            cell.alarm = alarm;
        }
        let run = match cell.runs.last_mut() {
            Some(run) if header.min_txid != run.max_txid.next() => {
                // Never expected of one session. Each piece is folded as it is: a restore will name the hole.
                let (after, txid) = (run.max_txid, header.min_txid);
                tracing::error!(cell = %scope, %after, %txid, "the transactions in the log have a hole");
                None
            }
            Some(run) if is_kept(run.max_txid) => None,
            last => last,
        };
        let run = match run {
            Some(run) => run,
            None => {
                cell.runs.push(Run { pieces: Vec::new(), max_txid: header.max_txid });
                let last = cell.runs.len() - 1;
                &mut cell.runs[last]
            }
        };
        run.max_txid = header.max_txid;
        self.bytes += match run.pieces.last_mut().and_then(|piece| piece.take(&file)) {
            Some(grown) => grown,
            None => {
                let mut piece = Piece {
                    header,
                    pages: BTreeMap::new(),
                    zeros: BTreeSet::new(),
                    post_apply: file.post_apply(),
                };
                let grown = piece.add(file.pages());
                run.pieces.push(piece);
                grown
            }
        };
    }

    /// Bytes of all pages.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The last change of each cell's alarm.
    pub fn alarms(&self) -> impl Iterator<Item = (&CellScope, Epoch, AlarmChange)> {
        self.cells.iter().map(|((scope, epoch), cell)| (scope, *epoch, cell.alarm))
    }

    /// The objects by which the transactions become history.
    pub fn objects(&self) -> Result<Vec<HistoryObject>, (CellScope, CompactError)> {
        let mut objects = Vec::with_capacity(self.cells.len());
        for ((scope, epoch), cell) in &self.cells {
            for run in &cell.runs {
                let file = run.file().map_err(|problem| (scope.clone(), problem))?;
                let name = HistoryName::of(*epoch, Level::L0, file.header());
                objects.push((scope.clone(), name, celld_ltx::encode(&file).into()));
            }
        }
        Ok(objects)
    }
}

impl Run {
    fn file(&self) -> Result<File, CompactError> {
        let files: Result<Vec<File>, _> = self.pieces.iter().map(Piece::file).collect();
        celld_ltx::compact(&files?)
    }
}

#[cfg(test)]
mod tests {
    use celld_ltx::{Image, PAGE_SIZE};
    use proptest::prelude::*;

    use super::*;

    fn scope(id: &str) -> CellScope {
        CellScope::new("Room", id).unwrap()
    }

    fn page(pgno: u32, fill: u8) -> Page {
        Page { pgno, data: [fill; PAGE_SIZE].as_slice().into() }
    }

    fn tx(id: &str, txid: u64, commit: u32, pages: &[(u32, u8)]) -> Logged {
        let pages = pages.iter().map(|(pgno, fill)| page(*pgno, *fill)).collect();
        let file = File::transaction(Txid(txid), commit, pages, txid as i64).unwrap();
        Logged { scope: scope(id), epoch: Epoch(1), alarm: AlarmChange::Unchanged, file }
    }

    fn merged(transactions: Vec<Logged>, kept: &Kept) -> Merged {
        let mut merged = Merged::default();
        for tx in transactions {
            merged.add(tx, kept);
        }
        merged
    }

    /// The transactions of each object of the cell, and the files.
    fn objects(merged: &Merged, id: &str) -> Vec<((u64, u64), File)> {
        let objects = merged.objects().unwrap().into_iter().filter(|(of, ..)| *of == scope(id));
        let files =
            objects.map(|(_, name, bytes)| ((name.min.0, name.max.0), celld_ltx::decode(&bytes).unwrap()));
        files.collect()
    }

    #[test]
    fn of_a_page_only_the_last_version_waits() {
        let transactions =
            (1..=100).flat_map(|n| [tx("a", n, 2, &[(1, n as u8), (2, 0)]), tx("b", n, 1, &[(1, 0)])]);
        let merged = merged(transactions.collect(), &Kept::new());
        assert_eq!(merged.bytes, 3 * PAGE_SIZE as u64);
        let [((1, 100), file)] = &objects(&merged, "a")[..] else { panic!("one object") };
        assert_eq!((file.header().timestamp_ms, file.pages()), (100, &[page(1, 100), page(2, 0)][..]));
    }

    #[test]
    fn a_database_that_grows_waits_with_one_version_of_each_page_too() {
        // Every second page of those that are added is never written.
        let transactions = (1..=50).map(|n| tx("a", n, 2 * n as u32, &[(1, n as u8), (2 * n as u32, 7)]));
        let merged = merged(transactions.collect(), &Kept::new());
        assert_eq!(merged.bytes(), 51 * PAGE_SIZE as u64);
        let [((1, 50), file)] = &objects(&merged, "a")[..] else { panic!("one object") };
        let filled = |pgno: u32| if pgno == 1 { 50 } else { 7 * u8::from(pgno.is_multiple_of(2)) };
        let expected: Vec<Page> = (1..=100).map(|pgno| page(pgno, filled(pgno))).collect();
        assert_eq!(file.pages(), expected);
    }

    #[test]
    fn a_transaction_that_is_kept_ends_its_object_and_so_does_a_hole() {
        let kept = Kept::from([(scope("a"), Txid(2))]);
        let numbers = [1, 2, 3, 4, 6, 7];
        let merged = merged(numbers.map(|n| tx("a", n, 1, &[(1, n as u8)])).into(), &kept);
        let ranges: Vec<(u64, u64)> = objects(&merged, "a").into_iter().map(|(range, _)| range).collect();
        assert_eq!(ranges, [(1, 2), (3, 4), (6, 7)]);
    }

    /// Sizes that grow and shrink, and pages that are not all written.
    fn history() -> impl Strategy<Value = Vec<(u32, Vec<(u32, u8)>)>> {
        let step = (1..6u32).prop_flat_map(|commit| {
            let pages = prop::collection::btree_map(1..=commit, any::<u8>(), 0..=commit as usize);
            (Just(commit), pages.prop_map(|pages| pages.into_iter().collect()))
        });
        prop::collection::vec(step, 1..12)
    }

    proptest! {
        /// Applied to any image that the transactions before have made, the object does what the transactions do.
        #[test]
        fn the_objects_have_the_effect_of_the_transactions(steps in history(), skipped in 0..6usize) {
            let skipped = skipped.min(steps.len() - 1);
            let all = (1..).zip(&steps).map(|(n, (commit, pages))| tx("a", n, *commit, pages));
            let (mut before, mut expected) = (Image::empty(), Image::empty());
            let mut later = Vec::new();
            for (at, tx) in all.enumerate() {
                expected.apply(&tx.file, 100).unwrap();
                if at < skipped {
                    before.apply(&tx.file, 100).unwrap();
                } else {
                    later.push(tx);
                }
            }
            for (_, file) in objects(&merged(later, &Kept::new()), "a") {
                before.apply(&file, 100).unwrap();
            }
            prop_assert_eq!(before.into_bytes(), expected.into_bytes());
        }
    }
}
