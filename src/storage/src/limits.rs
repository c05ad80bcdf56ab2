//! The bounds a cell's database lives in.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Bounds of one cell. Shared by all cells of a node; the defaults are the platform's.
#[derive(Clone, Debug)]
pub struct Limits {
    /// Largest image held in memory, in bytes; a larger one moves to a file when there is a place for it.
    pub memory_image: usize,
    /// Pages of 4 KiB that one transaction may have changed before it commits; one more is `SQLITE_FULL`.
    pub uncommitted_pages: usize,
    /// Largest database, in pages of 4 KiB. The platform's bound is 10 GB.
    pub database_pages: u32,
    /// Page cache of an open connection, in KiB.
    pub cache_kib: u32,
    /// Memory SQLite may use for this cell (page cache, statements, sorting), in bytes; beyond it a statement
    /// fails with `SQLITE_NOMEM`.
    pub sqlite_bytes: usize,
    /// Prepared statements kept for reuse while the connection is open.
    pub cached_statements: usize,
    /// While true, running statements fail with `SQLITE_INTERRUPT`: the way to stop SQL that runs too long. One flag
    /// serves all cells of a thread.
    pub interrupt: Option<Arc<AtomicBool>>,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_image: 64 * 1024,
            uncommitted_pages: 32 * 1024,
            database_pages: (10_000_000_000_u64 / 4096) as u32,
            cache_kib: 256,
            sqlite_bytes: 64 * 1024 * 1024,
            cached_statements: 16,
            interrupt: None,
        }
    }
}

/// Longest key of the key-value API, in bytes of UTF-8.
pub const MAX_KEY_BYTES: usize = 2048;
/// Largest serialized value of the key-value API, in bytes.
pub const MAX_VALUE_BYTES: usize = 2 * 1024 * 1024;
/// Most keys in one batch of the key-value API.
pub const MAX_BATCH_KEYS: usize = 128;
/// Longest string, blob or row in SQL. Leaves room for a value of the largest size beside a key of the largest size.
pub(crate) const MAX_LENGTH: i32 = (MAX_VALUE_BYTES + 16 * 1024) as i32;
