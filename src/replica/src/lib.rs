//! From a committed transaction to a proof that it is durable, and back from the bucket to a database.
//!
//! A process appends the transactions of all its cells to one [`SessionLog`]. Its entries become objects in the bucket, and a
//! transaction is durable when all entries up to its own stand there. In the background entries are folded into their cells'
//! history, from which [`restore`] puts a database together. To take over the cells of another session, its log is sealed first
//! ([`seal_session`]).
//!
//! Four rules carry the proof that nothing acknowledged is ever lost:
//!
//! 1. A transaction is acknowledged only with everything before it (`writer`).
//! 2. An unknown outcome is resolved by reading, never assumed (`publish`, `record`, `seal`).
//! 3. The folded mark is raised before anything is deleted, and only while the session's record is unclaimed (`fold`, `record`).
//! 4. A seal is never deleted (`seal`).
//!
//! Invariant: no clock takes part. Time is used for pacing and for giving up, so a wrong clock costs availability, never data;
//! timestamps come from the caller.

mod bookmark;
mod compact;
mod disk;
mod entry;
mod export;
mod fold;
#[cfg(test)]
mod folding;
mod frontier;
mod hedge;
mod history;
mod json;
mod keys;
mod lease;
mod log;
mod merged;
mod owner;
mod pacing;
mod paged;
mod pages;
mod pending;
#[cfg(test)]
mod proof;
mod publish;
mod record;
mod restore;
mod retention;
#[cfg(test)]
mod rules;
mod seal;
mod store;
mod sums;
mod tail;
mod timeline;
#[cfg(test)]
mod trouble;
mod wakes;
mod when;
mod writer;

/// The number of a cell's transaction, which half of this crate's interface speaks of.
pub use celld_ltx::Txid;

pub use bookmark::{Bookmark, InvalidBookmark, bookmark_of};
pub use compact::{CompactionError, StopSnapshot, compact_cell, snapshot_at_stop};
pub use entry::{AlarmChange, Entry, EntryError, EntryNo, EntryTx, LogObject, Seal};
pub use export::{ExportError, restore_to_file};
pub use fold::FoldError;
pub use frontier::Waiting;
pub use history::{HistoryObject, PlanError, list_history};
pub use json::{RecordError, Versioned};
pub use keys::{HistoryName, Level};
pub use lease::{Lease, LeaseRecord, read_lease, read_leases, write_lease};
pub use log::{CellTx, CloseError, LogError, LogOptions, Position, SessionLog, StartError, WAIT_BUDGETS};
pub use owner::{Claim, OwnerRecord, claim, read_owner};
pub use paged::{Chain, Cloned, PagedError, RemoteImage};
pub use record::{Phase, SessionRecord};
pub use restore::{MAX_PAGES, RestoreError, Restored, restore};
pub use seal::{SealError, SealedTail, seal_session};
pub use sums::{MIN_OBJECT_BYTES, PageSums, SumsBuilder, SumsError, sums_key};
pub use timeline::{
    Moment, PastError, Point, Restoration, Target, Timeline, bookmark_at, changed_pages, restore_at,
};
pub use wakes::{Wake, due_wakes, remove_wake};
pub use when::{format_time, parse_time};
