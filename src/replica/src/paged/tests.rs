//! Single pages, clones, and what happens when the history changes or is damaged.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use celld_bucket::{Bucket, Fate};
use celld_ids::CellScope;
use celld_ltx::{Checksum, File, Header, Image, PAGE_SIZE, Page, Txid, encode};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

use super::*;
use crate::keys::{self, HistoryName};
use crate::sums::{MIN_OBJECT_BYTES, PageSums, sums_key};

fn scope() -> CellScope {
    CellScope::new("Room", "a").unwrap()
}

fn name(epoch: u64, level: &str, min: u64, max: u64) -> HistoryName {
    let key = format!("{}/e{epoch:016x}/{level}/{min:016x}-{max:016x}.ltx", keys::history_dir(&scope()));
    keys::parse_history(&scope(), &key).unwrap()
}

/// A page that does not compress, so that a few hundred make a large object.
fn page(random: &mut StdRng, pgno: u32) -> Page {
    let mut data = vec![0; PAGE_SIZE];
    random.fill(&mut data[..]);
    Page { pgno, data: data.into() }
}

/// Puts a history object into the bucket as celld does: a large one with its page checksums.
async fn put(bucket: &Bucket, name: &HistoryName, file: &File) -> String {
    let bytes = encode(file);
    let size = bytes.len() as u64;
    if size >= MIN_OBJECT_BYTES {
        bucket.put(&sums_key(&scope(), name), PageSums::of(file, size).encode()).await.unwrap();
    }
    let key = keys::history(&scope(), name);
    bucket.put(&key, bytes.into()).await.unwrap();
    key
}

fn file(min: u64, max: u64, commit: u32, pages: Vec<Page>) -> File {
    let header = Header {
        min_txid: Txid(min),
        max_txid: Txid(max),
        commit,
        timestamp_ms: max as i64,
        pre_apply: None,
    };
    File::new(header, pages, None).unwrap()
}

/// A snapshot of 400 pages, a merged object of 300, and 5 small ones that shrink the database and let it grow again.
async fn history(bucket: &Bucket, seed: u64) -> Image {
    let random = &mut StdRng::seed_from_u64(seed);
    let mut image = Image::empty();
    let snapshot = file(1, 50, 400, (1..=400).map(|pgno| page(random, pgno)).collect());
    let merged = file(51, 70, 420, (100..400).map(|pgno| page(random, pgno)).collect());
    let sizes = [430, 380, 380, 410, 425];
    let mut files = vec![("L9", snapshot), ("L1", merged)];
    for (at, commit) in sizes.into_iter().enumerate() {
        let txid = 71 + at as u64;
        let numbers: BTreeSet<u32> =
            (0..random.random_range(1..20)).map(|_| random.random_range(1..=commit)).collect();
        let pages = numbers.into_iter().map(|pgno| page(random, pgno)).collect();
        files.push(("L0", file(txid, txid, commit, pages)));
    }
    for (at, (level, file)) in files.iter().enumerate() {
        let epoch = if at < 3 { 1 } else { 2 };
        let (min, max) = (file.header().min_txid.0, file.header().max_txid.0);
        put(bucket, &name(epoch, level, min, max), file).await;
        image.apply(file, 1000).unwrap();
    }
    image
}

fn expect(image: &Image, pages: &[Page]) {
    for page in pages {
        assert!(image.page(page.pgno).unwrap() == &*page.data, "page {}", page.pgno);
    }
}

async fn open(bucket: &Bucket) -> Result<(RemoteImage, Vec<Page>), PagedError> {
    Chain::read(bucket, &scope()).await?.open_paged(bucket).await
}

#[tokio::test]
async fn every_page_is_the_one_that_a_restore_gives() {
    for seed in 0..4 {
        let bucket = Bucket::in_memory();
        let image = history(&bucket, seed).await;
        let restored = crate::restore(&bucket, &scope()).await.unwrap();
        assert!(restored.image == image.bytes());
        let (remote, at_hand) = open(&bucket).await.unwrap();
        assert_eq!((remote.pages(), remote.txid()), (image.pages(), image.txid()));
        assert_eq!((remote.epoch(), remote.timestamp_ms()), (restored.epoch, restored.timestamp_ms));
        assert!(at_hand.iter().any(|page| page.pgno == 1), "page 1 comes along");
        expect(&image, &at_hand);
        let random = &mut StdRng::seed_from_u64(seed);
        for _ in 0..20 {
            let pages: Vec<u32> =
                (0..random.random_range(1..60)).map(|_| random.random_range(1..=image.pages())).collect();
            let found = remote.read(&pages).await.unwrap();
            assert_eq!(found.len(), pages.len());
            expect(&image, &found);
        }
        let all: Vec<u32> = (1..=image.pages()).collect();
        assert_eq!(remote.read(&all).await.unwrap().len(), all.len());
        assert!(remote.read(&[image.pages() + 1]).await.unwrap().is_empty());
        assert!(remote.memory() < 17 * 440 + 1000);

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cell");
        let cloned = Chain::read(&bucket, &scope()).await.unwrap().clone_to(&bucket, &path).await.unwrap();
        assert!(std::fs::read(&path).unwrap() == image.bytes());
        assert_eq!((cloned.pages, cloned.txid, cloned.epoch), (image.pages(), image.txid(), restored.epoch));
        assert_eq!(cloned.timestamp_ms, restored.timestamp_ms);
        let memory = Chain::read(&bucket, &scope()).await.unwrap().clone_in_memory(&bucket).await.unwrap();
        assert!(memory.image == image.bytes());
        assert_eq!((memory.txid, memory.epoch), (image.txid(), restored.epoch));
    }
}

#[tokio::test]
async fn a_cell_without_history_has_no_chain() {
    let chain = Chain::read(&Bucket::in_memory(), &scope()).await.unwrap();
    assert!(chain.is_empty() && !chain.is_pageable() && chain.txid() == Txid::ZERO && chain.bytes() == 0);
}

#[tokio::test]
async fn opening_reads_the_ends_of_large_objects_only() {
    let bucket = Bucket::in_memory();
    history(&bucket, 3).await;
    let reads = Arc::new(AtomicU64::new(0));
    let counted = reads.clone();
    let counting = bucket.with_fates(move |verb, _| {
        counted.fetch_add(u64::from(verb == "read"), Ordering::Relaxed);
        Fate::Good
    });
    let chain = Chain::read(&counting, &scope()).await.unwrap();
    assert!(chain.is_pageable() && chain.len() == 7 && chain.bytes() > 2 << 20);
    let (remote, _) = chain.open_paged(&counting).await.unwrap();
    // Two large objects with three parts each, five small ones.
    assert_eq!(reads.swap(0, Ordering::Relaxed), 11);
    remote.read(&(120..184).collect::<Vec<_>>()).await.unwrap();
    let reads = reads.load(Ordering::Relaxed);
    assert!(reads <= 6, "64 neighbours in {reads} reads: one for each object that holds some of them");
}

#[tokio::test]
async fn what_has_no_page_checksums_is_cloned() {
    let bucket = Bucket::in_memory();
    let image = history(&bucket, 4).await;
    bucket.delete(&sums_key(&scope(), &name(1, "L9", 1, 50))).await.unwrap();
    let chain = Chain::read(&bucket, &scope()).await.unwrap();
    assert!(!chain.is_pageable());
    assert!(matches!(chain.clone().open_paged(&bucket).await, Err(PagedError::NoSums { .. })));
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cell");
    chain.clone_to(&bucket, &path).await.unwrap();
    assert!(std::fs::read(&path).unwrap() == image.bytes());
}

/// What compaction does: everything is replaced by a snapshot, even one that leads further by transactions of the cell's owner.
#[tokio::test]
async fn a_history_that_changes_is_planned_anew() {
    let bucket = Bucket::in_memory();
    let mut image = history(&bucket, 5).await;
    let before = image.clone();
    let (remote, _) = open(&bucket).await.unwrap();
    let stale = Chain::read(&bucket, &scope()).await.unwrap();
    let old = bucket.list(&keys::history_dir(&scope()), None, 100).await.unwrap();

    let random = &mut StdRng::seed_from_u64(5);
    let later = file(76, 76, 426, vec![page(random, 7), page(random, 426)]);
    image.apply(&later, 1000).unwrap();
    let snapshot = File::snapshot(&image, 0).unwrap();
    put(&bucket, &name(2, "L9", 1, 76), &snapshot).await;
    for object in old {
        bucket.delete(&object.key).await.unwrap();
    }
    let pages: Vec<u32> = (1..=425).filter(|pgno| *pgno != 7).collect();
    let found = remote.read(&pages).await.unwrap();
    assert_eq!(found.len(), pages.len());
    expect(&before, &found);

    let (later, _) = stale.clone().open_paged(&bucket).await.unwrap();
    assert_eq!(later.txid(), Txid(76));
    let dir = tempfile::tempdir().unwrap();
    let cloned = stale.clone_to(&bucket, &dir.path().join("cell")).await.unwrap();
    assert_eq!((cloned.txid, cloned.pages), (Txid(76), 426));

    // Nothing leads as far any more: that is named, not papered over.
    bucket.delete(&keys::history(&scope(), &name(2, "L9", 1, 76))).await.unwrap();
    let error = remote.read(&[9]).await.unwrap_err();
    assert!(error.to_string().contains("000000000000004c.ltx is missing"), "{error}");
}

/// One byte is changed, in every kind of object and every part of it; the object is cut short; it is missing. Whatever was damaged
/// is named, by the pages, the clone and the restore in memory, or what they give is right.
#[tokio::test]
async fn damage_is_named() {
    let pristine = Bucket::in_memory();
    let image = history(&pristine, 6).await;
    let keys: Vec<_> = {
        let listed = pristine.list(&keys::history_dir(&scope()), None, 100).await.unwrap();
        listed.into_iter().map(|listed| (listed.key, listed.size)).collect()
    };
    assert_eq!(keys.iter().filter(|(key, _)| key.ends_with(".sums")).count(), 2);
    let random = &mut StdRng::seed_from_u64(6);
    let mut noticed = 0;
    for (key, size) in &keys {
        // Its header, its pages, its index (in a companion: its checksums), its trailer; then a shorter one, then none.
        let index = size - 24 - 2000.min(size / 4);
        let places = [
            Some(random.random_range(0..100.min(*size))),
            Some(random.random_range(0..*size)),
            Some(random.random_range(0..*size)),
            Some(random.random_range(index..size - 24)),
            Some(size - 1 - random.random_range(0..24)),
            None,
        ];
        for (nth, place) in places.into_iter().chain([None]).enumerate() {
            let bucket = copy(&pristine, &keys).await;
            let context = format!("{key}, {place:?}, case {nth}");
            let bytes = pristine.get(key).await.unwrap().unwrap().bytes;
            if nth == 6 && key.contains("-000000000000004b") {
                // A history that ends one transaction earlier is a history too: nothing else says how far it led.
                continue;
            }
            match place {
                Some(at) => {
                    let mut bytes = bytes.to_vec();
                    bytes[at as usize] ^= 1 << random.random_range(0..8);
                    bucket.put(key, bytes.into()).await.unwrap();
                }
                None if nth == 5 => {
                    let cut = random.random_range(1..bytes.len());
                    bucket.put(key, bytes.slice(..cut)).await.unwrap();
                }
                None => bucket.delete(key).await.unwrap(),
            }
            for error in
                [pages(&bucket, &image).await, clone(&bucket, &image).await, whole(&bucket, &image).await]
            {
                let Some(error) = error else { continue };
                noticed += 1;
                let stem = key.rsplit_once('.').unwrap().0;
                let gone = nth == 6 && (error.contains("lacks transactions") || error.contains("one by one"));
                assert!(error.contains(stem) || gone, "{context}: {error}");
            }
            if !key.ends_with(".sums") {
                let error = whole(&bucket, &image).await;
                // LZ4 can spell a page in several ways; otherwise everything is noticed.
                assert!(error.is_some() || place.is_some(), "{context}");
            }
        }
    }
    assert!(noticed > keys.len() * 6 * 2, "{noticed}");
}

async fn copy(from: &Bucket, keys: &[(String, u64)]) -> Bucket {
    let bucket = Bucket::in_memory();
    for (key, _) in keys {
        bucket.put(key, from.get(key).await.unwrap().unwrap().bytes).await.unwrap();
    }
    bucket
}

/// The error of reading every page; a page that is given must be right.
async fn pages(bucket: &Bucket, image: &Image) -> Option<String> {
    let (remote, at_hand) = match open(bucket).await {
        Ok(opened) => opened,
        Err(error) => return Some(error.to_string()),
    };
    expect(image, &at_hand);
    assert_eq!((remote.pages(), remote.txid()), (image.pages(), image.txid()));
    let mut failure = None;
    for first in (1..=image.pages()).step_by(20) {
        let wanted: Vec<u32> = (first..(first + 20).min(image.pages() + 1)).collect();
        match remote.read(&wanted).await {
            Ok(found) => {
                assert_eq!(found.len(), wanted.len());
                expect(image, &found);
            }
            Err(error) => failure = Some(error.to_string()),
        }
    }
    failure
}

async fn clone(bucket: &Bucket, image: &Image) -> Option<String> {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cell");
    let chain = match Chain::read(bucket, &scope()).await {
        Ok(chain) => chain,
        Err(error) => return Some(error.to_string()),
    };
    match chain.clone_to(bucket, &path).await {
        Ok(_) => assert!(std::fs::read(&path).unwrap() == image.bytes()),
        Err(error) => return Some(error.to_string()),
    }
    None
}

async fn whole(bucket: &Bucket, image: &Image) -> Option<String> {
    match crate::restore(bucket, &scope()).await {
        Ok(restored) => assert!(restored.image == image.bytes()),
        Err(error) => return Some(error.to_string()),
    }
    None
}

/// A damaged index may not hide that an object holds a page: an older version of it would be taken from another one.
#[tokio::test]
async fn a_page_number_that_changed_is_noticed() {
    let bucket = Bucket::in_memory();
    history(&bucket, 8).await;
    let key = keys::history(&scope(), &name(1, "L1", 51, 70));
    let mut bytes = bucket.get(&key).await.unwrap().unwrap().bytes.to_vec();
    // The last entry of the index: page 399 becomes page 400, which the snapshot holds too.
    let entry = bytes.windows(2).rposition(|two| two == [0x8f, 0x03]).unwrap();
    bytes[entry] = 0x90;
    bucket.put(&key, bytes.into()).await.unwrap();
    let error = open(&bucket).await.map(|_| ()).unwrap_err();
    assert!(matches!(error, PagedError::Sums { .. }), "{error}");
}

#[test]
fn a_frame_of_another_page_is_refused() {
    let random = &mut StdRng::seed_from_u64(1);
    let (one, two) = (page(random, 1), page(random, 2));
    let bytes = encode(&file(9, 9, 5, vec![one.clone(), two]));
    let frame = 100..100 + 10 + 4114;
    let sum = Checksum::of_page(1, &one.data);
    assert_eq!(chain::verify_frame(&bytes[frame.clone()], 1, sum), Ok(one));
    assert!(chain::verify_frame(&bytes[frame.clone()], 2, sum).is_err());
    assert!(chain::verify_frame(&bytes[frame.clone()], 1, Checksum(sum.0 ^ 1)).is_err());
    assert!(chain::verify_frame(&bytes[frame.start..frame.end - 1], 1, sum).is_err());
}
