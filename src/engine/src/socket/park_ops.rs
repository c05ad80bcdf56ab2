//! Ops of the hibernation API: sockets that the cell leaves with its shard.

use std::rc::Rc;

use deno_core::{OpState, op2};
use deno_error::JsErrorBox;

use super::object::{Held, Socket};
use super::parked::{AutoResponse, MAX_SOCKETS, forget, read};
use crate::shard::{IsolateState, Resident};

fn resident(state: &OpState, handle: u32) -> Result<Rc<Resident>, JsErrorBox> {
    state
        .borrow::<Rc<IsolateState>>()
        .resident(handle)
        .ok_or_else(|| JsErrorBox::generic("The Durable Object's instance is gone."))
}

/// Parks the socket with the cell's resident, from where its events come. Returns its number.
#[op2]
#[smi]
pub(crate) fn op_cell_park_socket(
    state: &OpState,
    #[smi] handle: u32,
    #[cppgc] socket: &Socket,
    #[serde] tags: Vec<String>,
    #[string] name: Option<String>,
) -> Result<u32, JsErrorBox> {
    let resident = resident(state, handle)?;
    if resident.sockets.len() >= MAX_SOCKETS {
        return Err(JsErrorBox::generic(format!(
            "only {MAX_SOCKETS} websockets can be accepted on a single Durable Object instance"
        )));
    }
    let line = socket.take().ok_or_else(|| JsErrorBox::generic("The WebSocket is in use."))?;
    let Some(parked) = resident.sockets.park(line, tags) else {
        return Err(JsErrorBox::generic("The Durable Object has too many WebSockets."));
    };
    if name.is_some() {
        *resident.sockets.name.borrow_mut() = name;
    }
    let id = parked.id;
    *socket.0.borrow_mut() = Held::Parked(parked.clone());
    let events = state.borrow::<Rc<IsolateState>>().shard.socket_events.clone();
    tokio::task::spawn_local(read(resident, parked, events));
    Ok(id)
}

/// The numbers of the cell's sockets with a tag, or of all, the youngest first.
#[op2]
#[serde]
pub(crate) fn op_cell_parked_sockets(
    state: &OpState,
    #[smi] handle: u32,
    #[string] tag: Option<String>,
) -> Result<Vec<u32>, JsErrorBox> {
    Ok(resident(state, handle)?.sockets.ids(tag.as_deref()))
}

/// The native object of a parked socket.
#[op2]
#[cppgc]
pub(crate) fn op_cell_parked_socket(
    state: &OpState,
    #[smi] handle: u32,
    #[smi] id: u32,
) -> Result<Socket, JsErrorBox> {
    let parked = resident(state, handle)?.sockets.get(id);
    parked.map(Socket::parked).ok_or_else(|| JsErrorBox::generic("The WebSocket is closed."))
}

/// The socket's last event has been handled.
#[op2(fast)]
pub(crate) fn op_cell_forget_socket(state: &OpState, #[smi] handle: u32, #[smi] id: u32) {
    if let Some(resident) = state.borrow::<Rc<IsolateState>>().resident(handle) {
        forget(&resident, id);
    }
}

/// The tags of a parked socket; null for any other.
#[op2]
#[serde]
pub(crate) fn op_socket_tags(#[cppgc] socket: &Socket) -> Option<Vec<String>> {
    match &*socket.0.borrow() {
        Held::Parked(parked) => Some(parked.tags.clone()),
        _ => None,
    }
}

/// When the socket was last answered without the cell, in milliseconds since 1970; -1 if it never was.
#[op2(fast)]
pub(crate) fn op_socket_answered(#[cppgc] socket: &Socket) -> f64 {
    match &*socket.0.borrow() {
        Held::Parked(parked) => parked.answered.get().unwrap_or(-1.0),
        _ => -1.0,
    }
}

/// Sets the automatic response of the cell, or removes it.
#[op2]
pub(crate) fn op_cell_set_auto_response(
    state: &OpState,
    #[smi] handle: u32,
    #[string] request: Option<String>,
    #[string] response: Option<String>,
) -> Result<(), JsErrorBox> {
    let auto = request.zip(response).map(|(request, response)| AutoResponse { request, response });
    *resident(state, handle)?.sockets.auto_response.borrow_mut() = auto;
    Ok(())
}

/// `[request, response]`, or null.
#[op2]
#[serde]
pub(crate) fn op_cell_auto_response(
    state: &OpState,
    #[smi] handle: u32,
) -> Result<Option<(String, String)>, JsErrorBox> {
    let resident = resident(state, handle)?;
    let auto = resident.sockets.auto_response.borrow();
    Ok(auto.as_ref().map(|auto| (auto.request.clone(), auto.response.clone())))
}

/// Sets the time that a handler of a parked socket has, in milliseconds; -1 removes it.
#[op2(fast)]
pub(crate) fn op_cell_set_socket_timeout(
    state: &OpState,
    #[smi] handle: u32,
    #[smi] ms: i32,
) -> Result<(), JsErrorBox> {
    resident(state, handle)?.sockets.event_timeout.set(u32::try_from(ms).ok());
    Ok(())
}

/// The time of [`op_cell_set_socket_timeout`], or -1.
#[op2(fast)]
#[smi]
pub(crate) fn op_cell_socket_timeout(state: &OpState, #[smi] handle: u32) -> Result<i32, JsErrorBox> {
    let ms = resident(state, handle)?.sockets.event_timeout.get();
    Ok(ms.and_then(|ms| i32::try_from(ms).ok()).unwrap_or(-1))
}
