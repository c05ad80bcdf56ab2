//! Merging consecutive files page by page: the files side by side, so that none of them has to be in memory.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use crate::{Checksum, CompactError, Header, LOCK_PAGE, Page};

/// Several files on their way to become one that has the same effect as all of them in order.
///
/// The caller starts it with the files' headers, then gives each file's pages one after another, whenever
/// [`Merge::wants`] asks for them, and takes the merged pages in between.
pub struct Merge {
    header: Header,
    inputs: Vec<Input>,
    /// The pages that wait for their turn: number, then input. At most one of each input.
    heads: BinaryHeap<Reverse<(u32, usize)>>,
    /// Inputs that must be given something before the next page is known.
    wanted: Vec<usize>,
    /// Up to here the merged pages have been given out.
    done: u32,
    /// The smallest that the database has been: beyond it, nothing from before these files survives. Zero for a snapshot.
    floor: u32,
}

struct Input {
    header: Header,
    /// What later inputs cut off: a page beyond does not come back when the database grows again.
    cut: u32,
    head: Option<Page>,
    end: Option<Option<Checksum>>,
}

impl Merge {
    /// Starts a merge of files with these headers, which must follow each other without a hole. They may overlap, as long as
    /// each starts and ends no earlier than the one before it.
    pub fn new(headers: &[Header]) -> Result<Merge, CompactError> {
        let (Some(first), Some(last)) = (headers.first(), headers.last()) else {
            return Err(CompactError::Nothing);
        };
        for pair in headers.windows(2) {
            let (before, after) = (&pair[0], &pair[1]);
            let (max, min) = (before.max_txid, after.min_txid);
            if min > max.next() || min < before.min_txid || after.max_txid < max {
                return Err(CompactError::Gap { after: max, min });
            }
        }
        let mut cut = u32::MAX;
        let mut inputs: Vec<Input> = headers
            .iter()
            .rev()
            .map(|header| {
                let input = Input { header: *header, cut, head: None, end: None };
                cut = cut.min(header.commit);
                input
            })
            .collect();
        inputs.reverse();
        let pre_apply = if first.is_snapshot() {
            Some(Checksum::NONE)
        } else if headers.iter().all(|header| header.pre_apply.is_some()) {
            first.pre_apply
        } else {
            None
        };
        let header = Header { min_txid: first.min_txid, pre_apply, ..*last };
        let floor = if first.is_snapshot() { 0 } else { cut };
        let wanted = (0..inputs.len()).rev().collect();
        Ok(Merge { header, inputs, heads: BinaryHeap::new(), wanted, done: 0, floor })
    }

    /// The header of the merged file. It carries database checksums when it is a snapshot, or when every input carries them.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The input whose next page (or end) must be given before [`Merge::next_page`] can go on.
    pub fn wants(&self) -> Option<usize> {
        self.wanted.last().copied()
    }

    /// Gives the next page of the input that [`Merge::wants`] named.
    pub fn give(&mut self, page: Page) {
        if let Some(input) = self.wanted.pop() {
            self.heads.push(Reverse((page.pgno, input)));
            self.inputs[input].head = Some(page);
        }
    }

    /// Says that the input that [`Merge::wants`] named has no more pages, and with which database checksum it ended.
    pub fn give_end(&mut self, post_apply: Option<Checksum>) {
        if let Some(input) = self.wanted.pop() {
            self.inputs[input].end = Some(post_apply);
        }
    }

    /// The next page of the merged file. `None` when an input is wanted first, or when the file is complete.
    ///
    /// The merged file is complete only when all inputs have ended, so that a damaged one is noticed even behind the last page
    /// that was taken from it.
    pub fn next_page(&mut self) -> Option<Page> {
        loop {
            if !self.wanted.is_empty() {
                return None;
            }
            let head = self.heads.peek().map(|Reverse((pgno, _))| *pgno);
            if let Some(zero) = self.zero_before(head) {
                self.done = zero;
                return Some(Page::zero(zero));
            }
            let pgno = head?;
            let (page, cut) = self.take(pgno)?;
            if pgno > self.header.commit {
                continue;
            }
            self.done = pgno;
            // What was cut off since is gone: the place was read as zeros when the database grew again.
            return Some(if pgno <= cut { page } else { Page::zero(pgno) });
        }
    }

    /// The page that no input holds but that must be written all the same, if it comes before the page `head`: grown over a
    /// truncation and never written since, it is zeros, whatever an older image holds there.
    fn zero_before(&self, head: Option<u32>) -> Option<u32> {
        let mut next = self.done.max(self.floor).checked_add(1)?;
        if next == LOCK_PAGE {
            next += 1;
        }
        (next <= self.header.commit && head.is_none_or(|head| next < head)).then_some(next)
    }

    /// Takes page `pgno` from the last input that holds it, and drops it from all others.
    fn take(&mut self, pgno: u32) -> Option<(Page, u32)> {
        let mut newest: Option<(usize, Page)> = None;
        while let Some(Reverse((number, input))) = self.heads.peek().copied()
            && number == pgno
        {
            self.heads.pop();
            self.wanted.push(input);
            let page = self.inputs[input].head.take()?;
            if newest.as_ref().is_none_or(|(at, _)| *at < input) {
                newest = Some((input, page));
            }
        }
        newest.map(|(input, page)| (page, self.inputs[input].cut))
    }

    /// Ends the merge. `sum` is the checksum of a database that consists of the merged pages. Returns the checksum of the
    /// database afterwards, unless the merged file goes without.
    ///
    /// Errors: the database checksums of two neighbours do not meet.
    pub fn finish(self, sum: Checksum) -> Result<Option<Checksum>, CompactError> {
        let ends: Vec<Option<Checksum>> = self.inputs.iter().map(|input| input.end.flatten()).collect();
        for (pair, post) in self.inputs.windows(2).zip(&ends) {
            let (before, after) = (&pair[0].header, &pair[1].header);
            if let (Some(post), Some(pre)) = (post, after.pre_apply)
                && after.min_txid == before.max_txid.next()
                && *post != pre
            {
                return Err(CompactError::Checksum(after.min_txid));
            }
        }
        Ok(match self.header.pre_apply {
            None => None,
            Some(_) if self.header.is_snapshot() => Some(sum),
            Some(_) => ends.last().copied().flatten(),
        })
    }
}
