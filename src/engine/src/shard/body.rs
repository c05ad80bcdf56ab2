//! Bodies of requests and responses as they cross a boundary: between hyper and JavaScript, and between shards.
//!
//! Every kind streams with back-pressure: a reader that stops reading stops the writer.

use std::borrow::Cow;
use std::cell::RefCell;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use bytes::{Buf, Bytes};
use deno_core::{AsyncRefCell, AsyncResult, BufView, CancelHandle, CancelTryFuture, RcRef, Resource};
use deno_error::JsErrorBox;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use parking_lot::Mutex;
use tokio::sync::mpsc;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::made::MadeBody;

/// Chunks that may wait between the two ends of a stream.
const STREAM_DEPTH: usize = 4;

/// The body of a public request as hyper reads it. It is over with its answer, also when nobody has read it: until then hyper would not
/// look for the connection's next request.
#[derive(Debug)]
pub struct Upload {
    state: Mutex<UploadState>,
    /// The whole allowance in bytes.
    limit: u64,
}

#[derive(Debug)]
struct UploadState {
    /// hyper's body, until it is over.
    incoming: Option<Incoming>,
    /// Bytes that may still come.
    left: u64,
    /// Who waits for the next bytes.
    reader: Option<Waker>,
}

impl Upload {
    /// Of `limit` bytes at most.
    pub(crate) fn new(incoming: Incoming, limit: u64) -> Arc<Upload> {
        let state = UploadState { incoming: Some(incoming), left: limit, reader: None };
        Arc::new(Upload { state: Mutex::new(state), limit })
    }

    /// Nothing of it is left to read.
    pub(crate) fn is_over(&self) -> bool {
        self.state.lock().incoming.as_ref().is_none_or(HttpBody::is_end_stream)
    }

    fn length(&self) -> Option<u64> {
        self.state.lock().incoming.as_ref().and_then(|incoming| incoming.size_hint().exact())
    }

    fn poll(&self, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        let mut state = self.state.lock();
        let Some(incoming) = &mut state.incoming else { return Poll::Ready(Some(Err(BodyError::Over))) };
        match Pin::new(incoming).poll_frame(cx) {
            Poll::Pending => {
                state.reader = Some(cx.waker().clone());
                Poll::Pending
            }
            Poll::Ready(None) => Poll::Ready(None),
            Poll::Ready(Some(Err(e))) => Poll::Ready(Some(Err(BodyError::Cut(e.to_string())))),
            Poll::Ready(Some(Ok(frame))) => {
                let size = frame.data_ref().map_or(0, |d| d.remaining() as u64);
                if size > state.left {
                    return Poll::Ready(Some(Err(BodyError::TooLarge(self.limit))));
                }
                state.left -= size;
                Poll::Ready(Some(Ok(frame)))
            }
        }
    }

    fn end(&self) {
        let (incoming, reader) = {
            let mut state = self.state.lock();
            // What was read to its end stays so.
            let ended = state.incoming.take_if(|incoming| !incoming.is_end_stream());
            (ended, state.reader.take())
        };
        drop(incoming);
        if let Some(reader) = reader {
            reader.wake();
        }
    }
}

/// Ends an upload when it is dropped.
#[derive(Debug)]
pub struct EndsUpload(Arc<Upload>);

impl Drop for EndsUpload {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// Why a body ended before its end.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BodyError {
    /// The other end failed or went away.
    #[error("the body was cut off: {0}")]
    Cut(String),
    /// A request's body is read after its answer was sent; the platform's words.
    #[error("Can't read from request stream after response has been sent.")]
    Over,
    /// The public listener's limit (`CELLD_MAX_REQUEST_BODY_BYTES`).
    #[error("the request body is larger than the limit of {0} bytes")]
    TooLarge(u64),
}

/// A body that can move between threads.
#[derive(Debug)]
pub enum Body {
    /// No body at all, or one of zero bytes.
    Empty,
    /// All of it.
    Full(Bytes),
    /// Chunks as they come.
    Stream {
        /// The receiving end.
        chunks: mpsc::Receiver<Result<Bytes, BodyError>>,
        /// The total length in bytes, when the sender promised one.
        length: Option<u64>,
    },
    /// The body of a public request.
    Upload(Arc<Upload>),
    /// The body of an answer, with whose end the request's is over.
    Answer {
        /// The body.
        inner: Box<Body>,
        /// What is over then.
        request: EndsUpload,
    },
    /// A body that JavaScript makes.
    Made(MadeBody),
    /// A body that comes from another thread, cut off when that thread is lost.
    Elsewhere {
        /// The body.
        inner: Box<Body>,
        /// Resolves when the thread is lost.
        lost: Pin<Box<WaitForCancellationFutureOwned>>,
    },
}

/// The sending end of [`Body::Stream`].
pub type BodySender = mpsc::Sender<Result<Bytes, BodyError>>;

impl Body {
    /// A stream and its sending end.
    pub fn stream(length: Option<u64>) -> (BodySender, Body) {
        let (sender, chunks) = mpsc::channel(STREAM_DEPTH);
        (sender, Body::Stream { chunks, length })
    }

    /// The body of an answer, with whose end `request` is over.
    pub(crate) fn ending(self, request: Arc<Upload>) -> Body {
        Body::Answer { inner: Box::new(self), request: EndsUpload(request) }
    }

    /// The same body for a reader on another thread than the one that `lost` stands for.
    pub(crate) fn until(self, lost: &CancellationToken) -> Body {
        match self {
            Body::Stream { .. } | Body::Upload(_) | Body::Made(_) => {
                Body::Elsewhere { inner: Box::new(self), lost: Box::pin(lost.clone().cancelled_owned()) }
            }
            whole => whole,
        }
    }

    /// `true` when there is certainly nothing to read.
    pub fn is_empty(&self) -> bool {
        match self {
            Body::Empty => true,
            Body::Full(bytes) => bytes.is_empty(),
            Body::Stream { length, .. } | Body::Made(MadeBody { length, .. }) => *length == Some(0),
            Body::Upload(upload) => upload.is_over(),
            Body::Answer { inner, .. } | Body::Elsewhere { inner, .. } => inner.is_empty(),
        }
    }

    /// The length in bytes, when it is known before reading.
    pub fn length(&self) -> Option<u64> {
        match self {
            Body::Empty => Some(0),
            Body::Full(bytes) => Some(bytes.len() as u64),
            Body::Stream { length, .. } | Body::Made(MadeBody { length, .. }) => *length,
            Body::Upload(upload) => upload.length(),
            Body::Answer { inner, .. } | Body::Elsewhere { inner, .. } => inner.length(),
        }
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        match &mut *self {
            Body::Empty => Poll::Ready(None),
            Body::Full(bytes) => {
                let all = std::mem::take(bytes);
                Poll::Ready((!all.is_empty()).then(|| Ok(Frame::data(all))))
            }
            Body::Stream { chunks, .. } => chunks.poll_recv(cx).map(|c| c.map(|r| r.map(Frame::data))),
            Body::Upload(upload) => upload.poll(cx),
            Body::Made(made) => made.poll(cx),
            Body::Answer { inner, .. } => Pin::new(&mut **inner).poll_frame(cx),
            Body::Elsewhere { inner, lost } => {
                let progress = Pin::new(&mut **inner).poll_frame(cx);
                if progress.is_pending() && lost.as_mut().poll(cx).is_ready() {
                    return Poll::Ready(Some(Err(BodyError::Cut("its thread was lost".to_owned()))));
                }
                progress
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Body::Empty => true,
            Body::Full(bytes) => bytes.is_empty(),
            Body::Stream { .. } | Body::Made(_) => false,
            Body::Upload(upload) => upload.is_over(),
            Body::Answer { inner, .. } | Body::Elsewhere { inner, .. } => inner.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.length().map_or_else(SizeHint::default, SizeHint::with_exact)
    }
}

/// A [`Body`] that JavaScript reads as the resource behind a `ReadableStream`.
pub struct BodyResource {
    state: AsyncRefCell<ReadState>,
    cancel: CancelHandle,
    size: Option<u64>,
}

struct ReadState {
    body: Body,
    /// What the last frame held beyond the reader's limit.
    rest: Bytes,
}

impl BodyResource {
    /// Wraps `body`; the resource's `size_hint` is the body's length.
    pub fn new(body: Body) -> BodyResource {
        let size = body.length();
        BodyResource {
            state: AsyncRefCell::new(ReadState { body, rest: Bytes::new() }),
            cancel: CancelHandle::new(),
            size,
        }
    }

    /// The body itself, unless somebody is reading.
    pub(super) fn take(self: &Rc<Self>) -> Option<Body> {
        let mut state = RcRef::map(self, |r| &r.state).try_borrow_mut()?;
        state.rest.is_empty().then(|| std::mem::replace(&mut state.body, Body::Empty))
    }

    async fn read_chunk(self: Rc<Self>, limit: usize) -> Result<BufView, JsErrorBox> {
        let mut state = RcRef::map(&self, |r| &r.state).borrow_mut().await;
        let cancel = RcRef::map(&self, |r| &r.cancel);
        let read = async {
            loop {
                if !state.rest.is_empty() {
                    let take = limit.min(state.rest.len());
                    return Ok(BufView::from(state.rest.split_to(take)));
                }
                match state.body.frame().await {
                    None => return Ok(BufView::empty()),
                    Some(Err(e @ BodyError::Over)) => return Err(JsErrorBox::type_error(e.to_string())),
                    Some(Err(e)) => return Err(JsErrorBox::generic(e.to_string())),
                    Some(Ok(frame)) => {
                        if let Ok(data) = frame.into_data() {
                            state.rest = data;
                        }
                    }
                }
            }
        };
        read.try_or_cancel(cancel).await
    }
}

impl Resource for BodyResource {
    fn name(&self) -> Cow<'_, str> {
        "body".into()
    }

    fn read(self: Rc<Self>, limit: usize) -> AsyncResult<BufView> {
        Box::pin(self.read_chunk(limit))
    }

    fn size_hint(&self) -> (u64, Option<u64>) {
        (self.size.unwrap_or(0), self.size)
    }

    fn close(self: Rc<Self>) {
        self.cancel.cancel();
    }
}

/// Reads `resource` to its end on this thread and sends the chunks; stops when the receiver is gone.
pub async fn pump_resource(resource: Rc<dyn Resource>, sender: BodySender) {
    const CHUNK: usize = 64 * 1024;
    loop {
        match resource.clone().read(CHUNK).await {
            Ok(chunk) if chunk.is_empty() => break,
            Ok(chunk) => {
                if sender.send(Ok(Bytes::from_owner(chunk))).await.is_err() {
                    break;
                }
            }
            Err(e) => {
                // The receiver may be gone as well; then nobody is left to tell.
                let _ = sender.send(Err(BodyError::Cut(e.to_string()))).await;
                break;
            }
        }
    }
    resource.close();
}

/// A slot for the request's body until JavaScript asks for it.
pub type BodySlot = RefCell<Option<Body>>;
