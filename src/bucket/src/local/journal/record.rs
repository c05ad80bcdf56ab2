//! The bytes of a journal.
//!
//! A segment is a file of blocks. The first block is its head, each record starts at a block of its own, so that no write touches a
//! block that holds something acknowledged: a write that power cuts short harms nothing but itself. A record's checksum covers
//! the segment's salt and the record's place, so what an earlier use of the file left behind is no record.
//!
//! Numbers are little-endian. Head: magic (16), generation (8), salt (16), CRC (8). Record: CRC (8), kind (4), bytes of the key (4),
//! bytes of the body (8), nonce (16), key, body.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use crc_fast::{CrcAlgorithm, Digest};

use crate::local::object::Nonce;

/// Bytes of a block: the unit in which file systems and disks write.
pub(super) const BLOCK: usize = 4096;

const MAGIC: [u8; 16] = *b"celld-journal 1\n";
const HEAD: usize = 48;
const RECORD: usize = 40;

/// The longest key of a bucket, in bytes.
const MAX_KEY: usize = 1024;

/// What a segment is now: it becomes another one when its file is used again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Head {
    /// One more than that of the segment before it.
    pub(super) generation: u64,
    pub(super) salt: u128,
}

impl Head {
    pub(super) fn encode(&self) -> Vec<u8> {
        let mut block = Vec::with_capacity(BLOCK);
        block.extend_from_slice(&MAGIC);
        block.extend_from_slice(&self.generation.to_le_bytes());
        block.extend_from_slice(&self.salt.to_le_bytes());
        let crc = crc(&[&block]);
        block.extend_from_slice(&crc.to_le_bytes());
        block.resize(BLOCK, 0);
        block
    }

    /// `None` for a file whose head never became durable, which holds nothing that was acknowledged.
    pub(super) fn read(file: &File) -> io::Result<Option<Head>> {
        let mut bytes = [0; HEAD];
        if read_at(file, &mut bytes, 0)? < HEAD
            || bytes[..16] != MAGIC
            || u64_at(&bytes, 40) != crc(&[&bytes[..40]])
        {
            return Ok(None);
        }
        Ok(Some(Head { generation: u64_at(&bytes, 16), salt: u128_at(&bytes, 24) }))
    }
}

/// What a record says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// An object is created.
    Create = 1,
    /// The objects whose keys are the lines of the body are deleted.
    Delete = 2,
}

pub(in crate::local) struct Record {
    pub(super) kind: Kind,
    /// Empty for [`Kind::Delete`].
    pub(super) key: String,
    pub(in crate::local) nonce: Nonce,
    pub(in crate::local) body: Bytes,
}

impl Record {
    /// Bytes from the record's block to the next one's.
    pub(super) fn extent(key: &str, body: &[u8]) -> u64 {
        (RECORD + key.len() + body.len()).next_multiple_of(BLOCK) as u64
    }

    /// Puts the blocks of a record into `out`, instead of what is there.
    pub(super) fn encode(
        out: &mut Vec<u8>,
        (salt, offset): (u128, u64),
        kind: Kind,
        key: &str,
        nonce: Nonce,
        body: &[u8],
    ) {
        out.clear();
        out.reserve(Record::extent(key, body) as usize);
        out.extend_from_slice(&[0; 8]);
        out.extend_from_slice(&(kind as u32).to_le_bytes());
        out.extend_from_slice(&(key.len() as u32).to_le_bytes());
        out.extend_from_slice(&(body.len() as u64).to_le_bytes());
        out.extend_from_slice(&nonce.to_bytes());
        out.extend_from_slice(key.as_bytes());
        out.extend_from_slice(body);
        let crc = crc(&[&salt.to_le_bytes(), &offset.to_le_bytes(), &out[8..]]);
        out[..8].copy_from_slice(&crc.to_le_bytes());
        out.resize(out.len().next_multiple_of(BLOCK), 0);
    }

    /// Reads the record that begins at `offset`. `None` when there is no whole one.
    pub(super) fn read(file: &File, salt: u128, offset: u64) -> io::Result<Option<Record>> {
        let mut bytes = vec![0; BLOCK];
        let first = read_at(file, &mut bytes, offset)?;
        if first < RECORD {
            return Ok(None);
        }
        let kind = match u32_at(&bytes, 8) {
            1 => Kind::Create,
            2 => Kind::Delete,
            _ => return Ok(None),
        };
        let key = u32_at(&bytes, 12) as usize;
        let size = (RECORD as u64 + key as u64).checked_add(u64_at(&bytes, 16));
        // Whatever it says of itself before it is checked must not make us allocate more than there is.
        let Some(size) =
            size.filter(|size| key <= MAX_KEY && *size <= file_size(file).saturating_sub(offset))
        else {
            return Ok(None);
        };
        let size = size as usize;
        if size > first {
            bytes.resize(size, 0);
            if read_at(file, &mut bytes[first..], offset + first as u64)? < size - first {
                return Ok(None);
            }
        }
        bytes.truncate(size);
        if u64_at(&bytes, 0) != crc(&[&salt.to_le_bytes(), &offset.to_le_bytes(), &bytes[8..]]) {
            return Ok(None);
        }
        let nonce = Nonce::from_bytes(u128_at(&bytes, 24).to_le_bytes());
        let Ok(text) = std::str::from_utf8(&bytes[RECORD..RECORD + key]) else { return Ok(None) };
        let text = text.to_owned();
        Ok(Some(Record { kind, key: text, nonce, body: Bytes::from(bytes).slice(RECORD + key..) }))
    }
}

fn file_size(file: &File) -> u64 {
    file.metadata().map_or(0, |meta| meta.len())
}

/// Reads until the buffer or the file ends.
fn read_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<usize> {
    let mut read = 0;
    while !bytes.is_empty() {
        match file.read_at(bytes, offset) {
            Ok(0) => break,
            Ok(n) => {
                (read, offset) = (read + n, offset + n as u64);
                bytes = &mut bytes[n..];
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(read)
}

fn crc(parts: &[&[u8]]) -> u64 {
    let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
    for part in parts {
        digest.update(part);
    }
    digest.finalize()
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array(bytes, at))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(array(bytes, at))
}

fn u128_at(bytes: &[u8], at: usize) -> u128 {
    u128::from_le_bytes(array(bytes, at))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn file(bytes: &[u8]) -> File {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(bytes).unwrap();
        file
    }

    #[test]
    fn records_read_back_and_damaged_ones_do_not() {
        let nonce = Nonce::random().unwrap();
        for size in [0, 1, 4000, 4096 - RECORD - 3, 4096 - RECORD - 2, 5000, 100_000] {
            let body: Vec<u8> = (0..size).map(|i| i as u8).collect();
            let mut out = vec![9; 7];
            Record::encode(&mut out, (5, 0), Kind::Create, "a/b", nonce, &body);
            assert_eq!(out.len() as u64, Record::extent("a/b", &body));
            let read = Record::read(&file(&out), 5, 0).unwrap().unwrap();
            assert_eq!((read.kind, read.key.as_str(), &read.body[..]), (Kind::Create, "a/b", &body[..]));
            assert_eq!(read.nonce, nonce);
            // Of another use of the file, or of another place.
            assert!(Record::read(&file(&out), 6, 0).unwrap().is_none());
            let moved = [vec![0; BLOCK], out.clone()].concat();
            assert!(Record::read(&file(&moved), 5, BLOCK as u64).unwrap().is_none());
            let used = RECORD + 3 + size;
            for at in (0..used).step_by((used / 97).max(1)) {
                let mut bad = out.clone();
                bad[at] ^= 0x10;
                assert!(Record::read(&file(&bad), 5, 0).unwrap().is_none(), "bit of byte {at} of {size}");
                assert!(Record::read(&file(&out[..at]), 5, 0).unwrap().is_none(), "cut at {at} of {size}");
            }
        }
        assert!(Record::read(&file(&[0xff; 8192]), 5, 0).unwrap().is_none());
    }

    #[test]
    fn heads_read_back_and_damaged_ones_do_not() {
        let head = Head { generation: 7, salt: 1 << 100 };
        let block = head.encode();
        assert_eq!(Head::read(&file(&block)).unwrap(), Some(head));
        for at in 0..HEAD {
            let mut bad = block.clone();
            bad[at] ^= 1;
            assert_eq!(Head::read(&file(&bad)).unwrap(), None);
            assert_eq!(Head::read(&file(&block[..at])).unwrap(), None);
        }
    }
}
