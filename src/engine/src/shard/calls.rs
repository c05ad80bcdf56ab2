//! Calls into cells from another thread or isolate. One handle hides where the cell is: the caller sends a [`Call`] to the shard
//! that the scope's hash chooses, and that shard runs it in the isolate of the deployment it serves.

use std::sync::Arc;

use celld_ids::CellScope;
use http::HeaderMap;
use parking_lot::RwLock;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use super::body::Body;
use super::events::{ErrorDescription, FetchReply, RpcReply};

/// Calls that may wait in front of a shard. Beyond them the caller is refused at once.
const MAILBOX_DEPTH: usize = 4096;

/// One call into a cell.
#[derive(Debug)]
pub struct Call {
    /// The cell.
    pub scope: CellScope,
    /// The name that the caller made the ID from, for `ctx.id.name`.
    pub name: Option<String>,
    /// What to call.
    pub target: CallTarget,
}

/// What waits in front of a shard.
#[derive(Debug)]
pub(crate) enum Mail {
    /// For a cell of the shard.
    Cell(Call),
    /// For an entrypoint of a Worker of the deployment.
    Entry {
        /// The Worker's name.
        script: String,
        /// The exported class, or `default`.
        entrypoint: String,
        /// `ctx.props`, in V8's serialization.
        props: Vec<u8>,
        /// What to call.
        target: CallTarget,
    },
    /// For a function or target that an isolate of the shard has handed out.
    Export {
        /// The isolate's serial number.
        isolate: u64,
        /// The number under which it was handed out.
        target: u32,
        /// What to call.
        call: RpcCall,
    },
    /// Holders of such a function or target that came (positive) or went.
    Holders {
        /// The isolate's serial number.
        isolate: u64,
        /// The number under which it was handed out.
        target: u32,
        /// By how many their number changes.
        change: i32,
    },
}

impl Mail {
    pub(crate) fn refuse(self, error: ErrorDescription) {
        match self {
            Mail::Cell(call) => call.target.refuse(error),
            Mail::Entry { target, .. } => target.refuse(error),
            Mail::Export { call, .. } => drop(call.reply.send(Err(error.into()))),
            Mail::Holders { .. } => {}
        }
    }
}

/// What to call in a cell, or of an entrypoint.
#[derive(Debug)]
pub enum CallTarget {
    /// The `fetch` handler.
    Fetch {
        /// Request method.
        method: String,
        /// Absolute URL.
        url: String,
        /// Request headers.
        headers: HeaderMap,
        /// Request body.
        body: Body,
        /// Where the response goes.
        reply: oneshot::Sender<FetchReply>,
    },
    /// Nothing: the cell is brought here, so that its alarm fires when it is due. Resolves to the time of the alarm, in
    /// milliseconds since the Unix epoch, once that is durable.
    Wake {
        /// Where the time goes.
        reply: oneshot::Sender<Result<Option<i64>, ErrorDescription>>,
    },
    /// An RPC method, or a property.
    Rpc(RpcCall),
}

/// One RPC call.
#[derive(Debug)]
pub struct RpcCall {
    /// The names that lead from the target to what is called.
    pub path: Vec<String>,
    /// The arguments; `None` asks for a property.
    pub args: Option<Payload>,
    /// Where the result goes.
    pub reply: oneshot::Sender<RpcReply>,
}

/// A value on its way from one isolate to another (js/events/rpc_payload.js).
#[derive(Debug)]
pub struct Payload {
    /// The value in V8's serialization.
    pub bytes: Vec<u8>,
    /// What its markers stand for, likewise; `None` when it has none.
    pub caps: Option<Vec<u8>>,
    /// The streams in it.
    pub bodies: Vec<Body>,
}

impl CallTarget {
    /// Answers with an error.
    pub fn refuse(self, error: ErrorDescription) {
        match self {
            CallTarget::Fetch { reply, .. } => drop(reply.send(Err(error.into()))),
            CallTarget::Rpc(call) => drop(call.reply.send(Err(error.into()))),
            CallTarget::Wake { reply } => drop(reply.send(Err(error))),
        }
    }
}

/// The way into each shard.
#[derive(Clone)]
pub struct Router {
    doors: Arc<[RwLock<Door>]>,
}

/// The way into one shard.
#[derive(Clone)]
pub(crate) struct Door {
    mailbox: mpsc::Sender<Mail>,
    /// Cancelled when the shard's thread is lost: nothing that was posted will be answered.
    lost: CancellationToken,
}

impl Door {
    /// A door, and what comes in by it.
    pub fn new(lost: CancellationToken) -> (Door, mpsc::Receiver<Mail>) {
        let (mailbox, receiver) = mpsc::channel(MAILBOX_DEPTH);
        (Door { mailbox, lost }, receiver)
    }
}

impl Router {
    /// A router over `count` shards that are not there yet.
    pub(crate) fn new(count: usize) -> Router {
        Router { doors: (0..count).map(|_| RwLock::new(Door::new(CancellationToken::new()).0)).collect() }
    }

    /// From now on mail for a shard goes in by `door`.
    pub(crate) fn open(&self, shard: usize, door: Door) {
        if let Some(place) = self.doors.get(shard) {
            *place.write() = door;
        }
    }

    /// Sends the call on its way; a shard without room, or gone, answers with an error at once. The token is for [`reply`].
    pub fn send(&self, call: Call) -> CancellationToken {
        let shard = super::cells::shard_of(call.scope.class(), call.scope.id(), self.doors.len());
        self.post(shard, Mail::Cell(call))
    }

    /// Sends mail to a shard; one that does not exist, has no room or is gone answers with an error at once.
    pub(crate) fn post(&self, shard: usize, mail: Mail) -> CancellationToken {
        let Some(door) = self.doors.get(shard) else {
            mail.refuse(ErrorDescription::new("The destination of this RPC stub is gone."));
            return CancellationToken::new();
        };
        let Door { mailbox, lost } = door.read().clone();
        if let Err(refused) = mailbox.try_send(mail) {
            let (mail, error) = match refused {
                mpsc::error::TrySendError::Full(mail) => (
                    mail,
                    ErrorDescription {
                        overloaded: true,
                        retryable: true,
                        ..ErrorDescription::new("The Durable Object's shard is overloaded; try again later.")
                    },
                ),
                mpsc::error::TrySendError::Closed(mail) => {
                    (mail, ErrorDescription::new("The node is shutting down."))
                }
            };
            mail.refuse(error);
        }
        lost
    }
}

/// The answer of a shard; `None` when it has stopped, or when its thread was lost, which `lost` says.
pub async fn reply<T>(answer: oneshot::Receiver<T>, lost: &CancellationToken) -> Option<T> {
    tokio::select! {
        biased;
        answer = answer => answer.ok(),
        () = lost.cancelled() => None,
    }
}
