//! Ops by which `js/events` reaches the shard: cells of this isolate, calls to the others, gates.

use std::cell::RefCell;
use std::rc::Rc;

use celld_ids::CellScope;
use deno_core::{OpState, ResourceId, ToJsBuffer, op2};
use deno_error::JsErrorBox;
use serde::Serialize;
use tokio::sync::oneshot;

use super::calls::{CallTarget, reply};
use super::cells::{Place, Resident, shard_of};
use super::commit::park;
use super::events::{ErrorDescription, Failure, decode_headers, encode_headers};
use super::isolate::IsolateState;
use super::rpc::{Destination, outgoing, take_payload};
use crate::host::LogFailed;
use crate::shard::body::{Body, BodyResource};
use crate::socket::{Lines, SocketResource, UpgradeSlot};
use crate::storage::table::CellTable;

fn isolate(state: &RefCell<OpState>) -> Rc<IsolateState> {
    state.borrow().borrow::<Rc<IsolateState>>().clone()
}

pub(super) fn scope_of(class: &str, id: &str) -> Result<CellScope, JsErrorBox> {
    CellScope::new(class, id).map_err(|e| JsErrorBox::type_error(e.to_string()))
}

fn unproven(error: LogFailed) -> JsErrorBox {
    JsErrorBox::generic(error.to_string())
}

/// `true` when this isolate may hold the cell: it belongs to this shard, this isolate's script defines its class and is of the deployment
/// that serves, and the cell is not busy in the isolate of another one.
#[op2(fast)]
pub(crate) fn op_cell_is_here(state: &OpState, #[string] class: &str, #[string] id: &str) -> bool {
    let isolate = state.borrow::<Rc<IsolateState>>();
    if isolate.retiring.get() || !isolate.defines.iter().any(|name| name == class) {
        return false;
    }
    if shard_of(class, id, isolate.shard.options.shards) != isolate.shard.index {
        return false;
    }
    let Ok(scope) = CellScope::new(class, id) else { return true };
    let resident = isolate.shard.residents.get(&scope);
    !resident.is_some_and(|resident| {
        resident.active.get() && resident.host().is_some_and(|host| host != isolate.serial)
    })
}

/// Brings the cell into this isolate and returns its handle: from the bucket, from where it was parked, or from the isolate of
/// an older deployment as soon as that lets it go.
#[op2]
#[smi]
pub(crate) async fn op_cell_acquire(
    state: Rc<RefCell<OpState>>,
    #[string] class: String,
    #[string] id: String,
) -> Result<u32, JsErrorBox> {
    let isolate = isolate(&state);
    let scope = scope_of(&class, &id)?;
    let shard = isolate.shard.clone();
    loop {
        let (resident, is_new) = shard.residents.get_or_start(&scope);
        if is_new {
            shard.activate(&resident);
        }
        let changed = resident.changed.notified();
        tokio::pin!(changed);
        changed.as_mut().enable();
        let place = std::mem::replace(&mut *resident.place.borrow_mut(), Place::Activating);
        match place {
            Place::Parked(db) if resident.rewinds.get() => shard.rewind(&resident, db),
            Place::Parked(db) => {
                if isolate.retiring.get() {
                    resident.set_place(Place::Parked(db));
                    return Err(JsErrorBox::generic("The deployment of this Durable Object was replaced."));
                }
                let mut state = state.borrow_mut();
                let handle = state.borrow_mut::<CellTable>().insert(*db);
                let mut hosted = isolate.hosted.borrow_mut();
                if hosted.len() <= handle as usize {
                    hosted.resize(handle as usize + 1, None);
                }
                hosted[handle as usize] = Some(resident.clone());
                *resident.place.borrow_mut() = Place::Hosted { isolate: isolate.serial, handle };
                return Ok(handle);
            }
            Place::Failed(error) => {
                shard.forget(&scope);
                resident.set_place(Place::Failed(error.clone()));
                return Err(JsErrorBox::generic(error.to_string()));
            }
            Place::Hosted { isolate: host, handle } => {
                *resident.place.borrow_mut() = Place::Hosted { isolate: host, handle };
                if host == isolate.serial {
                    return Err(JsErrorBox::generic(format!("cell {scope} is already in this isolate")));
                }
                shard.want(&resident);
            }
            Place::Activating => {}
        }
        changed.await;
    }
}

/// The cell begins to do something.
#[op2(fast)]
pub(crate) fn op_cell_active(state: &OpState, #[smi] handle: u32) {
    if let Some(resident) = state.borrow::<Rc<IsolateState>>().resident(handle) {
        resident.active.set(true);
    }
}

/// Nothing of the cell runs or waits any more: a safe point to move it.
#[op2(fast)]
pub(crate) fn op_cell_idle(state: &OpState, #[smi] handle: u32) {
    let isolate = state.borrow::<Rc<IsolateState>>();
    if let Some(resident) = isolate.resident(handle) {
        isolate.shard.note_idle(&resident);
        if isolate.retiring.get() {
            isolate.shard.want(&resident);
        }
    }
}

/// The instance is gone: what it did not commit is rolled back, and the database is parked for the next instance.
#[op2(fast)]
pub(crate) fn op_cell_reset(state: &mut OpState, #[smi] handle: u32) {
    let isolate = state.borrow::<Rc<IsolateState>>().clone();
    park(&isolate, state.borrow_mut::<CellTable>(), handle);
}

fn gate_open(state: &OpState, resident: &Resident, handle: u32) -> bool {
    !state.borrow::<CellTable>().holds_output(handle)
        && resident.gate.get() <= state.borrow::<Rc<IsolateState>>().shard.log.durable()
}

/// `true` when everything the cell has written is durable.
#[op2(fast)]
pub(crate) fn op_cell_gate_open(state: &OpState, #[smi] handle: u32) -> bool {
    let resident = state.borrow::<Rc<IsolateState>>().resident(handle);
    resident.is_none_or(|resident| gate_open(state, &resident, handle))
}

/// As [`op_cell_gate_open`], but the number under which the caller is to keep what the gate holds back; -1 when it is open.
#[op2(fast)]
#[smi]
pub(crate) fn op_cell_hold(state: &OpState, #[smi] handle: u32) -> i32 {
    let isolate = state.borrow::<Rc<IsolateState>>();
    match isolate.resident(handle) {
        Some(resident) if !gate_open(state, &resident, handle) => isolate.gates.hold(handle, resident) as i32,
        _ => -1,
    }
}

/// The next number to let go of; -1 when there is none.
#[op2(fast)]
#[smi]
pub(crate) fn op_cell_next_released(state: &OpState) -> i32 {
    let isolate = state.borrow::<Rc<IsolateState>>();
    isolate.gates.next_released(isolate.shard.log.durable()).map_or(-1, |number| number as i32)
}

/// Resolves when everything that the cell has written up to now and that must be confirmed is durable; rejects when it never
/// will be.
#[op2]
pub(crate) async fn op_cell_gate(state: Rc<RefCell<OpState>>, #[smi] handle: u32) -> Result<(), JsErrorBox> {
    wait_durable(state, handle, CellTable::holds_output, |resident| resident.gate.get()).await
}

/// As [`op_cell_gate`], for everything the cell has written.
#[op2]
pub(crate) async fn op_cell_sync(state: Rc<RefCell<OpState>>, #[smi] handle: u32) -> Result<(), JsErrorBox> {
    wait_durable(state, handle, CellTable::is_touched, |resident| resident.position.get()).await
}

/// The bookmark of what the cell has committed, once all it has written is.
#[op2]
#[string]
pub(crate) async fn op_cell_bookmark(
    state: Rc<RefCell<OpState>>,
    #[smi] handle: u32,
) -> Result<String, JsErrorBox> {
    let (shard, resident) = hosted(&state, handle)?;
    wait_committed(&state, &resident, handle, CellTable::is_touched).await?;
    Ok(shard.host.bookmark(&resident.scope, resident.epoch.get(), resident.txid.get()))
}

/// The bookmark of the last transaction not later than a time in milliseconds since the Unix epoch.
#[op2]
#[string]
pub(crate) async fn op_cell_bookmark_at(
    state: Rc<RefCell<OpState>>,
    #[smi] handle: u32,
    #[number] time_ms: u64,
) -> Result<String, JsErrorBox> {
    let (shard, resident) = hosted(&state, handle)?;
    shard.host.bookmark_at(resident.scope.clone(), time_ms).await.map_err(JsErrorBox::generic)
}

/// Makes sure that the cell can be taken back to `bookmark`, and notes that it asks for that.
#[op2]
pub(crate) async fn op_cell_check_bookmark(
    state: Rc<RefCell<OpState>>,
    #[smi] handle: u32,
    #[string] bookmark: String,
) -> Result<(), JsErrorBox> {
    let (shard, resident) = hosted(&state, handle)?;
    shard.host.check_bookmark(resident.scope.clone(), bookmark).await.map_err(JsErrorBox::generic)?;
    resident.rewinds.set(true);
    Ok(())
}

fn hosted(
    state: &RefCell<OpState>,
    handle: u32,
) -> Result<(Rc<crate::shard::ShardState>, Rc<Resident>), JsErrorBox> {
    let isolate = isolate(state);
    let resident = isolate.resident(handle);
    let resident = resident.ok_or_else(|| JsErrorBox::generic("The Durable Object was reset."))?;
    Ok((isolate.shard.clone(), resident))
}

async fn wait_durable(
    state: Rc<RefCell<OpState>>,
    handle: u32,
    is_uncommitted: fn(&CellTable, u32) -> bool,
    position: fn(&Resident) -> crate::host::Position,
) -> Result<(), JsErrorBox> {
    let isolate = isolate(&state);
    let Some(resident) = isolate.resident(handle) else { return Ok(()) };
    wait_committed(&state, &resident, handle, is_uncommitted).await?;
    isolate.shard.log.wait(position(&resident)).await.map_err(unproven)
}

async fn wait_committed(
    state: &RefCell<OpState>,
    resident: &Resident,
    handle: u32,
    is_uncommitted: fn(&CellTable, u32) -> bool,
) -> Result<(), JsErrorBox> {
    loop {
        let committed = resident.changed.notified();
        tokio::pin!(committed);
        committed.as_mut().enable();
        let (uncommitted, failure) = {
            let state = state.borrow();
            let table = state.borrow::<CellTable>();
            (is_uncommitted(table, handle), table.failure(handle))
        };
        if let Some(failure) = failure {
            return Err(JsErrorBox::generic(failure));
        }
        if !uncommitted {
            return Ok(());
        }
        committed.await;
    }
}

/// How many `fetch` events may be in one cell at a time (`CELLD_MAX_CELL_REQUESTS`); -1 while no event may begin, because the
/// log is congested.
#[op2(fast)]
#[smi]
pub(crate) fn op_cell_request_limit(state: &OpState) -> i32 {
    let shard = &state.borrow::<Rc<IsolateState>>().shard;
    if shard.log.is_congested() {
        return -1;
    }
    i32::try_from(shard.options.max_cell_requests).unwrap_or(i32::MAX)
}

/// A response as `responseFromHost` in `js/events/request.js` takes it, or the error instead.
#[derive(Serialize, Default)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FetchAnswer {
    error: Option<ErrorDescription>,
    thrown: Option<ToJsBuffer>,
    caps: Option<ToJsBuffer>,
    rids: Vec<ResourceId>,
    status: u16,
    status_text: String,
    headers: String,
    body: i64,
    length: i64,
    /// The resource of a socket, or -1.
    socket: i64,
}

/// Calls a `fetch` handler that is not in this isolate.
#[op2]
#[serde]
pub(crate) async fn op_fetch_elsewhere(
    state: Rc<RefCell<OpState>>,
    #[serde] destination: Destination,
    #[string] method: String,
    #[string] url: String,
    #[serde] headers: deno_core::ByteString,
    #[smi] rid: i32,
) -> Result<FetchAnswer, JsErrorBox> {
    let headers = decode_headers(&headers)?;
    let (to, answer) = oneshot::channel();
    let lost = {
        let mut state = state.borrow_mut();
        let body = match u32::try_from(rid) {
            Ok(rid) => outgoing(&mut state, rid)?,
            Err(_) => Body::Empty,
        };
        destination.send(&state, CallTarget::Fetch { method, url, headers, body, reply: to })?
    };
    let response = match reply(answer, &lost).await {
        Some(Ok(response)) => response,
        Some(Err(Failure::Host(error))) => {
            return Ok(FetchAnswer { error: Some(error), ..FetchAnswer::default() });
        }
        Some(Err(Failure::Thrown(payload))) => {
            let (thrown, caps, rids) = take_payload(&mut state.borrow_mut(), payload, &lost);
            return Ok(FetchAnswer { thrown: Some(thrown), caps, rids, ..FetchAnswer::default() });
        }
        None => {
            let error = ErrorDescription::new("The other side of this call stopped before it answered.");
            return Ok(FetchAnswer { error: Some(error), ..FetchAnswer::default() });
        }
    };
    let (mut parts, body) = response.into_parts();
    let reason = parts.extensions.remove::<hyper::ext::ReasonPhrase>();
    let status_text =
        reason.map(|reason| String::from_utf8_lossy(reason.as_bytes()).into_owned()).unwrap_or_default();
    let socket = match parts.extensions.remove::<UpgradeSlot>().and_then(|slot| slot.take()) {
        Some(end) => {
            let mut state = state.borrow_mut();
            state.borrow::<Lines>().note(&end);
            i64::from(state.resource_table.add(SocketResource::new(end)))
        }
        None => -1,
    };
    let length = body.length().and_then(|l| i64::try_from(l).ok()).unwrap_or(-1);
    let rid = match body {
        Body::Empty => -1,
        body => i64::from(state.borrow_mut().resource_table.add(BodyResource::new(body.until(&lost)))),
    };
    Ok(FetchAnswer {
        error: None,
        thrown: None,
        caps: None,
        rids: Vec::new(),
        status: parts.status.as_u16(),
        status_text,
        // One character a byte, as JavaScript sees header values.
        headers: encode_headers(&parts.headers).into_iter().map(char::from).collect(),
        body: rid,
        length,
        socket,
    })
}
