//! The extension that `js/socket` belongs to.

// The macro behind `extension!` writes references into V8 with `unsafe`.
#![allow(unsafe_code)]

use super::{OpenSockets, ops, park_ops};

deno_core::extension!(
    celld_socket,
    deps = [celld_platform],
    ops = [
        ops::op_socket_pair,
        ops::op_socket_from_resource,
        ops::op_socket_move,
        ops::op_socket_accept,
        ops::op_socket_send_text,
        ops::op_socket_send_binary,
        ops::op_socket_leave,
        ops::op_socket_close,
        ops::op_socket_hang_up,
        ops::op_socket_state,
        ops::op_socket_has_left,
        ops::op_socket_waiting,
        ops::op_socket_attach,
        ops::op_socket_attachment,
        ops::op_socket_next,
        park_ops::op_cell_park_socket,
        park_ops::op_cell_parked_sockets,
        park_ops::op_cell_parked_socket,
        park_ops::op_cell_forget_socket,
        park_ops::op_socket_tags,
        park_ops::op_socket_answered,
        park_ops::op_cell_set_auto_response,
        park_ops::op_cell_auto_response,
        park_ops::op_cell_set_socket_timeout,
        park_ops::op_cell_socket_timeout,
    ],
    esm_entry_point = "ext:celld_socket/globals.js",
    esm = [
        dir "js/socket",
        "auto_response.js",
        "beacon.js",
        "close.js",
        "fetch.js",
        "globals.js",
        "hibernation.js",
        "outbound.js",
        "response.js",
        "websocket.js",
    ],
    state = |state| state.put(OpenSockets::default()),
);
