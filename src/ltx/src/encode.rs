//! Writing a file's bytes.

use lz4_flex::block::{CompressTable, compress_into_with_table, get_maximum_output_size};

use crate::checksum::FileDigest;
use crate::index::{FRAME_HEADER, put_uvarint};
use crate::{Checksum, File, PAGE_SIZE};

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
        let base = out.len();
        let mut digest = FileDigest::new();
        out.extend_from_slice(&file.header().to_bytes());
        digest.update(&out[base..]);

        let mut index = Vec::with_capacity(file.pages().len() * 8 + 1);
        for page in file.pages() {
            let at = out.len();
            out.extend_from_slice(&page.pgno.to_be_bytes());
            out.extend_from_slice(&FRAME_SIZED.to_be_bytes());
            out.extend_from_slice(&[0; 4]);
            self.compress(&page.data, out);
            let size = (out.len() - at - FRAME_HEADER) as u32;
            out[at + 6..at + FRAME_HEADER].copy_from_slice(&size.to_be_bytes());
            digest.update(&out[at..at + FRAME_HEADER]);
            digest.update(&page.data);
            put_uvarint(&mut index, page.pgno.into());
            put_uvarint(&mut index, (at - base) as u64);
            put_uvarint(&mut index, (out.len() - at) as u64);
        }
        put_uvarint(&mut index, 0);

        let tail = out.len();
        out.extend_from_slice(&[0; 6]);
        out.extend_from_slice(&index);
        out.extend_from_slice(&(index.len() as u64).to_be_bytes());
        out.extend_from_slice(&file.post_apply().unwrap_or(Checksum::NONE).0.to_be_bytes());
        digest.update(&out[tail..]);
        out.extend_from_slice(&digest.finish().0.to_be_bytes());
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
