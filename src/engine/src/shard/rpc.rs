//! Ops by which js/events makes RPC calls to other isolates, of this thread or another.

use std::cell::RefCell;
use std::rc::Rc;

use deno_core::{JsBuffer, OpState, ResourceId, ToJsBuffer, op2, v8};
use deno_error::JsErrorBox;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use super::body::{Body, BodyResource};
use super::calls::{Call, CallTarget, Mail, Payload, RpcCall, reply};
use super::events::{ErrorDescription, Failure, body_of_resource};
use super::isolate::IsolateState;
use super::ops::scope_of;

/// Where a call goes.
#[derive(Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Destination {
    /// Class, ID and name of a cell.
    Cell(String, String, Option<String>),
    /// Shard, isolate and number of what was handed out.
    Export(usize, u64, u32),
    /// Worker, entrypoint and properties of another Worker of the deployment.
    Entry(String, String, JsBuffer),
}

/// What is behind `value` if it is a proxy with exactly this handler, otherwise undefined. No trap runs.
#[op2]
pub(crate) fn op_proxy_target<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    value: v8::Local<'s, v8::Value>,
    handler: v8::Local<'s, v8::Value>,
) -> v8::Local<'s, v8::Value> {
    match v8::Local::<v8::Proxy>::try_from(value) {
        Ok(proxy) if proxy.get_handler(scope) == handler => proxy.get_target(scope),
        _ => v8::undefined(scope).into(),
    }
}

impl Destination {
    /// Sends a call on its way. The token is for [`reply`].
    pub(super) fn send(self, state: &OpState, target: CallTarget) -> Result<CancellationToken, JsErrorBox> {
        let shard = &state.borrow::<Rc<IsolateState>>().shard;
        Ok(match (self, target) {
            (Destination::Cell(class, id, name), target) => {
                shard.router.send(Call { scope: scope_of(&class, &id)?, name, target })
            }
            (Destination::Export(index, isolate, target), CallTarget::Rpc(call)) => {
                shard.router.post(index, Mail::Export { isolate, target, call })
            }
            (Destination::Export(..), target) => {
                target.refuse(ErrorDescription::new("What was handed out by RPC has no fetch handler."));
                shard.lost.clone()
            }
            // Stateless: the Worker's isolate of the same shard is the nearest.
            (Destination::Entry(script, entrypoint, props), target) => {
                let mail = Mail::Entry { script, entrypoint, props: props.to_vec(), target };
                shard.router.post(shard.index, mail)
            }
        })
    }
}

/// The shard and the serial number of this isolate.
#[op2]
#[serde]
pub(crate) fn op_rpc_here(state: &OpState) -> (usize, u64) {
    let isolate = state.borrow::<Rc<IsolateState>>();
    (isolate.shard.index, isolate.serial)
}

/// The outcome of a call: the parts of a payload, or the engine's error instead.
#[derive(Serialize, Default)]
pub(crate) struct Answer {
    error: Option<ErrorDescription>,
    thrown: bool,
    bytes: Option<ToJsBuffer>,
    caps: Option<ToJsBuffer>,
    rids: Vec<ResourceId>,
}

/// Calls what `path` leads to; without `bytes` it asks for its value.
#[op2]
#[serde]
pub(crate) async fn op_rpc_call(
    state: Rc<RefCell<OpState>>,
    #[serde] destination: Destination,
    #[serde] path: Vec<String>,
    #[buffer] bytes: Option<JsBuffer>,
    #[buffer] caps: Option<JsBuffer>,
    #[serde] rids: Vec<ResourceId>,
) -> Result<Answer, JsErrorBox> {
    let (to, answer) = oneshot::channel();
    let lost = {
        let mut state = state.borrow_mut();
        let bodies = rids.into_iter().map(|rid| outgoing(&mut state, rid)).collect::<Result<_, _>>()?;
        let caps = caps.map(|caps| caps.to_vec());
        let args = bytes.map(|bytes| Payload { bytes: bytes.to_vec(), caps, bodies });
        let call = RpcCall { path, args, reply: to };
        destination.send(&state, CallTarget::Rpc(call))?
    };
    let (payload, thrown) = match reply(answer, &lost).await {
        Some(Ok(payload)) => (payload, false),
        Some(Err(Failure::Thrown(payload))) => (payload, true),
        Some(Err(Failure::Host(error))) => return Ok(Answer { error: Some(error), ..Answer::default() }),
        None => {
            let error = ErrorDescription::new("The other side of this RPC call stopped before it answered.");
            return Ok(Answer { error: Some(error), ..Answer::default() });
        }
    };
    let (bytes, caps, rids) = take_payload(&mut state.borrow_mut(), payload, &lost);
    Ok(Answer { error: None, thrown, bytes: Some(bytes), caps, rids })
}

/// Changes the number of holders of what another isolate has handed out.
#[op2(fast)]
pub(crate) fn op_rpc_post(
    state: &OpState,
    #[smi] shard: u32,
    #[number] isolate: u64,
    #[smi] target: u32,
    #[smi] change: i32,
) {
    let router = &state.borrow::<Rc<IsolateState>>().shard.router;
    router.post(shard as usize, Mail::Holders { isolate, target, change });
}

/// A stream of this isolate for a reader on another thread.
pub(super) fn outgoing(state: &mut OpState, rid: ResourceId) -> Result<Body, JsErrorBox> {
    let body = body_of_resource(state, rid)?;
    Ok(body.until(&state.borrow::<Rc<IsolateState>>().shard.lost))
}

/// The parts of a payload as JavaScript takes them. `lost` says that the thread is gone that its streams come from.
pub(super) fn take_payload(
    state: &mut OpState,
    payload: Payload,
    lost: &CancellationToken,
) -> (ToJsBuffer, Option<ToJsBuffer>, Vec<ResourceId>) {
    let Payload { bytes, caps, bodies } = payload;
    let bodies = bodies.into_iter().map(|body| body.until(lost)).collect();
    (bytes.into(), caps.map(Into::into), add_bodies(state, bodies))
}

/// Makes the streams of a payload resources of this isolate.
pub(super) fn add_bodies(state: &mut OpState, bodies: Vec<Body>) -> Vec<ResourceId> {
    bodies.into_iter().map(|body| state.resource_table.add(BodyResource::new(body))).collect()
}
