//! Reading a file's bytes, strictly: what is not exactly as the format says is refused.

use std::sync::Arc;

use crc_fast::{CrcAlgorithm, Digest};
use lz4_flex::block::get_maximum_output_size;

use crate::checksum::FileDigest;
use crate::encode::{ExpectedIndex, FRAME_SIZED};
use crate::file::{PageOrder, check_post_apply};
use crate::index::{BLOCK_END, FRAME_HEADER, TRAILER};
use crate::{Checksum, File, HEADER_SIZE, Header, HeaderError, InvalidFile, PAGE_SIZE, Page};

/// Why bytes are not an LTX file that we accept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// The header is wrong, or belongs to a variant of the format that celld does not write.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The bytes end too early.
    #[error("the file is cut short at byte {0}")]
    Short(u64),
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
    let mut decoder = Decoder::new(bytes.len() as u64);
    let mut rest = bytes;
    let mut header = None;
    let mut pages = Vec::new();
    loop {
        let (decoded, used) = decoder.step(rest)?;
        rest = &rest[used..];
        match decoded {
            Decoded::Header(found) => header = Some(found),
            Decoded::Page(page) => pages.push(page),
            Decoded::Need(more) if more > rest.len() => return Err(DecodeError::Short(bytes.len() as u64)),
            Decoded::Need(_) => {}
            Decoded::End { post_apply } => {
                let header = header.ok_or(HeaderError::Short(bytes.len()))?;
                return Ok(File::new(header, pages, post_apply)?);
            }
        }
    }
}

/// How much of the page index is asked for at once, in bytes.
const INDEX_PIECE: u64 = 1024;

/// What one step of a [`Decoder`] found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Decoded {
    /// The header: always the first.
    Header(Header),
    /// The next page. It is sound only when the end is: nothing may be made of it for good before.
    Page(Page),
    /// The file is complete and its checksum right.
    End {
        /// Checksum of the database afterwards, unless the file goes without.
        post_apply: Option<Checksum>,
    },
    /// The next step needs this many bytes in all, more than it was given.
    Need(usize),
}

/// Decodes one file that comes in pieces, in memory that does not depend on its size. The caller keeps the bytes that a step did
/// not use and adds more behind them.
pub struct Decoder {
    /// Bytes of the file.
    len: u64,
    /// Bytes used so far.
    at: u64,
    stage: Stage,
    digest: FileDigest,
}

enum Stage {
    Header,
    Pages(Pages),
    Index { total: u64, left: u64, pages: Box<Pages>, digest: Digest },
    Trailer { header: Header, index_len: u64, sum: Checksum },
    End,
}

/// What is known of the pages so far.
struct Pages {
    header: Header,
    order: PageOrder,
    index: ExpectedIndex,
    /// The database checksum, counted only for a snapshot that has one.
    sum: Checksum,
}

impl Decoder {
    /// A decoder for a file of `len` bytes.
    pub fn new(len: u64) -> Decoder {
        Decoder { len, at: 0, stage: Stage::Header, digest: FileDigest::new() }
    }

    /// Decodes what `input` begins with, which is the file from where the last step ended. Returns what it found and how many
    /// bytes of `input` are used up. After an error or the end, every further step is an error.
    pub fn step(&mut self, input: &[u8]) -> Result<(Decoded, usize), DecodeError> {
        // Never look beyond the end that was announced.
        let left = usize::try_from(self.len - self.at).unwrap_or(usize::MAX);
        let input = &input[..input.len().min(left)];
        let result = match std::mem::replace(&mut self.stage, Stage::End) {
            Stage::Header => self.header(input),
            Stage::Pages(pages) => self.page(pages, input),
            Stage::Index { total, left, pages, digest } => self.index((total, left), pages, digest, input),
            Stage::Trailer { header, index_len, sum } => self.trailer(header, index_len, sum, input),
            Stage::End => Err(DecodeError::Short(self.at)),
        };
        let (decoded, used) = result?;
        self.at += used as u64;
        if let Decoded::Need(bytes) = decoded
            && self.at + bytes as u64 > self.len
        {
            return Err(DecodeError::Short(self.len));
        }
        Ok((decoded, used))
    }

    fn header(&mut self, input: &[u8]) -> Result<(Decoded, usize), DecodeError> {
        let Some(bytes) = input.get(..HEADER_SIZE) else {
            if self.len < HEADER_SIZE as u64 {
                return Err(HeaderError::Short(self.len as usize).into());
            }
            self.stage = Stage::Header;
            return Ok((Decoded::Need(HEADER_SIZE), 0));
        };
        let header = Header::parse(bytes)?;
        self.digest.update(bytes);
        let order = PageOrder::new(&header);
        self.stage = Stage::Pages(Pages { header, order, index: ExpectedIndex::new(), sum: Checksum::EMPTY });
        Ok((Decoded::Header(header), HEADER_SIZE))
    }

    fn page(&mut self, mut pages: Pages, input: &[u8]) -> Result<(Decoded, usize), DecodeError> {
        match input.first_chunk::<4>() {
            Some([0, 0, 0, 0]) if input.len() >= BLOCK_END => return self.block_end(pages, input),
            _ => {}
        }
        let (pgno, size) = match frame_size(input)? {
            Some(frame) if input.len() >= frame.1 => frame,
            frame => {
                self.stage = Stage::Pages(pages);
                // Every file goes on at least this far after a frame header, or after the end of its pages.
                return Ok((Decoded::Need(frame.map_or(FRAME_HEADER, |frame| frame.1)), 0));
            }
        };
        pages.order.next(pgno)?;
        let page = unpack(pgno, &input[FRAME_HEADER..size])?;
        self.digest.update(&input[..FRAME_HEADER]);
        self.digest.update(&page.data);
        pages.index.page(pgno, self.at, size as u64);
        if pages.header.is_snapshot() && pages.header.pre_apply.is_some() {
            pages.sum = pages.sum.toggle(Checksum::of_page(pgno, &page.data));
        }
        self.stage = Stage::Pages(pages);
        Ok((Decoded::Page(page), size))
    }

    fn block_end(&mut self, pages: Pages, input: &[u8]) -> Result<(Decoded, usize), DecodeError> {
        let end = &input[..BLOCK_END];
        if end.iter().any(|byte| *byte != 0) {
            return Err(DecodeError::BlockEnd);
        }
        pages.order.end()?;
        self.digest.update(end);
        let after = self.at + BLOCK_END as u64;
        let total = (self.len - after).checked_sub(TRAILER as u64).ok_or(DecodeError::Short(self.len))?;
        let digest = Digest::new(CrcAlgorithm::Crc64Nvme);
        self.stage = Stage::Index { total, left: total, pages: Box::new(pages), digest };
        Ok((Decoded::Need(total.clamp(1, INDEX_PIECE) as usize), BLOCK_END))
    }

    fn index(
        &mut self,
        (total, left): (u64, u64),
        pages: Box<Pages>,
        mut digest: Digest,
        input: &[u8],
    ) -> Result<(Decoded, usize), DecodeError> {
        let used = input.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        digest.update(&input[..used]);
        self.digest.update(&input[..used]);
        let left = left - used as u64;
        if left > 0 {
            self.stage = Stage::Index { total, left, pages, digest };
            return Ok((Decoded::Need(left.min(INDEX_PIECE) as usize), used));
        }
        let Pages { header, index, sum, .. } = *pages;
        let (index_len, checksum) = index.finish();
        if index_len != total || checksum != digest.finalize() {
            return Err(DecodeError::IndexMismatch);
        }
        self.stage = Stage::Trailer { header, index_len, sum };
        Ok((Decoded::Need(TRAILER), used))
    }

    fn trailer(
        &mut self,
        header: Header,
        index_len: u64,
        sum: Checksum,
        input: &[u8],
    ) -> Result<(Decoded, usize), DecodeError> {
        let Some(trailer) = input.first_chunk::<TRAILER>() else {
            self.stage = Stage::Trailer { header, index_len, sum };
            return Ok((Decoded::Need(TRAILER), 0));
        };
        let [stated_len, post, stated] = words(trailer);
        if stated_len != index_len {
            return Err(DecodeError::IndexMismatch);
        }
        self.digest.update(&trailer[..TRAILER - 8]);
        let digest = std::mem::replace(&mut self.digest, FileDigest::new());
        let (found, stated) = (digest.finish(), Checksum(stated));
        if found != stated {
            return Err(DecodeError::FileChecksum { found, stated });
        }
        let post_apply = match (header.pre_apply, Checksum(post)) {
            (Some(_), post) => Some(post),
            (None, Checksum::NONE) => None,
            (None, _) => return Err(InvalidFile::PostApply.into()),
        };
        check_post_apply(&header, post_apply, sum)?;
        Ok((Decoded::End { post_apply }, TRAILER))
    }
}

/// Decodes the bytes that [`crate::Index::find`] points at: one page. Nothing but LZ4's own structure is verified, because a
/// single page has no checksum.
pub fn decode_frame(bytes: &[u8]) -> Result<Page, DecodeError> {
    match frame_size(bytes)? {
        Some((pgno, size)) if size == bytes.len() => unpack(pgno, &bytes[FRAME_HEADER..]),
        Some((_, size)) if size < bytes.len() => Err(DecodeError::IndexMismatch),
        _ => Err(DecodeError::Short(bytes.len() as u64)),
    }
}

/// The page number and the whole size of the frame at the start of `input`; `None` when too little of it is there.
fn frame_size(input: &[u8]) -> Result<Option<(u32, usize)>, DecodeError> {
    let Some(head) = input.first_chunk::<FRAME_HEADER>() else { return Ok(None) };
    let pgno = u32::from_be_bytes([head[0], head[1], head[2], head[3]]);
    let flags = u16::from_be_bytes([head[4], head[5]]);
    let size = u32::from_be_bytes([head[6], head[7], head[8], head[9]]) as usize;
    if flags != FRAME_SIZED {
        return Err(DecodeError::FrameFlags { pgno, flags });
    }
    // No way to write a page takes more, so nobody has to wait for more.
    if size > get_maximum_output_size(PAGE_SIZE) {
        return Err(DecodeError::Frame(pgno));
    }
    Ok(Some((pgno, FRAME_HEADER + size)))
}

fn unpack(pgno: u32, block: &[u8]) -> Result<Page, DecodeError> {
    let mut data = [0; PAGE_SIZE];
    match lz4_flex::block::decompress_into(block, &mut data) {
        Ok(PAGE_SIZE) => Ok(Page { pgno, data: Arc::from(data.as_slice()) }),
        _ => Err(DecodeError::Frame(pgno)),
    }
}

/// The trailer's three numbers.
fn words(trailer: &[u8; TRAILER]) -> [u64; 3] {
    let mut words = [0; 3];
    for (word, bytes) in words.iter_mut().zip(trailer.as_chunks::<8>().0) {
        *word = u64::from_be_bytes(*bytes);
    }
    words
}
