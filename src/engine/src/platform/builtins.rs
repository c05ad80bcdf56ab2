//! The allow-list of modules that exist besides the deployment's own.

/// The compatibility flag that makes `node:` modules available.
pub const NODEJS_COMPAT: &str = "nodejs_compat";

/// Modules of the platform, available to every Worker, and the URLs they have inside. `deno_core` lets
/// only `ext:` and `node:` modules import internal ones, hence the scheme; user code cannot name the URLs.
pub const CLOUDFLARE_MODULES: &[(&str, &str)] = &[("cloudflare:workers", "node:celld-workers")];

/// `node:` modules (named without the scheme) available under [`NODEJS_COMPAT`]. A module that is not
/// here cannot be reached from user code at all: not by `import`, `require` or `getBuiltinModule`.
pub const NODE_MODULES: &[&str] = &[
    "assert",
    "assert/strict",
    "async_hooks",
    "buffer",
    "child_process",
    "console",
    "constants",
    "crypto",
    "diagnostics_channel",
    "dns",
    "dns/promises",
    "events",
    "fs",
    "fs/promises",
    "http",
    "https",
    "module",
    "net",
    "os",
    "path",
    "path/posix",
    "path/win32",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "readline/promises",
    "stream",
    "stream/consumers",
    "stream/promises",
    "stream/web",
    "string_decoder",
    "timers",
    "timers/promises",
    "tls",
    "tty",
    "url",
    "util",
    "util/types",
    "zlib",
];

/// The name without `node:` when `specifier` (with or without it) is a public `node:` module.
pub fn public_node_module(specifier: &str) -> Option<&'static str> {
    let name = specifier.strip_prefix("node:").unwrap_or(specifier);
    NODE_MODULES.iter().copied().find(|public| *public == name)
}

/// The URL inside of the platform module that user code calls `specifier`.
pub fn cloudflare_module(specifier: &str) -> Option<&'static str> {
    CLOUDFLARE_MODULES.iter().find(|(public, _)| *public == specifier).map(|(_, url)| *url)
}
