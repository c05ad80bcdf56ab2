//! Hibernatable sockets: they belong to the cell's resident on the shard, not to an instance, so they outlive eviction, a reset
//! and a new deployment.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{mpsc, oneshot};

use super::frame::Frame;
use super::object::Line;
use crate::shard::Resident;

/// Sockets that one cell may have parked, as on the platform.
pub(crate) const MAX_SOCKETS: usize = 32_768;

/// One parked socket.
pub(crate) struct ParkedSocket {
    /// Its number in the cell; numbers grow in the order of acceptance.
    pub id: u32,
    pub line: Line,
    pub tags: Vec<String>,
    /// When it was last answered without the cell, in milliseconds since 1970.
    pub answered: Cell<Option<f64>>,
}

/// What a socket says to its cell.
#[derive(Debug)]
pub(crate) enum Said {
    /// A message, a close, or a protocol error.
    Frame(Frame),
    /// The other side is gone without a close.
    Lost,
}

/// Something for the cell, on its way to the isolate that serves.
pub(crate) struct SocketEvent {
    pub resident: Rc<Resident>,
    pub socket: u32,
    pub said: Said,
    /// Resolves when the handler has been called; fails when it will not be.
    pub begun: oneshot::Sender<()>,
}

/// The request and the response of `setWebSocketAutoResponse`.
#[derive(Debug, Clone)]
pub(crate) struct AutoResponse {
    pub request: String,
    pub response: String,
}

/// The parked sockets of one cell.
#[derive(Default)]
pub(crate) struct ParkedSockets {
    next: Cell<u32>,
    sockets: RefCell<BTreeMap<u32, Rc<ParkedSocket>>>,
    pub auto_response: RefCell<Option<AutoResponse>>,
    /// `setHibernatableWebSocketEventTimeout`, in milliseconds.
    pub event_timeout: Cell<Option<u32>>,
    /// The name that the cell's ID was made from, for instances that a socket wakes.
    pub name: RefCell<Option<String>>,
}

impl ParkedSockets {
    /// Parks a socket; `None` when the cell has as many as it may.
    pub fn park(&self, line: Line, tags: Vec<String>) -> Option<Rc<ParkedSocket>> {
        let mut sockets = self.sockets.borrow_mut();
        if sockets.len() >= MAX_SOCKETS {
            return None;
        }
        let id = self.next.get();
        self.next.set(id + 1);
        let socket = Rc::new(ParkedSocket { id, line, tags, answered: Cell::new(None) });
        sockets.insert(id, socket.clone());
        Some(socket)
    }

    pub fn get(&self, id: u32) -> Option<Rc<ParkedSocket>> {
        self.sockets.borrow().get(&id).cloned()
    }

    /// The numbers of the sockets with the tag, or of all: the youngest first, as the platform lists them.
    pub fn ids(&self, tag: Option<&str>) -> Vec<u32> {
        let sockets = self.sockets.borrow();
        let tagged = |socket: &&Rc<ParkedSocket>| tag.is_none_or(|tag| socket.tags.iter().any(|t| t == tag));
        sockets.values().rev().filter(tagged).map(|socket| socket.id).collect()
    }

    pub fn len(&self) -> usize {
        self.sockets.borrow().len()
    }

    fn remove(&self, id: u32) {
        self.sockets.borrow_mut().remove(&id);
    }

    /// The answer to `frame` that needs no instance.
    fn automatic(&self, frame: &Frame) -> Option<String> {
        let Frame::Text(text) = frame else { return None };
        let auto = self.auto_response.borrow();
        auto.as_ref().filter(|auto| auto.request == *text).map(|auto| auto.response.clone())
    }
}

/// How often an event that found no instance is offered again.
const ATTEMPTS: u32 = 5;
const RETRY_AFTER: Duration = Duration::from_millis(100);

/// Reads a parked socket to its end: answers what can be answered without the cell, hands everything else to it, one after the
/// other, each when the handler of the one before has been called.
pub(crate) async fn read(
    resident: Rc<Resident>,
    socket: Rc<ParkedSocket>,
    events: mpsc::UnboundedSender<SocketEvent>,
) {
    loop {
        let said = match socket.line.end.next().await {
            Some(frame) => {
                if let Some(response) = resident.sockets.automatic(&frame) {
                    socket.answered.set(Some(now()));
                    if !socket.line.left.get() {
                        // A peer that is gone needs no answer.
                        let _ = socket.line.end.send(Frame::Text(response));
                    }
                    continue;
                }
                Said::Frame(frame)
            }
            None => Said::Lost,
        };
        let last = match &said {
            Said::Frame(Frame::Close(_)) => {
                socket.line.heard.set(true);
                true
            }
            Said::Frame(Frame::Failed(_)) | Said::Lost => {
                // As on the platform, the handler still sees a closing socket.
                socket.line.heard.set(true);
                true
            }
            Said::Frame(_) => false,
        };
        deliver(&resident, socket.id, said, &events).await;
        if last {
            return;
        }
    }
}

async fn deliver(
    resident: &Rc<Resident>,
    socket: u32,
    said: Said,
    events: &mpsc::UnboundedSender<SocketEvent>,
) {
    for attempt in 0..ATTEMPTS {
        let (begun, outcome) = oneshot::channel();
        let said = match &said {
            Said::Frame(frame) => Said::Frame(frame.clone()),
            Said::Lost => Said::Lost,
        };
        let event = SocketEvent { resident: resident.clone(), socket, said, begun };
        if events.send(event).is_err() {
            return;
        }
        if outcome.await.is_ok() {
            return;
        }
        if attempt + 1 < ATTEMPTS {
            tokio::time::sleep(RETRY_AFTER).await;
        }
    }
    tracing::warn!(cell = %resident.scope, "a WebSocket event was dropped: the cell does not start");
    if let Some(socket) = resident.sockets.get(socket) {
        // The client must not believe that it is heard.
        let _ =
            socket.line.end.send(Frame::Close(super::Close::new(1011, "The Durable Object does not start.")));
        socket.line.left.set(true);
    }
}

/// The last event of a socket has been handled: the cell forgets it.
pub(crate) fn forget(resident: &Resident, id: u32) {
    resident.sockets.remove(id);
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |since| since.as_millis() as f64)
}
