//! The fixed 100 bytes at the start of a file.

use std::fmt;

use crate::{Checksum, PAGE_SIZE};

/// Bytes in the header.
pub const HEADER_SIZE: usize = 100;

const MAGIC: &[u8; 4] = b"LTX1";

/// The file carries no database checksums; its own checksum is there all the same.
const FLAG_NO_CHECKSUM: u32 = 1 << 1;

/// The number of a transaction of one cell. The first is 1; the numbers have no holes, over changes of owner too.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Txid(pub u64);

impl Txid {
    /// Before the first transaction: the cell is empty.
    pub const ZERO: Txid = Txid(0);

    /// The transaction that follows. Saturates, so that no input can make it wrap to a smaller number.
    #[must_use]
    pub fn next(self) -> Txid {
        Txid(self.0.saturating_add(1))
    }
}

/// Printed as LTX file names print it: 16 hexadecimal digits, so that text order is number order.
impl fmt::Display for Txid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Which transactions a file holds and what database they lead to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Header {
    /// The first transaction. A file that starts at transaction 1 is a snapshot: it holds every page.
    pub min_txid: Txid,
    /// The last transaction; equal to `min_txid` when the file was not compacted.
    pub max_txid: Txid,
    /// Pages in the database after the last transaction; zero when it was deleted.
    pub commit: u32,
    /// When the last transaction was committed, in milliseconds since the Unix epoch. Only informative.
    pub timestamp_ms: i64,
    /// Checksum of the database before the first transaction ([`Checksum::NONE`] in a snapshot); `None` when the file
    /// carries no database checksums.
    pub pre_apply: Option<Checksum>,
}

/// Why 100 bytes are not a header that we accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// Fewer bytes than a header has.
    #[error("the header has {0} of {HEADER_SIZE} bytes")]
    Short(usize),
    /// Not an LTX file at all.
    #[error("the file does not start with LTX1")]
    Magic,
    /// A flag that we do not know: the file means something that we would misread.
    #[error("unknown flags {0:#x}")]
    Flags(u32),
    /// A page size that no cell has.
    #[error("pages of {0} bytes instead of {PAGE_SIZE}")]
    PageSize(u32),
    /// Transaction zero, or a range that runs backwards.
    #[error("bad transaction range {min}-{max}")]
    Range {
        /// First transaction of the file.
        min: Txid,
        /// Last transaction of the file.
        max: Txid,
    },
    /// The checksum before the first transaction contradicts the flags or the range.
    #[error("bad pre-apply checksum {0}")]
    PreApply(Checksum),
    /// A field that celld always leaves zero is set.
    #[error("a reserved field is not zero")]
    Reserved,
}

impl Header {
    /// `true` when the file starts at transaction 1 and therefore needs nothing before it.
    pub fn is_snapshot(&self) -> bool {
        self.min_txid == Txid(1)
    }

    /// Reads the header from the first [`HEADER_SIZE`] bytes of a file; ignores what follows them.
    pub fn parse(bytes: &[u8]) -> Result<Header, HeaderError> {
        let Some((fixed, _)) = bytes.split_first_chunk::<HEADER_SIZE>() else {
            return Err(HeaderError::Short(bytes.len()));
        };
        if &fixed[..4] != MAGIC {
            return Err(HeaderError::Magic);
        }
        let flags = be_u32(fixed, 4);
        if flags & !FLAG_NO_CHECKSUM != 0 {
            return Err(HeaderError::Flags(flags));
        }
        let page_size = be_u32(fixed, 8);
        if page_size as usize != PAGE_SIZE {
            return Err(HeaderError::PageSize(page_size));
        }
        // The WAL offset, size and salts (24 bytes), the node ID (8) and the format's own reserve (20).
        if fixed[48..].iter().any(|b| *b != 0) {
            return Err(HeaderError::Reserved);
        }
        let pre = Checksum(be_u64(fixed, 40));
        let pre_apply = if flags & FLAG_NO_CHECKSUM == 0 {
            Some(pre)
        } else if pre == Checksum::NONE {
            None
        } else {
            return Err(HeaderError::PreApply(pre));
        };
        let header = Header {
            min_txid: Txid(be_u64(fixed, 16)),
            max_txid: Txid(be_u64(fixed, 24)),
            commit: be_u32(fixed, 12),
            timestamp_ms: be_u64(fixed, 32).cast_signed(),
            pre_apply,
        };
        header.check()?;
        Ok(header)
    }

    /// Refuses a header whose fields contradict each other.
    pub(crate) fn check(&self) -> Result<(), HeaderError> {
        if self.min_txid == Txid::ZERO || self.min_txid > self.max_txid {
            return Err(HeaderError::Range { min: self.min_txid, max: self.max_txid });
        }
        match self.pre_apply {
            // A snapshot builds on nothing; anything else builds on a database.
            Some(pre) if self.is_snapshot() != (pre == Checksum::NONE) => Err(HeaderError::PreApply(pre)),
            Some(pre) if pre != Checksum::NONE && !pre.is_present() => Err(HeaderError::PreApply(pre)),
            _ => Ok(()),
        }
    }

    /// The bytes that [`Header::parse`] reads.
    pub(crate) fn to_bytes(self) -> [u8; HEADER_SIZE] {
        let mut out = [0; HEADER_SIZE];
        let flags = if self.pre_apply.is_none() { FLAG_NO_CHECKSUM } else { 0 };
        out[..4].copy_from_slice(MAGIC);
        out[4..8].copy_from_slice(&flags.to_be_bytes());
        out[8..12].copy_from_slice(&(PAGE_SIZE as u32).to_be_bytes());
        out[12..16].copy_from_slice(&self.commit.to_be_bytes());
        out[16..24].copy_from_slice(&self.min_txid.0.to_be_bytes());
        out[24..32].copy_from_slice(&self.max_txid.0.to_be_bytes());
        out[32..40].copy_from_slice(&self.timestamp_ms.to_be_bytes());
        out[40..48].copy_from_slice(&self.pre_apply.unwrap_or(Checksum::NONE).0.to_be_bytes());
        out
    }
}

fn be_u32(bytes: &[u8; HEADER_SIZE], at: usize) -> u32 {
    u32::from_be_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn be_u64(bytes: &[u8; HEADER_SIZE], at: usize) -> u64 {
    u64::from(be_u32(bytes, at)) << 32 | u64::from(be_u32(bytes, at + 4))
}
