//! The one ordered list of extensions, once for making the snapshot and once for running from it.
//!
//! Both must name the same extensions in the same order: V8 finds ops by position.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use deno_core::Extension;
use sys_traits::impls::InMemorySys;

use super::memfs::MemFs;
use super::modules::Modules;
use super::node_files::celld_node;
use super::node_services::{NoNpm, node_services};
use super::timers::celld_timers;
use super::{console, decoders, deny, json, ops};

deno_core::extension!(
    celld_platform,
    deps = [deno_webidl, deno_web, deno_fetch, deno_websocket, deno_crypto, deno_net, deno_fs, deno_node],
    ops = [
        ops::op_celld_denied,
        ops::op_celld_timing_safe_equal,
        json::op_celld_json_fits,
        decoders::op_celld_decoder_new,
        decoders::op_celld_decoder_reset,
        decoders::op_celld_decoder_run,
        console::op_celld_console,
        console::op_celld_uncaught,
        ops::op_bootstrap_color_depth,
        ops::op_current_thread_cpu_usage,
        ops::op_get_env_no_permission_check,
        ops::op_http_notify_serving,
        ops::op_http_serve_address_override,
        ops::op_napi_open,
    ],
    esm_entry_point = "ext:celld_platform/bootstrap.js",
    esm = [
        dir "js/platform",
        "bootstrap.js",
        "cloudflare_workers.js",
        "console.js",
        "globals.js",
        "json.js",
        "node_host.js",
        "report.js",
        "node:celld-workers" = "cloudflare_workers_public.js",
    ],
    lazy_loaded_esm = [
        dir "js/platform",
        "ext:runtime/98_global_scope_shared.js" = "stub_global_scope.js",
    ],
    lazy_loaded_js = [
        dir "js/platform",
        "ext:celld_platform/error_classes.js" = "error_classes.js",
        "ext:deno_os/30_os.js" = "stub_os.js",
        "ext:deno_process/40_process.js" = "stub_process.js",
    ],
    middleware = deny::filter,
);

/// The extensions for making a snapshot: their state is missing, ops must not be called that need it.
pub fn for_snapshot() -> Vec<Extension> {
    closed(vec![
        celld_timers::lazy_init(),
        deno_telemetry::deno_telemetry::lazy_init(),
        deno_webidl::deno_webidl::lazy_init(),
        deno_web::deno_web::lazy_init(),
        deno_fetch::deno_fetch::lazy_init(),
        deno_websocket::deno_websocket::lazy_init(),
        deno_crypto::deno_crypto::lazy_init(),
        deno_net::deno_net::lazy_init(),
        deno_tls::deno_tls::lazy_init(),
        deno_io::deno_io::lazy_init(),
        deno_fs::deno_fs::lazy_init(),
        deno_node_crypto::deno_node_crypto::lazy_init(),
        deno_node::deno_node::lazy_init::<NoNpm, NoNpm, InMemorySys>(),
        celld_platform::lazy_init(),
        crate::web::celld_web::lazy_init(),
        crate::storage::celld_storage::lazy_init(),
        crate::socket::celld_socket::lazy_init(),
        celld_node::lazy_init(),
        crate::shard::celld_events::lazy_init(),
    ])
}

/// The extensions of one isolate that starts from the snapshot.
///
/// # Errors
/// When `/dev/null` cannot be opened.
pub(super) fn for_runtime(modules: &Modules, temp_quota: usize) -> std::io::Result<Vec<Extension>> {
    let fs: deno_fs::FileSystemRc = deno_maybe_sync::new_rc(MemFs::new(temp_quota, modules));
    Ok(closed(vec![
        celld_timers::init(),
        deno_telemetry::deno_telemetry::init(),
        deno_webidl::deno_webidl::init(),
        deno_web::deno_web::init(
            Arc::new(deno_web::BlobStore::default()),
            None,
            false,
            deno_web::InMemoryBroadcastChannel::default(),
        ),
        deno_fetch::deno_fetch::init(deno_fetch::Options::default()),
        deno_websocket::deno_websocket::init(),
        deno_crypto::deno_crypto::init(None),
        deno_net::deno_net::init(None, None),
        deno_tls::deno_tls::init(),
        deno_io::deno_io::init(Some(null_stdio()?)),
        deno_fs::deno_fs::init(fs.clone()),
        deno_node_crypto::deno_node_crypto::init(),
        deno_node::deno_node::init::<NoNpm, NoNpm, InMemorySys>(Some(node_services()), fs),
        celld_platform::init(),
        crate::web::celld_web::init(),
        crate::storage::celld_storage::init(),
        crate::socket::celld_socket::init(),
        celld_node::init(),
        crate::shard::celld_events::init(),
    ]))
}

fn closed(mut extensions: Vec<Extension>) -> Vec<Extension> {
    // `deno_core` would find these by name before it asks the loader; what is needed of them is in `js/node`.
    extensions.iter_mut().for_each(|extension| extension.synthetic_esm_modules = Cow::Borrowed(&[]));
    extensions.iter_mut().for_each(deny::close);
    extensions
}

/// Standard streams that lead nowhere. Without any, the first resource an isolate opens would get the
/// number of `process.stdin`, and `process.stdout` would write into whatever is opened second.
fn null_stdio() -> std::io::Result<deno_io::Stdio> {
    let null = || {
        let file = std::fs::OpenOptions::new().read(true).write(true).open(Path::new("/dev/null"))?;
        std::io::Result::Ok(deno_io::StdioPipe::file(file))
    };
    Ok(deno_io::Stdio { stdin: null()?, stdout: null()?, stderr: null()? })
}
