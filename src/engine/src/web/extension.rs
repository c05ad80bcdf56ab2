//! The extension that `js/web` belongs to.

// The macro behind `extension!` writes references into V8 with `unsafe`.
#![allow(unsafe_code)]

use super::{digest, rewriter};

deno_core::extension!(
    celld_web,
    deps = [celld_platform],
    ops = [
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
        "byob.js",
        "digest.js",
        "globals.js",
        "identity.js",
        "rewriter.js",
        "rewriter_tokens.js",
    ],
);
