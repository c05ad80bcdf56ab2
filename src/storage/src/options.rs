//! The SQLite build this crate depends on.
#![allow(unsafe_code)]

use std::ffi::CString;

use rusqlite::ffi;

/// `(option, must be set, why)`. `.cargo/config.toml` sets them; a build that bypasses it loses them silently.
const OPTIONS: &[(&str, bool, &str)] = &[
    ("ENABLE_MEMORY_MANAGEMENT", false, "one mutex for all connections of the process"),
    ("DEFAULT_MEMSTATUS=0", true, "one mutex for every allocation of the process"),
    ("DEFAULT_LOOKASIDE=0,0", true, "48 KB for each open cell"),
    ("DEFAULT_LOCKING_MODE=1", true, "the VFS has no lock and no change detection"),
    ("DEFAULT_SYNCHRONOUS=0", true, "durability is the session log's, not the local image's"),
    ("DEFAULT_PCACHE_INITSZ=0", true, "80 KB for each open cell"),
    ("TEMP_STORE=3", true, "the VFS opens no temporary file"),
    ("OMIT_SHARED_CACHE", true, "locks on the hot path"),
    ("ENABLE_API_ARMOR", false, "checks on the hot path"),
    ("THREADSAFE=1", true, "connections move between threads"),
    ("ENABLE_FTS5", true, "workerd offers FTS5"),
    ("ENABLE_RTREE", true, "workerd offers R-Tree"),
    ("ENABLE_MATH_FUNCTIONS", true, "workerd offers the math functions"),
];

/// SQLite was compiled without something this crate relies on.
#[derive(Debug, thiserror::Error)]
#[error(
    "SQLite was built with the wrong options (build with the repository's .cargo/config.toml; is LIBSQLITE3_FLAGS set \
     in the environment?): {}", .0.join("; ")
)]
pub struct WrongBuild(pub Vec<String>);

/// Checks the options above against the library linked into this process. Call it once at start.
pub fn assert_compile_options() -> Result<(), WrongBuild> {
    let wrong: Vec<String> = OPTIONS
        .iter()
        .filter(|(name, wanted, _)| compiled_with(name) != *wanted)
        .map(|(name, wanted, why)| {
            format!("SQLITE_{name} must {}be set ({why})", if *wanted { "" } else { "not " })
        })
        .collect();
    if wrong.is_empty() { Ok(()) } else { Err(WrongBuild(wrong)) }
}

fn compiled_with(option: &str) -> bool {
    let Ok(option) = CString::new(option) else { return false };
    // SAFETY: a NUL-terminated string that lives through the call; the function keeps no reference.
    unsafe { ffi::sqlite3_compileoption_used(option.as_ptr()) != 0 }
}

#[cfg(test)]
mod tests {
    #[test]
    fn this_build_is_right() {
        super::assert_compile_options().unwrap();
    }
}
