//! Ops of the platform's own JavaScript, and stand-ins for ops of the crates that are left out.
//!
//! Deno's ES modules import ops by name from `ext:core/ops`, and a name that does not exist is a syntax
//! error there; so ops of `deno_os`, `deno_process`, `deno_http` and `deno_napi` exist here, inert.

use deno_core::op2;
use deno_error::JsErrorBox;

/// Replaces every op and method that [`super::deny`] closes. It has the class of Deno's permission
/// errors, so that the polyfills turn it into Node's `EPERM`-like errors.
#[op2(nofast)]
pub(super) fn op_celld_denied() -> Result<(), JsErrorBox> {
    Err(JsErrorBox::new("NotCapable", "this operation is not available to a Worker"))
}

/// Compares two byte strings of equal length in time that depends only on the length.
#[op2(fast)]
pub(super) fn op_celld_timing_safe_equal(#[buffer] left: &[u8], #[buffer] right: &[u8]) -> bool {
    if left.len() != right.len() {
        return false;
    }
    let difference = left.iter().zip(right).fold(0u8, |bits, (a, b)| std::hint::black_box(bits | (a ^ b)));
    std::hint::black_box(difference) == 0
}

/// One colour: nothing is a terminal here.
#[op2(fast)]
pub(super) fn op_bootstrap_color_depth() -> i32 {
    1
}

/// `process.cpuUsage`: no time is attributed to a Worker.
#[op2(fast)]
pub(super) fn op_current_thread_cpu_usage(#[buffer] out: &mut [f64]) {
    out.fill(0.0);
}

/// No variable of the host's environment exists.
#[op2]
#[string]
pub(super) fn op_get_env_no_permission_check(#[string] _name: &str) -> Option<String> {
    None
}

/// No server of Deno's ever runs.
#[op2(fast)]
pub(super) fn op_http_notify_serving(#[smi] _kind: u32) {}

/// No server of Deno's ever runs, so nothing overrides its address.
#[op2]
#[serde]
pub(super) fn op_http_serve_address_override() -> (u8, String, u32, bool) {
    (0, String::new(), 0, false)
}

/// Native addons do not exist.
#[op2(nofast)]
pub(super) fn op_napi_open() -> Result<(), JsErrorBox> {
    Err(JsErrorBox::new("NotCapable", "native addons are not available to a Worker"))
}
