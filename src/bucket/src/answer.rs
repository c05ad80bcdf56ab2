//! What an error of a cloud client proves about the request that met it.
//!
//! This decides whether a write counts as refused, as not carried out or as unknown, so it goes by the status that came back
//! and takes anything that it does not recognise for silence.

use object_store::client::{HttpError, HttpErrorKind};

/// Which cloud's rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cloud {
    S3,
    Gcs,
    Azure,
}

/// What an error says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Answer {
    /// 404 for an object.
    Missing,
    /// The condition of a write does not hold.
    Refused,
    /// 409 of S3 or Google: it is busy with another write of the same object and has not carried out this one.
    Conflict,
    /// The parts of an upload are gone: it was ended, perhaps by this very request, whose answer had been lost.
    NoUpload,
    /// 416: the range lies outside of the object.
    OutOfRange,
    /// The store sent other bytes than the range that was asked for.
    WrongRange,
    /// 429: refused before anything was done.
    SlowDown,
    /// 503: slow down, but nobody says whether the request was carried out.
    Busy,
    /// 401, 403, and what else a store answers to credentials that it does not accept.
    Denied,
    /// There is no such bucket, or not in this region.
    NoBucket,
    /// No connection, or no credentials to sign with: nothing was sent.
    NotSent,
    /// Another 3xx or 4xx, 501, or a request that could not be made: not carried out, and not worth another attempt.
    Rejected,
    /// Another 5xx, a time-out, a connection that broke: anything may have happened.
    Silence,
}

impl Answer {
    /// The request was certainly not carried out, and never will be.
    pub(crate) fn is_certain(self) -> bool {
        !matches!(self, Answer::Busy | Answer::NoUpload | Answer::Silence)
    }

    pub(crate) fn is_worth_retrying(self) -> bool {
        matches!(self, Answer::SlowDown | Answer::Busy | Answer::Conflict | Answer::NotSent | Answer::Silence)
    }

    /// Reads the answer to a request for objects.
    pub(crate) fn of(error: &object_store::Error, cloud: Cloud) -> Answer {
        use object_store::Error;
        let facts = Facts::of(error);
        let says = |signs: &[&str]| signs.iter().any(|sign| facts.body.contains(sign));
        // Before the variants: for the library a missing bucket is a missing object or a failed condition.
        if matches!(facts.status, Some(404 | 409)) && says(&NO_BUCKET) {
            return Answer::NoBucket;
        }
        if matches!(facts.status, Some(400 | 404)) && says(&NO_UPLOAD) {
            return Answer::NoUpload;
        }
        match error {
            // Only Azure refuses a condition like that; the others have the 412 for it.
            Error::AlreadyExists { .. } if cloud != Cloud::Azure && facts.status == Some(409) => {
                Answer::Conflict
            }
            Error::AlreadyExists { .. } | Error::Precondition { .. } | Error::NotModified { .. } => {
                Answer::Refused
            }
            Error::NotFound { .. } => Answer::Missing,
            Error::PermissionDenied { .. } | Error::Unauthenticated { .. } => Answer::Denied,
            Error::NotSupported { .. }
            | Error::NotImplemented { .. }
            | Error::InvalidPath { .. }
            | Error::UnknownConfigurationKey { .. } => Answer::Rejected,
            _ => match (facts.status, facts.http) {
                (Some(401 | 403), _) => Answer::Denied,
                (Some(400), _) if says(&BAD_CREDENTIALS) => Answer::Denied,
                // Of a listing, which has no object that could be missing.
                (Some(404), _) => Answer::NoBucket,
                (Some(416), _) => Answer::OutOfRange,
                (Some(429), _) => Answer::SlowDown,
                (Some(503), _) => Answer::Busy,
                (Some(408), _) => Answer::Silence,
                // 501: the store does not know this kind of request.
                (Some(300..=499 | 501), _) => Answer::Rejected,
                (Some(_), _) => Answer::Silence,
                (None, Some(HttpErrorKind::Connect)) => Answer::NotSent,
                (None, Some(_)) => Answer::Silence,
                (None, None) if facts.elsewhere => Answer::NoBucket,
                (None, None) if facts.wrong_range => Answer::WrongRange,
                (None, None) => Answer::Silence,
            },
        }
    }

    /// Reads the answer to a request for credentials, which comes before the request that would have needed them.
    pub(crate) fn of_credentials(error: &object_store::Error) -> Answer {
        let facts = Facts::of(error);
        match (facts.status, facts.http) {
            (Some(408 | 429 | 500..), _) | (None, Some(_)) => Answer::NotSent,
            _ => Answer::Denied,
        }
    }
}

/// How S3, Google and Azure say that there is no such bucket.
const NO_BUCKET: [&str; 5] = [
    "NoSuchBucket",
    "The specified bucket does not exist",
    "ContainerNotFound",
    "ContainerBeingDeleted",
    "ContainerDisabled",
];

/// How S3 and Google, and Azure, say that there is no such upload.
const NO_UPLOAD: [&str; 2] = ["<Code>NoSuchUpload<", "<Code>InvalidBlockList<"];

/// What S3 says with a 400 when the credentials or their region are at fault.
const BAD_CREDENTIALS: [&str; 4] =
    ["ExpiredToken", "InvalidToken", "TokenRefreshRequired", "AuthorizationHeaderMalformed"];

/// What the chain of an error's sources tells.
#[derive(Default)]
struct Facts {
    status: Option<u16>,
    /// The store's text that came with the status.
    body: String,
    http: Option<HttpErrorKind>,
    /// A redirection without a target: how S3 says that the bucket is in another region.
    elsewhere: bool,
    wrong_range: bool,
}

impl Facts {
    /// The library keeps the types to itself that carry status and body, so their texts are read: from the start of the text
    /// of one link of the chain, where no key and no answer of the store can put anything.
    fn of(error: &object_store::Error) -> Facts {
        let mut facts = Facts::default();
        let mut source: Option<&(dyn std::error::Error + 'static)> = Some(error);
        while let Some(error) = source {
            if let Some(http) = error.downcast_ref::<HttpError>() {
                facts.http = Some(http.kind());
            }
            let text = error.to_string();
            if let Some(rest) = text.strip_prefix("Server returned non-2xx status code: ") {
                facts.status = rest.get(..3).and_then(|digits| digits.parse().ok());
                facts.body = rest.to_owned();
            }
            facts.elsewhere |= text.starts_with("Received redirect without LOCATION");
            facts.wrong_range |= [
                "Received non-partial response when range requested",
                "Content-Range header not present",
                "Failed to parse value for CONTENT_RANGE header",
                "Requested ",
                "Wanted range starting at",
            ]
            .iter()
            .any(|start| text.starts_with(start));
            source = error.source();
        }
        facts
    }
}

/// The part of an error's text that helps: one line, not a whole XML document.
pub(crate) fn detail(error: &object_store::Error) -> String {
    let line = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(400) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}
