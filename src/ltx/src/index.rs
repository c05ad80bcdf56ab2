//! The page index at a file's end: where each page lies, so that a ranged read can fetch it alone.

use std::ops::Range;

use crate::{HEADER_SIZE, LOCK_PAGE};

/// Bytes in front of a page's LZ4 block: number (4), flags (2), length of the block (4).
pub(crate) const FRAME_HEADER: usize = 10;

/// Six zero bytes end the page block: a frame header without a page.
pub(crate) const BLOCK_END: usize = 6;

/// After the index: its length (8), the database checksum (8), the file checksum (8).
pub(crate) const TRAILER: usize = 24;

/// The page index of one file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Index {
    /// Ascending by page; the frames lie one after another.
    entries: Vec<(u32, Range<u64>)>,
}

/// What the last bytes of a file tell.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Tail {
    /// The index was whole in the bytes given.
    Index(Index),
    /// The index is longer: read this many bytes from the end of the file and parse again.
    Need(u64),
}

/// Why the last bytes of a file hold no valid index.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IndexError {
    /// The file is shorter than the shortest LTX file, or than its own index.
    #[error("a file of {0} bytes has no room for its page index")]
    Short(u64),
    /// A number in the index does not end, is too large, or is written longer than needed.
    #[error("the page index holds a malformed number")]
    Number,
    /// Pages do not ascend, or their places do not follow each other from the header to the index.
    #[error("the page index puts page {0} in a wrong place")]
    Place(u64),
    /// Bytes after the end of the index, or a page block that ends elsewhere.
    #[error("the page index does not end where it should")]
    End,
}

impl Index {
    /// Reads the index from `tail`, the last bytes of a file that has `file_len` bytes in all. The index carries no checksum
    /// of its own: a caller that reads ranges relies on the store for the integrity of single pages.
    pub fn parse(tail: &[u8], file_len: u64) -> Result<Tail, IndexError> {
        let smallest = (HEADER_SIZE + BLOCK_END + 1 + TRAILER) as u64;
        if file_len < smallest || (tail.len() as u64) > file_len {
            return Err(IndexError::Short(file_len));
        }
        let Some(body_len) = tail.len().checked_sub(TRAILER) else {
            return Ok(Tail::Need(smallest));
        };
        let (body, trailer) = tail.split_at(body_len);
        let mut len = [0; 8];
        len.copy_from_slice(&trailer[..8]);
        let len = u64::from_be_bytes(len);
        let room = file_len - (HEADER_SIZE + BLOCK_END + TRAILER) as u64;
        if len == 0 || len > room {
            return Err(IndexError::Short(file_len));
        }
        // `len` is below the file's length, which `body` may be shorter than.
        match usize::try_from(len).ok().and_then(|len| body.len().checked_sub(len)) {
            Some(at) => {
                let end = file_len - TRAILER as u64 - len;
                Ok(Tail::Index(Index { entries: parse_entries(&body[at..], end)? }))
            }
            None => Ok(Tail::Need(len + TRAILER as u64)),
        }
    }

    /// Where the frame of page `pgno` lies in the file, or `None` when the file does not hold that page. The bytes are for
    /// [`crate::decode_frame`].
    pub fn find(&self, pgno: u32) -> Option<Range<u64>> {
        let at = self.entries.binary_search_by_key(&pgno, |(pgno, _)| *pgno).ok()?;
        Some(self.entries[at].1.clone())
    }

    /// Every page with the place of its frame, ascending.
    pub fn entries(&self) -> &[(u32, Range<u64>)] {
        &self.entries
    }
}

/// Parses the index's own bytes. `end` is where they begin in the file, just after the end of the page block.
pub(crate) fn parse_entries(mut bytes: &[u8], end: u64) -> Result<Vec<(u32, Range<u64>)>, IndexError> {
    let mut entries = Vec::new();
    let mut previous = 0;
    let mut place = HEADER_SIZE as u64;
    loop {
        let pgno = take_uvarint(&mut bytes)?;
        if pgno == 0 {
            break;
        }
        let (offset, size) = (take_uvarint(&mut bytes)?, take_uvarint(&mut bytes)?);
        let number = u32::try_from(pgno).map_err(|_| IndexError::Place(pgno))?;
        let after = offset.checked_add(size).ok_or(IndexError::Place(pgno))?;
        if number <= previous
            || number == LOCK_PAGE
            || offset != place
            || size <= FRAME_HEADER as u64
            || after > end
        {
            return Err(IndexError::Place(pgno));
        }
        entries.push((number, offset..after));
        (previous, place) = (number, after);
    }
    if !bytes.is_empty() || place + BLOCK_END as u64 != end {
        return Err(IndexError::End);
    }
    Ok(entries)
}

/// Appends `value` in groups of seven bits, low ones first, bit 7 set on all but the last byte.
pub(crate) fn put_uvarint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

fn take_uvarint(bytes: &mut &[u8]) -> Result<u64, IndexError> {
    let mut value = 0u64;
    for shift in (0..64).step_by(7) {
        let Some((byte, rest)) = bytes.split_first() else {
            return Err(IndexError::Number);
        };
        *bytes = rest;
        let bits = u64::from(byte & 0x7f);
        if bits << shift >> shift != bits {
            return Err(IndexError::Number);
        }
        value |= bits << shift;
        if byte & 0x80 == 0 {
            // A last group of zero bits could be left out: only one spelling is accepted.
            return if bits == 0 && shift > 0 { Err(IndexError::Number) } else { Ok(value) };
        }
    }
    Err(IndexError::Number)
}
