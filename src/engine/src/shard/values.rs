//! Small values on their way into JavaScript.

use deno_core::v8;

pub(super) fn call<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    function: &v8::Global<v8::Function>,
    args: &[v8::Local<'s, v8::Value>],
) -> Option<v8::Local<'s, v8::Value>> {
    let function = v8::Local::new(scope, function);
    let receiver = v8::undefined(scope).into();
    function.call(scope, receiver, args)
}

pub(super) fn integer<'s>(scope: &mut v8::PinScope<'s, '_>, value: u32) -> v8::Local<'s, v8::Value> {
    v8::Integer::new_from_unsigned(scope, value).into()
}

pub(super) fn boolean<'s>(scope: &mut v8::PinScope<'s, '_>, value: bool) -> v8::Local<'s, v8::Value> {
    v8::Boolean::new(scope, value).into()
}

pub(super) fn text<'s>(scope: &mut v8::PinScope<'s, '_>, value: &str) -> v8::Local<'s, v8::Value> {
    let made = if value.is_ascii() {
        v8::String::new_from_one_byte(scope, value.as_bytes(), v8::NewStringType::Normal)
    } else {
        v8::String::new(scope, value)
    };
    // Only a string longer than V8's limit (512 MiB) fails.
    made.unwrap_or_else(|| v8::String::empty(scope)).into()
}

pub(super) fn optional<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    value: Option<&str>,
) -> v8::Local<'s, v8::Value> {
    match value {
        Some(value) => text(scope, value),
        None => v8::undefined(scope).into(),
    }
}

/// A `Uint8Array` of its own memory.
pub(super) fn buffer<'s>(scope: &mut v8::PinScope<'s, '_>, bytes: Vec<u8>) -> v8::Local<'s, v8::Value> {
    let store = v8::ArrayBuffer::new_backing_store_from_vec(bytes).make_shared();
    let buffer = v8::ArrayBuffer::with_backing_store(scope, &store);
    let length = buffer.byte_length();
    match v8::Uint8Array::new(scope, buffer, 0, length) {
        Some(bytes) => bytes.into(),
        None => v8::undefined(scope).into(),
    }
}
