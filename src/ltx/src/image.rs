//! A whole database in memory, and what a file does to it.

use crate::{Checksum, File, LOCK_PAGE, PAGE_SIZE, Txid};

/// The bytes of a database together with the transaction that they are the result of.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct Image {
    bytes: Vec<u8>,
    txid: Txid,
}

/// Why a file cannot be applied to an image. The image is unchanged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// The file leaves out transactions, or ends before the image's.
    #[error("transactions {min}-{max} cannot follow transaction {at}")]
    Gap {
        /// The image's transaction.
        at: Txid,
        /// First transaction of the file.
        min: Txid,
        /// Last transaction of the file.
        max: Txid,
    },
    /// The file was made for a database with other content.
    #[error("the database has the checksum {found} before transaction {txid}, the file expects {expected}")]
    PreApply {
        /// First transaction of the file.
        txid: Txid,
        /// Computed from the image.
        found: Checksum,
        /// Written in the file.
        expected: Checksum,
    },
    /// The database would be larger than the caller allows or the machine has memory for.
    #[error("a database of {pages} pages does not fit")]
    TooLarge {
        /// Pages after the file.
        pages: u32,
    },
    /// The bytes are no whole number of pages.
    #[error("an image of {0} bytes is no whole number of pages")]
    Length(usize),
}

impl Image {
    /// A cell before its first transaction.
    pub fn empty() -> Image {
        Image::default()
    }

    /// An image from the bytes of a database file that stands at `txid`.
    pub fn new(bytes: Vec<u8>, txid: Txid) -> Result<Image, ApplyError> {
        if !bytes.len().is_multiple_of(PAGE_SIZE) || u32::try_from(bytes.len() / PAGE_SIZE).is_err() {
            return Err(ApplyError::Length(bytes.len()));
        }
        Ok(Image { bytes, txid })
    }

    /// The database file's bytes.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The database file's bytes, without a copy.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    /// The last transaction that is in the image; zero for an empty cell.
    pub fn txid(&self) -> Txid {
        self.txid
    }

    /// Pages in the database.
    pub fn pages(&self) -> u32 {
        // `new` and `apply` keep the count within 32 bits.
        (self.bytes.len() / PAGE_SIZE) as u32
    }

    /// The bytes of page `pgno`, or `None` beyond the end.
    pub fn page(&self, pgno: u32) -> Option<&[u8]> {
        let start = (pgno as usize).checked_sub(1)? * PAGE_SIZE;
        self.bytes.get(start..start + PAGE_SIZE)
    }

    /// The database checksum: one pass over all pages (about 0.1 µs each).
    pub fn checksum(&self) -> Checksum {
        (1u32..)
            .zip(self.bytes.chunks_exact(PAGE_SIZE))
            .filter(|(pgno, _)| *pgno != LOCK_PAGE)
            .fold(Checksum::EMPTY, |sum, (pgno, data)| sum.toggle(Checksum::of_page(pgno, data)))
    }

    /// Brings the image to the last transaction in `file`. A snapshot replaces whatever is there.
    ///
    /// The file may begin with transactions that the image already has: its pages are those after its last transaction, so
    /// applying some of them again is harmless. It may not leave one out, nor lead back.
    ///
    /// A file states the size of its database in one number, so a small file can ask for a large image: `max_pages` is what
    /// the caller is willing to hold.
    pub fn apply(&mut self, file: &File, max_pages: u32) -> Result<(), ApplyError> {
        let header = file.header();
        if !header.is_snapshot() {
            if header.min_txid > self.txid.next() || header.max_txid < self.txid {
                return Err(ApplyError::Gap { at: self.txid, min: header.min_txid, max: header.max_txid });
            }
            if let Some(expected) = header.pre_apply.filter(|_| header.min_txid == self.txid.next()) {
                let found = self.checksum();
                if found != expected {
                    return Err(ApplyError::PreApply { txid: header.min_txid, found, expected });
                }
            }
        }
        let too_large = ApplyError::TooLarge { pages: header.commit };
        if header.commit > max_pages {
            return Err(too_large);
        }
        let Some(size) = (header.commit as usize).checked_mul(PAGE_SIZE) else {
            return Err(too_large);
        };
        if self.bytes.try_reserve(size.saturating_sub(self.bytes.len())).is_err() {
            return Err(too_large);
        }
        if header.is_snapshot() {
            self.bytes.clear();
        }
        // Shrinking before growing matters: what a truncation cut off must come back as zeros.
        self.bytes.resize(size, 0);
        for page in file.pages() {
            // In range: a file's pages lie within its commit size.
            let start = (page.pgno as usize - 1) * PAGE_SIZE;
            self.bytes[start..start + PAGE_SIZE].copy_from_slice(&page.data);
        }
        self.txid = header.max_txid;
        Ok(())
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Image({} pages at {})", self.pages(), self.txid)
    }
}
