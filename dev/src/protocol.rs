//! What the supervisor and its node process say to each other.
//!
//! The node process is the same executable. It starts with two descriptors in unusual places and the rest inherited:
//!
//! * descriptor 0: one end of a socket pair, the *control channel*: JSON lines in both directions;
//! * descriptor 1: the public listener, open already;
//! * descriptor 2: stderr, where the Worker's console and the node's log go.
//!
//! The conversation: the supervisor sends [`ToNode::Prepare`] at once, so that the process loads the engine while the
//! project is still being built, then [`ToNode::Serve`] when the deployment is in the bucket. The node answers
//! [`FromNode::Ready`] or [`FromNode::Failed`]. The end of the channel, however it comes, means "stop gracefully".

use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// Where the node process finds things, and what it shows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NodeParameters {
    /// The directory of the local bucket.
    pub bucket: PathBuf,
    /// The directory of the node's local caches.
    pub work: PathBuf,
    /// HTML responses load the live-reload script.
    pub live_reload: bool,
    /// Show the node's warnings and information too.
    pub logs: bool,
    /// Colour on stderr.
    pub colour: bool,
}

/// From the supervisor to the node process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum ToNode {
    /// Get ready to serve.
    Prepare(NodeParameters),
    /// The bucket holds a deployment: serve it.
    Serve,
}

/// From the node process to the supervisor.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum FromNode {
    /// The application is served.
    Ready {
        /// The internal listener.
        internal: SocketAddr,
    },
    /// The node cannot serve; the process exits.
    Failed {
        /// For the developer.
        message: String,
    },
}

/// One message as a line.
pub(crate) fn line(message: &impl Serialize) -> std::io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    Ok(line)
}
