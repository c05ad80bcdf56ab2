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
/// Chunks are put together as long as they have no more bytes than this: each part is one of its own on the wire and in memory.
const TOGETHER: usize = 4 * 1024;
/// What a chunk counts at least, in bytes: whoever writes tiny ones makes way for others in time.
const LEAST: usize = 64;
/// Why a body ends that nobody makes any more.
const ENDED: &str = "the code that makes it was ended";

/// Bytes that go on together, and what they count.
#[derive(Debug)]
struct Part {
    bytes: Bytes,
    weight: usize,
}

#[derive(Debug, Default)]
struct Pipe {
    parts: VecDeque<Part>,
    /// Small chunks behind them.
    small: BytesMut,
    small_weight: usize,
    /// What all of them count.
    waiting: usize,
    /// How many chunks were written.
    written: u64,
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

    /// Begins to write `len` bytes.
    fn count(&mut self, len: usize) -> usize {
        let weight = len.max(LEAST);
        self.written += 1;
        self.waiting += weight;
        weight
    }

    fn push(&mut self, bytes: Bytes) {
        self.end_small();
        let weight = self.count(bytes.len());
        self.parts.push_back(Part { bytes, weight });
    }

    fn copy(&mut self, bytes: &[u8]) {
        if self.small.len() + bytes.len() > TOGETHER {
            self.end_small();
        }
        self.small_weight += self.count(bytes.len());
        self.small.extend_from_slice(bytes);
    }

    fn end_small(&mut self) {
        if !self.small.is_empty() {
            let bytes = self.small.split().freeze();
            self.parts.push_back(Part { bytes, weight: std::mem::take(&mut self.small_weight) });
        }
    }

    /// What the reader gets next.
    fn next(&mut self) -> Option<Bytes> {
        if self.parts.is_empty() {
            self.end_small();
        }
        let Part { bytes, weight } = self.parts.pop_front()?;
        self.waiting -= weight;
        Some(bytes)
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
    /// Something was read that may not be on the wire yet.
    is_flowing: bool,
    /// The length in bytes, when code has promised one.
    pub(super) length: Option<u64>,
    /// Resolves when the code that makes it was ended and will never go on.
    ended: Pin<Box<WaitForCancellationFutureOwned>>,
}

impl MadeBody {
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let mut pipe = self.pipe.lock();
        // A body that fails before its second chunk is none, as on the platform.
        let is_none = pipe.written < 2 && !self.is_flowing && matches!(pipe.end, Some(Err(_)));
        if !is_none && let Some(chunk) = pipe.next() {
            self.is_flowing = true;
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
                self.is_flowing = false;
                drop(pipe);
                self.ended.as_mut().poll(cx).map(|()| Some(Err(BodyError::Cut(ENDED.to_owned()))))
            }
            Some(Ok(())) => Poll::Ready(None),
            // The reader drops what is not on the wire when it hears of the error: it gets the time to send it.
            Some(Err(error)) if std::mem::take(&mut self.is_flowing) => {
                pipe.end = Some(Err(error));
                cx.waker().wake_by_ref();
                Poll::Pending
            }
            Some(Err(error)) => Poll::Ready(Some(Err(error))),
        }
    }
}

impl Drop for MadeBody {
    fn drop(&mut self) {
        let mut pipe = self.pipe.lock();
        pipe.is_gone = true;
        let unread = std::mem::take(&mut pipe.parts);
        pipe.small = BytesMut::new();
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

    fn write(&self, write: impl FnOnce(&mut Pipe)) -> u32 {
        let mut pipe = self.0.lock();
        if pipe.is_gone {
            return GONE;
        }
        write(&mut pipe);
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
    let body = Body::Made(MadeBody { pipe: sink.0.clone(), is_flowing: false, length, ended });
    state.resource_table.add(BodyResource::new(body))
}

/// Takes the buffer of `chunk` itself, which nobody else has: JavaScript cannot look at it any more.
#[op2]
pub(crate) fn op_body_give(#[cppgc] sink: &BodySink, #[buffer(detach)] chunk: JsBuffer) -> u32 {
    sink.write(|pipe| pipe.push(Bytes::from_owner(chunk)))
}

/// Takes a copy of `chunk`, which should not be large: its bytes are not counted as the code's any more.
#[op2(fast)]
pub(crate) fn op_body_copy(#[cppgc] sink: &BodySink, #[buffer] chunk: &[u8]) -> u32 {
    sink.write(|pipe| pipe.copy(chunk))
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
    use tokio_util::sync::CancellationToken;

    use super::*;

    fn pair(ended: &CancellationToken) -> (BodySink, MadeBody) {
        let sink = BodySink(Arc::default());
        let body = MadeBody {
            pipe: sink.0.clone(),
            is_flowing: false,
            length: None,
            ended: Box::pin(ended.clone().cancelled_owned()),
        };
        (sink, body)
    }

    /// What the body gives without waiting; `None` when it would wait.
    fn next(body: &mut Body) -> Option<Result<Option<Bytes>, String>> {
        let frame = body.frame().now_or_never()?;
        Some(frame.transpose().map(|f| f.and_then(|f| f.into_data().ok())).map_err(|e| e.to_string()))
    }

    fn copy(sink: &BodySink, byte: u8, len: usize) -> u32 {
        sink.write(|pipe| pipe.copy(&vec![byte; len]))
    }

    fn give(sink: &BodySink, byte: u8, len: usize) -> u32 {
        sink.write(|pipe| pipe.push(vec![byte; len].into()))
    }

    #[test]
    fn small_chunks_that_wait_are_put_together() {
        let (sink, body) = pair(&CancellationToken::new());
        let mut body = Body::Made(body);
        assert_eq!(next(&mut body), None);
        for byte in 0..3 {
            assert_eq!(copy(&sink, byte, 2), ROOM_LEFT);
        }
        give(&sink, 3, 1);
        copy(&sink, 4, TOGETHER);
        copy(&sink, 5, 1);
        sink.end(Ok(()));
        assert_eq!(next(&mut body), Some(Ok(Some(Bytes::from_static(&[0, 0, 1, 1, 2, 2])))));
        assert_eq!(next(&mut body), Some(Ok(Some(Bytes::from_static(&[3])))));
        assert_eq!(next(&mut body), Some(Ok(Some(vec![4; TOGETHER].into()))));
        assert_eq!(next(&mut body), Some(Ok(Some(Bytes::from_static(&[5])))));
        assert_eq!(next(&mut body), Some(Ok(None)));
        assert_eq!(next(&mut body), Some(Ok(None)));
    }

    #[test]
    fn many_tiny_chunks_leave_no_room() {
        let (sink, body) = pair(&CancellationToken::new());
        let mut body = Body::Made(body);
        let count = (1..).find(|_| copy(&sink, 0, 1) == FULL);
        assert_eq!(count, Some(ROOM / LEAST));
        assert_eq!(next(&mut body), Some(Ok(Some(vec![0; ROOM / LEAST].into()))));
        assert_eq!(copy(&sink, 0, 1), ROOM_LEFT);
    }

    #[test]
    fn the_writer_waits_for_room() {
        let (sink, body) = pair(&CancellationToken::new());
        let mut body = Body::Made(body);
        assert_eq!(give(&sink, 0, ROOM - LEAST), ROOM_LEFT);
        assert_eq!(give(&sink, 1, LEAST), FULL);
        let mut room = room(&sink);
        assert_eq!((&mut room).now_or_never(), None);
        next(&mut body);
        assert_eq!(room.now_or_never(), Some(true));
    }

    #[test]
    fn the_writer_hears_that_nobody_reads() {
        let (sink, body) = pair(&CancellationToken::new());
        assert_eq!(give(&sink, 0, ROOM), FULL);
        let (mut room, mut unread) = (room(&sink), unread(&sink));
        assert_eq!(((&mut room).now_or_never(), (&mut unread).now_or_never()), (None, None));
        drop(body);
        assert_eq!((room.now_or_never(), unread.now_or_never()), (Some(false), Some(true)));
        assert_eq!(give(&sink, 0, 1), GONE);
    }

    #[test]
    fn what_was_written_goes_out_before_an_error() {
        let broken = Some(Err("the body was cut off: broken".to_owned()));
        let (sink, body) = pair(&CancellationToken::new());
        let mut body = Body::Made(body);
        copy(&sink, 0, 1);
        copy(&sink, 0, 1);
        sink.end(Err(BodyError::Cut("broken".to_owned())));
        sink.end(Ok(()));
        assert_eq!(next(&mut body), Some(Ok(Some(Bytes::from_static(&[0, 0])))));
        // The reader flushes when nothing comes.
        assert_eq!(next(&mut body), None);
        assert_eq!(next(&mut body), broken);
        assert_eq!(next(&mut body), Some(Ok(None)));
        assert_eq!(unread(&sink).now_or_never(), Some(false));

        let (sink, body) = pair(&CancellationToken::new());
        copy(&sink, 0, 1);
        sink.end(Err(BodyError::Cut("broken".to_owned())));
        assert_eq!(next(&mut Body::Made(body)), broken, "nothing, as on the platform");
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
        give(&sink, 0, 1);
        ended.cancel();
        assert_eq!(next(&mut body), Some(Ok(Some(Bytes::from_static(&[0])))));
        assert_eq!(next(&mut body), cut);
    }
}
