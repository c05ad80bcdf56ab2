//! A socket as JavaScript holds it: a native object, so that a socket nobody can reach any more hangs up by itself.

// `GarbageCollected` is an unsafe trait.
#![allow(unsafe_code)]

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use deno_core::v8::cppgc::Visitor;
use deno_core::{GarbageCollected, Resource};
use parking_lot::Mutex;

use super::channel::SocketEnd;
use super::parked::ParkedSocket;

/// An end and how far its conversation has come.
#[derive(Debug)]
pub(crate) struct Line {
    pub end: SocketEnd,
    /// `close()` was called here.
    pub left: Cell<bool>,
    /// A close came from the other side.
    pub heard: Cell<bool>,
    /// The other side is gone, or broke the protocol.
    pub lost: Cell<bool>,
    /// `serializeAttachment`, in V8's serialization.
    pub attachment: RefCell<Option<Vec<u8>>>,
}

/// `WebSocket.readyState`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ReadyState {
    Open = 1,
    Closing = 2,
    Closed = 3,
}

impl Line {
    pub fn new(end: SocketEnd) -> Line {
        Line {
            end,
            left: Cell::new(false),
            heard: Cell::new(false),
            lost: Cell::new(false),
            attachment: RefCell::new(None),
        }
    }

    pub fn ready_state(&self) -> ReadyState {
        match (self.left.get(), self.heard.get(), self.lost.get()) {
            (_, _, true) | (true, true, _) => ReadyState::Closed,
            (false, false, false) => ReadyState::Open,
            _ => ReadyState::Closing,
        }
    }
}

/// What is behind a `WebSocket` of JavaScript.
pub(crate) enum Held {
    /// The end itself.
    Line(Rc<Line>),
    /// A socket that its cell parked with the shard.
    Parked(Rc<ParkedSocket>),
    /// Nothing any more: the socket went into a response.
    Nothing,
}

/// The native object.
pub(crate) struct Socket(pub RefCell<Held>);

// SAFETY: the object holds no reference to the JavaScript heap, so there is nothing to trace.
unsafe impl GarbageCollected for Socket {
    fn trace(&self, _visitor: &mut Visitor) {}

    fn get_name(&self) -> &'static std::ffi::CStr {
        c"Socket"
    }
}

impl Socket {
    pub fn new(end: SocketEnd) -> Socket {
        Socket(RefCell::new(Held::Line(Rc::new(Line::new(end)))))
    }

    pub fn parked(socket: Rc<ParkedSocket>) -> Socket {
        Socket(RefCell::new(Held::Parked(socket)))
    }

    /// Runs `f` on the conversation, if there still is one here.
    pub fn with_line<R>(&self, f: impl FnOnce(&Line) -> R) -> Option<R> {
        match &*self.0.borrow() {
            Held::Line(line) => Some(f(line)),
            Held::Parked(socket) => Some(f(&socket.line)),
            Held::Nothing => None,
        }
    }

    /// Takes the end out, to hand it to somebody else; `None` while somebody reads from it, and when it is not here.
    pub fn take(&self) -> Option<Line> {
        let mut held = self.0.borrow_mut();
        match std::mem::replace(&mut *held, Held::Nothing) {
            Held::Line(line) => match Rc::try_unwrap(line) {
                Ok(line) => Some(line),
                Err(line) => {
                    *held = Held::Line(line);
                    None
                }
            },
            other => {
                *held = other;
                None
            }
        }
    }
}

/// The end that a `101` response hands over, among the response's extensions. The first taker gets it.
#[derive(Debug, Clone)]
pub struct UpgradeSlot(Arc<Mutex<Option<SocketEnd>>>);

impl UpgradeSlot {
    /// A slot with an end in it.
    pub fn new(end: SocketEnd) -> UpgradeSlot {
        UpgradeSlot(Arc::new(Mutex::new(Some(end))))
    }

    /// The end, if nobody has taken it.
    pub fn take(&self) -> Option<SocketEnd> {
        self.0.lock().take()
    }
}

/// An end on its way into JavaScript, under a resource number until `op_socket_from_resource` fetches it.
pub(crate) struct SocketResource(RefCell<Option<SocketEnd>>);

impl SocketResource {
    pub fn new(end: SocketEnd) -> SocketResource {
        SocketResource(RefCell::new(Some(end)))
    }

    pub fn take(&self) -> Option<SocketEnd> {
        self.0.borrow_mut().take()
    }
}

impl Resource for SocketResource {
    fn name(&self) -> Cow<'_, str> {
        "socket".into()
    }
}
