//! Files that the format's own tool has verified and applied (`oracle.rs` does both again where the tool is present). They are read
//! for good, and what we write today is still the same.
//!
//! `CELLD_WRITE_GOLDEN=1` writes them anew; let the oracle test pass before committing them.

mod kinds;

use std::path::PathBuf;

use celld_ltx::{decode, encode};

fn path(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(format!("{name}.ltx"))
}

#[test]
fn files_of_every_kind_are_as_they_were() {
    for (name, file) in kinds::all() {
        if std::env::var_os("CELLD_WRITE_GOLDEN").is_some() {
            std::fs::write(path(name), encode(&file)).unwrap();
        }
        let golden = std::fs::read(path(name)).unwrap();
        assert_eq!(decode(&golden).unwrap(), file, "{name}");
        assert!(encode(&file) == golden, "{name} is written differently");
    }
}
