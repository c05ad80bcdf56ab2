//! The checksums of a large history object's pages, in an object beside it, so that a page that was read alone can be verified.
//!
//! The LTX format has one checksum for the whole file: enough for who reads all of it, and of no use to who reads one page with a
//! range. So an object of at least [`MIN_OBJECT_BYTES`] has a companion, under the same key with `.sums` in place of `.ltx`:
//!
//! ```text
//! "celldsum"  version u8 = 1  object size u64  count u32  shape u64
//! per page, in the object's order: u64, the page checksum of LTX (over its number and its uncompressed bytes)
//! checksum u64: CRC-64/NVME of all before it
//! ```
//!
//! The shape is what else a reader of ranges has to rely on: CRC-64/NVME over the header's first and last transaction, size of the
//! database, time and pre-apply checksum, then every page number (u32). Without it a damaged page index could hide that the object
//! holds a page, and an older version of it would be taken from another object. All numbers are big-endian.
//!
//! The companion is written before its object and deleted after it, so an object that has one never seems to have none.

use bytes::{BufMut, Bytes, BytesMut};
use celld_ids::CellScope;
use celld_ltx::{Checksum, File, Header};
use crc_fast::{CrcAlgorithm, Digest, checksum};

use crate::keys::{self, HistoryName};

const MAGIC: &[u8; 8] = b"celldsum";
const VERSION: u8 = 1;
const HEAD: usize = 29;
const TRAILER: usize = 8;

/// Objects of this size and above have a companion; smaller ones are read whole and verified by their own checksum.
pub const MIN_OBJECT_BYTES: u64 = 1 << 20;

/// The page checksums of one object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageSums {
    object_size: u64,
    shape: u64,
    sums: Vec<Checksum>,
}

/// Makes the companion of an object while the object's pages pass by.
pub struct SumsBuilder {
    shape: Shape,
    sums: Vec<Checksum>,
}

/// Why bytes are not the companion of a history object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SumsError {
    /// Another kind of object, or one of a later celld.
    #[error("not page checksums of version {VERSION}")]
    Foreign,
    /// Shorter or longer than the count in it says.
    #[error("the page checksums do not fill the object")]
    Length,
    /// The bytes are not what was written.
    #[error("the checksum does not match")]
    Checksum,
    /// They belong to an object of another size or with other pages, or that object's header or page index is damaged.
    #[error("the header and the page index do not match the page checksums")]
    Other,
}

/// The key of the companion of the history object `name`.
pub fn sums_key(scope: &CellScope, name: &HistoryName) -> String {
    let key = keys::history(scope, name);
    format!("{}.sums", key.strip_suffix(".ltx").unwrap_or(&key))
}

/// How many pages the object has whose companion has `len` bytes; `None` for a length that no companion has.
pub(crate) fn pages_of_len(len: u64) -> Option<u64> {
    let sums = len.checked_sub((HEAD + TRAILER) as u64)?;
    sums.is_multiple_of(8).then_some(sums / 8)
}

struct Shape(Digest);

impl Shape {
    fn new(header: &Header) -> Shape {
        let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
        digest.update(&header.min_txid.0.to_be_bytes());
        digest.update(&header.max_txid.0.to_be_bytes());
        digest.update(&header.commit.to_be_bytes());
        digest.update(&header.timestamp_ms.to_be_bytes());
        digest.update(&header.pre_apply.map_or(u64::MAX, |sum| sum.0).to_be_bytes());
        Shape(digest)
    }

    fn page(&mut self, pgno: u32) {
        self.0.update(&pgno.to_be_bytes());
    }
}

impl SumsBuilder {
    /// Begins the companion of an object with this header.
    pub fn new(header: &Header) -> SumsBuilder {
        SumsBuilder { shape: Shape::new(header), sums: Vec::new() }
    }

    /// The object's next page and its checksum ([`Checksum::of_page`]).
    pub fn push(&mut self, pgno: u32, sum: Checksum) {
        self.shape.page(pgno);
        self.sums.push(sum);
    }

    /// The companion, once it is known that the object is `object_size` bytes long.
    pub fn finish(self, object_size: u64) -> PageSums {
        PageSums { object_size, shape: self.shape.0.finalize(), sums: self.sums }
    }
}

impl PageSums {
    /// The companion of `file`, which is `object_size` bytes long when it is encoded.
    pub fn of(file: &File, object_size: u64) -> PageSums {
        let mut builder = SumsBuilder::new(file.header());
        for page in file.pages() {
            builder.push(page.pgno, Checksum::of_page(page.pgno, &page.data));
        }
        builder.finish(object_size)
    }

    /// The bytes of the companion.
    pub fn encode(&self) -> Bytes {
        let mut out = BytesMut::with_capacity(HEAD + self.sums.len() * 8 + TRAILER);
        out.put_slice(MAGIC);
        out.put_u8(VERSION);
        out.put_u64(self.object_size);
        // A file has at most as many pages as a page number can say.
        out.put_u32(self.sums.len() as u32);
        out.put_u64(self.shape);
        for sum in &self.sums {
            out.put_u64(sum.0);
        }
        let sum = checksum(CrcAlgorithm::Crc64Nvme, &out);
        out.put_u64(sum);
        out.freeze()
    }

    /// Decodes a whole companion. Never panics, and allocates no more than the bytes justify.
    pub fn decode(bytes: &[u8]) -> Result<PageSums, SumsError> {
        let (head, rest) = bytes.split_first_chunk::<HEAD>().ok_or(SumsError::Foreign)?;
        if !head.starts_with(MAGIC) || head[8] != VERSION {
            return Err(SumsError::Foreign);
        }
        let (body, trailer) = rest.split_last_chunk::<TRAILER>().ok_or(SumsError::Length)?;
        if checksum(CrcAlgorithm::Crc64Nvme, &bytes[..bytes.len() - TRAILER]) != u64::from_be_bytes(*trailer)
        {
            return Err(SumsError::Checksum);
        }
        let count = u32::from_be_bytes([head[17], head[18], head[19], head[20]]);
        let (words, odd) = body.as_chunks::<8>();
        if !odd.is_empty() || words.len() as u64 != u64::from(count) {
            return Err(SumsError::Length);
        }
        let word = |at: usize| {
            let mut word = [0; 8];
            word.copy_from_slice(&head[at..at + 8]);
            u64::from_be_bytes(word)
        };
        Ok(PageSums {
            object_size: word(9),
            shape: word(21),
            sums: words.iter().map(|word| Checksum(u64::from_be_bytes(*word))).collect(),
        })
    }

    /// The checksums, in the order of `pages`, if they belong to an object of `size` bytes with this header and these page numbers.
    pub fn check(
        self,
        header: &Header,
        pages: impl IntoIterator<Item = u32>,
        size: u64,
    ) -> Result<Vec<Checksum>, SumsError> {
        let mut shape = Shape::new(header);
        let mut count = 0;
        for pgno in pages {
            shape.page(pgno);
            count += 1;
        }
        let same = self.object_size == size && self.sums.len() == count && self.shape == shape.0.finalize();
        if same { Ok(self.sums) } else { Err(SumsError::Other) }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use celld_ids::Epoch;
    use celld_ltx::{PAGE_SIZE, Page, Txid};
    use proptest::prelude::*;

    use super::*;
    use crate::keys::Level;

    fn file(pgnos: &[u32]) -> File {
        let page = |pgno: u32| Page { pgno, data: Arc::from(vec![pgno as u8; PAGE_SIZE]) };
        File::transaction(Txid(9), 100, pgnos.iter().copied().map(page).collect(), 5).unwrap()
    }

    #[test]
    fn it_lies_beside_its_object_and_is_not_taken_for_history() {
        let scope = CellScope::new("Room", "abc").unwrap();
        let name = HistoryName {
            epoch: Epoch(3),
            level: Level::L9,
            min: Txid(1),
            max: Txid(0xfff),
            timestamp_ms: 0,
        };
        let key = sums_key(&scope, &name);
        assert_eq!(key, "cells/Room/abc/ltx/e0000000000000003/L9/0000000000000001-0000000000000fff.sums");
        assert_eq!(keys::parse_history(&scope, &key), None);
    }

    #[test]
    fn it_belongs_to_one_object_only() {
        let file = file(&[3, 5, 9]);
        let sums = PageSums::of(&file, 777);
        let check = |header: &Header, pages: &[u32], size| {
            sums.clone().check(header, pages.iter().copied(), size).map(|sums| sums[1])
        };
        let header = *file.header();
        assert_eq!(check(&header, &[3, 5, 9], 777), Ok(Checksum::of_page(5, &[5; PAGE_SIZE])));
        assert_eq!(check(&header, &[3, 6, 9], 777), Err(SumsError::Other));
        assert_eq!(check(&header, &[3, 5], 777), Err(SumsError::Other));
        assert_eq!(check(&header, &[3, 5, 9], 778), Err(SumsError::Other));
        assert_eq!(check(&Header { commit: 99, ..header }, &[3, 5, 9], 777), Err(SumsError::Other));
        assert_eq!(check(&Header { timestamp_ms: 6, ..header }, &[3, 5, 9], 777), Err(SumsError::Other));
    }

    fn some(object_size: u64, sums: Vec<u64>) -> PageSums {
        PageSums { object_size, shape: !object_size, sums: sums.into_iter().map(Checksum).collect() }
    }

    proptest! {
        #[test]
        fn it_reads_back(object_size: u64, sums in prop::collection::vec(any::<u64>(), 0..50)) {
            let sums = some(object_size, sums);
            let bytes = sums.encode();
            prop_assert_eq!(pages_of_len(bytes.len() as u64), Some(sums.sums.len() as u64));
            prop_assert_eq!(PageSums::decode(&bytes), Ok(sums));
        }

        #[test]
        fn a_changed_byte_or_a_lost_end_is_noticed(
            sums in prop::collection::vec(any::<u64>(), 0..20),
            at: prop::sample::Index,
            flip in 1u8..,
        ) {
            let mut bytes = some(7, sums).encode().to_vec();
            let at = at.index(bytes.len());
            prop_assert!(PageSums::decode(&bytes[..at]).is_err());
            bytes[at] ^= flip;
            prop_assert!(PageSums::decode(&bytes).is_err());
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = PageSums::decode(&bytes);
            let mut framed = b"celldsum\x01".to_vec();
            framed.extend(bytes);
            let _ = PageSums::decode(&framed);
        }
    }
}
