#![allow(dead_code, reason = "not every test file that includes this module needs all of it")]
//! One file of every kind that celld writes. They follow each other.

use celld_ltx::{File, Image, PAGE_SIZE, Page, Txid, compact};

const TIME: i64 = 1_796_000_000_000;

/// A page that compresses as text does.
fn text(pgno: u32, seed: u32) -> Page {
    let line = format!("page {pgno} of {seed}: the quick brown fox jumps over the lazy dog. ");
    let data: Vec<u8> = line.bytes().cycle().take(PAGE_SIZE).collect();
    Page { pgno, data: data.into() }
}

/// A page that does not compress.
fn noise(pgno: u32) -> Page {
    let mut state = u64::from(pgno) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    Page { pgno, data: (0..PAGE_SIZE).map(|_| next()).collect() }
}

/// The transactions that the files are made of.
pub fn transactions() -> Vec<File> {
    let transaction =
        |txid, commit, pages| File::transaction(Txid(txid), commit, pages, TIME + txid as i64).unwrap();
    vec![
        // Page 3 was never written.
        transaction(1, 4, vec![text(1, 1), noise(2), text(4, 1)]),
        transaction(2, 9, vec![text(1, 2), text(6, 2), noise(9)]),
        // Shrinks.
        transaction(3, 5, vec![text(1, 3)]),
        // Grows over what was cut off: page 6 is zeros now.
        transaction(4, 8, vec![text(1, 4), noise(8)]),
        // Changes nothing but the size.
        transaction(5, 7, vec![]),
        // Deletes the database.
        transaction(6, 0, vec![]),
        transaction(7, 2, vec![text(1, 7), noise(2)]),
    ]
}

/// Name and file. `first` to `last` apply in the order of their transactions.
pub fn all() -> Vec<(&'static str, File)> {
    let tx = transactions();
    let merge = |min: usize, max: usize| compact(&tx[min - 1..max]).unwrap();
    let mut image = Image::empty();
    for file in &tx[..5] {
        image.apply(file, 100).unwrap();
    }
    vec![
        ("L0-first", tx[0].clone()),
        ("L0", tx[1].clone()),
        ("L0-shrinking", tx[2].clone()),
        ("L0-no-pages", tx[4].clone()),
        ("L0-empty", tx[5].clone()),
        ("L1-holes", merge(2, 3)),
        ("L1-grown-again", merge(3, 5)),
        ("L1-from-first", merge(1, 4)),
        ("L9", File::snapshot(&image, TIME).unwrap()),
        ("L9-merged", merge(1, 7)),
    ]
}
