//! The format's own command line tool has the last word: it must verify and apply what we write.
//!
//! Set `CELLD_LTX_ORACLE` to the `ltx` binary. Without it (and without the one beside the checkout) the test says that it
//! did nothing, unless `CELLD_REQUIRE_ORACLES` is set.

mod history;

use std::path::{Path, PathBuf};
use std::process::Command;

use celld_ltx::{File, compact, encode};
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

#[test]
fn the_official_tool_reads_what_we_write() {
    let Some(tool) = oracle() else {
        assert!(std::env::var_os("CELLD_REQUIRE_ORACLES").is_none(), "the ltx tool is missing");
        eprintln!("SKIPPED: no ltx tool; set CELLD_LTX_ORACLE");
        return;
    };
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
