//! A database of more than 1 GiB: the page at 1 GiB belongs to SQLite's file locks and is never part of the content.

use std::fs::OpenOptions;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use celld_ltx::{File, LOCK_PAGE, Txid};
use celld_storage::{CellDb, Image, PageError, PageSource, PagedImage};

const PAGE: u64 = 4096;

/// A database whose header says that it is `pages` pages large, most of them a hole in a sparse file. SQLite appends behind them.
fn large(path: &std::path::Path, pages: u32) {
    let mut db = CellDb::new(Image::Empty, None, Arc::default()).unwrap();
    db.exec("CREATE TABLE t(id INTEGER PRIMARY KEY, v BLOB)", &[]).unwrap();
    db.commit().unwrap();
    let mut image = db.image().unwrap();
    image[28..32].copy_from_slice(&pages.to_be_bytes());
    let file = OpenOptions::new().write(true).create_new(true).open(path).unwrap();
    file.write_all_at(&image, 0).unwrap();
    file.set_len(u64::from(pages) * PAGE).unwrap();
}

#[test]
fn the_lock_page_is_never_captured() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("cell");
    large(&path, LOCK_PAGE - 40);
    let mut db = CellDb::new(Image::File(path.clone()), None, Arc::default()).unwrap();
    let mut written = Vec::new();
    for txid in 2u64..12 {
        for _ in 0..4 {
            db.exec("INSERT INTO t(v) VALUES(randomblob(9000))", &[]).unwrap();
        }
        let tx = db.commit().unwrap().unwrap();
        assert!(tx.pages.iter().all(|page| page.pgno != LOCK_PAGE), "transaction {txid}");
        written.extend(tx.pages.iter().map(|page| page.pgno));
        assert_ne!(tx.commit, LOCK_PAGE);
        // The log takes it as it is.
        File::transaction(Txid(txid), tx.commit, tx.pages, 0).unwrap();
    }
    assert!(
        written.contains(&(LOCK_PAGE - 1)) && written.contains(&(LOCK_PAGE + 1)),
        "it grew over the page"
    );
    assert!(db.close_idle());

    let mut db = CellDb::new(Image::File(path), None, Arc::default()).unwrap();
    let cursor = db.exec("SELECT count(*), sum(length(v)) FROM t", &[]).unwrap().cursor.unwrap();
    let row = db.next_row(cursor, |row| [format!("{:?}", row.get(0)), format!("{:?}", row.get(1))]).unwrap();
    assert_eq!(row.value, ["Integer(40)", "Integer(360000)"]);
}

#[test]
fn nobody_fetches_the_lock_page() {
    struct Nothing;
    impl PageSource for Nothing {
        fn read(&self, first: u32, _last: u32) -> Result<Vec<celld_ltx::Page>, PageError> {
            Err(PageError::new(format!("page {first} was asked for")))
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let paged = PagedImage::create(dir.path().join("cell"), LOCK_PAGE + 3, Box::new(Nothing)).unwrap();
    assert_eq!(paged.missing_pages(), LOCK_PAGE + 2);
    assert_eq!(paged.missing(LOCK_PAGE - 1, 3), [LOCK_PAGE - 1, LOCK_PAGE + 1, LOCK_PAGE + 2]);
    assert!(!paged.is_missing(LOCK_PAGE));
}
