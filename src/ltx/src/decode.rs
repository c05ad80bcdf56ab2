//! Reading a file's bytes, strictly: what is not exactly as the format says is refused.

use std::sync::Arc;

use crate::checksum::FileDigest;
use crate::encode::FRAME_SIZED;
use crate::index::{BLOCK_END, FRAME_HEADER, TRAILER, parse_entries};
use crate::{Checksum, File, HEADER_SIZE, Header, HeaderError, IndexError, InvalidFile, PAGE_SIZE, Page};

/// Why bytes are not an LTX file that we accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The header is wrong, or belongs to a variant of the format that celld does not write.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The bytes end too early.
    #[error("the file is cut short at byte {0}")]
    Short(usize),
    /// A page's frame has flags that we do not know.
    #[error("page {pgno} has unknown flags {flags:#x}")]
    FrameFlags {
        /// The page.
        pgno: u32,
        /// Its flags.
        flags: u16,
    },
    /// A page does not decompress to exactly one page.
    #[error("page {0} does not decompress")]
    Frame(u32),
    /// The page block does not end as it should.
    #[error("the page block does not end in zeros")]
    BlockEnd,
    /// The page index is malformed.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// The page index and the page block tell different stories.
    #[error("the page index does not match the page block")]
    IndexMismatch,
    /// The bytes are not what was written.
    #[error("the file has the checksum {found}, it says {stated}")]
    FileChecksum {
        /// Computed from the bytes.
        found: Checksum,
        /// Written in the file.
        stated: Checksum,
    },
    /// Sound bytes with a content that contradicts itself.
    #[error(transparent)]
    Content(#[from] InvalidFile),
}

/// Decodes one whole file and verifies its checksum.
///
/// A byte that changed on the way is always noticed, but for one harmless case: LZ4 can spell the same page in several ways,
/// and the checksum is over the page.
pub fn decode(bytes: &[u8]) -> Result<File, DecodeError> {
    let header = Header::parse(bytes)?;
    let mut digest = FileDigest::new();
    digest.update(&bytes[..HEADER_SIZE]);

    let mut pages = Vec::new();
    let mut places = Vec::new();
    let mut at = HEADER_SIZE;
    loop {
        let rest = &bytes[at..];
        let pgno = match rest.first_chunk::<4>() {
            Some(pgno) => u32::from_be_bytes(*pgno),
            None => return Err(DecodeError::Short(bytes.len())),
        };
        if pgno == 0 {
            break;
        }
        let (page, size) = read_frame(rest, at)?;
        digest.update(&rest[..FRAME_HEADER]);
        digest.update(&page.data);
        places.push((pgno, at as u64..(at + size) as u64));
        pages.push(page);
        at += size;
    }

    let tail = &bytes[at..];
    if tail.len() < BLOCK_END + TRAILER {
        return Err(DecodeError::Short(bytes.len()));
    }
    if tail[..BLOCK_END].iter().any(|b| *b != 0) {
        return Err(DecodeError::BlockEnd);
    }
    let (index, trailer) = tail[BLOCK_END..].split_at(tail.len() - BLOCK_END - TRAILER);
    let [index_len, post, stated] = words(trailer);
    if index_len != index.len() as u64 || parse_entries(index, (at + BLOCK_END) as u64)? != places {
        return Err(DecodeError::IndexMismatch);
    }
    digest.update(&tail[..tail.len() - 8]);
    let (found, stated) = (digest.finish(), Checksum(stated));
    if found != stated {
        return Err(DecodeError::FileChecksum { found, stated });
    }
    let post = match (header.pre_apply, Checksum(post)) {
        (Some(_), post) => Some(post),
        (None, Checksum::NONE) => None,
        (None, _) => return Err(InvalidFile::PostApply.into()),
    };
    Ok(File::new(header, pages, post)?)
}

/// Decodes the bytes that [`crate::Index::find`] points at: one page. Nothing but LZ4's own structure is verified, because a
/// single page has no checksum.
pub fn decode_frame(bytes: &[u8]) -> Result<Page, DecodeError> {
    let (page, size) = read_frame(bytes, 0)?;
    if size != bytes.len() {
        return Err(DecodeError::IndexMismatch);
    }
    Ok(page)
}

/// Reads the frame at the start of `bytes`, which is byte `at` of the file; returns the page and the frame's size.
fn read_frame(bytes: &[u8], at: usize) -> Result<(Page, usize), DecodeError> {
    let short = || DecodeError::Short(at + bytes.len());
    let (head, rest) = bytes.split_first_chunk::<FRAME_HEADER>().ok_or_else(short)?;
    let pgno = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
    let flags = u16::from_be_bytes([head[4], head[5]]);
    let size = u32::from_be_bytes([head[6], head[7], head[8], head[9]]) as usize;
    if flags != FRAME_SIZED {
        return Err(DecodeError::FrameFlags { pgno, flags });
    }
    let block = rest.get(..size).ok_or_else(short)?;
    let mut data = [0; PAGE_SIZE];
    match lz4_flex::block::decompress_into(block, &mut data) {
        Ok(PAGE_SIZE) => Ok((Page { pgno, data: Arc::from(data.as_slice()) }, FRAME_HEADER + size)),
        _ => Err(DecodeError::Frame(pgno)),
    }
}

/// The trailer's three numbers.
fn words(trailer: &[u8]) -> [u64; 3] {
    let mut words = [0; 3];
    for (word, bytes) in words.iter_mut().zip(trailer.as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    words
}
