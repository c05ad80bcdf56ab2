//! Ops by which `js/socket` uses a socket.

use std::cell::RefCell;
use std::future::Future;
use std::rc::{Rc, Weak};

use bytes::Bytes;
use deno_core::{OpState, ResourceId, ToV8, op2, v8};
use deno_error::JsErrorBox;

use super::channel::{Lines, SendError, pair};
use super::frame::{Close, Frame};
use super::object::{Held, Line, ReadyState, Socket, SocketResource};

/// The sockets that an isolate has accepted; in its `OpState`. What is left is closed when the isolate goes away.
#[derive(Default)]
pub(crate) struct OpenSockets(RefCell<Vec<Weak<Line>>>);

impl OpenSockets {
    fn insert(&self, line: &Rc<Line>) {
        let mut lines = self.0.borrow_mut();
        // Amortized: the list is swept when it would grow.
        if lines.len() == lines.capacity() {
            lines.retain(|line| line.strong_count() > 0);
        }
        lines.push(Rc::downgrade(line));
    }

    /// Closes every socket that is still open.
    pub fn close_all(&self, close: &Close) {
        for line in self.0.take().iter().filter_map(Weak::upgrade) {
            if !line.left.replace(true) {
                // The other side may be gone already.
                let _ = line.end.send(Frame::Close(close.clone()));
            }
            line.end.hang_up();
        }
    }
}

/// Two connected sockets, as an array.
#[op2]
pub(crate) fn op_socket_pair<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    state: &OpState,
) -> v8::Local<'s, v8::Array> {
    let (a, b) = pair();
    // An isolate without a shard is a test's.
    if let Some(lines) = state.try_borrow::<Lines>() {
        lines.note(&a);
    }
    let a = deno_core::cppgc::make_cppgc_object(scope, Socket::new(a));
    let b = deno_core::cppgc::make_cppgc_object(scope, Socket::new(b));
    v8::Array::new_with_elements(scope, &[a.into(), b.into()])
}

/// The socket that the host left under a resource number.
#[op2]
#[cppgc]
pub(crate) fn op_socket_from_resource(
    state: &mut OpState,
    #[smi] rid: ResourceId,
) -> Result<Socket, JsErrorBox> {
    let resource = state.resource_table.take::<SocketResource>(rid).map_err(JsErrorBox::from_err)?;
    let end = resource.take().ok_or_else(|| JsErrorBox::type_error("The WebSocket was already taken."))?;
    Ok(Socket::new(end))
}

/// Moves the end into a new object; null while it is in use, and when it is gone.
#[op2]
pub(crate) fn op_socket_move<'s>(
    scope: &mut v8::PinScope<'s, '_>,
    #[cppgc] socket: &Socket,
) -> v8::Local<'s, v8::Value> {
    match socket.take() {
        Some(line) => deno_core::cppgc::make_cppgc_object(scope, Socket::new(line.end)).into(),
        None => v8::null(scope).into(),
    }
}

/// The handler reads the socket from now on: it is closed when the isolate goes away.
#[op2(fast)]
pub(crate) fn op_socket_accept(state: &OpState, #[cppgc] socket: &Socket) {
    if let Held::Line(line) = &*socket.0.borrow() {
        state.borrow::<OpenSockets>().insert(line);
    }
}

/// 0: sent, or nobody is left to read it; 1: the other end does not read, the connection is lost.
fn sent(socket: &Socket, frame: Frame) -> bool {
    socket
        .with_line(|line| match line.end.send(frame) {
            Ok(()) | Err(SendError::Gone) => true,
            Err(SendError::Full) => {
                line.left.set(true);
                // A close always fits.
                let _ = line.end.send(Frame::Close(Close::new(1009, "Too much data waits for the peer.")));
                line.end.hang_up();
                false
            }
        })
        .unwrap_or(true)
}

/// Sends a text message; `false` when the other end does not read and the connection was given up.
#[op2(fast)]
pub(crate) fn op_socket_send_text(#[cppgc] socket: &Socket, #[string] text: String) -> bool {
    sent(socket, Frame::Text(text))
}

/// Sends a binary message; as [`op_socket_send_text`].
#[op2(fast)]
pub(crate) fn op_socket_send_binary(#[cppgc] socket: &Socket, #[buffer] data: &[u8]) -> bool {
    sent(socket, Frame::Binary(Bytes::copy_from_slice(data)))
}

/// Marks this side as closed: `readyState` changes at once, the frame follows with [`op_socket_close`].
#[op2(fast)]
pub(crate) fn op_socket_leave(#[cppgc] socket: &Socket) {
    socket.with_line(|line| line.left.set(true));
}

/// Sends the close frame; code 1005 stands for none.
#[op2(fast)]
pub(crate) fn op_socket_close(#[cppgc] socket: &Socket, #[smi] code: u32, #[string] reason: String) {
    socket.with_line(|line| {
        line.left.set(true);
        let close = Close { code: u16::try_from(code).unwrap_or(super::frame::NO_CODE), reason };
        // The other side may be gone already.
        let _ = line.end.send(Frame::Close(close));
    });
}

/// Gives the connection up; the other side learns it after it has read what was sent.
#[op2(fast)]
pub(crate) fn op_socket_hang_up(#[cppgc] socket: &Socket) {
    socket.with_line(|line| {
        line.lost.set(true);
        line.end.hang_up();
    });
}

/// `readyState`.
#[op2(fast)]
#[smi]
pub(crate) fn op_socket_state(#[cppgc] socket: &Socket) -> u32 {
    socket.with_line(Line::ready_state).unwrap_or(ReadyState::Closed) as u32
}

/// `true` when this side has been closed.
#[op2(fast)]
pub(crate) fn op_socket_has_left(#[cppgc] socket: &Socket) -> bool {
    socket.with_line(|line| line.left.get()).unwrap_or(true)
}

/// `bufferedAmount`: bytes that wait for the other end.
#[op2(fast)]
pub(crate) fn op_socket_waiting(#[cppgc] socket: &Socket) -> f64 {
    socket.with_line(|line| line.end.waiting()).unwrap_or(0) as f64
}

/// Keeps an attachment.
#[op2(fast)]
pub(crate) fn op_socket_attach(#[cppgc] socket: &Socket, #[buffer] value: &[u8]) {
    socket.with_line(|line| *line.attachment.borrow_mut() = Some(value.to_vec()));
}

/// The attachment, or null.
#[op2]
#[serde]
pub(crate) fn op_socket_attachment(#[cppgc] socket: &Socket) -> Option<deno_core::ToJsBuffer> {
    socket.with_line(|line| line.attachment.borrow().clone()).flatten().map(Into::into)
}

/// What [`op_socket_next`] resolves to: a string, an `ArrayBuffer`, `[code, reason]` for a close, an `Error` for a protocol
/// error, null when the other side is gone.
pub(crate) struct Received(pub Option<Frame>);

impl<'a> ToV8<'a> for Received {
    type Error = JsErrorBox;

    fn to_v8(self, scope: &mut v8::PinScope<'a, '_>) -> Result<v8::Local<'a, v8::Value>, JsErrorBox> {
        let string = |scope: &mut v8::PinScope<'a, '_>, text: &str| {
            v8::String::new(scope, text)
                .ok_or_else(|| JsErrorBox::range_error("The message is too long for a string."))
        };
        Ok(match self.0 {
            None => v8::null(scope).into(),
            Some(Frame::Text(text)) => string(scope, &text)?.into(),
            Some(Frame::Binary(bytes)) => {
                let store = v8::ArrayBuffer::new_backing_store_from_vec(bytes.into()).make_shared();
                v8::ArrayBuffer::with_backing_store(scope, &store).into()
            }
            Some(Frame::Close(close)) => {
                let code = v8::Integer::new(scope, i32::from(close.code)).into();
                let reason = string(scope, &close.reason)?.into();
                v8::Array::new_with_elements(scope, &[code, reason]).into()
            }
            Some(Frame::Failed(why)) => {
                let why = string(scope, &why)?;
                v8::Exception::error(scope, why)
            }
        })
    }
}

/// The next frame; see [`Received`].
#[op2]
pub(crate) fn op_socket_next(#[cppgc] socket: &Socket) -> impl Future<Output = Received> + use<> {
    let line = match &*socket.0.borrow() {
        Held::Line(line) => Some(line.clone()),
        _ => None,
    };
    async move {
        let Some(line) = line else { return Received(None) };
        let frame = line.end.next().await;
        match &frame {
            None | Some(Frame::Failed(_)) => line.lost.set(true),
            Some(Frame::Close(_)) => line.heard.set(true),
            Some(_) => {}
        }
        Received(frame)
    }
}
