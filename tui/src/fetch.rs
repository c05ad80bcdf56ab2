//! One node's `/state`.

use http_body_util::{BodyExt, Empty, Limited};
use hyper::Request;
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;

use crate::sample::NodeState;

/// A state has a few kilobytes; whatever answers with more is no node.
const MAX_STATE: usize = 4 << 20;

/// Asks the node at `address` (`host:port`) for its state. The error is for the table: short.
pub(crate) async fn fetch(address: &str) -> Result<NodeState, String> {
    let stream = tokio::net::TcpStream::connect(address).await.map_err(|e| e.to_string())?;
    let (mut sender, connection) =
        hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.map_err(|e| e.to_string())?;
    let connection = tokio::spawn(connection);
    let request = Request::get("/state").header("host", address).body(Empty::<Bytes>::new());
    let request = request.map_err(|e| e.to_string())?;
    let answer = sender.send_request(request).await.map_err(|e| e.to_string())?;
    if !answer.status().is_success() {
        return Err(format!("answered {}", answer.status()));
    }
    let body = Limited::new(answer.into_body(), MAX_STATE).collect().await.map_err(|e| e.to_string())?;
    connection.abort();
    serde_json::from_slice(&body.to_bytes()).map_err(|e| format!("not a node's state: {e}"))
}
