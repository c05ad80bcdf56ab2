//! The node process's end of the control channel. The binary's hidden command runs the node between these calls.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixStream as StdUnixStream;

use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};

use crate::NodeParameters;
use crate::protocol::{FromNode, ToNode, line};

/// Why the process cannot act as the node of a supervisor.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// Descriptors 0 and 1 are not what the supervisor passes; most likely nobody but a person started the command.
    #[error("this command is only for `celld dev` itself: {0}")]
    Descriptors(#[source] io::Error),
    /// The supervisor ended, or said something unexpected.
    #[error("the supervisor's control channel: {0}")]
    Channel(#[source] io::Error),
}

/// The control channel, from the node's side.
#[derive(Debug)]
pub struct Attached {
    lines: BufReader<OwnedReadHalf>,
    write: OwnedWriteHalf,
}

impl Attached {
    /// Takes descriptors 0 and 1, puts harmless ones in their place, asks the kernel to end this process with its
    /// parent, and waits for the parameters. Call it inside a tokio runtime, before anything writes to stdout.
    ///
    /// # Errors
    /// [`AttachError`]: the process was not started by a supervisor, or the supervisor is gone.
    pub async fn attach() -> Result<(Self, NodeParameters, TcpListener), AttachError> {
        // The backstop; the regular way is the end of the control channel. A supervisor that ended before this line
        // has closed the channel, and the first read sees it.
        #[cfg(target_os = "linux")]
        rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
            .map_err(|errno| AttachError::Descriptors(errno.into()))?;
        let (control, listener) = take_descriptors().map_err(AttachError::Descriptors)?;
        let (read, write) = UnixStream::from_std(control).map_err(AttachError::Channel)?.into_split();
        let mut attached = Self { lines: BufReader::new(read), write };
        match attached.receive().await? {
            ToNode::Prepare(parameters) => Ok((attached, parameters, listener)),
            ToNode::Serve => Err(AttachError::Channel(io::Error::other("told to serve before to prepare"))),
        }
    }

    /// Waits until the bucket holds a deployment. `false`: the supervisor stopped instead.
    ///
    /// # Errors
    /// [`AttachError::Channel`].
    pub async fn deployment(&mut self) -> Result<bool, AttachError> {
        match self.receive().await {
            Ok(ToNode::Serve) => Ok(true),
            Ok(ToNode::Prepare(_)) => {
                Err(AttachError::Channel(io::Error::other("told to prepare for the second time")))
            }
            Err(AttachError::Channel(error)) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Says that the application is served.
    ///
    /// # Errors
    /// [`AttachError::Channel`]: the supervisor is gone, so the process should stop too.
    pub async fn ready(&mut self, internal: SocketAddr) -> Result<(), AttachError> {
        self.send(&FromNode::Ready { internal }).await
    }

    /// Says why the application cannot be served.
    ///
    /// # Errors
    /// [`AttachError::Channel`]: nobody is there to hear it.
    pub async fn failed(&mut self, message: String) -> Result<(), AttachError> {
        self.send(&FromNode::Failed { message }).await
    }

    /// Completes when the supervisor closes the channel or ends. Cancel-safe.
    pub async fn stopped(&mut self) {
        let mut unexpected = [0; 64];
        // Nothing is defined for this phase; whatever comes besides the end is skipped.
        while matches!(self.lines.read(&mut unexpected).await, Ok(1..)) {}
    }

    async fn receive(&mut self) -> Result<ToNode, AttachError> {
        let mut text = String::new();
        let length = self.lines.read_line(&mut text).await.map_err(AttachError::Channel)?;
        if length == 0 {
            return Err(AttachError::Channel(io::ErrorKind::UnexpectedEof.into()));
        }
        serde_json::from_str(&text).map_err(|error| AttachError::Channel(error.into()))
    }

    async fn send(&mut self, message: &FromNode) -> Result<(), AttachError> {
        let line = line(message).map_err(AttachError::Channel)?;
        self.write.write_all(&line).await.map_err(AttachError::Channel)
    }
}

/// Moves the two descriptors away from 0 and 1, so that no stray `print` reaches the listener or the channel.
fn take_descriptors() -> io::Result<(StdUnixStream, TcpListener)> {
    use rustix::net::{SocketType, sockopt};
    use rustix::stdio;

    let control = stdio::stdin();
    if sockopt::socket_type(control)? != SocketType::STREAM {
        return Err(io::Error::other("descriptor 0 is not a stream socket"));
    }
    if !sockopt::socket_acceptconn(stdio::stdout())? {
        return Err(io::Error::other("descriptor 1 is not a listener"));
    }
    let control = StdUnixStream::from(control.try_clone_to_owned()?);
    control.set_nonblocking(true)?;
    let listener = TcpListener::from(stdio::stdout().try_clone_to_owned()?);
    stdio::dup2_stdin(std::fs::File::open("/dev/null")?)?;
    stdio::dup2_stdout(stdio::stderr())?;
    Ok((control, listener))
}
