//! The node process, from the supervisor's side.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::process::{Child, Command};

use crate::protocol::{FromNode, ToNode, line};
use crate::{DevError, NodeParameters};

/// A node that was told to stop gets this long; its own bound on a graceful stop is well below.
const STOP_WITHIN: Duration = Duration::from_secs(10);

/// A running node process. Dropping it kills the process.
#[derive(Debug)]
pub(crate) struct NodeProcess {
    child: Child,
    lines: BufReader<OwnedReadHalf>,
    control: OwnedWriteHalf,
}

/// Why a node process does not serve.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NodeFailure {
    /// It says why, for instance that the Worker throws while it loads.
    Said(String),
    /// It ended without a word.
    Ended(String),
}

impl NodeProcess {
    /// Starts the process and lets it prepare. Call it on the main thread: the kernel's parent-death rule is about
    /// the *thread* that started a process.
    ///
    /// # Errors
    /// [`DevError::Spawn`].
    pub(crate) async fn start(
        (path, arguments): &(PathBuf, Vec<String>),
        listener: &TcpListener,
        parameters: &NodeParameters,
    ) -> Result<Self, DevError> {
        let started = async {
            let (ours, theirs) = StdUnixStream::pair()?;
            ours.set_nonblocking(true)?;
            let child = Command::new(path)
                .args(arguments)
                .stdin(Stdio::from(OwnedFd::from(theirs)))
                .stdout(Stdio::from(OwnedFd::from(listener.try_clone()?)))
                // Ctrl-C reaches the whole foreground group of the terminal, but the supervisor alone decides.
                .process_group(0)
                .kill_on_drop(true)
                .spawn()?;
            let (read, control) = UnixStream::from_std(ours)?.into_split();
            let mut process = Self { child, lines: BufReader::new(read), control };
            process.control.write_all(&line(&ToNode::Prepare(parameters.clone()))?).await?;
            Ok(process)
        };
        started.await.map_err(|source| DevError::Spawn { path: path.clone(), source })
    }

    /// Lets the prepared process serve; returns the address of its internal listener.
    pub(crate) async fn serve(&mut self) -> Result<SocketAddr, NodeFailure> {
        let heard = async {
            self.control.write_all(&line(&ToNode::Serve)?).await?;
            let mut text = String::new();
            self.lines.read_line(&mut text).await?;
            io::Result::Ok(text)
        };
        match heard.await.as_deref().map(serde_json::from_str) {
            Ok(Ok(FromNode::Ready { internal })) => Ok(internal),
            Ok(Ok(FromNode::Failed { message })) => Err(NodeFailure::Said(message)),
            // The channel is closed or holds nonsense: the exit status tells more.
            _ => Err(NodeFailure::Ended(self.ended().await)),
        }
    }

    /// Completes when the process has ended, and says how. Cancel-safe.
    pub(crate) async fn ended(&mut self) -> String {
        match self.child.wait().await {
            Ok(status) => describe(status),
            Err(error) => format!("it cannot be waited for: {error}"),
        }
    }

    /// Closes the channel and waits for the graceful stop; after a bound, or when `hurry` completes, kills.
    pub(crate) async fn stop(self, hurry: impl Future<Output = ()>) {
        let Self { mut child, lines, control } = self;
        drop((lines, control));
        tokio::select! {
            _ = child.wait() => return,
            () = tokio::time::sleep(STOP_WITHIN) => {}
            () = hurry => {}
        }
        // An error means that it has ended meanwhile.
        let _ = child.kill().await;
    }
}

fn describe(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (Some(code), _) => format!("exit code {code}"),
        (None, Some(signal)) => format!("signal {signal}"),
        (None, None) => status.to_string(),
    }
}
