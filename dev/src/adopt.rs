//! `POST /reload` on the node's internal listener: the running node adopts the deployment in the bucket, in place.

use std::net::SocketAddr;
use std::time::Duration;

use http::{Request, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper::body::Bytes;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

/// An adoption loads and starts code; a node that needs longer is stuck.
const DEADLINE: Duration = Duration::from_secs(30);

/// The longest answer that is read, in bytes: a script's error with its stack.
const MAX_ANSWER: usize = 1 << 20;

/// Why the node did not adopt.
#[derive(Debug)]
pub(crate) enum AdoptError {
    /// The deployment is at fault; the node says how, and serves the previous one.
    Refused(String),
    /// The node could not be asked, because it ended or hangs.
    Unreachable(String),
}

/// Makes the node at `internal` adopt the deployment that the bucket points to.
pub(crate) async fn adopt(internal: SocketAddr) -> Result<(), AdoptError> {
    match tokio::time::timeout(DEADLINE, post_reload(internal)).await {
        Ok(Ok((true, _))) => Ok(()),
        Ok(Ok((false, answer))) => Err(AdoptError::Refused(message_of(&answer))),
        Ok(Err(error)) => Err(AdoptError::Unreachable(error.to_string())),
        Err(_elapsed) => Err(AdoptError::Unreachable(format!("no answer within {} s", DEADLINE.as_secs()))),
    }
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

async fn post_reload(internal: SocketAddr) -> Result<(bool, String), AnyError> {
    let stream = TcpStream::connect(internal).await?;
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await?;
    let exchange = async {
        let request =
            Request::post("/reload").header(header::HOST, internal.to_string()).body(Empty::<Bytes>::new())?;
        let response = sender.send_request(request).await?;
        let adopted = response.status().is_success();
        let body = Limited::new(response.into_body(), MAX_ANSWER).collect().await?.to_bytes();
        Ok((adopted, String::from_utf8_lossy(&body).into_owned()))
    };
    tokio::select! {
        outcome = exchange => outcome,
        // The connection future only drives the exchange; it ends first when the connection breaks.
        broken = async { connection.await.err() } => match broken {
            Some(error) => Err(error.into()),
            None => Err("the node closed the connection".into()),
        },
    }
}

/// The `error` member of a JSON answer, or the answer as it is.
fn message_of(answer: &str) -> String {
    let member = serde_json::from_str::<serde_json::Value>(answer)
        .ok()
        .and_then(|json| json.get("error")?.as_str().map(str::to_owned));
    member.unwrap_or_else(|| answer.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_read_as_json_or_as_text() {
        assert_eq!(message_of(r#"{"error":"boom\n at a.ts:1"}"#), "boom\n at a.ts:1");
        assert_eq!(message_of(" plain \n"), "plain");
        assert_eq!(message_of("{}"), "{}");
    }
}
