//! The format's properties, over random histories of a database.

mod history;

use celld_ltx::{
    ApplyError, Checksum, DecodeError, File, HEADER_SIZE, Header, Image, Index, InvalidFile, PAGE_SIZE, Page,
    Tail, Txid, compact, decode, decode_frame, encode,
};
use history::{history, replay};
use proptest::prelude::*;

const MAX: u32 = 1 << 20;

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn what_is_encoded_decodes_to_the_same(history in history()) {
        for file in &history.files {
            prop_assert_eq!(&decode(&encode(file)).unwrap(), file);
        }
        let snapshot = File::snapshot(&history.images[history.images.len() - 1], 7).unwrap();
        prop_assert_eq!(&decode(&encode(&snapshot)).unwrap(), &snapshot);
    }

    #[test]
    fn applying_in_order_gives_the_database_of_every_transaction(history in history()) {
        let mut image = Image::empty();
        for (file, after) in history.files.iter().zip(&history.images[1..]) {
            image.apply(file, MAX).unwrap();
            prop_assert_eq!(&image, after);
        }
    }

    /// Any range of a history, and ranges of ranges.
    #[test]
    fn compacting_is_applying_in_order(history in history(), from in any::<prop::sample::Index>(), cut in any::<prop::sample::Index>()) {
        let from = from.index(history.files.len());
        let range = &history.files[from..];
        let merged = compact(range).unwrap();
        let mut image = history.images[from].clone();
        image.apply(&decode(&encode(&merged)).unwrap(), MAX).unwrap();
        prop_assert_eq!(&image, &history.images[history.files.len()]);

        let (left, right) = range.split_at(cut.index(range.len()));
        if !left.is_empty() {
            let twice = compact(&[compact(left).unwrap(), compact(right).unwrap()]).unwrap();
            prop_assert_eq!(twice, merged);
        }
    }

    /// Two folds of the same log can cut it differently; together they still give the same database.
    #[test]
    fn overlapping_files_agree(history in history(), a in any::<prop::sample::Index>(), b in any::<prop::sample::Index>()) {
        let len = history.files.len();
        let (a, b) = (a.index(len), b.index(len));
        let (start, end) = (a.min(b), a.max(b) + 1);
        let (left, right) = (compact(&history.files[..end]).unwrap(), compact(&history.files[start..]).unwrap());
        let mut image = Image::empty();
        image.apply(&left, MAX).unwrap();
        image.apply(&right, MAX).unwrap();
        prop_assert_eq!(&image, &history.images[len]);
        let mut merged = Image::empty();
        merged.apply(&compact(&[left, right]).unwrap(), MAX).unwrap();
        prop_assert_eq!(&merged, &history.images[len]);
    }

    /// LZ4 can write one page in several ways, so a change that leaves every page as it was is no corruption.
    #[test]
    fn a_changed_byte_is_refused_or_changes_nothing(history in history(), which in any::<prop::sample::Index>(), flip in 1..=255u8) {
        let file = &history.files[which.index(history.files.len())];
        let good = encode(file);
        let index = whole_index(&good);
        for at in 0..good.len() {
            let mut bad = good.clone();
            bad[at] ^= flip;
            if let Ok(read) = decode(&bad) {
                prop_assert_eq!(&read, file, "byte {}", at);
                let inside = index.entries().iter().any(|(_, place)| (place.start + 10..place.end).contains(&(at as u64)));
                prop_assert!(inside, "byte {} is not part of an LZ4 block", at);
            }
        }
        for len in 0..good.len() {
            prop_assert!(decode(&good[..len]).is_err());
        }
        let mut longer = good.clone();
        longer.push(0);
        prop_assert!(decode(&longer).is_err());
    }

    #[test]
    fn the_index_finds_every_page(history in history(), given in 0..400usize) {
        for file in &history.files {
            let bytes = encode(file);
            let len = bytes.len() as u64;
            let tail = &bytes[bytes.len().saturating_sub(given)..];
            let index = match Index::parse(tail, len).unwrap() {
                Tail::Index(index) => index,
                Tail::Need(more) => match Index::parse(&bytes[(len - more) as usize..], len).unwrap() {
                    Tail::Index(index) => index,
                    Tail::Need(_) => return Err(TestCaseError::fail("asked twice")),
                },
            };
            prop_assert_eq!(&index, &whole_index(&bytes));
            prop_assert_eq!(index.entries().len(), file.pages().len());
            for page in file.pages() {
                let place = index.find(page.pgno).unwrap();
                prop_assert_eq!(&decode_frame(&bytes[place.start as usize..place.end as usize]).unwrap(), page);
            }
            prop_assert_eq!(index.find(0), None);
        }
    }

    #[test]
    fn arbitrary_bytes_never_panic(mut bytes in prop::collection::vec(any::<u8>(), 0..600), real in any::<bool>(), len in any::<u64>()) {
        if real && bytes.len() > HEADER_SIZE {
            // A sound header leads the decoder past the first check.
            let file = File::transaction(Txid(2), 9, vec![], 0).unwrap();
            bytes[..HEADER_SIZE].copy_from_slice(&encode(&file)[..HEADER_SIZE]);
        }
        let _ = decode(&bytes);
        let _ = decode_frame(&bytes);
        let _ = Index::parse(&bytes, len);
        let _ = Index::parse(&bytes, bytes.len() as u64);
    }
}

fn whole_index(file: &[u8]) -> Index {
    match Index::parse(file, file.len() as u64).unwrap() {
        Tail::Index(index) => index,
        Tail::Need(bytes) => panic!("needs {bytes} bytes of the whole file"),
    }
}

fn page(pgno: u32, fill: u8) -> Page {
    Page { pgno, data: vec![fill; PAGE_SIZE].into() }
}

#[test]
fn a_page_cut_off_by_a_truncation_comes_back_as_zeros() {
    let files = [
        File::transaction(Txid(1), 3, vec![page(1, 1), page(2, 2), page(3, 3)], 0).unwrap(),
        File::transaction(Txid(2), 3, vec![page(3, 4)], 0).unwrap(),
        File::transaction(Txid(3), 1, vec![page(1, 5)], 0).unwrap(),
        File::transaction(Txid(4), 3, vec![page(1, 6)], 0).unwrap(),
    ];
    let merged = compact(&files[1..]).unwrap();
    let mut image = Image::empty();
    image.apply(&files[0], MAX).unwrap();
    image.apply(&merged, MAX).unwrap();
    assert_eq!(image, replay(&files));
    assert_eq!(image.page(3).unwrap(), [0; PAGE_SIZE]);
}

#[test]
fn the_first_transaction_holds_every_page() {
    let file = File::transaction(Txid(1), 3, vec![page(1, 1), page(3, 3)], 0).unwrap();
    assert_eq!(file.pages().iter().map(|page| page.pgno).collect::<Vec<_>>(), [1, 2, 3]);
    let header = *file.header();
    assert_eq!(File::new(header, vec![page(1, 1), page(3, 3)], None), Err(InvalidFile::MissingPage(2)));
}

#[test]
fn a_file_is_applied_only_where_it_belongs() {
    let first = File::transaction(Txid(1), 1, vec![page(1, 1)], 0).unwrap();
    let third = File::transaction(Txid(3), 1, vec![page(1, 3)], 0).unwrap();
    let mut image = Image::empty();
    assert!(matches!(image.apply(&third, MAX), Err(ApplyError::Gap { .. })));
    image.apply(&first, MAX).unwrap();
    assert!(matches!(image.apply(&third, MAX), Err(ApplyError::Gap { .. })));

    let header = Header {
        min_txid: Txid(2),
        max_txid: Txid(2),
        commit: 1,
        timestamp_ms: 0,
        pre_apply: Some(Checksum(u64::MAX)),
    };
    let other = File::new(header, vec![page(1, 2)], Some(Checksum(u64::MAX))).unwrap();
    assert!(matches!(image.apply(&other, MAX), Err(ApplyError::PreApply { .. })));

    let huge = File::transaction(Txid(2), u32::MAX, vec![], 0).unwrap();
    assert_eq!(image.apply(&huge, MAX), Err(ApplyError::TooLarge { pages: u32::MAX }));
    assert_eq!(image.txid(), Txid(1));
}

#[test]
fn a_snapshot_with_a_wrong_database_checksum_is_refused() {
    let header = Header {
        min_txid: Txid(1),
        max_txid: Txid(9),
        commit: 1,
        timestamp_ms: 0,
        pre_apply: Some(Checksum::NONE),
    };
    let wrong = Checksum::EMPTY;
    assert!(matches!(
        File::new(header, vec![page(1, 1)], Some(wrong)),
        Err(InvalidFile::DatabaseChecksum { .. })
    ));
}

#[test]
fn an_older_version_and_foreign_flags_are_refused() {
    let good = encode(&File::transaction(Txid(1), 1, vec![page(1, 1)], 0).unwrap());
    for (at, value) in [(3, b'0'), (7, 1), (11, 1), (48, 1), (80, 1)] {
        let mut bad = good.clone();
        bad[at] = value;
        assert!(matches!(decode(&bad), Err(DecodeError::Header(_))), "byte {at}");
    }
}
