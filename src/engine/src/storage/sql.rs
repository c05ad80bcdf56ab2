//! Ops of the SQL API.

use celld_storage::{CursorId, Row, RowCounts, Value};
use deno_core::{OpState, op2, v8};
use deno_error::JsErrorBox;

use super::table::CellTable;

/// A binding with bytes of its own.
enum Binding {
    Null,
    Real(f64),
    Text(String),
    Blob(Vec<u8>),
}

impl Binding {
    /// `js/storage/sql.js` has made a number, a string, a buffer or null of everything.
    fn of(scope: &mut v8::PinScope<'_, '_>, value: v8::Local<'_, v8::Value>) -> Self {
        if value.is_number() {
            return Self::Real(value.number_value(scope).unwrap_or(f64::NAN));
        }
        if value.is_string() {
            return Self::Text(value.to_rust_string_lossy(scope));
        }
        if let Ok(view) = v8::Local::<v8::ArrayBufferView>::try_from(value) {
            let mut bytes = vec![0; view.byte_length()];
            let copied = view.copy_contents(&mut bytes);
            bytes.truncate(copied);
            return Self::Blob(bytes);
        }
        Self::Null
    }

    fn value(&self) -> Value<'_> {
        match self {
            Self::Null => Value::Null,
            Self::Real(value) => Value::Real(*value),
            Self::Text(text) => Value::Text(text.as_bytes()),
            Self::Blob(bytes) => Value::Blob(bytes),
        }
    }
}

/// A value of SQL in JavaScript: integers are numbers, blobs are `ArrayBuffer`s.
fn to_js<'s>(scope: &mut v8::PinScope<'s, '_>, value: Value<'_>) -> v8::Local<'s, v8::Value> {
    match value {
        Value::Null => v8::null(scope).into(),
        Value::Integer(value) => match i32::try_from(value) {
            Ok(small) => v8::Integer::new(scope, small).into(),
            Err(_) => v8::Number::new(scope, value as f64).into(),
        },
        Value::Real(value) => v8::Number::new(scope, value).into(),
        Value::Text(bytes) => match v8::String::new_from_utf8(scope, bytes, v8::NewStringType::Normal) {
            Some(text) => text.into(),
            // Longer than V8's longest string; SQLite's limit on lengths is far below.
            None => v8::null(scope).into(),
        },
        Value::Blob(bytes) => {
            let store = v8::ArrayBuffer::new_backing_store_from_vec(bytes.to_vec()).make_shared();
            v8::ArrayBuffer::with_backing_store(scope, &store).into()
        }
    }
}

fn number<'s>(scope: &mut v8::PinScope<'s, '_>, value: u64) -> v8::Local<'s, v8::Value> {
    v8::Number::new(scope, value as f64).into()
}

/// Runs SQL. Returns `[cursor, rowsRead, rowsWritten, ...columns]`; cursor 0 means that there are no rows.
#[op2]
pub(super) fn op_storage_sql_exec<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    state: &mut OpState,
    #[smi] cell: u32,
    #[string] sql: &str,
    bindings: v8::Local<'s, v8::Array>,
) -> Result<v8::Local<'s, v8::Array>, JsErrorBox> {
    let mut owned = Vec::with_capacity(bindings.length() as usize);
    for index in 0..bindings.length() {
        let value = bindings.get_index(scope, index).unwrap_or_else(|| v8::null(scope).into());
        owned.push(Binding::of(scope, value));
    }
    let values: Vec<Value<'_>> = owned.iter().map(Binding::value).collect();
    let execution = state.borrow_mut::<CellTable>().with(cell, |db| db.exec(sql, &values))?;
    let mut result = Vec::with_capacity(execution.columns.len() + 3);
    result.push(number(scope, execution.cursor.map_or(0, |cursor| cursor.0).into()));
    result.push(number(scope, execution.counts.read));
    result.push(number(scope, execution.counts.written));
    for name in &execution.columns {
        let name = v8::String::new_from_utf8(scope, name.as_bytes(), v8::NewStringType::Internalized);
        result.push(name.ok_or_else(|| JsErrorBox::range_error("string too long"))?.into());
    }
    Ok(v8::Array::new_with_elements(scope, &result))
}

/// The cursor's next row, and behind it three numbers: whether more follow (0 or 1), rows read, rows written.
#[op2]
pub(super) fn op_storage_sql_next<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    state: &mut OpState,
    #[smi] cell: u32,
    #[smi] cursor: u32,
) -> Result<v8::Local<'s, v8::Array>, JsErrorBox> {
    let next = state.borrow_mut::<CellTable>().with(cell, |db| {
        db.next_row(CursorId(cursor), |row| {
            let mut values = Vec::with_capacity(row.len() + 3);
            values.extend((0..row.len()).map(|index| to_js(scope, row.get(index))));
            values
        })
    })?;
    let mut values = next.value;
    values.push(number(scope, next.more.into()));
    values.push(number(scope, next.counts.read));
    values.push(number(scope, next.counts.written));
    Ok(v8::Array::new_with_elements(scope, &values))
}

/// All rows that are left, and behind them two numbers: rows read, rows written. A row is an array, or with `columns` an
/// object.
#[op2]
pub(super) fn op_storage_sql_rest<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    state: &mut OpState,
    #[smi] cell: u32,
    #[smi] cursor: u32,
    columns: v8::Local<'s, v8::Value>,
) -> Result<v8::Local<'s, v8::Array>, JsErrorBox> {
    let table = state.borrow_mut::<CellTable>();
    let names = v8::Local::<v8::Array>::try_from(columns).ok().map(|columns| names(scope, columns));
    let rows = v8::Array::new(scope, 0);
    let mut count = 0;
    let mut counts = RowCounts::default();
    let mut more = true;
    while more {
        let next = table.with(cell, |db| {
            db.next_row(CursorId(cursor), |row| {
                // Handles of one row at a time: a result may have many.
                v8::scope!(let scope, &mut *scope);
                let row = to_js_row(scope, row, names.as_deref());
                rows.set_index(scope, count, row);
            })
        })?;
        count += 1;
        counts = next.counts;
        more = next.more;
    }
    for value in [counts.read, counts.written] {
        let value = number(scope, value);
        rows.set_index(scope, count, value);
        count += 1;
    }
    Ok(rows)
}

fn names<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    columns: v8::Local<'s, v8::Array>,
) -> Vec<v8::Local<'s, v8::Name>> {
    let empty = v8::String::empty(scope);
    (0..columns.length())
        .map(|index| {
            let name =
                columns.get_index(scope, index).and_then(|name| v8::Local::<v8::Name>::try_from(name).ok());
            name.unwrap_or(empty.into())
        })
        .collect()
}

fn to_js_row<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    row: &Row<'_>,
    names: Option<&[v8::Local<'_, v8::Name>]>,
) -> v8::Local<'s, v8::Value> {
    let Some(names) = names else {
        let values: Vec<_> = (0..row.len()).map(|index| to_js(scope, row.get(index))).collect();
        return v8::Array::new_with_elements(scope, &values).into();
    };
    let object = v8::Object::new(scope);
    for (index, name) in names.iter().enumerate() {
        let value = to_js(scope, row.get(index));
        // The last of several columns of one name wins, and `__proto__` is a column like any other.
        object.create_data_property(scope, *name, value);
    }
    object.into()
}

/// The size of the database in bytes.
#[op2(fast)]
#[number]
pub(super) fn op_storage_sql_size(state: &mut OpState, #[smi] cell: u32) -> Result<u64, JsErrorBox> {
    state.borrow_mut::<CellTable>().with(cell, |db| db.database_size())
}
