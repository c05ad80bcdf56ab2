//! Web APIs of the platform that Deno's crates do not have, or have otherwise.

mod digest;
mod extension;
mod rewriter;

pub(crate) use extension::celld_web;
