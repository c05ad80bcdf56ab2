//! Databases beyond 1 GiB: the page that SQLite locks is never part of a file.

use celld_ltx::{
    Checksum, Decoded, Decoder, File, Header, InvalidFile, LOCK_PAGE, Merge, PAGE_SIZE, Page, StreamEncoder,
    Txid, compact, decode, encode,
};

const COMMIT: u32 = LOCK_PAGE + 3;

fn page(pgno: u32, fill: u8) -> Page {
    Page { pgno, data: vec![fill; PAGE_SIZE].into() }
}

#[test]
fn the_lock_page_lies_at_one_gibibyte() {
    assert_eq!(LOCK_PAGE, 262_145);
}

#[test]
fn a_file_with_the_lock_page_is_refused() {
    let good =
        File::transaction(Txid(2), COMMIT, vec![page(LOCK_PAGE - 1, 1), page(LOCK_PAGE + 1, 2)], 0).unwrap();
    let mut bytes = encode(&good);
    assert_eq!(decode(&bytes).unwrap(), good);
    bytes[100..104].copy_from_slice(&LOCK_PAGE.to_be_bytes());
    assert!(decode(&bytes).is_err());
    assert!(matches!(
        File::transaction(Txid(2), COMMIT, vec![page(LOCK_PAGE, 1)], 0),
        Err(InvalidFile::PageOrder { .. })
    ));
    let header = *good.header();
    let mut out = Vec::new();
    let mut encoder = StreamEncoder::start(header, &mut out).unwrap();
    assert!(encoder.page(LOCK_PAGE, &[0; PAGE_SIZE], &mut out).is_err());
}

/// Grown over a truncation across the lock page: every page comes back as zeros but that one.
#[test]
fn a_merge_leaves_it_out() {
    let small = File::transaction(Txid(2), LOCK_PAGE - 2, vec![page(1, 1)], 0).unwrap();
    let large = File::transaction(Txid(3), COMMIT, vec![page(LOCK_PAGE + 2, 2)], 0).unwrap();
    let merged = compact(&[small, large]).unwrap();
    let numbers: Vec<u32> = merged.pages().iter().map(|page| page.pgno).collect();
    assert_eq!(numbers, [1, LOCK_PAGE - 1, LOCK_PAGE + 1, LOCK_PAGE + 2, LOCK_PAGE + 3]);
}

/// More than 262,144 pages, encoded, decoded and merged one after another: none of it is ever in memory.
#[test]
fn a_snapshot_of_more_than_a_gibibyte_streams() {
    let header = Header {
        min_txid: Txid(1),
        max_txid: Txid(1),
        commit: COMMIT,
        timestamp_ms: 0,
        pre_apply: Some(Checksum::NONE),
    };
    let mut bytes = Vec::new();
    let mut encoder = StreamEncoder::start(header, &mut bytes).unwrap();
    for pgno in (1..=COMMIT).filter(|pgno| *pgno != LOCK_PAGE) {
        encoder.page(pgno, &[pgno as u8; PAGE_SIZE], &mut bytes).unwrap();
    }
    let sum = encoder.database_checksum();
    let size = encoder.finish(Some(sum), &mut bytes).unwrap();
    assert_eq!(size, bytes.len() as u64);

    let change = File::transaction(Txid(2), COMMIT, vec![page(LOCK_PAGE - 1, 7)], 0).unwrap();
    let mut merge = Merge::new(&[header, *change.header()]).unwrap();
    let (mut decoder, mut at) = (Decoder::new(size), 0);
    let mut changed = change.pages().iter();
    let mut expected = (1..=COMMIT).filter(|pgno| *pgno != LOCK_PAGE);
    loop {
        if let Some(page) = merge.next_page() {
            assert_eq!(Some(page.pgno), expected.next());
            let fill = if page.pgno == LOCK_PAGE - 1 { 7 } else { page.pgno as u8 };
            assert!(page.data[0] == fill && page.data[PAGE_SIZE - 1] == fill);
            continue;
        }
        match merge.wants() {
            None => break,
            Some(1) => match changed.next() {
                Some(page) => merge.give(page.clone()),
                None => merge.give_end(None),
            },
            Some(_) => {
                let (decoded, used) = decoder.step(&bytes[at..(at + 8192).min(bytes.len())]).unwrap();
                at += used;
                match decoded {
                    Decoded::Page(page) => merge.give(page),
                    Decoded::End { post_apply } => {
                        assert_eq!(post_apply, Some(sum));
                        merge.give_end(post_apply);
                    }
                    Decoded::Header(_) | Decoded::Need(_) => {}
                }
            }
        }
    }
    assert_eq!(expected.next(), None);
}
