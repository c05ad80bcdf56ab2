//! The extension that `js/events` belongs to.

// The macro behind `extension!` writes references into V8 with `unsafe`.
#![allow(unsafe_code)]

use super::{events, ids, ops};

deno_core::extension!(
    celld_events,
    deps = [celld_platform, celld_storage, celld_socket],
    ops = [
        events::op_request_headers,
        events::op_request_body,
        events::op_respond_text,
        events::op_respond_string,
        events::op_respond_bytes,
        events::op_respond_empty,
        events::op_respond_stream,
        events::op_respond_upgrade,
        events::op_respond_value,
        events::op_respond_error,
        events::op_event_failed,
        events::op_report_uncaught,
        events::op_delivery_queued,
        events::op_alarm_settled,
        events::op_socket_event_begun,
        ids::op_cell_id_from_name,
        ids::op_cell_id_unique,
        ids::op_cell_id_from_string,
        ops::op_cell_is_here,
        ops::op_cell_acquire,
        ops::op_cell_active,
        ops::op_cell_idle,
        ops::op_cell_reset,
        ops::op_cell_gate_open,
        ops::op_cell_gate,
        ops::op_cell_sync,
        ops::op_cell_request_limit,
        ops::op_cell_fetch,
        ops::op_cell_rpc,
    ],
    esm_entry_point = "ext:celld_events/main.js",
    esm = [
        dir "js/events",
        "cell.js",
        "context.js",
        "durable_id.js",
        "errors.js",
        "alarms.js",
        "gate.js",
        "main.js",
        "request.js",
        "sockets.js",
        "state.js",
        "stub.js",
        "tick.js",
    ],
);
