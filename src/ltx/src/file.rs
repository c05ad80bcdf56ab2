//! A file in memory: the transactions as data, before encoding and after decoding.

use std::sync::{Arc, LazyLock};

use crate::{Checksum, Header, HeaderError, Image, LOCK_PAGE, PAGE_SIZE, Txid};

/// One page of a database.
#[derive(Clone, PartialEq, Eq)]
pub struct Page {
    /// Its number; the first page of a database is 1.
    pub pgno: u32,
    /// Its [`PAGE_SIZE`] bytes.
    pub data: Arc<[u8]>,
}

impl Page {
    /// A page of zeros: what SQLite reads where the file grew and nothing was written. All of them share their bytes.
    pub fn zero(pgno: u32) -> Page {
        static ZEROS: LazyLock<Arc<[u8]>> = LazyLock::new(|| Arc::from([0; PAGE_SIZE].as_slice()));
        Page { pgno, data: ZEROS.clone() }
    }
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Page({}, {})", self.pgno, Checksum::of_page(self.pgno, &self.data))
    }
}

/// The changes of a range of transactions. The constructors check what the format demands, so every value can be encoded:
///
/// * the pages ascend, have [`PAGE_SIZE`] bytes, lie within `commit`, and the lock page is not among them;
/// * a snapshot holds every page from 1 to `commit`, and its database checksum, when present, is right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct File {
    header: Header,
    pages: Vec<Page>,
    post_apply: Option<Checksum>,
}

/// Why a header and pages do not make a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InvalidFile {
    /// The header alone is wrong.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// A page is out of order, outside of the database, the lock page, or number zero.
    #[error("page {pgno} cannot follow page {previous} in a database of {commit} pages")]
    PageOrder {
        /// The offending page.
        pgno: u32,
        /// The page before it; zero at the start.
        previous: u32,
        /// Pages in the database.
        commit: u32,
    },
    /// A page with a wrong number of bytes.
    #[error("page {pgno} has {len} bytes instead of {PAGE_SIZE}")]
    PageSize {
        /// The offending page.
        pgno: u32,
        /// Its bytes.
        len: usize,
    },
    /// A snapshot without one of its pages.
    #[error("the snapshot lacks page {0}")]
    MissingPage(u32),
    /// One database checksum without the other, or one that no database can have.
    #[error("bad post-apply checksum")]
    PostApply,
    /// The database checksum of a snapshot does not fit its pages.
    #[error("the pages have the database checksum {found}, the file says {stated}")]
    DatabaseChecksum {
        /// Computed from the pages.
        found: Checksum,
        /// Written in the file.
        stated: Checksum,
    },
}

impl File {
    /// Puts a file together from its parts. `post_apply` is the checksum of the database afterwards and must be present
    /// exactly when the header has one.
    pub fn new(header: Header, pages: Vec<Page>, post_apply: Option<Checksum>) -> Result<File, InvalidFile> {
        header.check()?;
        check_pages(&header, &pages)?;
        let summed = header.is_snapshot() && post_apply.is_some();
        let sum = if summed { database_checksum(&pages) } else { Checksum::EMPTY };
        check_post_apply(&header, post_apply, sum)?;
        Ok(File { header, pages, post_apply })
    }

    /// One committed transaction of a cell, without database checksums. `commit` is the size of the database afterwards in
    /// pages; `pages` must ascend. Transaction 1 gets the pages that SQLite never wrote as zeros, because a file that starts
    /// there is a snapshot.
    pub fn transaction(
        txid: Txid,
        commit: u32,
        pages: Vec<Page>,
        timestamp_ms: i64,
    ) -> Result<File, InvalidFile> {
        let header = Header { min_txid: txid, max_txid: txid, commit, timestamp_ms, pre_apply: None };
        // Checked before filling, so that a wrong order is an error and not a hole to fill.
        header.check()?;
        let mut order = PageOrder { whole: false, ..PageOrder::new(&header) };
        for page in &pages {
            order.next(page.pgno)?;
            check_size(page)?;
        }
        let pages = if header.is_snapshot() { fill_holes(pages, commit) } else { pages };
        File::new(header, pages, None)
    }

    /// The whole of `image` as one file that replaces everything up to the image's transaction, with database checksums.
    /// Fails for an image without transactions: there is nothing to take a snapshot of.
    pub fn snapshot(image: &Image, timestamp_ms: i64) -> Result<File, InvalidFile> {
        let commit = image.pages();
        let header = Header {
            min_txid: Txid(1),
            max_txid: image.txid(),
            commit,
            timestamp_ms,
            pre_apply: Some(Checksum::NONE),
        };
        let pages: Vec<Page> = (1..=commit)
            .filter(|pgno| *pgno != LOCK_PAGE)
            .filter_map(|pgno| image.page(pgno).map(|data| Page { pgno, data: data.into() }))
            .collect();
        let post = database_checksum(&pages);
        File::new(header, pages, Some(post))
    }

    /// Which transactions these are.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// The changed pages, ascending.
    pub fn pages(&self) -> &[Page] {
        &self.pages
    }

    /// Checksum of the database after the last transaction, unless the file goes without.
    pub fn post_apply(&self) -> Option<Checksum> {
        self.post_apply
    }
}

/// The checksum of a database that consists of `pages`.
pub(crate) fn database_checksum(pages: &[Page]) -> Checksum {
    pages.iter().fold(Checksum::EMPTY, |sum, page| sum.toggle(Checksum::of_page(page.pgno, &page.data)))
}

/// Adds a page of zeros for every number up to `commit` that `pages` (ascending) lacks.
pub(crate) fn fill_holes(pages: Vec<Page>, commit: u32) -> Vec<Page> {
    let mut given = pages.into_iter().peekable();
    (1..=commit)
        .filter(|pgno| *pgno != LOCK_PAGE)
        .map(|pgno| given.next_if(|page| page.pgno == pgno).unwrap_or_else(|| Page::zero(pgno)))
        .collect()
}

/// Watches that pages come in order, whoever brings them: ascending within the database, never the lock page, and in a snapshot
/// all of them.
pub(crate) struct PageOrder {
    commit: u32,
    whole: bool,
    previous: u32,
}

impl PageOrder {
    pub(crate) fn new(header: &Header) -> PageOrder {
        PageOrder { commit: header.commit, whole: header.is_snapshot(), previous: 0 }
    }

    pub(crate) fn next(&mut self, pgno: u32) -> Result<(), InvalidFile> {
        let PageOrder { commit, whole, previous } = *self;
        if pgno <= previous || pgno > commit || pgno == LOCK_PAGE {
            return Err(InvalidFile::PageOrder { pgno, previous, commit });
        }
        if whole && pgno != self.following() {
            return Err(InvalidFile::MissingPage(self.following()));
        }
        self.previous = pgno;
        Ok(())
    }

    /// The pages are over.
    pub(crate) fn end(&self) -> Result<(), InvalidFile> {
        if self.whole && self.following() <= self.commit {
            return Err(InvalidFile::MissingPage(self.following()));
        }
        Ok(())
    }

    /// The next page that can hold data.
    fn following(&self) -> u32 {
        // No page has the last number: `commit` is at most that, and a page is never above it.
        let next = self.previous.saturating_add(1);
        if next == LOCK_PAGE { next + 1 } else { next }
    }
}

/// Refuses a database checksum where there may be none, none where there must be one, and a snapshot's that is not `sum`, the
/// checksum of its pages.
pub(crate) fn check_post_apply(
    header: &Header,
    post_apply: Option<Checksum>,
    sum: Checksum,
) -> Result<(), InvalidFile> {
    match (header.pre_apply, post_apply) {
        (None, None) => Ok(()),
        (Some(_), Some(post)) if !post.is_present() || (header.commit == 0 && post != Checksum::EMPTY) => {
            Err(InvalidFile::PostApply)
        }
        (Some(_), Some(stated)) if header.is_snapshot() && sum != stated => {
            Err(InvalidFile::DatabaseChecksum { found: sum, stated })
        }
        (Some(_), Some(_)) => Ok(()),
        _ => Err(InvalidFile::PostApply),
    }
}

/// Refuses pages that do not ascend within the database, and a snapshot that lacks one.
fn check_pages(header: &Header, pages: &[Page]) -> Result<(), InvalidFile> {
    let mut order = PageOrder::new(header);
    for page in pages {
        order.next(page.pgno)?;
        check_size(page)?;
    }
    order.end()
}

fn check_size(page: &Page) -> Result<(), InvalidFile> {
    if page.data.len() == PAGE_SIZE {
        return Ok(());
    }
    Err(InvalidFile::PageSize { pgno: page.pgno, len: page.data.len() })
}
