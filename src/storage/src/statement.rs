//! A prepared statement.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_int};
use std::ptr::NonNull;

use rusqlite::ffi;

use crate::authorizer::Author;
use crate::value::Value;

/// Owns a `sqlite3_stmt`; finalized when dropped. Must not outlive its connection.
pub(crate) struct Statement {
    raw: NonNull<ffi::sqlite3_stmt>,
    /// On whose behalf it was compiled: the authorizer is asked then, so nobody else may run it.
    author: Author,
    is_pragma: bool,
    /// Length of the SQL text in bytes.
    sql_len: usize,
}

/// What one step produced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Step {
    Row,
    Done,
}

impl Statement {
    /// # Safety
    /// `raw` is a live statement that nobody else finalizes.
    pub(crate) unsafe fn from_raw(raw: NonNull<ffi::sqlite3_stmt>, author: Author, is_pragma: bool) -> Self {
        let mut this = Self { raw, author, is_pragma, sql_len: 0 };
        this.sql_len = this.sql_text().count_bytes();
        this
    }

    /// Runs to the next row or the end; the error is the extended result code.
    pub(crate) fn step(&mut self) -> Result<Step, i32> {
        // SAFETY: the statement is live, and used by one thread at a time (`&mut`).
        match unsafe { ffi::sqlite3_step(self.raw.as_ptr()) } {
            ffi::SQLITE_ROW => Ok(Step::Row),
            ffi::SQLITE_DONE => Ok(Step::Done),
            code => Err(code),
        }
    }

    /// Back to the start; bindings stay. The return code repeats the last step's error and is not interesting.
    pub(crate) fn reset(&mut self) {
        // SAFETY: as in `step`.
        unsafe { ffi::sqlite3_reset(self.raw.as_ptr()) };
    }

    pub(crate) fn clear_bindings(&mut self) {
        // SAFETY: as in `step`.
        unsafe { ffi::sqlite3_clear_bindings(self.raw.as_ptr()) };
    }

    /// Binds a copy of `value` to parameter `index` (from 1).
    pub(crate) fn bind(&mut self, index: usize, value: Value<'_>) -> Result<(), i32> {
        // SAFETY: SQLITE_TRANSIENT makes SQLite copy the bytes during the call.
        unsafe { self.bind_with(index, value, ffi::SQLITE_TRANSIENT()) }
    }

    /// Binds `value` without a copy.
    ///
    /// # Safety
    /// Its bytes must live until [`Statement::clear_bindings`] or the next binding of the same parameter.
    pub(crate) unsafe fn bind_borrowed(&mut self, index: usize, value: Value<'_>) -> Result<(), i32> {
        // SAFETY: the caller's promise.
        unsafe { self.bind_with(index, value, ffi::SQLITE_STATIC()) }
    }

    unsafe fn bind_with(
        &mut self,
        index: usize,
        value: Value<'_>,
        owner: ffi::sqlite3_destructor_type,
    ) -> Result<(), i32> {
        let (statement, index) = (self.raw.as_ptr(), index as c_int);
        // SAFETY: the statement is live; pointers and lengths describe the slices; `owner` says how long they live.
        let code = unsafe {
            match value {
                Value::Null => ffi::sqlite3_bind_null(statement, index),
                Value::Integer(value) => ffi::sqlite3_bind_int64(statement, index, value),
                Value::Real(value) => ffi::sqlite3_bind_double(statement, index, value),
                Value::Text(bytes) => ffi::sqlite3_bind_text64(
                    statement,
                    index,
                    bytes.as_ptr().cast(),
                    bytes.len() as u64,
                    owner,
                    ffi::SQLITE_UTF8 as u8,
                ),
                Value::Blob(bytes) => ffi::sqlite3_bind_blob64(
                    statement,
                    index,
                    bytes.as_ptr().cast(),
                    bytes.len() as u64,
                    owner,
                ),
            }
        };
        if code == ffi::SQLITE_OK { Ok(()) } else { Err(code) }
    }

    /// Number of parameters, which is the largest parameter index.
    pub(crate) fn parameters(&self) -> usize {
        // SAFETY: the statement is live.
        unsafe { ffi::sqlite3_bind_parameter_count(self.raw.as_ptr()) as usize }
    }

    /// True when the statement may run outside of a transaction: it does not change the database file and is no
    /// PRAGMA. Some of those last to the end of the transaction, others have to be without effect inside one.
    pub(crate) fn is_read_only(&self) -> bool {
        // SAFETY: the statement is live.
        !self.is_pragma && unsafe { ffi::sqlite3_stmt_readonly(self.raw.as_ptr()) != 0 }
    }

    /// Number of result columns. Only final after the first step: a schema change recompiles the statement.
    pub(crate) fn columns(&self) -> usize {
        // SAFETY: the statement is live.
        unsafe { ffi::sqlite3_column_count(self.raw.as_ptr()) as usize }
    }

    pub(crate) fn column_name(&self, index: usize) -> String {
        // SAFETY: the statement is live; a name is NUL-terminated, or null when memory is short.
        unsafe {
            let name = ffi::sqlite3_column_name(self.raw.as_ptr(), index as c_int);
            if name.is_null() { String::new() } else { CStr::from_ptr(name).to_string_lossy().into_owned() }
        }
    }

    /// The value of a column of the current row.
    pub(crate) fn column(&self, index: usize) -> Value<'_> {
        let (statement, index) = (self.raw.as_ptr(), index as c_int);
        // SAFETY: the statement is live and stands on a row; SQLite answers NULL for anything else. Its bytes stay
        // valid until the next step, reset or finalize, all of which need `&mut self`.
        unsafe {
            match ffi::sqlite3_column_type(statement, index) {
                ffi::SQLITE_INTEGER => Value::Integer(ffi::sqlite3_column_int64(statement, index)),
                ffi::SQLITE_FLOAT => Value::Real(ffi::sqlite3_column_double(statement, index)),
                ffi::SQLITE_TEXT => {
                    let text = ffi::sqlite3_column_text(statement, index);
                    Value::Text(bytes(text, ffi::sqlite3_column_bytes(statement, index)))
                }
                ffi::SQLITE_BLOB => {
                    let blob = ffi::sqlite3_column_blob(statement, index).cast();
                    Value::Blob(bytes(blob, ffi::sqlite3_column_bytes(statement, index)))
                }
                _ => Value::Null,
            }
        }
    }

    /// Steps of full table scans since the last call; resets the counter.
    pub(crate) fn take_scan_steps(&mut self) -> u64 {
        // SAFETY: the statement is live.
        unsafe { ffi::sqlite3_stmt_status(self.raw.as_ptr(), ffi::SQLITE_STMTSTATUS_FULLSCAN_STEP, 1) as u64 }
    }

    /// True when it was compiled from exactly this text for this author.
    pub(crate) fn is(&self, sql: &str, author: Author) -> bool {
        if self.author != author || self.sql_len != sql.len() {
            return false;
        }
        // SAFETY: the statement is live and owns its text, which has that length.
        unsafe { bytes(ffi::sqlite3_sql(self.raw.as_ptr()).cast(), self.sql_len as c_int) == sql.as_bytes() }
    }

    /// Length of the SQL text it was compiled from, in bytes.
    pub(crate) fn sql_len(&self) -> usize {
        self.sql_len
    }

    fn sql_text(&self) -> &CStr {
        // SAFETY: the statement is live and owns its NUL-terminated text.
        unsafe {
            let sql = ffi::sqlite3_sql(self.raw.as_ptr());
            if sql.is_null() { c"" } else { CStr::from_ptr(sql) }
        }
    }
}

/// # Safety
/// `data` is null or has `len` readable bytes that live for `'a`.
unsafe fn bytes<'a>(data: *const u8, len: c_int) -> &'a [u8] {
    if data.is_null() {
        return &[];
    }
    // SAFETY: the caller's promise.
    unsafe { std::slice::from_raw_parts(data, len as usize) }
}

impl Drop for Statement {
    fn drop(&mut self) {
        // SAFETY: the only finalize of this statement; its connection is still open.
        unsafe { ffi::sqlite3_finalize(self.raw.as_ptr()) };
    }
}
