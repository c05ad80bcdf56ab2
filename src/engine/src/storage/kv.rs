//! Ops of the key-value API.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::rc::Rc;

use celld_storage::{ListOptions, MAX_BATCH_KEYS, MAX_KEY_BYTES, MAX_VALUE_BYTES};
use deno_core::{OpState, op2, v8};
use deno_error::JsErrorBox;

use super::clone::{Serialized, deserialize, serialize};
use super::table::CellTable;

/// What the platform's limit on values leaves for the header of the serialized form.
const HEADER_SLACK: usize = 34;

fn check_key(key: &str) -> Result<(), JsErrorBox> {
    if key.len() <= MAX_KEY_BYTES {
        return Ok(());
    }
    Err(JsErrorBox::range_error(format!(
        "Keys cannot be larger than {MAX_KEY_BYTES} bytes. A key of size {} was provided.",
        key.len()
    )))
}

fn check_value(value: &[u8]) -> Result<(), JsErrorBox> {
    if value.len() <= MAX_VALUE_BYTES + HEADER_SLACK {
        return Ok(());
    }
    Err(JsErrorBox::range_error(format!(
        "Values cannot be larger than {MAX_VALUE_BYTES} bytes. A value of size {} was provided.",
        value.len()
    )))
}

fn check_batch(count: usize, what: &str) -> Result<(), JsErrorBox> {
    if count <= MAX_BATCH_KEYS {
        return Ok(());
    }
    Err(JsErrorBox::range_error(format!("Maximum number of {what} is {MAX_BATCH_KEYS}.")))
}

fn string<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    bytes: &[u8],
) -> Result<v8::Local<'s, v8::Value>, JsErrorBox> {
    v8::String::new_from_utf8(scope, bytes, v8::NewStringType::Normal)
        .map(Into::into)
        .ok_or_else(|| JsErrorBox::range_error("string too long"))
}

/// The value of `key`, or undefined.
#[op2]
pub(super) fn op_storage_kv_get<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    state: &mut OpState,
    #[smi] cell: u32,
    #[string] key: &str,
) -> Result<v8::Local<'s, v8::Value>, JsErrorBox> {
    check_key(key)?;
    let table = state.borrow_mut::<CellTable>();
    table.read(cell, |db| {
        db.kv_get(key, |bytes| match bytes {
            Some(bytes) => deserialize(scope, bytes),
            None => Ok(v8::undefined(scope).into()),
        })
    })?
}

/// Keys and values in turn, of those of `keys` that exist, in the order of keys.
#[op2]
pub(super) fn op_storage_kv_get_many<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    state: &mut OpState,
    #[smi] cell: u32,
    #[serde] keys: Vec<String>,
) -> Result<v8::Local<'s, v8::Array>, JsErrorBox> {
    let mut keys = keys;
    check_batch(keys.len(), "keys")?;
    keys.iter().try_for_each(|key| check_key(key))?;
    keys.sort_unstable();
    keys.dedup();
    let table = state.borrow_mut::<CellTable>();
    let mut found = Vec::with_capacity(keys.len() * 2);
    for key in &keys {
        let value = table.read(cell, |db| {
            db.kv_get(key, |bytes| bytes.map(|bytes| deserialize(scope, bytes)).transpose())
        })??;
        if let Some(value) = value {
            found.push(string(scope, key.as_bytes())?);
            found.push(value);
        }
    }
    Ok(v8::Array::new_with_elements(scope, &found))
}

/// Stores a value.
#[op2(fast, reentrant)]
pub(super) fn op_storage_kv_put<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    state: Rc<RefCell<OpState>>,
    #[smi] cell: u32,
    #[string] key: &str,
    value: v8::Local<'s, v8::Value>,
    unconfirmed: bool,
) -> Result<(), JsErrorBox> {
    check_key(key)?;
    let Serialized::Bytes(bytes) = serialize(scope, value)? else { return Ok(()) };
    check_value(&bytes)?;
    let mut state = state.borrow_mut();
    let table = state.borrow_mut::<CellTable>();
    table.allow_unconfirmed(cell, unconfirmed);
    table.with(cell, |db| db.kv_put(key, &bytes))
}

/// Stores all own enumerable properties of `entries` whose value is not undefined. Nothing is stored when one of them
/// cannot be.
#[op2(fast, reentrant)]
pub(super) fn op_storage_kv_put_many<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    state: Rc<RefCell<OpState>>,
    #[smi] cell: u32,
    entries: v8::Local<'s, v8::Object>,
    unconfirmed: bool,
) -> Result<(), JsErrorBox> {
    let names = entries.get_own_property_names(scope, v8::GetPropertyNamesArgs::default());
    // None when a proxy's trap threw; its exception is pending.
    let Some(names) = names else { return Ok(()) };
    check_batch(names.length() as usize, "pairs")?;
    let mut serialized = Vec::with_capacity(names.length() as usize);
    for index in 0..names.length() {
        let Some(name) = names.get_index(scope, index) else { return Ok(()) };
        let Some(value) = entries.get(scope, name) else { return Ok(()) };
        if value.is_undefined() {
            continue;
        }
        let key = name.to_rust_string_lossy(scope);
        check_key(&key)?;
        let Serialized::Bytes(bytes) = serialize(scope, value)? else { return Ok(()) };
        check_value(&bytes)?;
        serialized.push((key, bytes));
    }
    if serialized.is_empty() {
        return Ok(());
    }
    let mut state = state.borrow_mut();
    let table = state.borrow_mut::<CellTable>();
    table.allow_unconfirmed(cell, unconfirmed);
    table.with(cell, |db| {
        let savepoint = db.savepoint()?;
        let written = serialized.iter().try_for_each(|(key, bytes)| db.kv_put(key, bytes));
        match written {
            Ok(()) => db.release(savepoint),
            Err(error) => {
                db.rollback_to(savepoint)?;
                Err(error)
            }
        }
    })
}

/// Removes `key`; true when it existed.
#[op2(fast)]
pub(super) fn op_storage_kv_delete(
    state: &mut OpState,
    #[smi] cell: u32,
    #[string] key: &str,
    unconfirmed: bool,
) -> Result<bool, JsErrorBox> {
    check_key(key)?;
    let table = state.borrow_mut::<CellTable>();
    table.allow_unconfirmed(cell, unconfirmed);
    table.with(cell, |db| db.kv_delete(key))
}

/// Removes `keys`; the number of those that existed.
#[op2]
#[smi]
pub(super) fn op_storage_kv_delete_many(
    state: &mut OpState,
    #[smi] cell: u32,
    #[serde] keys: Vec<String>,
) -> Result<u32, JsErrorBox> {
    check_batch(keys.len(), "keys")?;
    keys.iter().try_for_each(|key| check_key(key))?;
    state.borrow_mut::<CellTable>().with(cell, |db| {
        let mut removed = 0;
        for key in &keys {
            removed += u32::from(db.kv_delete(key)?);
        }
        Ok(removed)
    })
}

/// Bounds of a listing, as `js/storage/arguments.js` makes them.
#[derive(serde::Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct ListBounds {
    start: Option<String>,
    start_after: Option<String>,
    end: Option<String>,
    prefix: Option<String>,
    reverse: bool,
    limit: Option<u32>,
}

/// Keys and values in turn.
#[op2]
pub(super) fn op_storage_kv_list<'s, 'i>(
    scope: &mut v8::PinScope<'s, 'i>,
    state: &mut OpState,
    #[smi] cell: u32,
    #[serde] bounds: ListBounds,
) -> Result<v8::Local<'s, v8::Array>, JsErrorBox> {
    let options = ListOptions {
        start: bounds.start.as_deref(),
        start_after: bounds.start_after.as_deref(),
        end: bounds.end.as_deref(),
        prefix: bounds.prefix.as_deref(),
        reverse: bounds.reverse,
        limit: bounds.limit,
    };
    let mut found = Vec::new();
    let mut failure = None;
    state.borrow_mut::<CellTable>().read(cell, |db| {
        db.kv_list(&options, |key, bytes| {
            match string(scope, key).and_then(|key| Ok((key, deserialize(scope, bytes)?))) {
                Ok((key, value)) => {
                    found.extend([key, value]);
                    ControlFlow::Continue(())
                }
                Err(error) => {
                    failure = Some(error);
                    ControlFlow::Break(())
                }
            }
        })
    })?;
    match failure {
        Some(error) => Err(error),
        None => Ok(v8::Array::new_with_elements(scope, &found)),
    }
}
