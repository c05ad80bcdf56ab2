//! The opening handshake of RFC 6455, section 4.2, on the server's side.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{
    CONNECTION, CONTENT_LENGTH, SEC_WEBSOCKET_ACCEPT, SEC_WEBSOCKET_EXTENSIONS, SEC_WEBSOCKET_KEY,
    SEC_WEBSOCKET_VERSION, TRANSFER_ENCODING, UPGRADE,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use sha1::{Digest, Sha1};

use crate::shard::body::Body;

/// The constant that the protocol appends to the key.
const GUID: &str = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11";

/// `true` when the request asks for a WebSocket.
pub(crate) fn is_asked_for(headers: &HeaderMap) -> bool {
    headers.get(UPGRADE).is_some_and(|upgrade| upgrade.as_bytes().eq_ignore_ascii_case(b"websocket"))
}

/// What a client sent to begin, as far as the answer depends on it.
#[derive(Debug)]
pub(crate) struct Handshake {
    key: Option<HeaderValue>,
    is_version_13: bool,
}

impl Handshake {
    /// Reads the request's headers; `None` when it does not ask for a WebSocket.
    pub fn of(headers: &HeaderMap) -> Option<Handshake> {
        is_asked_for(headers).then(|| Handshake {
            key: headers.get(SEC_WEBSOCKET_KEY).cloned(),
            is_version_13: headers.get(SEC_WEBSOCKET_VERSION).is_some_and(|version| version == "13"),
        })
    }

    /// Completes the response that accepts, or makes the one that refuses what the client sent.
    ///
    /// # Errors
    /// The refusal: another version of the protocol, or no key.
    pub fn accept(&self, response: &mut Response<Body>) -> Result<(), Box<Response<Body>>> {
        if !self.is_version_13 {
            let mut refusal = crate::shard::http::plain(
                StatusCode::UPGRADE_REQUIRED,
                "The requested WebSocket version is not supported.\n",
            );
            refusal.headers_mut().insert(SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            return Err(Box::new(refusal));
        }
        let Some(key) = &self.key else {
            let refusal = crate::shard::http::plain(StatusCode::BAD_REQUEST, "Missing Sec-WebSocket-Key\n");
            return Err(Box::new(refusal));
        };
        let digest = Sha1::new().chain_update(key.as_bytes()).chain_update(GUID).finalize();
        // Base64 is always a valid header value.
        let accept = HeaderValue::try_from(STANDARD.encode(digest)).unwrap_or(HeaderValue::from_static(""));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        // The handler has no say in these.
        headers.remove(CONTENT_LENGTH);
        headers.remove(TRANSFER_ENCODING);
        headers.remove(SEC_WEBSOCKET_EXTENSIONS);
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(headers: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = headers
            .iter()
            .map(|(name, value)| (http::HeaderName::from_static(name), HeaderValue::from_static(value)));
        pairs.collect()
    }

    #[test]
    fn the_example_of_the_rfc_is_accepted() {
        let headers = request(&[
            ("upgrade", "WebSocket"),
            ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
            ("sec-websocket-version", "13"),
        ]);
        let mut response = Response::new(Body::Empty);
        let accepted =
            Handshake::of(&headers).is_some_and(|handshake| handshake.accept(&mut response).is_ok());
        assert!(accepted);
        assert_eq!(response.headers()[SEC_WEBSOCKET_ACCEPT], "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=");
    }

    #[test]
    fn what_is_no_websocket_request_is_none() {
        assert!(Handshake::of(&request(&[("upgrade", "h2c")])).is_none());
        let refused = |headers| {
            let handshake = Handshake::of(&request(headers)).expect("it asks for a WebSocket");
            handshake.accept(&mut Response::new(Body::Empty)).expect_err("it is not complete").status()
        };
        assert_eq!(
            refused(&[("upgrade", "websocket"), ("sec-websocket-key", "x")]),
            StatusCode::UPGRADE_REQUIRED
        );
        assert_eq!(
            refused(&[("upgrade", "websocket"), ("sec-websocket-version", "13")]),
            StatusCode::BAD_REQUEST
        );
    }
}
