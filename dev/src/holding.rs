//! Answers on the public port while there is nothing to serve: a page that says why, and that loads itself again.
//!
//! Without it a browser would wait without a word, because the supervisor holds the port open between two nodes.

use std::net::TcpListener as StdTcpListener;
use std::sync::Arc;
use std::time::Duration;

use http::{Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpListener;
use tokio::task::JoinSet;

/// A client that does not send its request within this time loses the connection.
const REQUEST_WITHIN: Duration = Duration::from_secs(5);

/// Answers every request with 503 and `reason` until dropped.
pub(crate) async fn hold(listener: &StdTcpListener, reason: &str) -> std::io::Error {
    let listener = match listener.try_clone().and_then(TcpListener::from_std) {
        Ok(listener) => listener,
        Err(error) => return error,
    };
    let page = Arc::new(page(reason));
    // Dropped with this future: no connection outlives the reason for it.
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    let page = page.clone();
                    connections.spawn(async move {
                        let service = service_fn(move |_| std::future::ready(answer(&page)));
                        let mut server = http1::Builder::new();
                        server.keep_alive(false).timer(TokioTimer::new()).header_read_timeout(REQUEST_WITHIN);
                        // The client went away; there is nobody to tell.
                        let _ = server.serve_connection(TokioIo::new(stream), service).await;
                    });
                }
                // Out of descriptors, most likely: pause instead of spinning.
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
            },
            Some(_) = connections.join_next() => {}
        }
    }
}

fn answer(page: &str) -> Result<Response<Full<Bytes>>, http::Error> {
    Response::builder()
        .status(StatusCode::SERVICE_UNAVAILABLE)
        .header(header::CONTENT_TYPE, "text/html; charset=utf-8")
        .header(header::CACHE_CONTROL, "no-store")
        .header(header::RETRY_AFTER, "1")
        .body(Full::from(page.to_owned()))
}

fn page(reason: &str) -> String {
    let reason = reason.replace('&', "&amp;").replace('<', "&lt;");
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<meta http-equiv=\"refresh\" content=\"1\">\n\
         <title>celld dev</title>\n<h1>Nothing to serve yet</h1>\n<pre>{reason}</pre>\n"
    )
}
