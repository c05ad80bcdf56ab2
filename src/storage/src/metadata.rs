//! What the runtime itself remembers about a cell, in the table `_cf_METADATA` (as in workerd): the alarm.

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

impl CellDb {
    /// The time of the alarm, in milliseconds since the Unix epoch.
    pub fn get_alarm(&mut self) -> Result<Option<i64>, StorageError> {
        if !self.is_open() && self.is_empty() {
            return Ok(None);
        }
        Ok(self.open()?.metadata(ALARM)?.map(|nanos| nanos.div_euclid(NANOS_PER_MS)))
    }

    /// Sets the alarm to a time in milliseconds since the Unix epoch (before the year 2262), or removes it.
    pub fn set_alarm(&mut self, time_ms: Option<i64>) -> Result<(), StorageError> {
        if time_ms.is_none() && self.get_alarm()?.is_none() {
            return Ok(());
        }
        let nanos = time_ms.map(|ms| ms.saturating_mul(NANOS_PER_MS));
        self.open()?.set_metadata(ALARM, nanos)
    }
}

impl Open {
    fn metadata(&mut self, key: i64) -> Result<Option<i64>, StorageError> {
        let _entered = self.connection.enter();
        self.connection.set_author(Author::Celld);
        if !self.table_exists("_cf_METADATA")? {
            return Ok(None);
        }
        let mut statement = self.connection.prepare_cached(GET)?;
        let stepped = statement.bind(1, Value::Integer(key)).and_then(|()| statement.step());
        let result = match stepped {
            Ok(Step::Row) => Ok(match statement.column(0) {
                Value::Integer(value) => Some(value),
                _ => None,
            }),
            Ok(Step::Done) => Ok(None),
            Err(code) => Err(self.failed(code)),
        };
        self.connection.recycle(statement);
        result
    }

    fn set_metadata(&mut self, key: i64, value: Option<i64>) -> Result<(), StorageError> {
        let _entered = self.connection.enter();
        self.connection.set_author(Author::Celld);
        self.begin()?;
        self.run(CREATE)?;
        let mut statement = self.connection.prepare_cached(PUT)?;
        let stepped = statement
            .bind(1, Value::Integer(key))
            .and_then(|()| statement.bind(2, value.map_or(Value::Null, Value::Integer)))
            .and_then(|()| statement.step());
        let result = stepped.map(drop).map_err(|code| self.failed(code));
        self.connection.recycle(statement);
        if result.is_ok() {
            self.wrote();
        }
        result
    }
}
