//! The public listener's half of a shard: connections are parsed, answered and closed on the shard's own thread.

use std::convert::Infallible;
use std::os::fd::AsRawFd;
use std::rc::Rc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use http::header::{
    ACCEPT, CONNECTION, CONTENT_LENGTH, CONTENT_TYPE, HOST, HeaderName, HeaderValue, TRANSFER_ENCODING,
};
use http::{Method, Request, Response, StatusCode, Uri};
use hyper::body::{Body as _, Incoming};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::body::{Body, Upload};
use super::connections::Connection;
use super::events::{Event, Failure, FetchReply, Reply};
use super::run::Shard;
use crate::socket::UpgradeSlot;
use crate::socket::handshake::Handshake;
use crate::socket::wire;

/// What the process answers on the public listener itself.
pub trait Intercept: Send + Sync + 'static {
    /// The answer to a request that is not for user code, or `None`. Called with every request: it must be cheap.
    fn answer(&self, method: &Method, uri: &Uri) -> Option<Response<Body>>;

    /// A last look at what user code answered. Called with every response: it must be cheap.
    fn finish(&self, method: &Method, response: Response<Body>) -> Response<Body>;

    /// What the client gets for an uncaught error; `report` is the error with its stack, `html` that the client asks for a
    /// page. `None`: the client learns nothing of the error.
    fn error_page(&self, report: &str, html: bool) -> Option<Response<Body>>;
}

/// The connections of a shard.
pub(crate) struct Connections {
    pub tracker: TaskTracker,
    /// Cancelled when the shard stops: connections finish the request they are at.
    pub closing: CancellationToken,
}

/// Serves one connection to its end.
pub(crate) async fn serve_connection(shard: Rc<Shard>, stream: std::net::TcpStream) {
    let fd = stream.as_raw_fd();
    let stream = match tokio::net::TcpStream::from_std(stream) {
        Ok(stream) => Connection::new(stream, shard.state().open.clone()),
        Err(error) => {
            tracing::warn!(%error, "cannot register a connection");
            shard.state().open.forget(fd);
            return;
        }
    };
    let service = {
        let shard = shard.clone();
        hyper::service::service_fn(move |request| handle(shard.clone(), request))
    };
    // Not `pipeline_flush`: with it hyper buffers a body without bound when the client stops reading.
    let connection = hyper::server::conn::http1::Builder::new()
        .timer(TokioTimer::new())
        // A client that has said all it wants to say may still wait for its answer.
        .half_close(true)
        .serve_connection(TokioIo::new(stream), service)
        .with_upgrades();
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = &mut connection => ended,
        () = shard.connections().closing.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        // The client went away or sent something that is not HTTP.
        tracing::debug!(%error, "connection ended");
    }
}

async fn handle(shard: Rc<Shard>, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
    let load = shard.state().load.clone();
    load.fetch_add(1, Ordering::Relaxed);
    let response = answer(&shard, request).await;
    load.fetch_sub(1, Ordering::Relaxed);
    Ok(response)
}

async fn answer(shard: &Shard, request: Request<Incoming>) -> Response<Body> {
    let options = &shard.state().options;
    let (mut parts, incoming) = request.into_parts();
    if let Some(response) = options.intercept.as_ref().and_then(|i| i.answer(&parts.method, &parts.uri)) {
        return response;
    }
    if shard.connections().closing.is_cancelled() {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "The node is shutting down.\n");
    }
    let Some(isolate) = shard.serving().and_then(|workers| workers.primary().cloned()) else {
        return plain(StatusCode::SERVICE_UNAVAILABLE, "No application is deployed.\n");
    };
    let limit = options.max_request_body;
    let declared = parts.headers.get(CONTENT_LENGTH).and_then(|v| v.to_str().ok()?.parse::<u64>().ok());
    if declared.is_some_and(|length| length > limit) {
        return plain(
            StatusCode::PAYLOAD_TOO_LARGE,
            &format!("The request body is larger than the limit of {limit} bytes.\n"),
        );
    }
    let Some(url) = absolute_url(&parts.uri, parts.headers.get(HOST)) else {
        return plain(StatusCode::BAD_REQUEST, "The request has no valid Host header.\n");
    };
    let upgrade = Handshake::of(&parts.headers).zip(parts.extensions.remove::<OnUpgrade>());
    let method = parts.method;
    let wants_html = parts
        .headers
        .get(ACCEPT)
        .and_then(|v| v.to_str().ok())
        .is_some_and(|accept| accept.contains("text/html"));
    let has_body = !incoming.is_end_stream();
    let upload = has_body.then(|| Upload::new(incoming, limit));
    let (reply, answer) = oneshot::channel();
    let body = upload.clone().map(Body::Upload);
    let event = Event { headers: parts.headers, body, reply: Reply::Fetch(reply) };
    let id = isolate.state.events.borrow_mut().insert(event);
    isolate.dispatch_fetch(id, method.as_str(), &url, has_body);
    let response = match answer.await {
        Ok(reply) => open_socket(shard, respond(options, reply, wants_html), upgrade),
        // The handler can no longer answer: its isolate is gone.
        Err(_) => plain(StatusCode::INTERNAL_SERVER_ERROR, "The Worker was stopped before it answered.\n"),
    };
    let response = match &options.intercept {
        Some(intercept) => intercept.finish(&method, response),
        None => response,
    };
    let response = with_true_length(&method, response);
    match upload.filter(|upload| !upload.is_over()) {
        Some(upload) => response.map(|body| body.ending(upload)),
        None => response,
    }
}

/// A length that the handler claims would leave the client waiting, or cut the body, when it is wrong; hyper knows the true one. It
/// stays in the answer to a HEAD, which has no body. Headers of the connection are the node's own business.
fn with_true_length(method: &Method, mut response: Response<Body>) -> Response<Body> {
    let is_upgrade = response.status() == StatusCode::SWITCHING_PROTOCOLS;
    let headers = response.headers_mut();
    if method != Method::HEAD {
        headers.remove(CONTENT_LENGTH);
    }
    if !is_upgrade {
        for name in [CONNECTION, TRANSFER_ENCODING, HeaderName::from_static("keep-alive")] {
            headers.remove(name);
        }
    }
    response
}

/// Completes a response that hands a socket over: from then on the connection is a WebSocket.
fn open_socket(
    shard: &Shard,
    mut response: Response<Body>,
    upgrade: Option<(Handshake, OnUpgrade)>,
) -> Response<Body> {
    let Some(end) = response.extensions_mut().remove::<UpgradeSlot>().and_then(|slot| slot.take()) else {
        return response;
    };
    // Only a response to a request that asked for it has a slot.
    let Some((handshake, upgrade)) = upgrade else {
        return plain(StatusCode::INTERNAL_SERVER_ERROR, "Internal Server Error\n");
    };
    match handshake.accept(&mut response) {
        Ok(()) => {
            let connections = shard.connections();
            connections.tracker.spawn_local(wire::drive(upgrade, end, connections.closing.clone()));
            response
        }
        Err(refusal) => *refusal,
    }
}

fn respond(options: &super::ShardOptions, reply: FetchReply, html: bool) -> Response<Body> {
    match reply {
        Ok(response) => response,
        Err(error) => {
            let message = match error {
                Failure::Host(error) => error.message,
                // The handler of a public request reports what it threw by another way.
                Failure::Thrown(_) => "The Worker threw an exception.".to_owned(),
            };
            let page = options.intercept.as_ref().and_then(|i| i.error_page(&message, html));
            page.unwrap_or_else(uncaught)
        }
    }
}

/// What the platform answers for an exception that the Worker did not catch.
fn uncaught() -> Response<Body> {
    let mut response = Response::new(Body::Full(Bytes::from_static(b"Internal Server Error")));
    *response.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    response
}

/// A short text of the node's own.
pub fn plain(status: StatusCode, text: &str) -> Response<Body> {
    let mut response = Response::new(Body::Full(Bytes::copy_from_slice(text.as_bytes())));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain;charset=UTF-8"));
    response
}

/// The URL that the Worker sees: scheme and host of the request, its path and query as sent.
fn absolute_url(uri: &Uri, host: Option<&HeaderValue>) -> Option<String> {
    if uri.scheme().is_some() {
        return normal(uri.to_string());
    }
    let host = host?.to_str().ok()?;
    let path = uri.path_and_query().map_or("/", |p| p.as_str());
    let mut url = String::with_capacity(7 + host.len() + path.len());
    url.push_str("http://");
    url.push_str(host);
    url.push_str(path);
    normal(url)
}

/// `url` as the URL standard serializes it. The common case is recognised without parsing.
fn normal(url: String) -> Option<String> {
    if url.strip_prefix("http://").is_some_and(is_normal) {
        return Some(url);
    }
    url::Url::parse(&url).ok().map(String::from)
}

/// `true` when the standard certainly leaves `authority/path?query` as it is.
fn is_normal(rest: &str) -> bool {
    let Some((authority, path)) = rest.split_once('/') else { return false };
    let (host, port) = authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
    let is_plain = |b: u8| b.is_ascii_alphanumeric() || b"-_~.=&?+,;!$()*@:/".contains(&b);
    // Segments of dots are steps, and a percent sign may stand for one of them.
    is_normal_host(host)
        && port.is_none_or(is_normal_port)
        && path.bytes().all(is_plain)
        && !path.starts_with('.')
        && !path.contains("/.")
}

fn is_normal_host(host: &str) -> bool {
    let is_plain = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-';
    let mut labels = host.split('.');
    let all_plain = labels.clone().all(|label| {
        // A label with hyphens there may be one of another alphabet.
        !label.is_empty() && label.bytes().all(is_plain) && label.as_bytes().get(2..4) != Some(b"--")
    });
    let ends_as_name =
        labels.next_back().is_some_and(|last| last.starts_with(|c: char| c.is_ascii_lowercase()));
    all_plain && (ends_as_name || host.parse::<std::net::Ipv4Addr>().is_ok())
}

fn is_normal_port(port: &str) -> bool {
    let is_number = !port.starts_with('0') && port.bytes().all(|b| b.is_ascii_digit());
    is_number && port != "80" && port.parse::<u16>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(uri: &str, host: &str) -> Option<String> {
        let host = HeaderValue::from_str(host).ok();
        absolute_url(&uri.parse().ok()?, host.as_ref())
    }

    #[test]
    fn the_shortcut_gives_what_the_parser_gives() {
        for (uri, host) in [
            ("/", "localhost:9876"),
            ("/a/b-c", "example"),
            ("/", "example:80"),
            ("/a", "localhost:80"),
            ("/a:b", "x"),
            ("/%7Efoo?a=b c".trim_end_matches(" c"), "x.example"),
            ("/../a", "localhost"),
            ("/a//b", "localhost"),
            ("/", "127.0.0.1:80"),
            ("/", "EXAMPLE"),
            ("/", "127.0.0.1:8787"),
            ("/", "127.1"),
            ("/", "0x7f.0.0.1"),
            ("/", "10.0.0.256"),
            ("/", "010.0.0.1"),
            ("/", "a.1"),
            ("/", "1.a"),
            ("/", "app.example.com"),
            ("/", "app..com"),
            ("/", "app.example.com."),
            ("/", "xn--a"),
            ("/", "ab--c"),
            ("/", "a_b"),
            ("/", "-a-"),
            ("/", "localhost:080"),
            ("/", "localhost:65536"),
            ("/", "localhost:"),
            ("/.", "x"),
            ("/..", "x"),
            ("/a/./b", "x"),
            ("/a/.b", "x"),
            ("/a.b/c..d", "x"),
            ("/%2e%2e/a", "x"),
            ("/a?b=/../c", "x"),
            ("/a?b='c'", "x"),
            ("/a'b", "x"),
            ("/a|b", "x"),
            ("/A_~=&+,;!$()*@:", "x"),
            ("/?A_~=&+,;!$()*@:?", "x"),
            ("//a//", "x"),
        ] {
            let parsed = url::Url::parse(&format!("http://{host}{uri}")).ok().map(String::from);
            assert_eq!(url(uri, host), parsed, "{host}{uri}");
        }
    }

    #[test]
    fn the_shortcut_is_taken_where_it_should_be() {
        for rest in ["localhost:9876/", "127.0.0.1:8787/a/b-c?x=1", "app.example.com/index.html", "x/"] {
            assert!(is_normal(rest), "{rest}");
        }
    }

    /// Texts of a small alphabet in which everything that has a meaning is frequent.
    #[test]
    fn the_shortcut_agrees_with_the_parser_on_random_texts() {
        let mut state = 1u64;
        let mut next = |below: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % below
        };
        let pieces = [
            "a", "b1", "0", "1", "80", "127", "0x1", ".", "..", "-", "--", "xn", ":", "@", "_", "%2e", "A",
            "?", "/", "=", "&",
        ];
        let mut taken = 0;
        for _ in 0..200_000 {
            let mut part =
                |most: usize| (0..=next(most)).map(|_| pieces[next(pieces.len())]).collect::<String>();
            let rest = format!("{}/{}", part(4), part(4));
            if is_normal(&rest) {
                taken += 1;
                let url = format!("http://{rest}");
                let parsed = url::Url::parse(&url).ok().map(String::from);
                assert_eq!(parsed, Some(url));
            }
        }
        assert!(taken > 1000, "{taken}");
    }

    #[test]
    fn a_host_that_is_none_is_refused() {
        for host in ["", ":80", "a b"] {
            assert_eq!(url("/", host), None, "{host:?}");
        }
        assert_eq!(absolute_url(&Uri::from_static("/"), None), None);
    }
}
