//! What can go wrong in a cell's database, in the words a Worker sees.

use std::borrow::Cow;

use rusqlite::ffi;

use crate::paged::PageError;

/// The text workerd gives for a transaction statement in user SQL.
pub const TRANSACTION_STATEMENT: &str = "To execute a transaction, please use the state.storage.transaction() or \
    state.storage.transactionSync() APIs instead of the SQL BEGIN TRANSACTION or SAVEPOINT statements. The JavaScript \
    API is safer because it will automatically roll back on exceptions, and because it interacts correctly with \
    Durable Objects' automatic atomic write coalescing.";

/// A failed operation on a cell's database.
///
/// [`StorageError::is_fatal`] says which of them leave the cell unusable: the caller resets it.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// SQLite refused a statement. `Display` is workerd's form: message, then the code's name.
    #[error("{message}: {}", code_text(*code))]
    Sqlite {
        /// SQLite's message, with the offset in the SQL text where it gives one.
        message: String,
        /// The extended result code.
        code: i32,
    },
    /// The caller broke a rule of the API that SQLite does not check.
    #[error("{0}")]
    Usage(Cow<'static, str>),
    /// The cursor's statement is gone: the connection closed, or the whole transaction was rolled back.
    #[error("SQL cursor was closed because the database was reset.")]
    CursorClosed,
    /// SQLite rolled the turn's transaction back by itself (out of memory, `ON CONFLICT ROLLBACK`, the budget of
    /// uncommitted pages); earlier writes of the turn are lost.
    #[error("the cell's transaction was rolled back: {0}")]
    RolledBack(String),
    /// The commit hook refused: [`crate::CellDb::refuse_commits`] is on.
    #[error("the cell no longer accepts writes on this node")]
    CommitRefused,
    /// A page of a paged image could not be fetched. The database is unharmed: what failed can be tried again, but if it was part
    /// of a turn that had written something, those writes are gone, which the next commit reports.
    #[error("page {pgno} of the cell's database cannot be read: {cause}")]
    Page {
        /// The page.
        pgno: u32,
        /// The object that failed and how, or the deadline that passed.
        cause: String,
    },
    /// The cell's local image could not be read or written. Durable history is not affected.
    #[error("cannot {action} the local image {path}: {source}")]
    Image {
        /// What was attempted: "open", "read", "write".
        action: &'static str,
        /// The file, or "(memory)".
        path: String,
        /// The cause.
        source: std::io::Error,
    },
    /// The local image is known to be broken after an earlier failure; the cell must be restored.
    #[error("the cell's local image is lost and must be restored from durable history")]
    ImageLost,
}

impl StorageError {
    /// True when the database may not be used any further: the cell has to be reset and restored.
    pub fn is_fatal(&self) -> bool {
        match self {
            Self::RolledBack(_) | Self::CommitRefused | Self::Image { .. } | Self::ImageLost => true,
            Self::Sqlite { code, .. } => {
                matches!(code & 0xff, ffi::SQLITE_CORRUPT | ffi::SQLITE_IOERR | ffi::SQLITE_NOTADB)
            }
            Self::Usage(_) | Self::CursorClosed | Self::Page { .. } => false,
        }
    }

    pub(crate) fn page(pgno: u32, error: &PageError) -> Self {
        Self::Page { pgno, cause: error.to_string() }
    }

    pub(crate) fn usage(text: &'static str) -> Self {
        Self::Usage(Cow::Borrowed(text))
    }
}

/// `SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_UNIQUE)`, or only the primary name.
fn code_text(code: i32) -> String {
    let primary = primary_name(code & 0xff);
    match extended_name(code) {
        Some(extended) => format!("{primary} (extended: {extended})"),
        None => primary.to_owned(),
    }
}

fn primary_name(code: i32) -> &'static str {
    match code {
        ffi::SQLITE_ERROR => "SQLITE_ERROR",
        ffi::SQLITE_INTERNAL => "SQLITE_INTERNAL",
        ffi::SQLITE_PERM => "SQLITE_PERM",
        ffi::SQLITE_ABORT => "SQLITE_ABORT",
        ffi::SQLITE_BUSY => "SQLITE_BUSY",
        ffi::SQLITE_LOCKED => "SQLITE_LOCKED",
        ffi::SQLITE_NOMEM => "SQLITE_NOMEM",
        ffi::SQLITE_READONLY => "SQLITE_READONLY",
        ffi::SQLITE_INTERRUPT => "SQLITE_INTERRUPT",
        ffi::SQLITE_IOERR => "SQLITE_IOERR",
        ffi::SQLITE_CORRUPT => "SQLITE_CORRUPT",
        ffi::SQLITE_NOTFOUND => "SQLITE_NOTFOUND",
        ffi::SQLITE_FULL => "SQLITE_FULL",
        ffi::SQLITE_CANTOPEN => "SQLITE_CANTOPEN",
        ffi::SQLITE_PROTOCOL => "SQLITE_PROTOCOL",
        ffi::SQLITE_SCHEMA => "SQLITE_SCHEMA",
        ffi::SQLITE_TOOBIG => "SQLITE_TOOBIG",
        ffi::SQLITE_CONSTRAINT => "SQLITE_CONSTRAINT",
        ffi::SQLITE_MISMATCH => "SQLITE_MISMATCH",
        ffi::SQLITE_MISUSE => "SQLITE_MISUSE",
        ffi::SQLITE_NOLFS => "SQLITE_NOLFS",
        ffi::SQLITE_AUTH => "SQLITE_AUTH",
        ffi::SQLITE_RANGE => "SQLITE_RANGE",
        ffi::SQLITE_NOTADB => "SQLITE_NOTADB",
        _ => "SQLITE_UNKNOWN",
    }
}

fn extended_name(code: i32) -> Option<&'static str> {
    Some(match code {
        ffi::SQLITE_ABORT_ROLLBACK => "SQLITE_ABORT_ROLLBACK",
        ffi::SQLITE_CONSTRAINT_CHECK => "SQLITE_CONSTRAINT_CHECK",
        ffi::SQLITE_CONSTRAINT_COMMITHOOK => "SQLITE_CONSTRAINT_COMMITHOOK",
        ffi::SQLITE_CONSTRAINT_DATATYPE => "SQLITE_CONSTRAINT_DATATYPE",
        ffi::SQLITE_CONSTRAINT_FOREIGNKEY => "SQLITE_CONSTRAINT_FOREIGNKEY",
        ffi::SQLITE_CONSTRAINT_FUNCTION => "SQLITE_CONSTRAINT_FUNCTION",
        ffi::SQLITE_CONSTRAINT_NOTNULL => "SQLITE_CONSTRAINT_NOTNULL",
        ffi::SQLITE_CONSTRAINT_PINNED => "SQLITE_CONSTRAINT_PINNED",
        ffi::SQLITE_CONSTRAINT_PRIMARYKEY => "SQLITE_CONSTRAINT_PRIMARYKEY",
        ffi::SQLITE_CONSTRAINT_ROWID => "SQLITE_CONSTRAINT_ROWID",
        ffi::SQLITE_CONSTRAINT_TRIGGER => "SQLITE_CONSTRAINT_TRIGGER",
        ffi::SQLITE_CONSTRAINT_UNIQUE => "SQLITE_CONSTRAINT_UNIQUE",
        ffi::SQLITE_CONSTRAINT_VTAB => "SQLITE_CONSTRAINT_VTAB",
        ffi::SQLITE_CORRUPT_INDEX => "SQLITE_CORRUPT_INDEX",
        ffi::SQLITE_CORRUPT_VTAB => "SQLITE_CORRUPT_VTAB",
        ffi::SQLITE_IOERR_READ => "SQLITE_IOERR_READ",
        ffi::SQLITE_IOERR_WRITE => "SQLITE_IOERR_WRITE",
        ffi::SQLITE_LOCKED_VTAB => "SQLITE_LOCKED_VTAB",
        _ => return None,
    })
}
