//! Ops of `js/web/cache.js`. Header lists are `name NUL value NUL …`.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use deno_core::{OpState, ToJsBuffer, op2};
use serde::Serialize;

use super::Fields;
use super::range;
use super::store::{CacheStore, Stored};

/// A list of fields from its text, one character a byte.
fn decode(text: &[u8]) -> Fields {
    let mut parts =
        text.split(|byte| *byte == 0).map(|part| part.iter().copied().map(char::from).collect::<String>());
    let mut fields = Fields::new();
    while let (Some(name), Some(value)) = (parts.next(), parts.next()) {
        fields.push((name.to_ascii_lowercase(), value));
    }
    fields
}

fn encode(fields: &Fields) -> String {
    fields.iter().map(|(name, value)| format!("{name}\0{value}\0")).collect()
}

/// The largest body that the cache takes.
#[op2(fast)]
pub(crate) fn op_cache_limit(state: &OpState) -> f64 {
    state.borrow::<Arc<CacheStore>>().capacity() as f64
}

/// Stores a response, or not, as it says itself.
#[op2(fast)]
pub(crate) fn op_cache_put(
    state: &OpState,
    #[string] cache: &str,
    #[string] url: &str,
    #[string(onebyte)] request: Cow<'_, [u8]>,
    #[smi] status: u32,
    #[string(onebyte)] headers: Cow<'_, [u8]>,
    #[buffer] body: &[u8],
) {
    let Ok(status) = u16::try_from(status) else { return };
    let response = Stored { status, headers: decode(&headers), body: Bytes::copy_from_slice(body) };
    state.borrow::<Arc<CacheStore>>().put(cache, url, &decode(&request), response, SystemTime::now());
}

/// A response of the cache.
#[derive(Serialize)]
pub(crate) struct Found {
    status: u16,
    headers: String,
    body: ToJsBuffer,
}

/// The response to a GET request, or null.
#[op2]
#[serde]
pub(crate) fn op_cache_match(
    state: &OpState,
    #[string] cache: &str,
    #[string] url: &str,
    #[string(onebyte)] request: Cow<'_, [u8]>,
) -> Option<Found> {
    let request = decode(&request);
    let stored = state.borrow::<Arc<CacheStore>>().get(cache, url, &request, SystemTime::now())?;
    let answer = range::answer(&request, stored);
    Some(Found { status: answer.status, headers: encode(&answer.headers), body: answer.body.to_vec().into() })
}

/// Forgets the responses of a URL; `false` when there were none.
#[op2(fast)]
pub(crate) fn op_cache_delete(state: &OpState, #[string] cache: &str, #[string] url: &str) -> bool {
    state.borrow::<Arc<CacheStore>>().delete(cache, url, SystemTime::now())
}
