//! The JavaScript platform under the Workers API: which of Deno's crates make up an isolate, what of
//! them user code may reach, how modules are found, and how an isolate starts from the snapshot.
//!
//! Nothing here knows about requests, cells or bindings; that is `crate::shard`, on top.
//!
//! * [`extensions`] is the one ordered list of extensions, for the snapshot and for the runtime.
//! * [`deny`] closes everything that was not looked at; [`permissions`] and [`memfs`] close the host.
//! * [`modules`] and [`loader`] serve a deployment's modules; [`isolate`] starts an isolate, [`guard`]
//!   keeps it to its limits, and `fatal` parks its thread when V8 gives up.
//! * `timers` fires timers, [`console`] and [`errors`] report to the developer, in positions of the source files.

mod blobs;
pub mod builtins;
pub mod code_cache;
pub mod console;
mod decoders;
pub mod deny;
pub mod errors;
pub mod extensions;
pub(crate) mod fatal;
pub mod guard;
pub mod isolate;
mod json;
pub mod loader;
pub mod memfs;
pub mod modules;
mod node_files;
mod node_services;
mod ops;
pub mod permissions;
pub mod snapshot;
mod timers;

/// Starts V8 for this process. It must come before the first isolate, from the thread whose descendants isolates run on.
pub fn init() {
    static ONCE: std::sync::Once = std::sync::Once::new();
    ONCE.call_once(|| {
        // Flags cannot be set any more once V8 runs.
        guard::FLAGS.iter().for_each(|flag| deno_core::v8::V8::set_flags_from_string(flag));
        deno_core::JsRuntime::init_platform(None);
    });
}
