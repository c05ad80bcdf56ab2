//! A cell's database in the bucket, read page by page: its first read does not wait for the whole history.
//!
//! Opening it plans the same chain of objects as [`crate::restore`] and reads where their pages lie: of a large object its two ends
//! and its page checksums ([`crate::PageSums`]), of a small one everything. From that a map of 16 bytes a page is made, and a page is
//! then one ranged read. Nothing is handed out that was not verified; what is damaged or missing is named.
//!
//! The history may change meanwhile: compaction replaces objects by others that cover them. When an object is gone, the chain is
//! planned anew. It may then lead further than the image did, by transactions of the cell's owner, who has the pages that those
//! changed in its own file and never asks for them. Every other page is the same in both.

mod chain;
mod clone;
mod map;
mod read;
#[cfg(test)]
mod tests;

use celld_bucket::BucketError;
use celld_ltx::IndexError;

pub use chain::Chain;
pub use clone::Cloned;
pub use read::RemoteImage;

use crate::restore::RestoreError;
use crate::sums::SumsError;

/// Why pages cannot be read.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PagedError {
    /// As for any restore: the store failed, or an object is missing, damaged or misnamed.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The page index of an object is damaged.
    #[error("{key} is damaged: {problem}")]
    Index {
        /// The object.
        key: String,
        /// What is wrong with it.
        problem: IndexError,
    },
    /// The page checksums of an object are damaged, or the object's header or page index is: they do not fit each other.
    #[error("{key} is damaged or belongs to something else: {problem}")]
    Sums {
        /// The object with the checksums.
        key: String,
        /// What is wrong with it.
        problem: SumsError,
    },
    /// A page in an object is not what was written.
    #[error("page {pgno} in {key} is damaged: {problem}")]
    Page {
        /// The object.
        key: String,
        /// The page.
        pgno: u32,
        /// What is wrong with it.
        problem: String,
    },
    /// An object cannot be read in parts; the database has to be cloned.
    #[error("the pages of {key} cannot be read one by one")]
    NoSums {
        /// The object.
        key: String,
    },
    /// The local file of a clone cannot be written.
    #[error("cannot write {path}: {problem}")]
    File {
        /// The file.
        path: String,
        /// The cause.
        problem: String,
    },
}

impl From<BucketError> for PagedError {
    fn from(error: BucketError) -> Self {
        PagedError::Restore(error.into())
    }
}

impl PagedError {
    /// `true` when the same call may work later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        matches!(self, PagedError::Restore(RestoreError::Bucket(error)) if error.is_transient())
    }

    /// The object that was listed and is not there.
    fn vanished(&self) -> Option<&str> {
        match self {
            PagedError::Restore(RestoreError::Missing { key }) => Some(key),
            _ => None,
        }
    }
}
