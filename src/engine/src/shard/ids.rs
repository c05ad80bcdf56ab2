//! Durable Object IDs, made as workerd makes them: 16 bytes that are random or derived from a name, then 16 bytes of a keyed hash
//! over them, so that an ID of one namespace is not taken for an ID of another.

use std::cell::RefCell;

use deno_core::op2;
use deno_error::JsErrorBox;
use hmac::{Hmac, Mac};
use sha2::{Digest, Sha256};

/// Bytes of each half.
const HALF: usize = 16;

/// The keyed hash of one namespace.
#[derive(Clone)]
struct Key(Option<Hmac<Sha256>>);

thread_local! {
    /// The class that was asked for last, and its key: many IDs of one class come in a row.
    static LAST: RefCell<(String, Key)> = const { RefCell::new((String::new(), Key(None))) };
}

impl Key {
    fn of(class: &str) -> Key {
        LAST.with_borrow_mut(|(last, key)| {
            if key.0.is_none() || last != class {
                // HMAC takes a key of any length.
                *key = Key(<Hmac<Sha256> as Mac>::new_from_slice(&Sha256::digest(class.as_bytes())).ok());
                class.clone_into(last);
            }
            key.clone()
        })
    }

    fn hash(&self, data: &[u8]) -> [u8; HALF] {
        let mut half = [0; HALF];
        if let Some(mut mac) = self.0.clone() {
            mac.update(data);
            half.copy_from_slice(&mac.finalize().into_bytes()[..HALF]);
        }
        half
    }
}

fn complete(key: &Key, base: [u8; HALF]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digit = |value: u8| char::from(DIGITS[usize::from(value)]);
    let mut id = String::with_capacity(4 * HALF);
    for byte in base.iter().chain(&key.hash(&base)) {
        id.push(digit(byte >> 4));
        id.push(digit(byte & 15));
    }
    id
}

/// The ID that `name` stands for in the namespace of `class`.
pub fn from_name(class: &str, name: &str) -> String {
    let key = Key::of(class);
    complete(&key, key.hash(name.as_bytes()))
}

/// `true` when `id` is 64 hexadecimal digits that the namespace of `class` can have made.
pub fn belongs(class: &str, id: &str) -> bool {
    if id.len() != 4 * HALF || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return false;
    }
    let mut base = [0; HALF];
    for (i, byte) in base.iter_mut().enumerate() {
        match u8::from_str_radix(&id[2 * i..2 * i + 2], 16) {
            Ok(value) => *byte = value,
            Err(_) => return false,
        }
    }
    complete(&Key::of(class), base).eq_ignore_ascii_case(id)
}

#[op2]
#[string]
pub(crate) fn op_cell_id_from_name(#[string] class: &str, #[string] name: &str) -> String {
    from_name(class, name)
}

#[op2]
#[string]
pub(crate) fn op_cell_id_unique(#[string] class: &str) -> Result<String, JsErrorBox> {
    let mut base = [0; HALF];
    getrandom::fill(&mut base).map_err(|e| JsErrorBox::generic(format!("no randomness: {e}")))?;
    Ok(complete(&Key::of(class), base))
}

#[op2]
#[string]
pub(crate) fn op_cell_id_from_string(
    #[string] class: &str,
    #[string] id: &str,
) -> Result<String, JsErrorBox> {
    if id.len() != 4 * HALF || !id.bytes().all(|b| b.is_ascii_hexdigit()) {
        return Err(JsErrorBox::type_error("Invalid Durable Object ID: must be 64 hex digits"));
    }
    if !belongs(class, id) {
        return Err(JsErrorBox::type_error("Durable Object ID is not valid for this namespace."));
    }
    Ok(id.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_gives_the_same_id_always_and_another_in_another_namespace() {
        let id = from_name("Counter", "a");
        assert_eq!(id.len(), 64);
        assert_eq!(id, from_name("Counter", "a"));
        assert_ne!(id, from_name("Counter", "b"));
        assert_ne!(id, from_name("Room", "a"));
        assert!(belongs("Counter", &id) && belongs("Counter", &id.to_uppercase()));
        assert!(!belongs("Room", &id));
    }

    #[test]
    fn text_that_is_no_id_is_refused() {
        for bad in ["", "00", &"g".repeat(64), &"0".repeat(64), &"é".repeat(32)] {
            assert!(!belongs("Counter", bad), "{bad}");
        }
    }
}
