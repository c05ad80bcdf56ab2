//! Live reload: an open page loads itself again when the node adopts another deployment.
//!
//! Used by `celld dev` only. Three parts: a script tag appended to HTML responses ([`applies`], [`tag`]), the script
//! behind it ([`SCRIPT_PATH`], [`script`]) and an event stream of deployment ids ([`EVENTS_PATH`], [`LiveReload`]).
//! The page knows the deployment that rendered it and compares: nothing is missed between rendering and connecting,
//! or while the node restarts.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::Stream;
use http::{HeaderMap, Method, StatusCode, header};
use tokio::sync::watch;

/// Where the script is served, on the public listener.
pub const SCRIPT_PATH: &str = "/.well-known/celld/live.js";
/// Where the event stream is served, on the public listener.
pub const EVENTS_PATH: &str = "/.well-known/celld/live";
/// The media type of the event stream.
pub const EVENTS_TYPE: &str = "text/event-stream; charset=utf-8";

/// A comment is sent after this silence, so that a proxy between browser and node keeps the connection.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

/// The script of [`SCRIPT_PATH`].
pub fn script() -> &'static str {
    include_str!("live_reload.js")
}

/// Whether a response takes the script tag: a complete, unencoded HTML document that answers a `GET`.
///
/// A caller that appends [`tag`] also drops `Content-Length` (or adds the tag's length to it). The tag goes behind
/// everything the Worker sent: HTML parsers put a script after `</html>` into the body, and no parsing is needed.
pub fn applies(method: &Method, status: StatusCode, headers: &HeaderMap) -> bool {
    let text = |name| headers.get(name).and_then(|value| value.to_str().ok());
    let essence = |value: &str| value.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    let has_body = !status.is_informational()
        && !matches!(status, StatusCode::NO_CONTENT | StatusCode::RESET_CONTENT | StatusCode::NOT_MODIFIED)
        && status != StatusCode::PARTIAL_CONTENT;
    method == Method::GET
        && has_body
        && text(header::CONTENT_TYPE).is_some_and(|value| essence(value) == "text/html")
        && text(header::CONTENT_ENCODING).is_none_or(|value| essence(value) == "identity")
        && text(header::CONTENT_DISPOSITION).is_none_or(|value| essence(value) != "attachment")
        && !headers.contains_key(header::CONTENT_RANGE)
}

/// The script tag for a page that `deployment` rendered.
pub fn tag(deployment: &str) -> Bytes {
    let mut escaped = String::with_capacity(deployment.len());
    for c in deployment.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '"' => escaped.push_str("&quot;"),
            '<' => escaped.push_str("&lt;"),
            _ => escaped.push(c),
        }
    }
    format!("\n<script src=\"{SCRIPT_PATH}\" data-deployment=\"{escaped}\"></script>\n").into()
}

/// The deployment that serves, told to every connected page. Cheap to clone.
#[derive(Debug, Clone)]
pub struct LiveReload {
    /// `None` once the node stops: every stream ends.
    deployment: Arc<watch::Sender<Option<Arc<str>>>>,
}

impl LiveReload {
    /// Starts with the deployment that serves now.
    pub fn new(deployment: &str) -> Self {
        Self { deployment: Arc::new(watch::Sender::new(Some(deployment.into()))) }
    }

    /// Tells every page that `deployment` serves. An unchanged id reloads nothing.
    pub fn publish(&self, deployment: &str) {
        self.deployment.send_if_modified(|current| {
            let changed = current.as_deref() != Some(deployment);
            if changed {
                *current = Some(deployment.into());
            }
            changed
        });
    }

    /// The deployment that was published last; empty once the node stops.
    pub fn current(&self) -> Arc<str> {
        self.deployment.borrow().clone().unwrap_or_else(|| "".into())
    }

    /// Ends every event stream, so that open pages do not hold up a graceful stop.
    pub fn close(&self) {
        self.deployment.send_replace(None);
    }

    /// The body of one [`EVENTS_PATH`] response: the current id at once, each later one, comments in between.
    pub fn events(&self) -> impl Stream<Item = Bytes> + Send + use<> {
        let mut receiver = self.deployment.subscribe();
        receiver.mark_changed();
        futures::stream::unfold(receiver, |mut receiver| async move {
            let frame = match tokio::time::timeout(KEEP_ALIVE, receiver.changed()).await {
                Err(_silence) => Bytes::from_static(b":\n\n"),
                Ok(Err(_dropped)) => return None,
                Ok(Ok(())) => {
                    let id = receiver.borrow_and_update().clone()?;
                    // `retry`: a page finds a restarted node within a third of a second.
                    format!("retry: 300\ndata: {id}\n\n").into()
                }
            };
            Some((frame, receiver))
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::{FutureExt, StreamExt};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        pairs
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), http::HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn only_a_complete_html_page_takes_the_tag() {
        let html = headers(&[("content-type", "Text/HTML; charset=utf-8")]);
        assert!(applies(&Method::GET, StatusCode::OK, &html));
        assert!(applies(&Method::GET, StatusCode::NOT_FOUND, &html));
        assert!(!applies(&Method::POST, StatusCode::OK, &html));
        assert!(!applies(&Method::HEAD, StatusCode::OK, &html));
        assert!(!applies(&Method::GET, StatusCode::NOT_MODIFIED, &html));
        assert!(!applies(&Method::GET, StatusCode::PARTIAL_CONTENT, &html));
        for other in [
            &[("content-type", "application/json")][..],
            &[("content-type", "text/html"), ("content-encoding", "gzip")],
            &[("content-type", "text/html"), ("content-disposition", "attachment; filename=a.html")],
            &[],
        ] {
            assert!(!applies(&Method::GET, StatusCode::OK, &headers(other)), "{other:?}");
        }
    }

    #[test]
    fn an_id_cannot_leave_its_attribute() {
        let tag = tag("a\"><b&");
        let text = std::str::from_utf8(&tag).unwrap();
        assert!(text.contains("data-deployment=\"a&quot;>&lt;b&amp;\"></script>"), "{text}");
    }

    #[tokio::test]
    async fn a_page_hears_the_current_deployment_then_each_change_then_the_end() {
        let live = LiveReload::new("one");
        let mut events = Box::pin(live.events());
        assert_eq!(events.next().await.unwrap(), "retry: 300\ndata: one\n\n");
        live.publish("one");
        assert!(events.next().now_or_never().is_none(), "an unchanged deployment is silent");
        live.publish("two");
        assert_eq!(events.next().await.unwrap(), "retry: 300\ndata: two\n\n");
        live.close();
        assert!(events.next().await.is_none());
    }
}
