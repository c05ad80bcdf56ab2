//! A pair of connected ends in memory. Each end can move to another thread; frames keep their order.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use tokio::sync::Notify;

use super::frame::Frame;

/// Bytes that may wait for an end that does not read. A sender that goes beyond loses the connection, so that a slow peer
/// cannot fill the memory. Two messages of the largest size fit.
const MAX_WAITING: usize = 64 << 20;
/// A sender that can wait does so while more bytes than this are on their way.
const HIGH_WATER: usize = 1 << 20;

/// One direction.
#[derive(Default)]
struct Lane {
    state: Mutex<LaneState>,
    /// Something came, or the writer left. One reader at a time.
    readable: Notify,
    /// Something was read, or the reader left. One writer at a time.
    drained: Notify,
}

#[derive(Default)]
struct LaneState {
    frames: VecDeque<Frame>,
    bytes: usize,
    writer_left: bool,
    reader_left: bool,
}

/// One end. Dropping it hangs up.
pub struct SocketEnd {
    incoming: Arc<Lane>,
    outgoing: Arc<Lane>,
}

/// Why a frame did not go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SendError {
    /// The other end is gone.
    #[error("the other end of the WebSocket is gone")]
    Gone,
    /// The other end does not read.
    #[error("more than {} MiB wait for the other end of the WebSocket", MAX_WAITING >> 20)]
    Full,
}

/// Two connected ends.
pub fn pair() -> (SocketEnd, SocketEnd) {
    let (a, b) = (Arc::<Lane>::default(), Arc::<Lane>::default());
    (SocketEnd { incoming: a.clone(), outgoing: b.clone() }, SocketEnd { incoming: b, outgoing: a })
}

impl SocketEnd {
    /// Sends a frame. Never waits.
    ///
    /// # Errors
    /// The other end is gone, or more than [`MAX_WAITING`] bytes would wait for it.
    pub fn send(&self, frame: Frame) -> Result<(), SendError> {
        let mut state = self.outgoing.state.lock();
        if state.reader_left || state.writer_left {
            return Err(SendError::Gone);
        }
        let weight = frame.weight();
        // A close must always fit.
        if state.bytes + weight > MAX_WAITING && !frame.is_last() {
            return Err(SendError::Full);
        }
        state.bytes += weight;
        state.frames.push_back(frame);
        drop(state);
        self.outgoing.readable.notify_one();
        Ok(())
    }

    /// Resolves when the other end has read enough for more to be sent, or is gone.
    pub async fn room(&self) {
        loop {
            {
                let state = self.outgoing.state.lock();
                if state.bytes <= HIGH_WATER || state.reader_left || state.writer_left {
                    return;
                }
            }
            self.outgoing.drained.notified().await;
        }
    }

    /// The next frame; `None` when the other end hung up, and everything it sent was read. Only one task may wait here;
    /// a wait that is given up loses nothing.
    pub async fn next(&self) -> Option<Frame> {
        loop {
            {
                let mut state = self.incoming.state.lock();
                if state.reader_left {
                    return None;
                }
                if let Some(frame) = state.frames.pop_front() {
                    state.bytes -= frame.weight();
                    drop(state);
                    self.incoming.drained.notify_one();
                    return Some(frame);
                }
                if state.writer_left {
                    return None;
                }
            }
            self.incoming.readable.notified().await;
        }
    }

    /// Bytes of messages that wait for the other end.
    pub fn waiting(&self) -> usize {
        let state = self.outgoing.state.lock();
        state.bytes - state.frames.len() * Frame::OVERHEAD
    }

    /// Ends both directions; what was sent before can still be read at the other end.
    pub fn hang_up(&self) {
        hang_up(&self.incoming, &self.outgoing);
    }
}

fn hang_up(incoming: &Lane, outgoing: &Lane) {
    outgoing.state.lock().writer_left = true;
    outgoing.readable.notify_one();
    outgoing.drained.notify_one();
    let mut state = incoming.state.lock();
    state.reader_left = true;
    state.frames = VecDeque::new();
    state.bytes = 0;
    drop(state);
    incoming.drained.notify_one();
    incoming.readable.notify_one();
}

/// The sockets of one thread, for whoever has to hang them up when the thread is lost.
#[derive(Clone, Default)]
pub(crate) struct Lines(Arc<Mutex<Vec<[Weak<Lane>; 2]>>>);

impl Lines {
    /// Takes note of an end that this thread holds. One end of a pair stands for both.
    pub fn note(&self, end: &SocketEnd) {
        let mut lines = self.0.lock();
        // Amortized: the list is swept when it would grow.
        if lines.len() == lines.capacity() {
            lines.retain(|[incoming, _]| incoming.strong_count() > 0);
        }
        lines.push([Arc::downgrade(&end.incoming), Arc::downgrade(&end.outgoing)]);
    }

    /// Hangs all of them up.
    pub fn hang_up(&self) {
        for [incoming, outgoing] in self.0.lock().drain(..) {
            if let (Some(incoming), Some(outgoing)) = (incoming.upgrade(), outgoing.upgrade()) {
                hang_up(&incoming, &outgoing);
            }
        }
    }
}

impl Drop for SocketEnd {
    fn drop(&mut self) {
        self.hang_up();
    }
}

impl std::fmt::Debug for SocketEnd {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SocketEnd").field("waiting", &self.waiting()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::super::frame::Close;
    use super::*;

    fn text(text: &str) -> Frame {
        Frame::Text(text.into())
    }

    #[tokio::test]
    async fn frames_arrive_in_order_and_then_the_end() {
        let (a, b) = pair();
        let reader = tokio::spawn(async move {
            let mut got = Vec::new();
            while let Some(frame) = b.next().await {
                got.push(frame);
            }
            got
        });
        let sent = [text("1"), Frame::Binary(Bytes::from_static(b"2")), Frame::Close(Close::new(1000, "3"))];
        for frame in &sent {
            a.send(frame.clone()).expect("the reader is there");
            tokio::task::yield_now().await;
        }
        drop(a);
        assert_eq!(reader.await.expect("no panic"), sent);
    }

    #[tokio::test]
    async fn a_peer_that_does_not_read_is_not_fed_without_end() {
        let (a, b) = pair();
        let chunk = Frame::Binary(Bytes::from(vec![0; 8 << 20]));
        let sent = (0..100).take_while(|_| a.send(chunk.clone()).is_ok()).count();
        assert!((1..8).contains(&sent), "{sent}");
        assert_eq!(a.send(chunk), Err(SendError::Full));
        a.send(Frame::Close(Close::new(1009, ""))).expect("a close fits");
        for _ in 0..sent {
            assert!(matches!(b.next().await, Some(Frame::Binary(_))));
        }
        a.room().await;
        assert!(matches!(b.next().await, Some(Frame::Close(_))));
        drop(b);
        assert_eq!(a.send(text("x")), Err(SendError::Gone));
    }

    #[tokio::test]
    async fn the_sockets_of_a_lost_thread_hang_up() {
        let lines = Lines::default();
        let (kept, other) = pair();
        lines.note(&kept);
        for _ in 0..100 {
            lines.note(&pair().0);
        }
        assert!(lines.0.lock().len() < 100, "what is gone is forgotten");
        kept.send(text("last words")).expect("both ends are there");
        lines.hang_up();
        assert_eq!(other.next().await, Some(text("last words")));
        assert_eq!(other.next().await, None);
        assert_eq!(other.send(text("x")), Err(SendError::Gone));
    }

    #[tokio::test]
    async fn an_end_that_hangs_up_releases_both_sides() {
        let (a, b) = pair();
        a.hang_up();
        assert_eq!(a.next().await, None);
        assert_eq!(b.next().await, None);
        assert_eq!(b.send(text("x")), Err(SendError::Gone));
    }
}
