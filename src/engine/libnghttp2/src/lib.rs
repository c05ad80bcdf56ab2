//! Bindings to nghttp2, as bindgen 0.71 makes them for 64-bit Unix with the options of the crate of the same name on crates.io.

#![allow(
    clippy::all,
    dead_code,
    missing_docs,
    non_camel_case_types,
    non_snake_case,
    non_upper_case_globals,
    unsafe_code,
    rustdoc::all
)]

include!("bindings.rs");
