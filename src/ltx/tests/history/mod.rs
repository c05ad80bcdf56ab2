//! Random histories of a database: transactions that write, grow and truncate.

use celld_ltx::{File, Image, PAGE_SIZE, Page, Txid};
use proptest::prelude::*;

/// Consecutive files from transaction 1 on, and the database before each and after the last, made without this crate's
/// `apply`.
#[derive(Debug, Clone)]
pub struct History {
    pub files: Vec<File>,
    pub images: Vec<Image>,
}

#[derive(Debug, Clone)]
struct Step {
    commit: u32,
    writes: Vec<(u32, Fill)>,
}

#[derive(Debug, Clone)]
enum Fill {
    /// Compresses well.
    Byte(u8),
    /// Does not compress.
    Noise(u64),
}

impl Fill {
    fn bytes(&self) -> Vec<u8> {
        match *self {
            Fill::Byte(byte) => vec![byte; PAGE_SIZE],
            Fill::Noise(seed) => {
                let mut state = seed | 1;
                (0..PAGE_SIZE)
                    .map(|_| {
                        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                        (state >> 56) as u8
                    })
                    .collect()
            }
        }
    }
}

fn step() -> impl Strategy<Value = Step> {
    let fill = prop_oneof![any::<u8>().prop_map(Fill::Byte), any::<u64>().prop_map(Fill::Noise)];
    (1..9u32, prop::collection::btree_map(1..9u32, fill, 0..4)).prop_map(|(commit, writes)| Step {
        commit,
        writes: writes.into_iter().filter(|(pgno, _)| *pgno <= commit).collect(),
    })
}

pub fn history() -> impl Strategy<Value = History> {
    prop::collection::vec(step(), 1..8).prop_map(|steps| {
        let mut history = History { files: vec![], images: vec![Image::empty()] };
        let mut bytes = Vec::new();
        for (txid, step) in (1..).map(Txid).zip(steps) {
            bytes.resize(step.commit as usize * PAGE_SIZE, 0);
            let mut pages = vec![];
            for (pgno, fill) in step.writes {
                let data = fill.bytes();
                let at = (pgno as usize - 1) * PAGE_SIZE;
                bytes[at..at + PAGE_SIZE].copy_from_slice(&data);
                pages.push(Page { pgno, data: data.into() });
            }
            history.files.push(File::transaction(txid, step.commit, pages, 1_700_000_000_000).unwrap());
            history.images.push(Image::new(bytes.clone(), txid).unwrap());
        }
        history
    })
}

/// Applies `files` in order to an empty database.
#[allow(dead_code, reason = "not every test file that includes this module needs it")]
pub fn replay(files: &[File]) -> Image {
    let mut image = Image::empty();
    for file in files {
        image.apply(file, 1 << 20).unwrap();
    }
    image
}
