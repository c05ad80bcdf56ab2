//! Taking a cell back to an earlier state: what is to be done when its next session begins, and doing it.

use crate::cell::CellDb;
use crate::error::StorageError;
use crate::store::CommittedTx;

impl CellDb {
    /// The bookmark that the cell is to be taken back to before it runs again, as [`CellDb::set_rewind`] left it.
    pub fn rewind(&mut self) -> Result<Option<String>, StorageError> {
        if !self.is_open() && self.is_empty() {
            return Ok(None);
        }
        self.open()?.rewind_request()
    }

    /// Asks for the cell to be taken back to `bookmark` before it runs again; `None` takes the request back. Part of the turn's
    /// transaction.
    pub fn set_rewind(&mut self, bookmark: Option<&str>) -> Result<(), StorageError> {
        if bookmark.is_none() && self.rewind()?.is_none() {
            return Ok(());
        }
        self.open()?.set_rewind_request(bookmark)
    }

    /// Makes the pages of `tx` the committed state, as a transaction that SQLite knows nothing of. Uncommitted writes are dropped.
    ///
    /// # Errors
    /// The image cannot be written; the cell must then be restored from its history.
    pub fn replace(&mut self, tx: &CommittedTx) -> Result<(), StorageError> {
        self.rollback()?;
        self.replace_pages(tx.commit, &tx.pages)
    }
}
