//! The public connections of a shard, so that they can be closed from outside when its thread is lost.

// `shutdown` of a file descriptor by its number.
#![allow(unsafe_code)]

use std::collections::HashSet;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use parking_lot::Mutex;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

/// The connections of one thread. Only that thread closes them.
#[derive(Default)]
pub(crate) struct OpenConnections {
    open: Mutex<HashSet<RawFd>>,
    /// Those that were handed to the thread and that it has not looked at yet.
    waiting: AtomicUsize,
}

impl OpenConnections {
    /// Takes note of a connection that is about to be handed to the thread.
    pub fn announce(&self, stream: &std::net::TcpStream) {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        self.open.lock().insert(stream.as_raw_fd());
    }

    /// A connection that was announced is closed already.
    pub fn forget(&self, fd: RawFd) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
        self.open.lock().remove(&fd);
    }

    /// How many the thread has not looked at yet.
    pub fn waiting(&self) -> usize {
        self.waiting.load(Ordering::Relaxed)
    }

    /// Ends every connection in both directions. The caller knows that their thread does nothing any more: no number stands for
    /// another file.
    pub fn shut_down(&self) {
        for fd in self.open.lock().drain() {
            // SAFETY: the descriptor is open, see above. A connection that is over already answers with an error, which is as good.
            unsafe { libc::shutdown(fd, libc::SHUT_RDWR) };
        }
    }
}

/// A connection that its shard's [`OpenConnections`] knows.
pub(crate) struct Connection {
    stream: TcpStream,
    open: Arc<OpenConnections>,
}

impl Connection {
    /// Takes over a connection that was [announced](OpenConnections::announce).
    pub fn new(stream: TcpStream, open: Arc<OpenConnections>) -> Connection {
        open.waiting.fetch_sub(1, Ordering::Relaxed);
        Connection { stream, open }
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        // Before the stream itself is dropped and its number free again.
        self.open.open.lock().remove(&self.stream.as_raw_fd());
    }
}

impl AsyncRead for Connection {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(cx, buf)
    }
}

impl AsyncWrite for Connection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }
}
