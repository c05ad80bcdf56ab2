//! Web APIs of the platform that Deno's crates do not have, or have otherwise.

mod cache;
mod digest;
mod extension;
mod rewriter;

pub use cache::CacheStore;
pub(crate) use extension::celld_web;
