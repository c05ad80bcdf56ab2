//! Events on their way through JavaScript: what the host knows of each, and the ops by which a handler reads its request and
//! gives its answer.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use deno_core::{OpState, Resource, ResourceId, op2, v8};
use deno_error::JsErrorBox;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};
use hyper::ext::ReasonPhrase;
use serde::{Deserialize, Serialize};
use tokio::sync::oneshot;

use super::body::{Body, BodyResource, pump_resource};
use super::calls::Payload;
use super::isolate::IsolateState;
use crate::platform::guard::IsolateGuard;
use crate::socket::{Socket, UpgradeSlot, handshake};

/// An error as it crosses from one piece of user code to another.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ErrorDescription {
    /// The error's `name`.
    pub name: String,
    /// The error's `message`.
    pub message: String,
    /// The caller may try again: the event has not started.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub retryable: bool,
    /// The callee had no room.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub overloaded: bool,
}

impl ErrorDescription {
    /// A plain `Error` with this message.
    pub fn new(message: impl Into<String>) -> ErrorDescription {
        ErrorDescription {
            name: "Error".into(),
            message: message.into(),
            retryable: false,
            overloaded: false,
        }
    }
}

/// Why an event has no result.
#[derive(Debug)]
pub enum Failure {
    /// The engine did not run it, or not to its end.
    Host(ErrorDescription),
    /// User code threw this.
    Thrown(Payload),
}

impl From<ErrorDescription> for Failure {
    fn from(error: ErrorDescription) -> Failure {
        Failure::Host(error)
    }
}

/// The answer of a `fetch` event.
pub type FetchReply = Result<http::Response<Body>, Failure>;
/// The answer of an RPC event.
pub type RpcReply = Result<Payload, Failure>;

/// Where an answer goes.
pub(crate) enum Reply {
    Fetch(oneshot::Sender<FetchReply>),
    Rpc(oneshot::Sender<RpcReply>),
    /// Something that a parked socket said: resolves when the handler has been called.
    Socket(oneshot::Sender<()>),
    /// An alarm: resolves when the handler has settled.
    Alarm(oneshot::Sender<AlarmOutcome>),
}

/// How a run of an alarm handler ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AlarmOutcome {
    /// It returned, or there was nothing to run any more.
    Done,
    /// It threw, or its cell went away meanwhile.
    Failed,
}

/// An event that has not been answered.
pub(crate) struct Event {
    pub headers: HeaderMap,
    pub body: Option<Body>,
    pub reply: Reply,
}

/// The unanswered events of one isolate, by the number that JavaScript knows them by.
#[derive(Default)]
pub(crate) struct EventTable {
    next: u32,
    events: HashMap<u32, Event, foldhash::fast::FixedState>,
}

impl EventTable {
    pub fn insert(&mut self, event: Event) -> u32 {
        // Small integers of V8 have 31 bits; a number is free again long before the counter comes around.
        loop {
            self.next = (self.next + 1) & 0x3fff_ffff;
            if !self.events.contains_key(&self.next) {
                break;
            }
        }
        self.events.insert(self.next, event);
        self.next
    }

    pub fn len(&self) -> usize {
        self.events.len()
    }

    fn take(&mut self, id: u32) -> Option<Event> {
        self.events.remove(&id)
    }

    /// Fails every event that is left, when the isolate goes away.
    pub fn fail_all(&mut self, why: &ErrorDescription) {
        for (_, event) in self.events.drain() {
            event.reply.fail(why.clone());
        }
    }
}

impl Reply {
    fn fail(self, why: ErrorDescription) {
        // A receiver that is gone wants no answer.
        match self {
            Reply::Fetch(to) => drop(to.send(Err(why.into()))),
            Reply::Rpc(to) => drop(to.send(Err(why.into()))),
            Reply::Socket(to) => drop(to),
            Reply::Alarm(to) => drop(to.send(AlarmOutcome::Failed)),
        }
    }
}

fn isolate(state: &OpState) -> Rc<IsolateState> {
    state.borrow::<Rc<IsolateState>>().clone()
}

/// The request's headers as `name NUL value NUL …`, one character a byte; empty when the event has been answered.
#[op2]
pub(crate) fn op_request_headers<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &OpState,
    #[smi] id: u32,
) -> v8::Local<'s, v8::String> {
    let isolate = state.borrow::<Rc<IsolateState>>();
    let events = isolate.events.borrow();
    let text = events.events.get(&id).map(|e| encode_headers(&e.headers)).unwrap_or_default();
    v8::String::new_from_one_byte(scope, &text, v8::NewStringType::Normal)
        .unwrap_or_else(|| v8::String::empty(scope))
}

/// Makes the request's body a resource; -1 when there is none, or no longer.
#[op2(fast)]
#[smi]
pub(crate) fn op_request_body(state: &mut OpState, #[smi] id: u32) -> i32 {
    let isolate = isolate(state);
    let body = isolate.events.borrow_mut().events.get_mut(&id).and_then(|e| e.body.take());
    match body {
        Some(body) => state.resource_table.add(BodyResource::new(body)) as i32,
        None => -1,
    }
}

/// Header list in the form of [`op_request_headers`].
pub(crate) fn encode_headers(headers: &HeaderMap) -> Vec<u8> {
    let mut text = Vec::with_capacity(headers.len() * 48);
    for (name, value) in headers {
        text.extend_from_slice(name.as_str().as_bytes());
        text.push(0);
        text.extend_from_slice(value.as_bytes());
        text.push(0);
    }
    text
}

/// The reverse of [`encode_headers`].
pub(crate) fn decode_headers(text: &[u8]) -> Result<HeaderMap, JsErrorBox> {
    let mut headers = HeaderMap::new();
    let mut parts = text.split(|b| *b == 0);
    while let Some(name) = parts.next() {
        if name.is_empty() {
            break;
        }
        let value = parts.next().unwrap_or_default();
        let name = HeaderName::from_bytes(name).map_err(|_| {
            JsErrorBox::type_error(format!("Invalid header name: {}", String::from_utf8_lossy(name)))
        })?;
        let value = HeaderValue::from_bytes(value)
            .map_err(|_| JsErrorBox::type_error(format!("Invalid value of header {name}")))?;
        headers.append(name, value);
    }
    Ok(headers)
}

fn answer(state: &OpState, id: u32, response: http::Response<Body>) {
    let event = isolate(state).events.borrow_mut().take(id);
    if let Some(Event { reply: Reply::Fetch(to), .. }) = event {
        // The client may have gone.
        let _ = to.send(Ok(response));
    }
}

/// The head of a response: a header list, behind the reason phrase if it has one of its own (`NUL phrase NUL`).
fn build(status: u32, head: &[u8], body: Body) -> Result<http::Response<Body>, JsErrorBox> {
    let reason =
        head.strip_prefix(b"\0").and_then(|rest| Some(rest.split_at(rest.iter().position(|b| *b == 0)?)));
    let headers = decode_headers(reason.map_or(head, |(_, rest)| &rest[1..]))?;
    let status = u16::try_from(status).ok().and_then(|s| StatusCode::from_u16(s).ok());
    let status = status.ok_or_else(|| JsErrorBox::range_error("Invalid response status"))?;
    let mut response = http::Response::new(body);
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    // A phrase that HTTP does not allow is left out.
    if let Some(reason) = reason.and_then(|(phrase, _)| ReasonPhrase::try_from(phrase).ok()) {
        response.extensions_mut().insert(reason);
    }
    Ok(response)
}

/// `200`, `content-type: text/plain;charset=UTF-8`: what `new Response("…")` is.
#[op2(fast)]
pub(crate) fn op_respond_text(state: &mut OpState, #[smi] id: u32, #[string] body: String) {
    let mut response = http::Response::new(Body::Full(Bytes::from(body)));
    response
        .headers_mut()
        .insert(http::header::CONTENT_TYPE, HeaderValue::from_static("text/plain;charset=UTF-8"));
    answer(state, id, response);
}

/// A response with a string as its body.
#[op2(fast)]
pub(crate) fn op_respond_string(
    state: &mut OpState,
    #[smi] id: u32,
    #[smi] status: u32,
    #[string(onebyte)] headers: Cow<'_, [u8]>,
    #[string] body: String,
) -> Result<(), JsErrorBox> {
    let response = build(status, &headers, Body::Full(Bytes::from(body)))?;
    answer(state, id, response);
    Ok(())
}

/// A response with bytes as its body.
#[op2(fast)]
pub(crate) fn op_respond_bytes(
    state: &mut OpState,
    #[smi] id: u32,
    #[smi] status: u32,
    #[string(onebyte)] headers: Cow<'_, [u8]>,
    #[buffer] body: &[u8],
) -> Result<(), JsErrorBox> {
    let response = build(status, &headers, Body::Full(Bytes::copy_from_slice(body)))?;
    answer(state, id, response);
    Ok(())
}

/// A response without a body.
#[op2(fast)]
pub(crate) fn op_respond_empty(
    state: &mut OpState,
    #[smi] id: u32,
    #[smi] status: u32,
    #[string(onebyte)] headers: Cow<'_, [u8]>,
) -> Result<(), JsErrorBox> {
    let response = build(status, &headers, Body::Empty)?;
    answer(state, id, response);
    Ok(())
}

/// A response whose body is the resource `rid`; the resource belongs to the host from now on.
#[op2(fast)]
pub(crate) fn op_respond_stream(
    state: &mut OpState,
    #[smi] id: u32,
    #[smi] status: u32,
    #[string(onebyte)] headers: Cow<'_, [u8]>,
    #[smi] rid: ResourceId,
) -> Result<(), JsErrorBox> {
    let body = body_of_resource(state, rid)?;
    let response = build(status, &headers, body)?;
    answer(state, id, response);
    Ok(())
}

/// A `101` response that hands a socket over. `false`, and nothing has happened, when the request did not ask for one.
#[op2(fast)]
pub(crate) fn op_respond_upgrade(
    state: &mut OpState,
    #[smi] id: u32,
    #[string(onebyte)] headers: Cow<'_, [u8]>,
    #[cppgc] socket: &Socket,
) -> Result<bool, JsErrorBox> {
    let asked =
        isolate(state).events.borrow().events.get(&id).is_none_or(|e| handshake::is_asked_for(&e.headers));
    if !asked {
        return Ok(false);
    }
    let mut response = build(101, &headers, Body::Empty)?;
    let line = socket.take().ok_or_else(|| JsErrorBox::type_error("The WebSocket is in use."))?;
    response.extensions_mut().insert(UpgradeSlot::new(line.end));
    answer(state, id, response);
    Ok(true)
}

/// The handler for what a parked socket said has been called, or will not be.
#[op2(fast)]
pub(crate) fn op_socket_event_begun(state: &mut OpState, #[smi] id: u32, begun: bool) {
    let event = isolate(state).events.borrow_mut().take(id);
    if let Some(Event { reply: Reply::Socket(to), .. }) = event
        && begun
    {
        // The reader waits as long as the shard runs.
        let _ = to.send(());
    }
}

/// The handler of an alarm has settled.
#[op2(fast)]
pub(crate) fn op_alarm_settled(state: &mut OpState, #[smi] id: u32, is_done: bool) {
    let event = isolate(state).events.borrow_mut().take(id);
    if let Some(Event { reply: Reply::Alarm(to), .. }) = event {
        let outcome = if is_done { AlarmOutcome::Done } else { AlarmOutcome::Failed };
        // The task that waits ends with the shard.
        let _ = to.send(outcome);
    }
}

/// Takes a resource out of JavaScript's table as a body that streams, from this thread unless it is one already.
pub(crate) fn body_of_resource(state: &mut OpState, rid: ResourceId) -> Result<Body, JsErrorBox> {
    let resource: Rc<dyn Resource> = state.resource_table.take_any(rid).map_err(JsErrorBox::from_err)?;
    if let Some(body) = resource.downcast_rc::<BodyResource>().and_then(|resource| resource.take()) {
        return Ok(body);
    }
    let (_, length) = resource.size_hint();
    let (sender, body) = Body::stream(length);
    tokio::task::spawn_local(pump_resource(resource, sender));
    Ok(body)
}

/// The result of an RPC call, or what it or a `fetch` handler has thrown.
#[op2]
pub(crate) fn op_respond_payload(
    state: &mut OpState,
    #[smi] id: u32,
    #[buffer] bytes: &[u8],
    #[buffer] caps: Option<&[u8]>,
    #[serde] rids: Vec<ResourceId>,
    is_thrown: bool,
) -> Result<(), JsErrorBox> {
    let payload = Payload {
        bytes: bytes.to_vec(),
        caps: caps.map(<[u8]>::to_vec),
        bodies: rids.into_iter().map(|rid| body_of_resource(state, rid)).collect::<Result<_, _>>()?,
    };
    let event = isolate(state).events.borrow_mut().take(id);
    // The caller may have gone.
    match event.map(|event| event.reply) {
        Some(Reply::Rpc(to)) if is_thrown => drop(to.send(Err(Failure::Thrown(payload)))),
        Some(Reply::Rpc(to)) => drop(to.send(Ok(payload))),
        Some(Reply::Fetch(to)) => drop(to.send(Err(Failure::Thrown(payload)))),
        _ => {}
    }
    Ok(())
}

/// The error of an event whose caller is user code elsewhere.
#[op2]
pub(crate) fn op_respond_error(state: &mut OpState, #[smi] id: u32, #[serde] error: ErrorDescription) {
    if let Some(event) = isolate(state).events.borrow_mut().take(id) {
        event.reply.fail(error);
    }
}

/// The handler of a public request threw: the log gets the error with its stack, the client a 500.
#[op2(nofast)]
pub(crate) fn op_event_failed<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: Rc<RefCell<OpState>>,
    #[smi] id: u32,
    error: v8::Local<'s, v8::Value>,
) {
    // An end that has passed through Deno's native code is an exception without a value. What follows the turn tells of it.
    if error.is_null() && state.borrow().borrow::<Arc<IsolateGuard>>().has_ended() {
        return;
    }
    // Formatting a stack looks into the state: it must not be borrowed meanwhile.
    let isolate = isolate(&state.borrow());
    let report = isolate.report_uncaught(scope, error, None);
    let event = isolate.events.borrow_mut().take(id);
    if let Some(Event { reply, .. }) = event {
        reply.fail(ErrorDescription::new(report));
    }
}

/// An error that no caller will see: it goes to the log. `place` says what failed.
#[op2(nofast)]
pub(crate) fn op_report_uncaught<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: Rc<RefCell<OpState>>,
    error: v8::Local<'s, v8::Value>,
    #[string] place: &str,
) {
    let isolate = isolate(&state.borrow());
    isolate.report_uncaught(scope, error, Some(place));
}

/// A delivery waits for an empty microtask queue.
#[op2(fast)]
pub(crate) fn op_delivery_queued(state: &OpState) {
    let isolate = state.borrow::<Rc<IsolateState>>();
    isolate.queued.set(isolate.queued.get() + 1);
}

/// Held by JavaScript-facing code that needs the table behind a shared reference.
pub(crate) type Events = RefCell<EventTable>;
