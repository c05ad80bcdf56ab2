//! What the runtime itself remembers about a cell, in the table `_cf_METADATA` (as in workerd): the alarm, and where to take the cell back to.

use crate::authorizer::Author;
use crate::cell::{CellDb, Open};
use crate::error::StorageError;
use crate::statement::Step;
use crate::value::Value;

const CREATE: &str = "CREATE TABLE IF NOT EXISTS _cf_METADATA (
        key INTEGER PRIMARY KEY,
        value BLOB
      )";
const GET: &str = "SELECT value FROM _cf_METADATA WHERE key = ?1";
const PUT: &str = "INSERT INTO _cf_METADATA VALUES(?1, ?2) ON CONFLICT DO UPDATE SET value = excluded.value";

/// The row of the alarm; its value is the time in nanoseconds since the Unix epoch, or NULL.
const ALARM: i64 = 1;
const NANOS_PER_MS: i64 = 1_000_000;

/// The row of the bookmark that the cell is to be taken back to; its value is text, or NULL.
const REWIND: i64 = 2;

/// The row of what happened to the alarm's handler; its value is text, the alarm's time in milliseconds and how often the handler has
/// failed, with a space between them. It says nothing of an alarm with another time.
const FAILURES: i64 = 3;

impl CellDb {
    /// The time of the alarm, in milliseconds since the Unix epoch.
    pub fn get_alarm(&mut self) -> Result<Option<i64>, StorageError> {
        if !self.is_open() && self.is_empty() {
            return Ok(None);
        }
        self.open()?.metadata(ALARM, |value| match value {
            Value::Integer(nanos) => Some(nanos.div_euclid(NANOS_PER_MS)),
            _ => None,
        })
    }

    /// Sets the alarm to a time in milliseconds since the Unix epoch (before the year 2262), or removes it.
    pub fn set_alarm(&mut self, time_ms: Option<i64>) -> Result<(), StorageError> {
        if time_ms.is_none() && self.get_alarm()?.is_none() {
            return Ok(());
        }
        let nanos = time_ms.map(|ms| ms.saturating_mul(NANOS_PER_MS));
        self.open()?.set_metadata(ALARM, nanos.map_or(Value::Null, Value::Integer))
    }

    /// How often the handler of the alarm at `time_ms` has failed, as far as [`set_alarm_failures`](Self::set_alarm_failures) was told.
    pub fn alarm_failures(&mut self, time_ms: i64) -> Result<u32, StorageError> {
        let failures = self.open()?.metadata(FAILURES, |value| match value {
            Value::Text(text) => {
                let (time, failures) = std::str::from_utf8(text).ok()?.split_once(' ')?;
                let is_this = time.parse() == Ok(time_ms);
                failures.parse().ok().filter(|_| is_this)
            }
            _ => None,
        })?;
        Ok(failures.unwrap_or(0))
    }

    /// Remembers that the handler of the alarm at `time_ms` has failed `failures` times.
    pub fn set_alarm_failures(&mut self, time_ms: i64, failures: u32) -> Result<(), StorageError> {
        self.open()?.set_metadata(FAILURES, Value::Text(format!("{time_ms} {failures}").as_bytes()))
    }
}

impl Open {
    pub(crate) fn rewind_request(&mut self) -> Result<Option<String>, StorageError> {
        self.metadata(REWIND, |value| match value {
            Value::Text(bookmark) => Some(String::from_utf8_lossy(bookmark).into_owned()),
            _ => None,
        })
    }

    pub(crate) fn set_rewind_request(&mut self, bookmark: Option<&str>) -> Result<(), StorageError> {
        self.set_metadata(REWIND, bookmark.map_or(Value::Null, |text| Value::Text(text.as_bytes())))
    }

    fn metadata<T>(
        &mut self,
        key: i64,
        read: impl FnOnce(Value<'_>) -> Option<T>,
    ) -> Result<Option<T>, StorageError> {
        let _entered = self.connection.enter();
        self.connection.set_author(Author::Celld);
        if !self.table_exists("_cf_METADATA")? {
            return Ok(None);
        }
        let mut statement = self.connection.prepare_cached(GET)?;
        let stepped = statement.bind(1, Value::Integer(key)).and_then(|()| statement.step());
        let result = match stepped {
            Ok(Step::Row) => Ok(read(statement.column(0))),
            Ok(Step::Done) => Ok(None),
            Err(code) => Err(self.failed(code)),
        };
        self.connection.recycle(statement);
        result
    }

    fn set_metadata(&mut self, key: i64, value: Value<'_>) -> Result<(), StorageError> {
        let _entered = self.connection.enter();
        self.connection.set_author(Author::Celld);
        self.begin()?;
        self.run(CREATE)?;
        let mut statement = self.connection.prepare_cached(PUT)?;
        let stepped = statement
            .bind(1, Value::Integer(key))
            .and_then(|()| statement.bind(2, value))
            .and_then(|()| statement.step());
        let result = stepped.map(drop).map_err(|code| self.failed(code));
        self.connection.recycle(statement);
        if result.is_ok() {
            self.wrote();
        }
        result
    }
}
