//! Writing a file's bytes, whole or page by page.

use crc_fast::{CrcAlgorithm, Digest};
use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};

use crate::checksum::FileDigest;
use crate::file::PageOrder;
use crate::index::{BLOCK_END, FRAME_HEADER, put_uvarint};
use crate::{Checksum, File, Header, InvalidFile, PAGE_SIZE};

/// The page is stored as an LZ4 block whose length is in front of it.
pub(crate) const FRAME_SIZED: u16 = 1;

/// Encodes files one after another and keeps its buffers: the compression table alone costs more to set up than a small page
/// costs to compress.
pub struct Encoder {
    table: CompressTable,
    scratch: Vec<u8>,
}

impl Default for Encoder {
    fn default() -> Self {
        Encoder::new()
    }
}

impl Encoder {
    /// An encoder with fresh buffers (about 20 KiB).
    pub fn new() -> Encoder {
        Encoder { table: CompressTable::default(), scratch: vec![0; get_maximum_output_size(PAGE_SIZE)] }
    }

    /// Appends the bytes of `file` to `out`.
    pub fn encode(&mut self, file: &File, out: &mut Vec<u8>) {
        let mut body = Body::start(file.header(), out);
        for page in file.pages() {
            body.page(self, page.pgno, &page.data, out);
        }
        body.end(file.post_apply(), out);
    }

    /// Appends `data` as an LZ4 block; as one run of literals where that is shorter than what compression makes of it.
    fn compress(&mut self, data: &[u8], out: &mut Vec<u8>) {
        match compress_into_with_table(data, &mut self.scratch, &mut self.table) {
            Ok(n) if n < data.len() => out.extend_from_slice(&self.scratch[..n]),
            _ => put_literals(data, out),
        }
    }
}

/// An LZ4 block that is nothing but literals: a token with the length's first 15, the rest in bytes of up to 255, the data.
fn put_literals(data: &[u8], out: &mut Vec<u8>) {
    let mut rest = data.len() - 15;
    out.push(0xF0);
    while rest >= 255 {
        out.push(255);
        rest -= 255;
    }
    out.push(rest as u8);
    out.extend_from_slice(data);
}

/// The bytes of one file. Use an [`Encoder`] for many.
pub fn encode(file: &File) -> Vec<u8> {
    let mut out = Vec::new();
    Encoder::new().encode(file, &mut out);
    out
}

/// A file on its way out: its checksum and its page index so far (up to 14 bytes for each page).
struct Body {
    digest: FileDigest,
    index: Vec<u8>,
    /// Bytes of the file so far.
    at: u64,
}

impl Body {
    fn start(header: &Header, out: &mut Vec<u8>) -> Body {
        let bytes = header.to_bytes();
        let mut digest = FileDigest::new();
        digest.update(&bytes);
        out.extend_from_slice(&bytes);
        Body { digest, index: Vec::new(), at: bytes.len() as u64 }
    }

    fn page(&mut self, encoder: &mut Encoder, pgno: u32, data: &[u8], out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&pgno.to_be_bytes());
        out.extend_from_slice(&FRAME_SIZED.to_be_bytes());
        out.extend_from_slice(&[0; 4]);
        encoder.compress(data, out);
        let frame = out.len() - start;
        let size = (frame - FRAME_HEADER) as u32;
        out[start + 6..start + FRAME_HEADER].copy_from_slice(&size.to_be_bytes());
        self.digest.update(&out[start..start + FRAME_HEADER]);
        self.digest.update(data);
        put_entry(&mut self.index, pgno, self.at, frame as u64);
        self.at += frame as u64;
    }

    /// Appends what follows the pages; returns the size of the whole file.
    fn end(mut self, post_apply: Option<Checksum>, out: &mut Vec<u8>) -> u64 {
        put_uvarint(&mut self.index, 0);
        let tail = out.len();
        out.extend_from_slice(&[0; BLOCK_END]);
        out.extend_from_slice(&self.index);
        out.extend_from_slice(&(self.index.len() as u64).to_be_bytes());
        out.extend_from_slice(&post_apply.unwrap_or(Checksum::NONE).0.to_be_bytes());
        self.digest.update(&out[tail..]);
        out.extend_from_slice(&self.digest.finish().0.to_be_bytes());
        self.at + (out.len() - tail) as u64
    }
}

fn put_entry(index: &mut Vec<u8>, pgno: u32, offset: u64, size: u64) {
    put_uvarint(index, pgno.into());
    put_uvarint(index, offset);
    put_uvarint(index, size);
}

/// What the page index of a file must be, as its pages go by: the index has only one spelling, so its checksum and length stand
/// for it and nothing needs to be kept for each page.
pub(crate) struct ExpectedIndex {
    digest: Digest,
    len: u64,
    entry: Vec<u8>,
}

impl ExpectedIndex {
    pub(crate) fn new() -> ExpectedIndex {
        ExpectedIndex { digest: Digest::new(CrcAlgorithm::Crc64Nvme), len: 0, entry: Vec::new() }
    }

    pub(crate) fn page(&mut self, pgno: u32, offset: u64, size: u64) {
        self.entry.clear();
        put_entry(&mut self.entry, pgno, offset, size);
        self.digest.update(&self.entry);
        self.len += self.entry.len() as u64;
    }

    /// Length and checksum of the whole index.
    pub(crate) fn finish(mut self) -> (u64, u64) {
        self.digest.update(&[0]);
        (self.len + 1, self.digest.finalize())
    }
}

/// Encodes one file whose pages come one after another, so that none of them has to stay in memory. Checks what
/// [`File::new`] checks.
pub struct StreamEncoder {
    encoder: Encoder,
    header: Header,
    body: Body,
    order: PageOrder,
    /// Of the pages so far.
    sum: Checksum,
}

impl StreamEncoder {
    /// Appends the beginning of a file to `out`.
    pub fn start(header: Header, out: &mut Vec<u8>) -> Result<StreamEncoder, InvalidFile> {
        header.check()?;
        let body = Body::start(&header, out);
        let order = PageOrder::new(&header);
        Ok(StreamEncoder { encoder: Encoder::new(), header, body, order, sum: Checksum::EMPTY })
    }

    /// Appends a page to `out` and returns its checksum.
    pub fn page(&mut self, pgno: u32, data: &[u8], out: &mut Vec<u8>) -> Result<Checksum, InvalidFile> {
        self.order.next(pgno)?;
        if data.len() != PAGE_SIZE {
            return Err(InvalidFile::PageSize { pgno, len: data.len() });
        }
        self.body.page(&mut self.encoder, pgno, data, out);
        let sum = Checksum::of_page(pgno, data);
        self.sum = self.sum.toggle(sum);
        Ok(sum)
    }

    /// The checksum of a database that consists of the pages so far.
    pub fn database_checksum(&self) -> Checksum {
        self.sum
    }

    /// Appends the end of the file to `out` and returns the size of the file in bytes. `post_apply` is the checksum of the
    /// database afterwards and must be present exactly when the header has one.
    pub fn finish(self, post_apply: Option<Checksum>, out: &mut Vec<u8>) -> Result<u64, InvalidFile> {
        self.order.end()?;
        crate::file::check_post_apply(&self.header, post_apply, self.sum)?;
        Ok(self.body.end(post_apply, out))
    }
}
