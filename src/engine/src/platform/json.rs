//! Whether what a JSON text describes fits into a Worker's memory.

use std::sync::Arc;

use deno_core::{OpState, op2, v8};

use super::guard::IsolateGuard;

/// The least that V8 needs for an object or an array, in bytes: its map, its properties and its elements.
const SMALLEST: usize = 24;

/// False, and the code that runs is ended for the sake of memory, if the objects and arrays of `text` alone are more than the isolate may
/// use.
#[op2(nofast)]
pub(super) fn op_celld_json_fits(
    scope: &mut v8::PinScope<'_, '_>,
    state: &OpState,
    text: v8::Local<'_, v8::String>,
) -> bool {
    let guard = state.borrow::<Arc<IsolateGuard>>();
    let objects = match v8::ValueView::new(scope, text).data() {
        v8::ValueViewData::OneByte(text) => objects(text.iter().copied()),
        v8::ValueViewData::TwoByte(text) => objects(text.iter().map(|unit| u8::try_from(*unit).unwrap_or(0))),
    };
    let fits = objects.saturating_mul(SMALLEST) <= guard.limit();
    if !fits {
        guard.exceed_now();
    }
    fits
}

/// How many objects and arrays a JSON text has.
fn objects(text: impl Iterator<Item = u8>) -> usize {
    let mut count = 0;
    let (mut is_string, mut is_escaped) = (false, false);
    for byte in text {
        match byte {
            _ if is_escaped => is_escaped = false,
            b'\\' => is_escaped = is_string,
            b'"' => is_string = !is_string,
            b'{' | b'[' if !is_string => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::objects;

    #[test]
    fn brackets_in_strings_are_no_objects() {
        for (text, count) in [("", 0), ("[{},[]]", 3), (r#"{"a{[":"\"{","b":[1]}"#, 2), (r#""\\",{"#, 1)] {
            assert_eq!(objects(text.bytes()), count, "{text}");
        }
    }
}
