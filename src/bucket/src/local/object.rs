//! One object as one file: the content, then a trailer of fixed size.
//!
//! The trailer holds the version, a random nonce. A content hash would make two writes of the same content equal, and an
//! update that still holds the first one's version would be let through; a counter would start again when the object is
//! deleted and created. An extended attribute is not everywhere, and a second file could not change in the same instant.
//! At the end, the trailer leaves ranged reads at their own offsets; as text, it leaves the file readable to a person.

use std::io::{self, IoSlice, Write};

use crc_fast::{CrcAlgorithm, Digest};

/// Bytes of the trailer: `\n#celld1 <nonce, 32> <size, 16> <crc, 16>\n`, all numbers hexadecimal.
pub(super) const TRAILER: usize = 76;

const MAGIC: &str = "\n#celld1 ";

/// The nonce of one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Nonce(u128);

impl Nonce {
    /// A nonce that no other write has.
    pub(super) fn random() -> io::Result<Nonce> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes).map_err(|error| io::Error::other(error.to_string()))?;
        Ok(Nonce::from_bytes(bytes))
    }

    pub(super) fn to_bytes(self) -> [u8; 16] {
        self.0.to_le_bytes()
    }

    pub(super) fn from_bytes(bytes: [u8; 16]) -> Nonce {
        Nonce(u128::from_le_bytes(bytes))
    }

    pub(super) fn text(self) -> String {
        format!("{:032x}", self.0)
    }
}

fn checksum(body: &[u8], nonce: Nonce) -> u64 {
    let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
    digest.update(body);
    digest.update(&nonce.0.to_le_bytes());
    digest.finalize()
}

/// Writes an object's whole file.
pub(super) fn write(file: &mut impl Write, body: &[u8], nonce: Nonce) -> io::Result<()> {
    let trailer = trailer(nonce, body.len() as u64, checksum(body, nonce));
    let mut parts = [IoSlice::new(body), IoSlice::new(&trailer)];
    let mut parts = &mut parts[..];
    while !parts.is_empty() {
        match file.write_vectored(parts) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(n) => IoSlice::advance_slices(&mut parts, n),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// An object's file that is written in pieces.
pub(super) struct ObjectWriter {
    digest: Digest,
    size: u64,
}

impl ObjectWriter {
    pub(super) fn new() -> ObjectWriter {
        ObjectWriter { digest: Digest::new(CrcAlgorithm::Crc64Nvme), size: 0 }
    }

    pub(super) fn append(&mut self, file: &mut impl Write, piece: &[u8]) -> io::Result<()> {
        file.write_all(piece)?;
        self.digest.update(piece);
        self.size += piece.len() as u64;
        Ok(())
    }

    /// Appends the trailer.
    pub(super) fn end(mut self, file: &mut impl Write, nonce: Nonce) -> io::Result<()> {
        self.digest.update(&nonce.0.to_le_bytes());
        file.write_all(&trailer(nonce, self.size, self.digest.finalize()))
    }
}

fn trailer(nonce: Nonce, size: u64, checksum: u64) -> Vec<u8> {
    format!("{MAGIC}{} {size:016x} {checksum:016x}\n", nonce.text()).into_bytes()
}

/// What a trailer says.
pub(super) struct Trailer {
    pub(super) nonce: Nonce,
    checksum: u64,
}

impl Trailer {
    /// Reads the trailer of a file that has `file_size` bytes. `Err` says what is wrong with the file.
    pub(super) fn parse(bytes: &[u8], file_size: u64) -> Result<Trailer, String> {
        const FOREIGN: &str = "it does not end as a file that celld wrote (cut short, or not an object)";
        let text = std::str::from_utf8(bytes).map_err(|_| FOREIGN)?;
        let fields = text.strip_prefix(MAGIC).and_then(|t| t.strip_suffix('\n')).ok_or(FOREIGN)?;
        let mut fields = fields.split(' ');
        let mut field = |width: usize| {
            let field =
                fields.next().filter(|f| f.len() == width && f.bytes().all(|b| b.is_ascii_hexdigit()));
            field.and_then(|f| u128::from_str_radix(f, 16).ok()).ok_or(FOREIGN)
        };
        let (nonce, size, checksum) = (Nonce(field(32)?), field(16)? as u64, field(16)? as u64);
        if size.checked_add(TRAILER as u64) != Some(file_size) {
            return Err(format!("it holds {} bytes, {size} were written", file_size - TRAILER as u64));
        }
        Ok(Trailer { nonce, checksum })
    }

    /// `true` when `body` is what was written.
    pub(super) fn matches(&self, body: &[u8]) -> bool {
        checksum(body, self.nonce) == self.checksum
    }
}
