//! The uncommitted pages of one transaction.

use std::collections::HashMap;
use std::sync::Arc;

use celld_ltx::{PAGE_SIZE, Page};

/// Below this many pages a linear search beats the map.
const LINEAR: usize = 16;

/// Pages written since the last commit, each once, newest content.
///
/// A page is an `Arc` so that the committed transaction takes it over without a copy; until then it is unique.
#[derive(Debug, Default)]
pub(crate) struct Overlay {
    pages: Vec<Page>,
    /// Page number to position, only above [`LINEAR`] pages.
    index: HashMap<u32, usize>,
}

impl Overlay {
    pub(crate) fn len(&self) -> usize {
        self.pages.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.pages.is_empty()
    }

    pub(crate) fn get(&self, pgno: u32) -> Option<&[u8]> {
        self.position(pgno).map(|at| &*self.pages[at].data)
    }

    pub(crate) fn contains(&self, pgno: u32) -> bool {
        self.position(pgno).is_some()
    }

    /// Stores a whole page, replacing an earlier write of it.
    pub(crate) fn put(&mut self, pgno: u32, data: &[u8]) {
        debug_assert_eq!(data.len(), PAGE_SIZE);
        if let Some(at) = self.position(pgno) {
            match Arc::get_mut(&mut self.pages[at].data) {
                Some(page) => page.copy_from_slice(data),
                None => self.pages[at].data = Arc::from(data),
            }
            return;
        }
        self.pages.push(Page { pgno, data: Arc::from(data) });
        if self.pages.len() == LINEAR + 1 {
            self.reindex();
        } else if self.pages.len() > LINEAR {
            self.index.insert(pgno, self.pages.len() - 1);
        }
    }

    /// Forgets the pages behind the end of a database of `pages` pages.
    pub(crate) fn truncate(&mut self, pages: u32) {
        if self.pages.iter().any(|page| page.pgno > pages) {
            self.pages.retain(|page| page.pgno <= pages);
            self.reindex();
        }
    }

    pub(crate) fn clear(&mut self) {
        // A large transaction's tables go back to the allocator: most transactions have a handful of pages.
        *self = Self {
            pages: if self.pages.capacity() <= 64 { cleared(&mut self.pages) } else { Vec::new() },
            index: HashMap::new(),
        };
    }

    /// Takes all pages, ascending.
    pub(crate) fn take_sorted(&mut self) -> Vec<Page> {
        let mut pages = std::mem::take(&mut self.pages);
        self.index = HashMap::new();
        pages.sort_unstable_by_key(|page| page.pgno);
        pages
    }

    fn position(&self, pgno: u32) -> Option<usize> {
        if self.pages.len() <= LINEAR {
            return self.pages.iter().rposition(|page| page.pgno == pgno);
        }
        self.index.get(&pgno).copied()
    }

    fn reindex(&mut self) {
        self.index.clear();
        if self.pages.len() > LINEAR {
            self.index.extend(self.pages.iter().enumerate().map(|(at, page)| (page.pgno, at)));
        }
    }
}

fn cleared(pages: &mut Vec<Page>) -> Vec<Page> {
    let mut pages = std::mem::take(pages);
    pages.clear();
    pages
}
