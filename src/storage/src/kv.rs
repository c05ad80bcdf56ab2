//! The key-value API over the table `_cf_KV`, laid out as in workerd.
//!
//! Keys are ordered by their UTF-8 bytes. Values are opaque. Argument checks with a message of their own (key and value
//! sizes, batch sizes) are the caller's; see [`crate::MAX_KEY_BYTES`].
#![allow(unsafe_code)]

use std::ops::ControlFlow;

use crate::authorizer::Author;
use crate::cell::{CellDb, Open};
use crate::connection::Usual;
use crate::error::StorageError;
use crate::statement::{Statement, Step};
use crate::value::Value;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS _cf_KV (
        key TEXT PRIMARY KEY,
        value BLOB
      ) WITHOUT ROWID";
pub(crate) const GET: &str = "SELECT value FROM _cf_KV WHERE key = ?1";
pub(crate) const PUT: &str =
    "INSERT INTO _cf_KV VALUES(?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";
const DELETE: &str = "DELETE FROM _cf_KV WHERE key = ?1";

/// Whether the key-value table exists: it is created by the first write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum KvTable {
    Unknown,
    Absent,
    Present,
}

/// Which entries [`CellDb::kv_list`] visits. The default is all, ascending.
#[derive(Clone, Copy, Debug, Default)]
pub struct ListOptions<'a> {
    /// The first key, itself included.
    pub start: Option<&'a str>,
    /// The key before the first. With `start` given too, the later of both bounds holds.
    pub start_after: Option<&'a str>,
    /// The key behind the last.
    pub end: Option<&'a str>,
    /// Only keys that begin with this.
    pub prefix: Option<&'a str>,
    /// Descending. The bounds keep their meaning.
    pub reverse: bool,
    /// At most this many.
    pub limit: Option<u32>,
}

impl CellDb {
    /// Calls `read` with the value of `key`, or None. The bytes are SQLite's: no copy is made.
    pub fn kv_get<R>(&mut self, key: &str, read: impl FnOnce(Option<&[u8]>) -> R) -> Result<R, StorageError> {
        if !self.is_open() && self.is_empty() {
            return Ok(read(None));
        }
        let open = self.open()?;
        let _entered = open.enter_kv();
        if !open.kv_exists()? {
            return Ok(read(None));
        }
        let mut statement = open.connection.take_usual(Usual::KvGet)?;
        let stepped = bind_key(&mut statement, key).and_then(|()| statement.step());
        let result = match stepped {
            Ok(step) => Ok(read((step == Step::Row).then(|| bytes(statement.column(0))))),
            Err(code) => Err(open.failed(code)),
        };
        open.connection.keep_usual(Usual::KvGet, statement);
        result
    }

    /// Stores `value` under `key`.
    pub fn kv_put(&mut self, key: &str, value: &[u8]) -> Result<(), StorageError> {
        let open = self.open()?;
        let _entered = open.enter_kv();
        open.begin()?;
        if open.kv_table != KvTable::Present {
            open.run(CREATE)?;
            open.kv_table = KvTable::Present;
        }
        let mut statement = open.connection.take_usual(Usual::KvPut)?;
        let bound = bind_key(&mut statement, key).and_then(|()| {
            // SAFETY: `value` outlives the statement's use: `keep_usual` below clears the bindings.
            unsafe { statement.bind_borrowed(2, Value::Blob(value)) }
        });
        let stepped = bound.and_then(|()| statement.step());
        let result = stepped.map(drop).map_err(|code| open.failed(code));
        open.connection.keep_usual(Usual::KvPut, statement);
        if result.is_ok() {
            open.wrote();
        }
        result
    }

    /// Removes `key`; true when it existed.
    pub fn kv_delete(&mut self, key: &str) -> Result<bool, StorageError> {
        if !self.is_open() && self.is_empty() {
            return Ok(false);
        }
        let open = self.open()?;
        let _entered = open.enter_kv();
        if !open.kv_exists()? {
            return Ok(false);
        }
        open.begin()?;
        let before = open.connection.total_changes();
        open.with_key(DELETE, key, |_, _| ())?;
        open.wrote();
        Ok(open.connection.total_changes() != before)
    }

    /// Visits entries in order until there are no more or `visit` breaks.
    pub fn kv_list(
        &mut self,
        options: &ListOptions<'_>,
        mut visit: impl FnMut(&[u8], &[u8]) -> ControlFlow<()>,
    ) -> Result<(), StorageError> {
        if !self.is_open() && self.is_empty() {
            return Ok(());
        }
        let open = self.open()?;
        let _entered = open.enter_kv();
        if !open.kv_exists()? {
            return Ok(());
        }
        let range = Range::of(options);
        let mut statement = open.connection.prepare_cached(&range.sql(options.reverse))?;
        let mut bound = statement.bind(1, Value::Text(&range.from));
        if let Some(to) = &range.to {
            bound = bound.and_then(|()| statement.bind(2, Value::Text(to)));
        }
        let mut left = options.limit.unwrap_or(u32::MAX);
        let mut result = bound.map_err(|code| open.failed(code));
        while result.is_ok() && left > 0 {
            match statement.step() {
                Ok(Step::Done) => break,
                Ok(Step::Row) => {
                    left -= 1;
                    if visit(bytes(statement.column(0)), bytes(statement.column(1))).is_break() {
                        break;
                    }
                }
                Err(code) => result = Err(open.failed(code)),
            }
        }
        open.connection.recycle(statement);
        result
    }

    /// Removes all entries and keeps every other table; returns how many there were.
    pub fn kv_clear(&mut self) -> Result<u64, StorageError> {
        let open = self.open()?;
        let _entered = open.enter_kv();
        if !open.kv_exists()? {
            return Ok(0);
        }
        open.begin()?;
        let before = open.connection.total_changes();
        open.run("DELETE FROM _cf_KV")?;
        open.wrote();
        Ok((open.connection.total_changes() - before) as u64)
    }
}

impl Open {
    fn enter_kv(&self) -> crate::memory::Entered {
        self.connection.set_author(Author::Celld);
        self.connection.enter()
    }

    fn kv_exists(&mut self) -> Result<bool, StorageError> {
        if self.kv_table == KvTable::Unknown {
            self.kv_table = if self.table_exists("_cf_KV")? { KvTable::Present } else { KvTable::Absent };
        }
        Ok(self.kv_table == KvTable::Present)
    }

    /// Whether the database has a table of this name.
    pub(crate) fn table_exists(&mut self, name: &str) -> Result<bool, StorageError> {
        const FIND: &str = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = ?1";
        self.with_key(FIND, name, |_, step| step == Step::Row)
    }

    /// Runs a statement with one text parameter to its first row or its end.
    fn with_key<R>(
        &mut self,
        sql: &str,
        key: &str,
        done: impl FnOnce(&Statement, Step) -> R,
    ) -> Result<R, StorageError> {
        let mut statement = self.connection.prepare_cached(sql)?;
        let stepped = bind_key(&mut statement, key).and_then(|()| statement.step());
        let result = match stepped {
            Ok(step) => Ok(done(&statement, step)),
            Err(code) => Err(self.failed(code)),
        };
        self.connection.recycle(statement);
        result
    }
}

fn bind_key(statement: &mut Statement, key: &str) -> Result<(), i32> {
    // SAFETY: every user of a bound key passes the statement to `recycle` or `keep_usual`, which clear the bindings, before the key
    // goes away. A statement that these drop instead is not used any more.
    unsafe { statement.bind_borrowed(1, Value::Text(key.as_bytes())) }
}

fn bytes(value: Value<'_>) -> &[u8] {
    match value {
        Value::Text(bytes) | Value::Blob(bytes) => bytes,
        _ => &[],
    }
}

/// Bounds of a listing, as bytes that need not be valid UTF-8.
struct Range {
    from: Vec<u8>,
    from_included: bool,
    to: Option<Vec<u8>>,
}

impl Range {
    fn of(options: &ListOptions<'_>) -> Self {
        let start = options.start.unwrap_or("").as_bytes();
        let prefix = options.prefix.unwrap_or("").as_bytes();
        let mut range = Self { from: start.max(prefix).to_vec(), from_included: true, to: None };
        if let Some(after) = options.start_after.map(str::as_bytes)
            && after >= &range.from[..]
        {
            range.from = after.to_vec();
            range.from_included = false;
        }
        range.to = match (options.end.map(|end| end.as_bytes().to_vec()), behind(prefix)) {
            (Some(end), Some(limit)) => Some(end.min(limit)),
            (end, limit) => end.or(limit),
        };
        range
    }

    fn sql(&self, reverse: bool) -> String {
        format!(
            "SELECT key, value FROM _cf_KV WHERE key {} ?1{} ORDER BY key{}",
            if self.from_included { ">=" } else { ">" },
            if self.to.is_some() { " AND key < ?2" } else { "" },
            if reverse { " DESC" } else { "" },
        )
    }
}

/// The smallest byte string behind all that begin with `prefix`; None when there is no end.
fn behind(prefix: &[u8]) -> Option<Vec<u8>> {
    let last = prefix.iter().rposition(|byte| *byte != 0xff)?;
    let mut bound = prefix[..=last].to_vec();
    bound[last] += 1;
    Some(bound)
}
