//! The pages of one cell as its open connection sees them, and the capture of committed transactions.
//!
//! Invariant: `backing` holds exactly the last committed state; what a transaction has written so far is in `overlay`.

use celld_ltx::{PAGE_SIZE, Page};

use crate::backing::{Backing, ReadError};
use crate::overlay::Overlay;

/// What one committed transaction did to the database: the input of the session log.
#[derive(Debug, Clone)]
pub struct CommittedTx {
    /// Size of the database after the transaction, in pages.
    pub commit: u32,
    /// The pages it wrote, ascending, each at most once, none behind the end.
    pub pages: Vec<Page>,
}

/// Why a read or write of pages failed; the VFS turns it into SQLite's code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum StoreError {
    /// The budget of uncommitted pages or the largest database size is reached.
    Full,
    /// The image could not be read.
    Read,
}

pub(crate) struct Store {
    backing: Backing,
    overlay: Overlay,
    /// Logical size of the database in bytes, uncommitted growth and truncation included.
    size: u64,
    /// Deleting everything: the committed pages are hidden, and go away with the next commit.
    masked: bool,
    committed: Option<CommittedTx>,
    /// The first failure to write the image, which is then not what was committed.
    failure: Option<std::io::Error>,
    /// Why the last read failed.
    read_failure: Option<ReadError>,
    broken: bool,
    /// The commit hook refuses while this is set.
    pub(crate) refuse_commits: bool,
    /// SQLite rolled a transaction back (the rollback hook ran).
    pub(crate) rolled_back: bool,
    max_overlay: usize,
    max_pages: u32,
}

impl Store {
    pub(crate) fn new(backing: Backing, max_overlay: usize, max_pages: u32) -> Self {
        let size = backing.size();
        Self {
            backing,
            overlay: Overlay::default(),
            size,
            masked: false,
            committed: None,
            failure: None,
            read_failure: None,
            broken: false,
            refuse_commits: false,
            rolled_back: false,
            max_overlay,
            max_pages,
        }
    }

    pub(crate) fn into_backing(self) -> Backing {
        self.backing
    }

    pub(crate) fn backing(&self) -> &Backing {
        &self.backing
    }

    pub(crate) fn backing_mut(&mut self) -> &mut Backing {
        &mut self.backing
    }

    pub(crate) fn size(&self) -> u64 {
        self.size
    }

    pub(crate) fn overlay_pages(&self) -> usize {
        self.overlay.len()
    }

    /// Reads `out.len()` bytes; false when some lie behind the end (they read as zeros).
    pub(crate) fn read(&mut self, offset: u64, out: &mut [u8]) -> Result<bool, StoreError> {
        if !self.overlay.is_empty() {
            let within = (offset % PAGE_SIZE as u64) as usize;
            if let Some(page) = self.overlay.get((offset / PAGE_SIZE as u64) as u32 + 1) {
                out.copy_from_slice(&page[within..within + out.len()]);
                return Ok(true);
            }
        }
        if self.masked {
            out.fill(0);
            return Ok(false);
        }
        match self.backing.read(offset, out) {
            Ok(there) => Ok(there == out.len()),
            Err(error) => {
                self.read_failure = Some(error);
                Err(StoreError::Read)
            }
        }
    }

    /// Why the last read that failed did so.
    pub(crate) fn read_failure(&self) -> Option<&ReadError> {
        self.read_failure.as_ref()
    }

    pub(crate) fn write(&mut self, pgno: u32, page: &[u8]) -> Result<(), StoreError> {
        if pgno > self.max_pages || (self.overlay.len() >= self.max_overlay && !self.overlay.contains(pgno)) {
            return Err(StoreError::Full);
        }
        self.overlay.put(pgno, page);
        self.size = self.size.max(u64::from(pgno) * PAGE_SIZE as u64);
        Ok(())
    }

    pub(crate) fn truncate(&mut self, size: u64) {
        self.size = size;
        self.overlay.truncate((size / PAGE_SIZE as u64) as u32);
    }

    /// SQLite's commit is final: captures the transaction and brings the image up to date. Cannot fail; a failure to
    /// write the image is kept in [`Store::take_failure`] and marks it broken, the captured transaction is complete.
    pub(crate) fn commit(&mut self) {
        if self.overlay.is_empty() && self.size == self.backing.size() && !self.masked {
            return;
        }
        let commit = (self.size / PAGE_SIZE as u64) as u32;
        self.overlay.truncate(commit);
        if self.masked {
            // Everything is replaced: a page that nobody wrote must not keep its old content in a replica.
            for pgno in (1..=commit).filter(|pgno| !self.overlay.contains(*pgno)).collect::<Vec<_>>() {
                self.overlay.put(pgno, &[0; PAGE_SIZE]);
            }
            self.committed = None;
        }
        let pages = self.overlay.take_sorted();
        if let Err(error) = self.apply(&pages) {
            self.failure.get_or_insert(error);
            self.broken = true;
        }
        self.masked = false;
        // Two commits without a `take_committed` between them: the second one's pages win.
        self.committed = Some(match self.committed.take() {
            None => CommittedTx { commit, pages },
            Some(first) => first.followed_by(CommittedTx { commit, pages }),
        });
    }

    fn apply(&mut self, pages: &[Page]) -> std::io::Result<()> {
        if self.masked {
            self.backing.resize(0)?;
        } else if self.backing.size() > self.size {
            self.backing.resize(self.size)?;
        }
        for page in pages {
            self.backing.write_page(page.pgno, &page.data)?;
        }
        self.backing.resize(self.size)
    }

    /// Forgets what the transaction wrote.
    pub(crate) fn rollback(&mut self) {
        self.overlay.clear();
        self.size = if self.masked { 0 } else { self.backing.size() };
    }

    /// Hides the committed pages from a connection that is about to open: an empty database, until the next commit
    /// makes it so or [`Store::unmask`] takes it back.
    pub(crate) fn mask(&mut self) {
        self.masked = true;
        self.rollback();
    }

    /// Takes [`Store::mask`] back, and whatever was written since.
    pub(crate) fn unmask(&mut self) {
        self.masked = false;
        self.rollback();
    }

    pub(crate) fn masked(&self) -> bool {
        self.masked
    }

    pub(crate) fn take_committed(&mut self) -> Option<CommittedTx> {
        self.committed.take()
    }

    pub(crate) fn take_failure(&mut self) -> Option<std::io::Error> {
        self.failure.take()
    }

    /// A committed transaction could not be applied: the image must not be used again.
    pub(crate) fn broken(&self) -> bool {
        self.broken
    }
}

impl CommittedTx {
    fn followed_by(self, later: Self) -> Self {
        let mut pages = self.pages;
        pages.retain(|page| {
            page.pgno <= later.commit
                && later.pages.binary_search_by_key(&page.pgno, |page| page.pgno).is_err()
        });
        pages.extend(later.pages);
        pages.sort_unstable_by_key(|page| page.pgno);
        Self { commit: later.commit, pages }
    }
}
