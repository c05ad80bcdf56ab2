//! The format's own command line tool has the last word: it must verify and apply what we write.
//!
//! Set `CELLD_LTX_ORACLE` to the `ltx` binary. Without it (and without the one beside the checkout) the test says that it
//! did nothing, unless `CELLD_REQUIRE_ORACLES` is set.

mod history;
mod kinds;

use std::io::Write;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use celld_ltx::{File, LOCK_PAGE, PAGE_SIZE, Page, Txid, compact, encode};
use history::{history, replay};
use proptest::prelude::*;
use proptest::test_runner::TestRunner;

fn oracle() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/oracle/ltx");
    let path = std::env::var_os("CELLD_LTX_ORACLE").map_or(beside, PathBuf::from);
    path.is_file().then_some(path)
}

fn run(tool: &Path, args: &[&str], files: &[PathBuf]) -> String {
    let output = Command::new(tool).args(args).args(files).output().unwrap();
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "ltx {args:?}: {text}");
    text
}

/// Writes `files`, has the tool verify and apply them, and returns the database it made.
fn apply(tool: &Path, files: &[File]) -> Vec<u8> {
    let dir = tempfile::tempdir().unwrap();
    let db = dir.path().join("db");
    std::fs::write(&db, []).unwrap();
    let paths: Vec<PathBuf> = files
        .iter()
        .map(|file| {
            let header = file.header();
            let path = dir.path().join(format!("{}-{}.ltx", header.min_txid, header.max_txid));
            std::fs::write(&path, encode(file)).unwrap();
            path
        })
        .collect();
    run(tool, &["verify"], &paths);
    run(tool, &["apply", "-db", db.to_str().unwrap()], &paths);
    std::fs::read(db).unwrap()
}

/// The tool, or a line about the test that was skipped which no test runner hides.
fn required() -> Option<PathBuf> {
    let tool = oracle();
    if tool.is_none() {
        assert!(std::env::var_os("CELLD_REQUIRE_ORACLES").is_none(), "the ltx tool is missing");
        let test = std::thread::current().name().unwrap_or("a test").to_owned();
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: no ltx tool; CELLD_LTX_ORACLE names none");
    }
    tool
}

/// Every kind of file by itself, then chains of them: every transaction, merged, and through a snapshot.
#[test]
fn the_official_tool_takes_every_kind_of_file() {
    let Some(tool) = required() else { return };
    let dir = tempfile::tempdir().unwrap();
    for (name, file) in kinds::all() {
        let path = dir.path().join(format!("{name}.ltx"));
        std::fs::write(&path, encode(&file)).unwrap();
        run(&tool, &["verify"], &[path]);
    }
    let kind = |name| kinds::all().into_iter().find(|(found, _)| *found == name).unwrap().1;
    let tx = kinds::transactions();
    let after = |count: usize| replay(&tx[..count]);
    for (count, chain) in [
        (5, tx[..5].to_vec()),
        (6, tx[..6].to_vec()),
        (7, tx.clone()),
        (5, vec![kind("L0-first"), kind("L1-holes"), tx[3].clone(), kind("L0-no-pages")]),
        (5, vec![kind("L0-first"), kind("L0"), kind("L1-grown-again")]),
        (4, vec![kind("L1-from-first")]),
        (7, vec![kind("L9"), tx[5].clone(), tx[6].clone()]),
        (7, vec![kind("L9-merged")]),
    ] {
        assert!(apply(&tool, &chain) == after(count).bytes(), "a chain to transaction {count}");
    }
}

/// Around the page at 1 GiB, on a database that is a sparse file.
#[test]
fn the_official_tool_leaves_the_lock_page_alone() {
    let Some(tool) = required() else { return };
    let page = |pgno| Page { pgno, data: vec![pgno as u8; PAGE_SIZE].into() };
    let pages = vec![page(1), page(LOCK_PAGE - 1), page(LOCK_PAGE + 1)];
    let file = File::transaction(Txid(2), LOCK_PAGE + 4, pages, 1).unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (db, path) = (dir.path().join("db"), dir.path().join("2.ltx"));
    std::fs::write(&path, encode(&file)).unwrap();
    let sparse = std::fs::File::create(&db).unwrap();
    sparse.set_len(u64::from(LOCK_PAGE) * PAGE_SIZE as u64).unwrap();
    run(&tool, &["verify"], std::slice::from_ref(&path));
    run(&tool, &["apply", "-db", db.to_str().unwrap()], &[path]);
    let read = std::fs::File::open(&db).unwrap();
    assert_eq!(read.metadata().unwrap().len(), u64::from(LOCK_PAGE + 4) * PAGE_SIZE as u64);
    for (pgno, fill) in [(1, 1), (LOCK_PAGE - 1, (LOCK_PAGE - 1) as u8), (LOCK_PAGE, 0), (LOCK_PAGE + 1, 2)] {
        let mut data = [0; PAGE_SIZE];
        read.read_exact_at(&mut data, u64::from(pgno - 1) * PAGE_SIZE as u64).unwrap();
        assert_eq!(data, [fill; PAGE_SIZE], "page {pgno}");
    }
}

#[test]
fn the_official_tool_reads_what_we_write() {
    let Some(tool) = required() else { return };
    let config = ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() };
    TestRunner::new(config)
        .run(&(history(), any::<prop::sample::Index>()), |(history, cut)| {
            let expected = replay(&history.files);
            prop_assert!(apply(&tool, &history.files) == expected.bytes(), "applied one by one");

            let snapshot = File::snapshot(&expected, 1).unwrap();
            prop_assert!(apply(&tool, &[snapshot]) == expected.bytes(), "snapshot");

            let (left, right) = history.files.split_at(1 + cut.index(history.files.len()));
            let mut merged = vec![compact(left).unwrap()];
            if !right.is_empty() {
                merged.push(compact(right).unwrap());
            }
            prop_assert!(apply(&tool, &merged) == expected.bytes(), "compacted");
            Ok(())
        })
        .unwrap();
}
