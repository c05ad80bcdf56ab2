//! The public listener: accepts connections for the shards, and answers what is not for user code.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use celld_engine::Engine;
use celld_engine::shard::body::Body;
use celld_engine::shard::http::{Intercept, plain};
use futures::StreamExt;
use http::header::{CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderValue};
use http::{Method, Response, StatusCode, Uri};
use http_body_util::BodyExt;
use tokio_util::sync::CancellationToken;

use crate::live_reload::{self, LiveReload};

/// Below it, the node answers itself.
const RESERVED_PREFIX: &str = "/.well-known/celld/";
/// `200` while the node takes new requests, `503` otherwise.
pub(crate) const HEALTH_PATH: &str = "/.well-known/celld/health";
/// How long to wait after the system refused to accept a connection, mostly for want of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// What the node knows that the public listener needs.
pub(crate) struct Public {
    /// A deployment serves and no stop has begun.
    healthy: AtomicBool,
    /// Set in development.
    live: Option<LiveReload>,
}

impl Public {
    pub fn new(live: Option<LiveReload>) -> Arc<Public> {
        Arc::new(Public { healthy: AtomicBool::new(false), live })
    }

    pub fn set_healthy(&self, healthy: bool) {
        self.healthy.store(healthy, Ordering::Relaxed);
    }

    pub fn is_healthy(&self) -> bool {
        self.healthy.load(Ordering::Relaxed)
    }

    /// The answer of the health path, on either listener.
    pub fn health(&self) -> (StatusCode, &'static str) {
        match self.is_healthy() {
            true => (StatusCode::OK, "ok\n"),
            false => (StatusCode::SERVICE_UNAVAILABLE, "not ready\n"),
        }
    }

    /// Another deployment serves: open pages load themselves again.
    pub fn adopted(&self, deployment: &str) {
        if let Some(live) = &self.live {
            live.publish(deployment);
        }
    }

    /// Ends what would keep connections open.
    pub fn close(&self) {
        self.set_healthy(false);
        if let Some(live) = &self.live {
            live.close();
        }
    }
}

impl Intercept for Public {
    fn answer(&self, _method: &Method, uri: &Uri) -> Option<Response<Body>> {
        if !uri.path().starts_with(RESERVED_PREFIX) {
            return None;
        }
        match (uri.path(), &self.live) {
            (HEALTH_PATH, _) => {
                let (status, text) = self.health();
                Some(plain(status, text))
            }
            (live_reload::SCRIPT_PATH, Some(_)) => {
                let script = Bytes::from_static(live_reload::script().as_bytes());
                Some(uncached("text/javascript;charset=UTF-8", Body::Full(script)))
            }
            (live_reload::EVENTS_PATH, Some(live)) => {
                let (sender, body) = Body::stream(None);
                let mut events = Box::pin(live.events());
                tokio::spawn(async move {
                    loop {
                        let event = tokio::select! {
                            event = events.next() => event,
                            () = sender.closed() => None,
                        };
                        let Some(event) = event else { return };
                        if sender.send(Ok(event)).await.is_err() {
                            return;
                        }
                    }
                });
                Some(uncached(live_reload::EVENTS_TYPE, body))
            }
            _ => None,
        }
    }

    fn finish(&self, method: &Method, mut response: Response<Body>) -> Response<Body> {
        let Some(live) = &self.live else { return response };
        if !live_reload::applies(method, response.status(), response.headers()) {
            return response;
        }
        let tag = live_reload::tag(&live.current());
        response.headers_mut().remove(CONTENT_LENGTH);
        let (parts, body) = response.into_parts();
        Response::from_parts(parts, append(body, tag))
    }

    fn error_page(&self, report: &str, html: bool) -> Option<Response<Body>> {
        self.live.as_ref()?;
        if !html {
            return Some(plain(StatusCode::INTERNAL_SERVER_ERROR, &format!("{report}\n")));
        }
        let escaped = report.replace('&', "&amp;").replace('<', "&lt;");
        let headline = escaped.lines().next().unwrap_or_default();
        let page = format!(
            "<!doctype html><meta charset=utf-8><title>{headline}</title><style>body{{font:15px/1.5 ui-monospace,\
             monospace;margin:3rem;color:#222;background:#fff}}h1{{font-size:1.1rem;color:#b00020}}pre{{white-space:\
             pre-wrap}}@media(prefers-color-scheme:dark){{body{{color:#ddd;background:#181818}}h1{{color:#ff6b81}}}}\
             </style><h1>The Worker threw an exception</h1><pre>{escaped}</pre>"
        );
        let mut response = uncached("text/html;charset=UTF-8", Body::Full(page.into()));
        *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
        Some(response)
    }
}

fn uncached(content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// `body`, then `tail`.
fn append(body: Body, tail: Bytes) -> Body {
    match body {
        Body::Empty => Body::Full(tail),
        Body::Full(bytes) => Body::Full([bytes, tail].concat().into()),
        mut streamed => {
            let (sender, body) = Body::stream(None);
            tokio::spawn(async move {
                while let Some(frame) = streamed.frame().await {
                    let chunk = match frame.map(|frame| frame.into_data()) {
                        Ok(Ok(data)) => Ok(data),
                        Ok(Err(_trailers)) => continue,
                        Err(error) => Err(error),
                    };
                    let failed = chunk.is_err();
                    if sender.send(chunk).await.is_err() || failed {
                        return;
                    }
                }
                // The client may have gone.
                let _ = sender.send(Ok(tail)).await;
            });
            body
        }
    }
}

/// Hands connections to the shards until `stop`.
pub(crate) async fn accept(listener: tokio::net::TcpListener, engine: Arc<Engine>, stop: CancellationToken) {
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            () = stop.cancelled() => return,
        };
        match accepted.and_then(|(stream, _)| {
            stream.set_nodelay(true)?;
            stream.into_std()
        }) {
            Ok(stream) => engine.accept(stream),
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(ACCEPT_PAUSE).await;
            }
        }
    }
}
