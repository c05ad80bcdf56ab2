//! The LTX v3 file format: what one or several consecutive transactions changed in a cell's database, page by page.
//!
//! A file is a header, a page block (every page an LZ4 block), a page index and a trailer with a checksum over all of it. The
//! format is the one of <https://github.com/superfly/ltx>, so its own tools read our files; we write the subset that celld
//! needs (pages of 4096 bytes, no WAL fields) and refuse the rest.
//!
//! Invariant: this crate does no I/O and knows nothing of buckets, cells or epochs. It never panics on bytes that it is given
//! to decode, and never allocates more for them than they justify.

mod checksum;
mod compact;
mod decode;
mod encode;
mod file;
mod header;
mod image;
mod index;
mod merge;

pub use checksum::Checksum;
pub use compact::{CompactError, compact};
pub use decode::{DecodeError, Decoded, Decoder, decode, decode_frame};
pub use encode::{Encoder, StreamEncoder, encode};
pub use file::{File, InvalidFile, Page};
pub use header::{HEADER_SIZE, Header, HeaderError, Txid};
pub use image::{ApplyError, Image};
pub use index::{Index, IndexError, Tail};
pub use merge::Merge;

/// Bytes in a page. SQLite allows other sizes; a cell's database always has this one.
pub const PAGE_SIZE: usize = 4096;

/// The page at 1 GiB that SQLite uses for file locks. It never holds data and never appears in a file.
pub const LOCK_PAGE: u32 = (1 << 30) / PAGE_SIZE as u32 + 1;
