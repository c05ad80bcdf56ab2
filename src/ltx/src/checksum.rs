//! Checksums as the LTX format defines them: CRC-64/ISO in Go's bit order, with bit 63 always set.

use std::fmt;

use crc_fast::{CrcAlgorithm, Digest};

/// Set in every checksum that is present, so that zero can mean "absent".
const PRESENT: u64 = 1 << 63;

/// A checksum of a page, a database or a file. The zero value stands for the database before its first transaction.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Checksum(pub u64);

impl Checksum {
    /// The checksum before the first transaction: what a snapshot builds on.
    pub const NONE: Checksum = Checksum(0);

    /// The checksum of a database without pages, from which [`Checksum::toggle`] builds any other.
    pub const EMPTY: Checksum = Checksum(PRESENT);

    /// The checksum of one page: its number and its bytes.
    pub fn of_page(pgno: u32, data: &[u8]) -> Checksum {
        let mut digest = Digest::new(CrcAlgorithm::Crc64GoIso);
        digest.update(&pgno.to_be_bytes());
        digest.update(data);
        Checksum(digest.finalize() | PRESENT)
    }

    /// Adds a page's checksum to a database's, or takes it out again: the database's is the XOR of its pages'.
    #[must_use]
    pub fn toggle(self, page: Checksum) -> Checksum {
        Checksum((self.0 ^ page.0) | PRESENT)
    }

    /// `false` for [`Checksum::NONE`] and for every value that no checksum can have.
    pub fn is_present(self) -> bool {
        self.0 & PRESENT != 0
    }
}

impl fmt::Debug for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// The running checksum of a file. The bytes of a page enter uncompressed; all else enters as stored.
pub(crate) struct FileDigest(Digest);

impl FileDigest {
    pub(crate) fn new() -> FileDigest {
        FileDigest(Digest::new(CrcAlgorithm::Crc64GoIso))
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub(crate) fn finish(self) -> Checksum {
        Checksum(self.0.finalize() | PRESENT)
    }
}
