//! Damaged and hostile bytes: never a panic, never more asked for than a page needs, and nothing damaged accepted.
//!
//! Valid files of every kind are changed at random, from a seed: `CELLD_FUZZ_SEED` and `CELLD_FUZZ_ROUNDS` choose others and more.

mod kinds;

use celld_ltx::{
    Checksum, Decoded, Decoder, File, HEADER_SIZE, Index, PAGE_SIZE, decode, decode_frame, encode,
};
use crc_fast::{CrcAlgorithm, Digest};

/// SplitMix64.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound.max(1) as u64) as usize
    }
}

fn number(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().map_or(default, |text| text.parse().unwrap())
}

/// One to four changes of the kinds that storage and bugs make.
fn damage(random: &mut Random, bytes: &mut Vec<u8>, other: &[u8]) {
    for _ in 0..=random.below(4) {
        let at = random.below(bytes.len());
        // Most of a file is page data; its structure is at both ends.
        let at = match random.below(4) {
            0 => at % HEADER_SIZE.min(bytes.len().max(1)),
            1 => bytes.len().saturating_sub(1 + at % 64),
            _ => at,
        };
        let len = random.below(40).min(bytes.len().saturating_sub(at));
        match random.below(8) {
            0 => bytes.truncate(at),
            1 => bytes.extend_from_slice(&other[..random.below(other.len())]),
            2 => bytes[at..at + len].fill(0),
            3 => bytes[at..at + len].fill(0xff),
            4 => drop(bytes.drain(at..at + len)),
            5 => {
                let piece = bytes[at..at + len].to_vec();
                bytes.splice(at..at, piece);
            }
            6 => {
                let from = random.below(other.len());
                let piece = &other[from..(from + len).min(other.len())];
                for (to, from) in bytes[at..].iter_mut().zip(piece) {
                    *to = *from;
                }
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
        }
    }
}

/// Makes the file's checksum right again, as far as its pages can be read: what a hostile writer would do.
fn forge(bytes: &mut [u8]) -> Option<()> {
    let mut digest = Digest::new(CrcAlgorithm::Crc64GoIso);
    digest.update(bytes.get(..HEADER_SIZE)?);
    let mut at = HEADER_SIZE;
    while bytes.get(at..at + 4)? != [0; 4] {
        let size = u32::from_be_bytes(bytes.get(at + 6..at + 10)?.try_into().ok()?) as usize;
        let block = bytes.get(at + 10..at.checked_add(10)?.checked_add(size)?)?;
        digest.update(&bytes[at..at + 10]);
        digest.update(&lz4_flex::block::decompress(block, PAGE_SIZE).ok()?);
        at += 10 + size;
    }
    let end = bytes.len().checked_sub(8)?;
    digest.update(bytes.get(at..end)?);
    bytes[end..].copy_from_slice(&(digest.finalize() | 1 << 63).to_be_bytes());
    Some(())
}

/// Decodes in pieces of random sizes. The decoder never asks for more than a page's frame or a header can need.
fn decode_in_pieces(random: &mut Random, bytes: &[u8]) -> Result<(Vec<u32>, Option<Checksum>), ()> {
    let mut decoder = Decoder::new(bytes.len() as u64);
    let (mut start, mut end) = (0, 0);
    let mut pages = Vec::new();
    loop {
        let (decoded, used) = decoder.step(&bytes[start..end]).map_err(drop)?;
        start += used;
        match decoded {
            Decoded::Header(_) => {}
            Decoded::Page(page) => pages.push(page.pgno),
            Decoded::End { post_apply } => {
                assert_eq!(start, bytes.len(), "the end of the file is the end of the bytes");
                return Ok((pages, post_apply));
            }
            Decoded::Need(need) => {
                assert!(need <= PAGE_SIZE + PAGE_SIZE / 8, "{need} bytes for one step");
                assert!(start + need <= bytes.len(), "more than there is");
                end = (start + need + random.below(3000)).clamp(end, bytes.len());
            }
        }
    }
}

#[test]
fn damaged_files_are_refused() {
    let mut random = Random(number("CELLD_FUZZ_SEED", 20_261_130));
    let files: Vec<File> = kinds::all().into_iter().map(|(_, file)| file).collect();
    let good: Vec<Vec<u8>> = files.iter().map(encode).collect();
    let (mut refused, mut harmless, mut forged) = (0, 0, 0);
    for _ in 0..number("CELLD_FUZZ_ROUNDS", 20_000) {
        let which = random.below(files.len());
        let mut bytes = good[which].clone();
        let other = &good[random.below(good.len())];
        damage(&mut random, &mut bytes, other);
        let whole = decode(&bytes);
        assert_eq!(decode_in_pieces(&mut random, &bytes).is_ok(), whole.is_ok());
        match &whole {
            // LZ4 can spell a page in several ways, and one valid file can become another.
            Ok(file) => {
                assert!(files.contains(file), "a damaged file was accepted");
                harmless += 1;
            }
            Err(_) => refused += 1,
        }
        let _ = Index::parse(&bytes, bytes.len() as u64);
        let _ = Index::parse(&bytes[bytes.len() / 2..], random.next());
        let _ = decode_frame(&bytes[random.below(bytes.len())..]);
        // Behind the checksum: any answer will do, but no panic, and what is accepted can be written again.
        if forge(&mut bytes).is_some()
            && let Ok(file) = decode(&bytes)
        {
            assert_eq!(decode(&encode(&file)).as_ref(), Ok(&file));
            forged += 1;
        }
    }
    assert!(refused > harmless * 10 && forged > 0, "{refused} refused, {harmless} harmless, {forged} forged");
}

#[test]
fn good_files_are_accepted_in_any_pieces() {
    let mut random = Random(7);
    for (name, file) in kinds::all() {
        let bytes = encode(&file);
        for _ in 0..20 {
            let (pages, post_apply) = decode_in_pieces(&mut random, &bytes).unwrap();
            assert_eq!(pages, file.pages().iter().map(|page| page.pgno).collect::<Vec<_>>(), "{name}");
            assert_eq!(post_apply, file.post_apply());
        }
    }
}
