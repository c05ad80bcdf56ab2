//! The Cache API's store: responses in memory, one store for all shards of the process, bounded by bytes.
//!
//! The rules are the platform's: RFC 9111 for a shared cache, and what Cloudflare adds to it (default lifetimes by status, no
//! response with `Set-Cookie`). Nothing here is durable, and nothing is shared with other nodes.

mod freshness;
mod ops;
mod range;
mod store;

pub(crate) use ops::{op_cache_delete, op_cache_limit, op_cache_match, op_cache_put};
pub use store::CacheStore;

/// Header fields in the order they came, names in lower case.
pub(crate) type Fields = Vec<(String, String)>;

/// The values of a field, joined as a list; `None` when there is none.
fn field(fields: &[(String, String)], name: &str) -> Option<String> {
    let values: Vec<&str> =
        fields.iter().filter(|(each, _)| each == name).map(|(_, value)| value.as_str()).collect();
    (!values.is_empty()).then(|| values.join(", "))
}
