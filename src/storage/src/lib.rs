//! A cell's database: SQLite behind a VFS of ours, and the pages of every committed transaction.
//!
//! [`CellDb`] is the whole surface. SQLite works on an image that is only a cache; what a transaction changed comes out
//! of [`CellDb::commit`] as a [`CommittedTx`], and it is the caller who makes that durable. This crate does no network
//! I/O, starts no thread, and writes no file but the image of a large cell.
//!
//! Reading order: `vfs` (what SQLite asks for), `store` (committed and uncommitted pages), `connection`, `cell`, then
//! `kv`, `metadata` and `sql` for what a Worker sees.

mod authorizer;
mod backing;
mod cell;
mod connection;
mod error;
mod kv;
mod limits;
mod memory;
mod metadata;
mod options;
mod overlay;
mod paged;
mod rewind;
mod sql;
mod statement;
mod store;
pub mod tree;
mod value;
mod vfs;

pub use backing::{Image, ImagePath};
pub use cell::{CellDb, Savepoint};
pub use error::StorageError;
pub use kv::ListOptions;
pub use limits::{Limits, MAX_BATCH_KEYS, MAX_KEY_BYTES, MAX_VALUE_BYTES};
pub use options::{WrongBuild, assert_compile_options};
pub use paged::{PageError, PageSource, PagedImage};
pub use sql::{CursorId, Execution, NextRow, Row, RowCounts};
pub use store::CommittedTx;
pub use value::Value;
