//! SQL of a Worker: several statements in one text, bindings, lazy cursors.

use std::collections::{HashMap, VecDeque};

use crate::authorizer::Author;
use crate::cell::{CellDb, Open};
use crate::connection::Connection;
use crate::error::StorageError;
use crate::statement::{Statement, Step};
use crate::value::{OwnedValue, Value};

/// A cursor of one cell; unique for the life of the [`CellDb`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct CursorId(pub u32);

/// Rows an execution has touched so far.
///
/// An estimate where SQLite keeps no count: rows read are at least the rows returned and the steps of full scans;
/// rows written are rows of tables, without their index entries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RowCounts {
    /// Rows read.
    pub read: u64,
    /// Rows written.
    pub written: u64,
}

/// What [`CellDb::exec`] left behind.
#[derive(Debug)]
pub struct Execution {
    /// Where the rows of the last statement come from; None when it has none.
    pub cursor: Option<CursorId>,
    /// Names of the last statement's columns.
    pub columns: Vec<String>,
    /// Rows touched by the first step.
    pub counts: RowCounts,
}

/// What [`CellDb::next_row`] gives.
#[derive(Debug)]
pub struct NextRow<R> {
    /// What the callback made of the row.
    pub value: R,
    /// Whether another row follows; if not, the cursor has ended.
    pub more: bool,
    /// Rows touched so far.
    pub counts: RowCounts,
}

/// One row, readable until the cursor moves.
pub struct Row<'a>(Source<'a>);

enum Source<'a> {
    Statement(&'a Statement, usize),
    Owned(&'a [OwnedValue]),
}

impl Row<'_> {
    /// Number of columns.
    pub fn len(&self) -> usize {
        match self.0 {
            Source::Statement(_, columns) => columns,
            Source::Owned(values) => values.len(),
        }
    }

    /// True for a row without columns.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of column `index`, which counts from 0; NULL beyond the last.
    pub fn get(&self, index: usize) -> Value<'_> {
        match self.0 {
            Source::Statement(statement, columns) if index < columns => statement.column(index),
            Source::Statement(..) => Value::Null,
            Source::Owned(values) => values.get(index).map_or(Value::Null, OwnedValue::borrow),
        }
    }
}

/// Open cursors of one connection.
#[derive(Default)]
pub(crate) struct Cursors(HashMap<u32, Cursor>);

struct Cursor {
    rows: Rows,
    counts: RowCounts,
}

/// Rows not handed out yet; there is always at least one.
enum Rows {
    /// The statement stands on the next row.
    Lazy(Statement, usize),
    /// Results of a statement that writes (`RETURNING`): it ran to its end, so that it cannot be open at the commit.
    Buffered(VecDeque<Box<[OwnedValue]>>),
}

impl Cursors {
    /// Ends all cursors.
    pub(crate) fn clear(&mut self, connection: &mut Connection) {
        let _entered = connection.enter();
        self.0.clear();
    }
}

impl CellDb {
    /// Runs the statements of `sql`. All but the last run to their end and their rows are dropped; the last is stepped
    /// to its first row. Only the last may have parameters, and `bindings` must be exactly as many.
    ///
    /// As in workerd, a failure leaves the effects of the statements before it in place.
    pub fn exec(&mut self, sql: &str, bindings: &[Value<'_>]) -> Result<Execution, StorageError> {
        let (open, next_cursor) = self.open_for_cursor()?;
        let _entered = open.connection.enter();
        open.connection.set_author(Author::User);
        let mut sql = sql;
        let mut statement = match open.connection.take_cached(sql) {
            Some(statement) => statement,
            None => loop {
                // SQLite would count offsets of errors from the white space.
                sql = sql.trim_start_matches(WHITE_SPACE);
                let (statement, rest) = open.connection.prepare(sql)?;
                let Some(statement) = statement else {
                    return Err(StorageError::usage("SQL code did not contain a statement."));
                };
                sql = rest.trim_start_matches(WHITE_SPACE);
                if sql.is_empty() {
                    break statement;
                }
                if statement.parameters() > 0 {
                    return Err(StorageError::usage(
                        "When executing multiple SQL statements in a single call, only the last statement can have \
                         parameters.",
                    ));
                }
                open.run_to_end(statement)?;
            },
        };
        if statement.parameters() != bindings.len() {
            open.connection.recycle(statement);
            return Err(StorageError::usage("Wrong number of parameter bindings for SQL query."));
        }
        for (index, value) in bindings.iter().enumerate() {
            if let Err(code) = statement.bind(index + 1, *value) {
                let error = open.connection.error(code);
                open.connection.recycle(statement);
                return Err(error);
            }
        }
        let (columns, cursor, counts) =
            if statement.is_read_only() { open.start(statement)? } else { open.run_write(statement)? };
        let cursor = cursor.map(|cursor| {
            let id = *next_cursor;
            *next_cursor = next_cursor.wrapping_add(1).max(1);
            open.cursors.0.insert(id, cursor);
            CursorId(id)
        });
        Ok(Execution { cursor, columns, counts })
    }

    /// Hands the cursor's current row to `read` and moves on to the next. Ends with None; a cursor that has ended, or
    /// whose connection has closed, is [`StorageError::CursorClosed`].
    pub fn next_row<R>(
        &mut self,
        id: CursorId,
        read: impl FnOnce(&Row<'_>) -> R,
    ) -> Result<NextRow<R>, StorageError> {
        let Some(open) = self.opened() else { return Err(StorageError::CursorClosed) };
        let Some(mut cursor) = open.cursors.0.remove(&id.0) else { return Err(StorageError::CursorClosed) };
        let _entered = open.connection.enter();
        open.connection.set_author(Author::User);
        let (value, more) = match &mut cursor.rows {
            Rows::Buffered(rows) => {
                let row = rows.pop_front().unwrap_or_default();
                (read(&Row(Source::Owned(&row))), !rows.is_empty())
            }
            Rows::Lazy(statement, columns) => {
                let value = read(&Row(Source::Statement(statement, *columns)));
                match statement.step() {
                    Ok(step) => {
                        cursor.counts.read += u64::from(step == Step::Row);
                        (value, step == Step::Row)
                    }
                    Err(code) => return Err(open.failed(code)),
                }
            }
        };
        let mut counts = cursor.counts;
        if more {
            open.cursors.0.insert(id.0, cursor);
        } else if let Rows::Lazy(mut statement, _) = cursor.rows {
            counts.read = counts.read.max(statement.take_scan_steps());
            open.connection.recycle(statement);
        }
        Ok(NextRow { value, more, counts })
    }

    /// Ends a cursor early; one that has ended already is no error.
    pub fn close_cursor(&mut self, id: CursorId) {
        let Some(open) = self.opened() else { return };
        let _entered = open.connection.enter();
        if let Some(Cursor { rows: Rows::Lazy(statement, _), .. }) = open.cursors.0.remove(&id.0) {
            open.connection.recycle(statement);
        }
    }

    /// Number of cursors that hold a statement open.
    pub fn open_cursors(&self) -> usize {
        self.opened_ref().map_or(0, |open| open.cursors.0.len())
    }
}

/// What SQLite takes for white space.
const WHITE_SPACE: &[char] = &[' ', '\t', '\n', '\u{c}', '\r'];

type Started = (Vec<String>, Option<Cursor>, RowCounts);

impl Open {
    /// Steps a reading statement to its first row.
    fn start(&mut self, mut statement: Statement) -> Result<Started, StorageError> {
        let step = match statement.step() {
            Ok(step) => step,
            Err(code) => {
                let error = self.failed(code);
                self.connection.recycle(statement);
                return Err(error);
            }
        };
        let columns = names(&statement);
        if step == Step::Row {
            let counts = RowCounts { read: 1, written: 0 };
            let count = columns.len();
            return Ok((columns, Some(Cursor { rows: Rows::Lazy(statement, count), counts }), counts));
        }
        let counts = RowCounts { read: statement.take_scan_steps(), written: 0 };
        self.connection.recycle(statement);
        Ok((columns, None, counts))
    }

    /// Runs a writing statement to its end inside the turn's transaction, and keeps its rows.
    fn run_write(&mut self, mut statement: Statement) -> Result<Started, StorageError> {
        if let Err(error) = self.begin() {
            self.connection.recycle(statement);
            return Err(error);
        }
        self.connection.set_author(Author::User);
        let before = self.connection.total_changes();
        let mut rows = VecDeque::new();
        loop {
            match statement.step() {
                Ok(Step::Row) => {
                    let row = (0..statement.columns()).map(|index| statement.column(index).into()).collect();
                    rows.push_back(row);
                }
                Ok(Step::Done) => break,
                Err(code) => {
                    let error = self.failed(code);
                    self.connection.recycle(statement);
                    return Err(error);
                }
            }
        }
        self.wrote();
        let columns = names(&statement);
        let counts = RowCounts {
            read: statement.take_scan_steps(),
            written: (self.connection.total_changes() - before).max(0) as u64,
        };
        self.connection.recycle(statement);
        let cursor = if rows.is_empty() { None } else { Some(Cursor { rows: Rows::Buffered(rows), counts }) };
        Ok((columns, cursor, counts))
    }

    /// Runs a statement whose rows nobody wants.
    fn run_to_end(&mut self, mut statement: Statement) -> Result<(), StorageError> {
        if !statement.is_read_only() {
            return self.run_write(statement).map(drop);
        }
        loop {
            match statement.step() {
                Ok(Step::Row) => {}
                Ok(Step::Done) => break,
                Err(code) => {
                    let error = self.failed(code);
                    self.connection.recycle(statement);
                    return Err(error);
                }
            }
        }
        self.connection.recycle(statement);
        Ok(())
    }
}

fn names(statement: &Statement) -> Vec<String> {
    (0..statement.columns()).map(|index| statement.column_name(index)).collect()
}
