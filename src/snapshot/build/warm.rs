//! Evaluates `node:` modules while a snapshot is made, so that an isolate that starts from it has them.

use deno_core::{JsRuntime, ModuleSpecifier};

/// The modules, those first that others load lazily. What makes a native object when it is evaluated cannot be here, as the snapshot
/// has no place for one: of Deno's, that is `node:crypto`, whose parts are [`SCRIPTS`].
pub const MODULES: &[&str] = &[
    "node:async_hooks",
    "node:process",
    "node:stream",
    "node:net",
    "ext:deno_node/_fs/_fs_copy.ts",
    "ext:deno_node/_fs/_fs_dir.ts",
    "ext:deno_node/_fs/_fs_exists.ts",
    "ext:deno_node/_fs/_fs_glob.ts",
    "ext:deno_node/_fs/_fs_lutimes.ts",
    "ext:deno_node/_fs/_fs_read.ts",
    "ext:deno_node/_fs/_fs_readdir.ts",
    "ext:deno_node/internal/fs/stat_utils.ts",
    "ext:deno_node/internal/fs/streams.mjs",
    "ext:deno_node/internal/fs/promises.ts",
    "ext:deno_node/internal/streams/fast-utf8-stream.js",
    "ext:deno_web/locks.js",
    "node:_http_outgoing",
    "node:_http_client",
    "node:_http_server",
    "node:tls",
    "node:assert",
    "node:buffer",
    "node:diagnostics_channel",
    "node:dns",
    "node:events",
    "node:fs",
    "node:http",
    "node:https",
    "node:os",
    "node:path",
    "node:perf_hooks",
    "node:punycode",
    "node:querystring",
    "node:readline",
    "node:stream/promises",
    "node:stream/web",
    "node:string_decoder",
    "node:timers",
    "node:timers/promises",
    "node:tty",
    "node:url",
    "node:util",
    "node:zlib",
];

/// The parts of `node:crypto`.
const SCRIPTS: &[&str] = &[
    "_randomBytes.ts",
    "_randomFill.mjs",
    "_randomInt.ts",
    "certificate.ts",
    "cipher.ts",
    "diffiehellman.ts",
    "hash.ts",
    "hkdf.ts",
    "keygen.ts",
    "keys.ts",
    "pbkdf2.ts",
    "random.ts",
    "scrypt.ts",
    "sig.ts",
    "util.ts",
    "x509.ts",
];

/// Evaluates `modules` in `runtime`.
///
/// Each is imported statically, which is what [`super::import_graph`] asks for.
pub fn evaluate(runtime: &mut JsRuntime, modules: &[&str]) {
    if modules.is_empty() {
        return;
    }
    for (number, module) in modules.iter().enumerate() {
        if let Err(error) = import(runtime, number, module) {
            panic!("cannot evaluate {module} in the snapshot: {error}");
        }
    }
    for script in SCRIPTS {
        let load = format!("Deno.core.loadExtScript('ext:deno_node/internal/crypto/{script}'); undefined");
        if let Err(error) = runtime.execute_script("ext:celld_warm/crypto", load) {
            panic!("cannot evaluate {script} in the snapshot: {error}");
        }
    }
}

fn import(runtime: &mut JsRuntime, number: usize, module: &str) -> Result<(), Box<dyn std::error::Error>> {
    let url = ModuleSpecifier::parse(&format!("ext:celld_warm/{number}.js"))?;
    let code = format!("import {module:?};");
    futures::executor::block_on(async {
        let id = runtime.load_side_es_module_from_code(&url, code).await?;
        let evaluated = runtime.mod_evaluate(id);
        runtime.run_event_loop(Default::default()).await?;
        evaluated.await?;
        Ok(())
    })
}
