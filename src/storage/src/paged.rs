//! An image that is not all here yet: pages are fetched when SQLite reads them, and kept in a sparse file.
//!
//! Two sides use it at the same time: the cell's own thread, through its connection, and whoever fills the file in the background
//! ([`PagedImage::missing`], [`PagedImage::fill`]). What the cell commits wins over what is fetched: a fetched page is stored only
//! while the page is still missing, which one lock decides. Nobody waits for a page while holding that lock, so a slow source
//! holds up the reader that asked and nobody else.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use celld_ltx::{PAGE_SIZE, Page};
use parking_lot::Mutex;

use crate::backing::{ReadError, create_file};

/// Pages fetched with one miss when the reads go forward through the file.
const READ_AHEAD: u32 = 64;

/// Pages fetched with a miss at a new place. Neighbours cost little: they lie in the same read.
const FIRST_AHEAD: u32 = 4;

/// Where the pages of an image come from that is not all here.
pub trait PageSource: Send + Sync {
    /// Reads page `first` and, as far as they come along without another wait, the pages after it up to `last`. Blocks; has to
    /// give up after a bounded time. Every page is the one that the image had when it was made.
    fn read(&self, first: u32, last: u32) -> Result<Vec<Page>, PageError>;

    /// Bytes of memory that the source holds, about.
    fn memory(&self) -> usize {
        0
    }
}

/// Why a page could not be fetched. The text names the object that failed, or the deadline that passed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct PageError(pub Arc<str>);

impl PageError {
    /// An error with this text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }
}

/// A database of which some pages are in a local file and the rest at a [`PageSource`].
pub struct PagedImage {
    path: PathBuf,
    file: File,
    source: Box<dyn PageSource>,
    present: Mutex<Present>,
    /// Size of the database in pages.
    pages: AtomicU32,
    /// No page is missing; never becomes false again.
    complete: AtomicBool,
    ahead: Mutex<Ahead>,
}

/// Which pages are in the file.
struct Present {
    /// One bit for each page of the image as it was made, page 1 first.
    bits: Vec<u64>,
    /// Pages beyond this one are all in the file: the database was once cut off here.
    limit: u32,
    /// Clear bits up to `limit`.
    missing: u32,
}

/// How reads have moved through the file.
struct Ahead {
    /// The page after the last fetched ones.
    next: u32,
    window: u32,
}

impl Present {
    fn has(&self, pgno: u32) -> bool {
        pgno > self.limit || self.bits[(pgno - 1) as usize / 64] >> ((pgno - 1) % 64) & 1 == 1
    }

    fn set(&mut self, pgno: u32) {
        if !self.has(pgno) {
            self.bits[(pgno - 1) as usize / 64] |= 1 << ((pgno - 1) % 64);
            self.missing -= 1;
        }
    }

    /// The first missing page from `from` on.
    fn next_missing(&self, from: u32) -> Option<u32> {
        let mut pgno = from.max(1);
        while pgno <= self.limit {
            let word = !self.bits[(pgno - 1) as usize / 64] >> ((pgno - 1) % 64);
            if word == 0 {
                pgno = pgno.checked_add(64 - (pgno - 1) % 64)?;
            } else {
                return Some(pgno + word.trailing_zeros()).filter(|pgno| *pgno <= self.limit);
            }
        }
        None
    }

    fn cut(&mut self, pages: u32) {
        if pages < self.limit {
            let mut gone = 0;
            let mut from = pages + 1;
            while let Some(pgno) = self.next_missing(from) {
                gone += 1;
                from = pgno + 1;
            }
            self.missing -= gone;
            self.limit = pages;
            self.bits.truncate((pages as usize).div_ceil(64));
        }
    }
}

impl PagedImage {
    /// An image of `pages` pages, none of which is here, in a new sparse file at `path`. What was there is removed.
    pub fn create(path: PathBuf, pages: u32, source: Box<dyn PageSource>) -> io::Result<Arc<Self>> {
        let file = create_file(&path)?;
        file.set_len(u64::from(pages) * PAGE_SIZE as u64)?;
        let mut present =
            Present { bits: vec![0; (pages as usize).div_ceil(64)], limit: pages, missing: pages };
        if pages >= celld_ltx::LOCK_PAGE {
            // It has no content anywhere.
            present.set(celld_ltx::LOCK_PAGE);
        }
        Ok(Arc::new(Self {
            path,
            file,
            source,
            complete: AtomicBool::new(present.missing == 0),
            present: Mutex::new(present),
            pages: AtomicU32::new(pages),
            ahead: Mutex::new(Ahead { next: 0, window: FIRST_AHEAD }),
        }))
    }

    /// The sparse file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Size of the database in pages.
    pub fn pages(&self) -> u32 {
        self.pages.load(Ordering::Acquire)
    }

    /// True when every page is in the file: it is an ordinary image, and the source is not needed any more.
    pub fn is_complete(&self) -> bool {
        self.complete.load(Ordering::Acquire)
    }

    /// How many pages are missing.
    pub fn missing_pages(&self) -> u32 {
        self.present.lock().missing
    }

    /// Up to `most` missing pages, ascending, the first of them from page `from` on.
    pub fn missing(&self, from: u32, most: usize) -> Vec<u32> {
        let present = self.present.lock();
        let mut pages = Vec::new();
        let mut from = from;
        while pages.len() < most
            && let Some(pgno) = present.next_missing(from)
        {
            pages.push(pgno);
            from = pgno + 1;
        }
        pages
    }

    /// Whether page `pgno` is missing.
    pub fn is_missing(&self, pgno: u32) -> bool {
        pgno > 0 && !self.present.lock().has(pgno)
    }

    /// Stores fetched pages. Those that are not missing any more, because the cell has written them or cut them off, are left
    /// as they are. After an error the pages that were not stored are still missing.
    pub fn fill(&self, pages: &[Page]) -> io::Result<()> {
        for page in pages {
            if page.data.len() != PAGE_SIZE {
                return Err(io::Error::other(format!("page {} has {} bytes", page.pgno, page.data.len())));
            }
            // Taken anew for each page: the cell's thread waits for one write at most.
            let mut present = self.present.lock();
            if page.pgno > 0 && !present.has(page.pgno) {
                self.file.write_all_at(&page.data, offset(page.pgno))?;
                present.set(page.pgno);
                if present.missing == 0 {
                    self.complete.store(true, Ordering::Release);
                }
            }
        }
        Ok(())
    }

    /// The content of a page that is in the file; None for one that is missing or beyond the end.
    pub fn page(&self, pgno: u32) -> io::Result<Option<Vec<u8>>> {
        if pgno == 0 || pgno > self.pages() || self.is_missing(pgno) {
            return Ok(None);
        }
        let mut data = vec![0; PAGE_SIZE];
        self.file.read_exact_at(&mut data, offset(pgno))?;
        Ok(Some(data))
    }

    /// Fills `out`, which lies within one page, from byte `at` of the database; fetches the page when it is missing.
    pub(crate) fn read(&self, at: u64, out: &mut [u8]) -> Result<(), ReadError> {
        let pgno = (at / PAGE_SIZE as u64) as u32 + 1;
        if !self.is_complete() && self.is_missing(pgno) {
            let within = (at % PAGE_SIZE as u64) as usize;
            let page = self.fetch(pgno)?;
            out.copy_from_slice(&page.data[within..within + out.len()]);
            return Ok(());
        }
        self.file.read_exact_at(out, at).map_err(ReadError::File)
    }

    /// Gets a missing page, and with it some that are likely to be asked for next.
    fn fetch(&self, pgno: u32) -> Result<Page, ReadError> {
        let failed = |error| ReadError::Page { pgno, error };
        let last = {
            let mut ahead = self.ahead.lock();
            // A scan leaves out pages that are here already, and interior pages of its own tree.
            let forward = (ahead.next..ahead.next.saturating_add(8)).contains(&pgno);
            ahead.window = if forward { (ahead.window * 4).min(READ_AHEAD) } else { FIRST_AHEAD };
            let last = pgno.saturating_add(ahead.window - 1).min(self.pages());
            ahead.next = last.saturating_add(1);
            last
        };
        let pages = self.source.read(pgno, last).map_err(failed)?;
        let page = pages.iter().find(|page| page.pgno == pgno && page.data.len() == PAGE_SIZE).cloned();
        let page = page.ok_or_else(|| failed(PageError::new("the page did not come")))?;
        if let Err(error) = self.fill(&pages) {
            // The file is only a cache of these pages; without it they are fetched again.
            tracing::warn!(%error, path = %self.path.display(), "cannot keep fetched pages");
        }
        Ok(page)
    }

    /// Stores a committed page.
    pub(crate) fn write_page(&self, pgno: u32, data: &[u8]) -> io::Result<()> {
        let mut present = self.present.lock();
        self.file.write_all_at(data, offset(pgno))?;
        present.set(pgno);
        self.pages.fetch_max(pgno, Ordering::AcqRel);
        self.complete.store(present.missing == 0, Ordering::Release);
        Ok(())
    }

    /// Cuts the database off, or lets it grow by zeros.
    pub(crate) fn resize(&self, pages: u32) -> io::Result<()> {
        let mut present = self.present.lock();
        self.file.set_len(u64::from(pages) * PAGE_SIZE as u64)?;
        present.cut(pages);
        self.pages.store(pages, Ordering::Release);
        self.complete.store(present.missing == 0, Ordering::Release);
        Ok(())
    }

    /// Fetches everything that is missing.
    pub(crate) fn complete(&self) -> Result<(), ReadError> {
        while let Some(pgno) = self.missing(1, 1).first().copied() {
            let last = pgno.saturating_add(READ_AHEAD - 1).min(self.pages());
            let failed = |error| ReadError::Page { pgno, error };
            let pages = self.source.read(pgno, last).map_err(failed)?;
            self.fill(&pages).map_err(ReadError::File)?;
            if self.is_missing(pgno) {
                return Err(failed(PageError::new("the page did not come")));
            }
        }
        Ok(())
    }

    /// Bytes of memory this holds.
    pub(crate) fn heap(&self) -> usize {
        self.present.lock().bits.len() * 8 + self.source.memory() + self.path.as_os_str().len()
    }
}

impl std::fmt::Debug for PagedImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "PagedImage({}, {} of {} pages missing)",
            self.path.display(),
            self.missing_pages(),
            self.pages()
        )
    }
}

fn offset(pgno: u32) -> u64 {
    u64::from(pgno - 1) * PAGE_SIZE as u64
}
