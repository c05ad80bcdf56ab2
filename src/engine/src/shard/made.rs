//! Bodies that JavaScript makes: the end that it writes to, and the one that the host reads.

// `GarbageCollected` is an unsafe trait.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{Bytes, BytesMut};
use deno_core::v8::cppgc::Visitor;
use deno_core::{GarbageCollected, JsBuffer, OpState, ResourceId, op2};
use hyper::body::Frame;
use parking_lot::Mutex;
use tokio_util::sync::WaitForCancellationFutureOwned;

use super::body::{Body, BodyError, BodyResource};
use super::isolate::IsolateState;

/// Bytes that may wait for the reader before the writer has to.
const ROOM: usize = 64 * 1024;
/// Chunks that wait are put together as long as they have no more bytes than this: each is a part of its own on the wire.
const TOGETHER: usize = 4 * 1024;
/// Why a body ends that nobody makes any more.
const ENDED: &str = "the code that makes it was ended";

#[derive(Debug, Default)]
struct Pipe {
    chunks: VecDeque<Bytes>,
    /// Bytes in them.
    waiting: usize,
    /// How it ended, as soon as it did; an error is taken by the reader.
    end: Option<Result<(), BodyError>>,
    /// Nobody reads it any more.
    is_gone: bool,
    reader: Option<Waker>,
    /// Waits for room.
    writer: Option<Waker>,
    /// Waits for the end of the reader.
    watcher: Option<Waker>,
}

impl Pipe {
    fn has_room(&self) -> bool {
        self.waiting < ROOM
    }

    /// What the reader gets next.
    fn next(&mut self) -> Option<Bytes> {
        let first = self.pop(usize::MAX)?;
        let Some(second) = self.pop(TOGETHER.saturating_sub(first.len())) else { return Some(first) };
        let mut together = BytesMut::with_capacity(TOGETHER);
        together.extend_from_slice(&first);
        together.extend_from_slice(&second);
        while let Some(chunk) = self.pop(TOGETHER - together.len()) {
            together.extend_from_slice(&chunk);
        }
        Some(together.freeze())
    }

    /// The next chunk if it has `most` bytes at most.
    fn pop(&mut self, most: usize) -> Option<Bytes> {
        if self.chunks.front()?.len() > most {
            return None;
        }
        let chunk = self.chunks.pop_front()?;
        self.waiting -= chunk.len();
        Some(chunk)
    }

    /// Wakes both who wait at the writing end.
    fn wake_writer(&mut self) {
        for waiting in [self.writer.take(), self.watcher.take()].into_iter().flatten() {
            waiting.wake();
        }
    }
}

/// The end that the host reads.
#[derive(Debug)]
pub struct MadeBody {
    pipe: Arc<Mutex<Pipe>>,
    /// The length in bytes, when code has promised one.
    pub(super) length: Option<u64>,
    /// Resolves when the code that makes it was ended and will never go on.
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl MadeBody {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let mut pipe = self.pipe.lock();
        if let Some(chunk) = pipe.next() {
            if pipe.has_room()
                && let Some(writer) = pipe.writer.take()
            {
                writer.wake();
            }
            return Poll::Ready(Some(Ok(Frame::data(chunk))));
        }
        match pipe.end.replace(Ok(())) {
            None => {
                pipe.end = None;
                pipe.reader = Some(cx.waker().clone());
                drop(pipe);
                self.ended.as_mut().poll(cx).map(|()| Some(Err(BodyError::Cut(ENDED.to_owned()))))
            }
            Some(Ok(())) => Poll::Ready(None),
            Some(Err(error)) => Poll::Ready(Some(Err(error))),
        }
    }

    /// Nothing is left of it.
    pub(super) fn is_over(&self) -> bool {
        let pipe = self.pipe.lock();
        pipe.chunks.is_empty() && matches!(pipe.end, Some(Ok(())))
    }
}

impl Drop for MadeBody {
    fn drop(&mut self) {
        let mut pipe = self.pipe.lock();
        pipe.is_gone = true;
        let unread = std::mem::take(&mut pipe.chunks);
        pipe.waiting = 0;
        pipe.wake_writer();
        drop(pipe);
        drop(unread);
    }
}

/// The end that JavaScript writes to.
pub(crate) struct BodySink(Arc<Mutex<Pipe>>);

// SAFETY: the object holds no reference to the JavaScript heap, so there is nothing to trace.
unsafe impl GarbageCollected for BodySink {
    fn trace(&self, _visitor: &mut Visitor) {}

    fn get_name(&self) -> &'static std::ffi::CStr {
        c"BodySink"
    }
}

impl BodySink {
    fn end(&self, how: Result<(), BodyError>) {
        let mut pipe = self.0.lock();
        if pipe.end.is_none() {
            pipe.end = Some(how);
            let waiting = [pipe.reader.take(), pipe.watcher.take()];
            drop(pipe);
            waiting.into_iter().flatten().for_each(Waker::wake);
        }
    }

    fn write(&self, chunk: Bytes) -> u32 {
        let mut pipe = self.0.lock();
        if pipe.is_gone {
            return GONE;
        }
        pipe.waiting += chunk.len();
        pipe.chunks.push_back(chunk);
        let state = if pipe.has_room() { ROOM_LEFT } else { FULL };
        let reader = pipe.reader.take();
        drop(pipe);
        if let Some(reader) = reader {
            reader.wake();
        }
        state
    }
}

impl Drop for BodySink {
    fn drop(&mut self) {
        self.end(Err(BodyError::Cut(ENDED.to_owned())));
    }
}

/// What `op_body_give` and `op_body_copy` return: nobody reads, there is room for more, `op_body_room` says when there will be.
const GONE: u32 = 0;
const ROOM_LEFT: u32 = 1;
const FULL: u32 = 2;

/// Begins a body.
#[op2]
#[cppgc]
pub(crate) fn op_body_sink() -> BodySink {
    BodySink(Arc::default())
}

/// Makes the other end of `sink` a resource for the host: a body of `length` bytes, of any number when that is negative.
#[op2(fast)]
#[smi]
pub(crate) fn op_body_leave(state: &mut OpState, #[cppgc] sink: &BodySink, length: f64) -> ResourceId {
    // Lengths of bodies are whole numbers below 2^53.
    let length = (length >= 0.0).then_some(length as u64);
    let ended = Box::pin(state.borrow::<Rc<IsolateState>>().ended.borrow().clone().cancelled_owned());
    let body = Body::Made(MadeBody { pipe: sink.0.clone(), length, ended });
    state.resource_table.add(BodyResource::new(body))
}

/// Takes the buffer of `chunk` itself, which nobody else has: JavaScript cannot look at it any more.
#[op2]
pub(crate) fn op_body_give(#[cppgc] sink: &BodySink, #[buffer(detach)] chunk: JsBuffer) -> u32 {
    sink.write(Bytes::from_owner(chunk))
}

/// Takes a copy of `chunk`.
#[op2(fast)]
pub(crate) fn op_body_copy(#[cppgc] sink: &BodySink, #[buffer] chunk: &[u8]) -> u32 {
    sink.write(Bytes::copy_from_slice(chunk))
}

fn room(sink: &BodySink) -> impl Future<Output = bool> + Unpin + use<> {
    let pipe = sink.0.clone();
    poll_fn(move |cx| {
        let mut pipe = pipe.lock();
        if pipe.is_gone || pipe.has_room() {
            return Poll::Ready(!pipe.is_gone);
        }
        pipe.writer = Some(cx.waker().clone());
        Poll::Pending
    })
}

fn unread(sink: &BodySink) -> impl Future<Output = bool> + Unpin + use<> {
    let pipe = sink.0.clone();
    poll_fn(move |cx| {
        let mut pipe = pipe.lock();
        if pipe.is_gone || pipe.end.is_some() {
            return Poll::Ready(pipe.end.is_none());
        }
        pipe.watcher = Some(cx.waker().clone());
        Poll::Pending
    })
}

/// Waits until there is room. False if nobody reads any more.
#[op2]
pub(crate) fn op_body_room(#[cppgc] sink: &BodySink) -> impl Future<Output = bool> + use<> {
    room(sink)
}

/// Waits until nobody reads any more, or the body has ended. True in the first case.
#[op2]
pub(crate) fn op_body_unread(#[cppgc] sink: &BodySink) -> impl Future<Output = bool> + use<> {
    unread(sink)
}

/// Ends the body.
#[op2(fast)]
pub(crate) fn op_body_close(#[cppgc] sink: &BodySink) {
    sink.end(Ok(()));
}

/// Ends the body before its end.
#[op2(fast)]
pub(crate) fn op_body_fail(#[cppgc] sink: &BodySink, #[string] why: String) {
    sink.end(Err(BodyError::Cut(why)));
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use http_body_util::BodyExt;
    use hyper::body::Body as HttpBody;
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn pair(ended: &CancellationToken) -> (BodySink, MadeBody) {
        let sink = BodySink(Arc::default());
        let body =
            MadeBody { pipe: sink.0.clone(), length: None, ended: Box::pin(ended.clone().cancelled_owned()) };
        (sink, body)
    }

    /// What the body gives without waiting; `None` when it would wait.
    fn next(body: &mut Body) -> Option<Result<Option<Bytes>, String>> {
        let frame = body.frame().now_or_never()?;
        Some(frame.transpose().map(|f| f.and_then(|f| f.into_data().ok())).map_err(|e| e.to_string()))
    }

    fn chunk(byte: u8, len: usize) -> Bytes {
        vec![byte; len].into()
    }

    #[test]
    fn small_chunks_that_wait_are_put_together() {
        let (sink, body) = pair(&CancellationToken::new());
        let mut body = Body::Made(body);
        assert_eq!(next(&mut body), None);
        for byte in 0..3 {
            assert_eq!(sink.write(chunk(byte, 2)), ROOM_LEFT);
        }
        assert_eq!(sink.write(chunk(3, TOGETHER)), ROOM_LEFT);
        sink.write(chunk(4, 1));
        sink.end(Ok(()));
        assert_eq!(next(&mut body), Some(Ok(Some(Bytes::from_static(&[0, 0, 1, 1, 2, 2])))));
        assert_eq!(next(&mut body), Some(Ok(Some(chunk(3, TOGETHER)))));
        assert!(!HttpBody::is_end_stream(&body));
        assert_eq!(next(&mut body), Some(Ok(Some(chunk(4, 1)))));
        assert!(HttpBody::is_end_stream(&body));
        assert_eq!(next(&mut body), Some(Ok(None)));
        assert_eq!(next(&mut body), Some(Ok(None)));
    }

    #[test]
    fn the_writer_waits_for_room() {
        let (sink, body) = pair(&CancellationToken::new());
        let mut body = Body::Made(body);
        assert_eq!(sink.write(chunk(0, ROOM - 1)), ROOM_LEFT);
        assert_eq!(sink.write(chunk(1, 10)), FULL);
        let mut room = room(&sink);
        assert_eq!((&mut room).now_or_never(), None);
        next(&mut body);
        assert_eq!(room.now_or_never(), Some(true));
    }

    #[test]
    fn the_writer_hears_that_nobody_reads() {
        let (sink, body) = pair(&CancellationToken::new());
        assert_eq!(sink.write(chunk(0, ROOM)), FULL);
        let (mut room, mut unread) = (room(&sink), unread(&sink));
        assert_eq!(((&mut room).now_or_never(), (&mut unread).now_or_never()), (None, None));
        drop(body);
        assert_eq!((room.now_or_never(), unread.now_or_never()), (Some(false), Some(true)));
        assert_eq!(sink.write(chunk(0, 1)), GONE);
    }

    #[test]
    fn what_was_written_is_read_before_an_error() {
        let (sink, body) = pair(&CancellationToken::new());
        let mut body = Body::Made(body);
        sink.write(chunk(0, 1));
        sink.end(Err(BodyError::Cut("broken".to_owned())));
        sink.end(Ok(()));
        assert_eq!(next(&mut body), Some(Ok(Some(chunk(0, 1)))));
        assert_eq!(next(&mut body), Some(Err("the body was cut off: broken".to_owned())));
        assert_eq!(next(&mut body), Some(Ok(None)));
        assert_eq!(unread(&sink).now_or_never(), Some(false));
    }

    #[test]
    fn a_body_that_nobody_makes_any_more_is_cut_off() {
        let cut = Some(Err(format!("the body was cut off: {ENDED}")));
        let (sink, body) = pair(&CancellationToken::new());
        drop(sink);
        assert_eq!(next(&mut Body::Made(body)), cut);

        let ended = CancellationToken::new();
        let (sink, body) = pair(&ended);
        let mut body = Body::Made(body);
        sink.write(chunk(0, 1));
        ended.cancel();
        assert_eq!(next(&mut body), Some(Ok(Some(chunk(0, 1)))));
        assert_eq!(next(&mut body), cut);
    }
}
