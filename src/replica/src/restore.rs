//! Putting a cell's database together from the bucket.

use celld_bucket::{Bucket, BucketError};
use celld_ids::{CellScope, Epoch};
use celld_ltx::{ApplyError, CompactError, DecodeError, Txid};

use crate::history::PlanError;
use crate::paged::{Chain, PagedError};

/// Pages in the largest database that a cell can have: 10 GiB.
pub const MAX_PAGES: u32 = (10 << 30) / celld_ltx::PAGE_SIZE as u32;

/// How often the history is listed anew when compaction takes objects away under our hands.
pub(crate) const LISTINGS: u32 = 5;

/// A cell's database as durable history has it.
#[derive(Debug, Clone, Default)]
pub struct Restored {
    /// The database file; empty for a cell without history.
    pub image: Vec<u8>,
    /// Its last transaction; zero for a cell without history. The next owner continues with the one after it.
    pub txid: Txid,
    /// The epoch that the last transaction was written under; `None` without history.
    pub epoch: Option<Epoch>,
    /// When the last transaction was committed, in milliseconds since the Unix epoch.
    pub timestamp_ms: i64,
    /// How many objects it was put together from.
    pub objects: usize,
}

/// Why a cell cannot be restored.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RestoreError {
    /// The store failed. Its message names the object.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// The objects that are there do not make a whole.
    #[error(transparent)]
    Plan(#[from] PlanError),
    /// An object that was listed is not there, and listing again did not help.
    #[error("{key} is missing")]
    Missing {
        /// The object.
        key: String,
    },
    /// An object is not what was written.
    #[error("{key} is damaged: {problem}")]
    Damaged {
        /// The object.
        key: String,
        /// What is wrong with it.
        problem: DecodeError,
    },
    /// An object holds other transactions than its name says.
    #[error("{key} holds transactions {min} to {max}", min = min.0, max = max.0)]
    Misnamed {
        /// The object.
        key: String,
        /// First transaction in it.
        min: Txid,
        /// Last transaction in it.
        max: Txid,
    },
    /// An object does not fit on what was restored so far.
    #[error("{key} cannot be applied: {problem}")]
    Apply {
        /// The object.
        key: String,
        /// Why not.
        problem: ApplyError,
    },
    /// Objects do not fit together.
    #[error("the history of {scope} cannot be merged: {problem}")]
    Merge {
        /// The cell.
        scope: CellScope,
        /// Why not.
        problem: CompactError,
    },
    /// A task of the process was stopped.
    #[error("the process is stopping")]
    Stopped,
}

/// Restores the cell `scope` to its last durable transaction.
///
/// Only history counts: the logs of dead sessions must have been sealed and folded ([`crate::seal_session`]), and a session that
/// restores a cell of its own folds first ([`crate::SessionLog::fold`]). Every byte is verified: objects by their checksums, the
/// chain by its transaction numbers.
pub async fn restore(bucket: &Bucket, scope: &CellScope) -> Result<Restored, PagedError> {
    Chain::read(bucket, scope).await?.clone_in_memory(bucket).await
}
