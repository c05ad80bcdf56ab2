//! The allow-list of modules that exist besides the deployment's own.

/// The compatibility flag that makes `node:` modules available.
pub const NODEJS_COMPAT: &str = "nodejs_compat";

/// Modules of the platform, available to every Worker, and the URLs they have inside. `deno_core` lets
/// only `ext:` and `node:` modules import internal ones, hence the scheme; user code cannot name the URLs.
pub const CLOUDFLARE_MODULES: &[(&str, &str)] = &[
    ("cloudflare:br", "node:celld/cloudflare/br"),
    ("cloudflare:email", "node:celld/cloudflare/email"),
    ("cloudflare:node", "node:celld/cloudflare/node"),
    ("cloudflare:sockets", "node:celld/cloudflare/sockets"),
    ("cloudflare:workers", "node:celld-workers"),
    ("cloudflare:workflows", "node:celld/cloudflare/workflows"),
];

/// Public `node:` modules (named without the scheme) that are Deno's as they are.
const DENO_MODULES: &[&str] = &[
    "buffer",
    "punycode",
    "querystring",
    "readline",
    "readline/promises",
    "stream",
    "stream/web",
    "string_decoder",
    "timers/promises",
];

/// Public `node:` modules that are ours, in `js/node`: what Deno's lack or have too much of, and those that
/// exist only so that programs which import them can be loaded. Their URLs inside begin with
/// [`OWN_PREFIX`].
const OWN_MODULES: &[&str] = &[
    "_http_agent",
    "_http_client",
    "_http_common",
    "_http_incoming",
    "_http_outgoing",
    "_http_server",
    "_stream_duplex",
    "_stream_passthrough",
    "_stream_readable",
    "_stream_transform",
    "_stream_wrap",
    "_stream_writable",
    "_tls_common",
    "_tls_wrap",
    "assert",
    "assert/strict",
    "async_hooks",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "dns/promises",
    "domain",
    "events",
    "fs",
    "fs/promises",
    "http",
    "http2",
    "https",
    "inspector",
    "inspector/promises",
    "module",
    "net",
    "os",
    "path",
    "path/posix",
    "path/win32",
    "perf_hooks",
    "process",
    "repl",
    "sqlite",
    "stream/consumers",
    "stream/promises",
    "sys",
    "test",
    "timers",
    "tls",
    "trace_events",
    "tty",
    "url",
    "util",
    "util/types",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
];

/// The beginning of the URL inside of each module of [`OWN_MODULES`].
const OWN_PREFIX: &str = "node:celld/";

/// Modules that are found only with the scheme, because a package could have the name.
const PREFIX_ONLY: &[&str] = &["test"];

/// All `node:` modules available under [`NODEJS_COMPAT`], by their names without the scheme and their URLs
/// inside. A module that is not here cannot be reached from user code at all: not by `import`, `require` or
/// `getBuiltinModule`.
pub fn node_modules() -> impl Iterator<Item = (&'static str, String)> {
    let deno = DENO_MODULES.iter().map(|name| (*name, format!("node:{name}")));
    deno.chain(OWN_MODULES.iter().map(|name| (*name, format!("{OWN_PREFIX}{name}"))))
}

/// The URL inside of the `node:` module that user code calls `specifier`, with or without the scheme.
pub fn node_module(specifier: &str) -> Option<String> {
    let name = match specifier.strip_prefix("node:") {
        Some(name) => name,
        None if PREFIX_ONLY.contains(&specifier) => return None,
        None => specifier,
    };
    node_modules().find(|(public, _)| *public == name).map(|(_, url)| url)
}

/// The URL inside of the platform module that user code calls `specifier`.
pub fn cloudflare_module(specifier: &str) -> Option<&'static str> {
    CLOUDFLARE_MODULES.iter().find(|(public, _)| *public == specifier).map(|(_, url)| *url)
}
