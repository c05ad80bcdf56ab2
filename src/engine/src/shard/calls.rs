//! Calls into cells from another thread or isolate. One handle hides where the cell is: the caller sends a [`Call`] to the shard
//! that the scope's hash chooses, and that shard runs it in the isolate of the deployment it serves.

use celld_ids::CellScope;
use http::HeaderMap;
use tokio::sync::{mpsc, oneshot};

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

/// What to call in a cell.
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
    /// An RPC method.
    Rpc {
        /// Method name.
        method: String,
        /// The arguments, an array in V8's serialization.
        args: Vec<u8>,
        /// Where the result goes.
        reply: oneshot::Sender<RpcReply>,
    },
}

impl CallTarget {
    /// Answers with an error.
    pub fn refuse(self, error: ErrorDescription) {
        match self {
            CallTarget::Fetch { reply, .. } => drop(reply.send(Err(error))),
            CallTarget::Rpc { reply, .. } => drop(reply.send(Err(error))),
            CallTarget::Wake { reply } => drop(reply.send(Err(error))),
        }
    }
}

/// The sending ends of all shards' mailboxes.
#[derive(Clone)]
pub struct Router {
    mailboxes: std::sync::Arc<[mpsc::Sender<Call>]>,
}

impl Router {
    /// A router over `count` shards, and the receiving ends.
    pub(crate) fn new(count: usize) -> (Router, Vec<mpsc::Receiver<Call>>) {
        let (senders, receivers): (Vec<_>, Vec<_>) = (0..count).map(|_| mpsc::channel(MAILBOX_DEPTH)).unzip();
        (Router { mailboxes: senders.into() }, receivers)
    }

    /// Sends the call on its way; a shard without room, or gone, answers with an error at once.
    pub fn send(&self, call: Call) {
        let shard = super::cells::shard_of(call.scope.class(), call.scope.id(), self.mailboxes.len());
        if let Err(refused) = self.mailboxes[shard].try_send(call) {
            let (call, error) = match refused {
                mpsc::error::TrySendError::Full(call) => (
                    call,
                    ErrorDescription {
                        overloaded: true,
                        retryable: true,
                        ..ErrorDescription::new("The Durable Object's shard is overloaded; try again later.")
                    },
                ),
                mpsc::error::TrySendError::Closed(call) => {
                    (call, ErrorDescription::new("The node is shutting down."))
                }
            };
            call.target.refuse(error);
        }
    }
}
