//! The extension that `js/web` belongs to.

// The macro behind `extension!` writes references into V8 with `unsafe`.
#![allow(unsafe_code)]

use super::{cache, digest, rewriter};

deno_core::extension!(
    celld_web,
    deps = [celld_platform],
    ops = [
        cache::op_cache_limit,
        cache::op_cache_match,
        cache::op_cache_put,
        cache::op_cache_delete,
        digest::op_digest_new,
        digest::op_digest_update,
        digest::op_digest_finish,
        rewriter::op_rewriter_new,
        rewriter::op_rewriter_write,
        rewriter::op_rewriter_end,
        rewriter::op_rewriter_resume,
        rewriter::op_rewriter_take,
        rewriter::op_rewriter_close,
        rewriter::op_rewriter_check,
        rewriter::op_rewriter_check_selector,
    ],
    esm_entry_point = "ext:celld_web/globals.js",
    esm = [
        dir "js/web",
        "body.js",
        "byob.js",
        "cache.js",
        "chunk.js",
        "clone.js",
        "digest.js",
        "encoding.js",
        "fields.js",
        "globals.js",
        "identity.js",
        "legacy.js",
        "phrases.js",
        "ports.js",
        "rewriter.js",
        "rewriter_tokens.js",
        "surface.js",
    ],
);
