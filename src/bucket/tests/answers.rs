//! What each answer of a store proves about a request, and how often a request is sent: against a server that answers by a
//! script.

use std::sync::Arc;

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, Probe, StoreOptions, Version, WriteOutcome};
use parking_lot::Mutex;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// How the server treats one request.
#[derive(Clone)]
enum Reply {
    /// The head's first line after `HTTP/1.1 `, with more lines, and a body.
    Says(&'static str, &'static str),
    /// As much of the answer as this, then the end of the connection.
    Cut(&'static str),
    /// The connection ends.
    Nothing,
}
use Reply::{Cut, Nothing, Says};

struct Server {
    bucket: Bucket,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// An S3 server that answers the requests in turn, and gives the last reply again and again.
    async fn new(script: &[Reply]) -> Server {
        let (endpoint, requests) = Server::start(script).await;
        let mut options = StoreOptions::new(Some(endpoint), Some("us-east-1".into()));
        let keys = [("AWS_ACCESS_KEY_ID", "k"), ("AWS_SECRET_ACCESS_KEY", "s")];
        options.variables = Some(keys.map(|(n, v)| (n.to_string(), v.to_string())).into());
        let bucket = Bucket::open(&"s3://bkt/p".parse().unwrap(), &options).unwrap();
        Server { bucket, requests }
    }

    /// The same for Google.
    async fn gcs(script: &[Reply]) -> Server {
        let (endpoint, requests) = Server::start(script).await;
        let mut options = StoreOptions::default();
        options.variables = Some([("STORAGE_EMULATOR_HOST".to_string(), endpoint)].into());
        let bucket = Bucket::open(&"gs://bkt/p".parse().unwrap(), &options).unwrap();
        Server { bucket, requests }
    }

    async fn start(script: &[Reply]) -> (String, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let endpoint = format!("http://{}", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let (seen, script) = (requests.clone(), script.to_vec());
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let (seen, script) = (seen.clone(), script.clone());
                tokio::spawn(serve(stream, seen, script));
            }
        });
        (endpoint, requests)
    }

    fn sent(&self) -> usize {
        self.requests.lock().len()
    }
}

/// Serves one request of one connection.
async fn serve(stream: TcpStream, seen: Arc<Mutex<Vec<String>>>, script: Vec<Reply>) -> Option<()> {
    let mut stream = BufReader::new(stream);
    let (mut head, mut length) = (String::new(), 0);
    loop {
        let start = head.len();
        if stream.read_line(&mut head).await.ok()? == 0 {
            return None;
        }
        let line = head[start..].trim().to_ascii_lowercase();
        if let Some(value) = line.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
        if line.is_empty() {
            break;
        }
    }
    stream.read_exact(&mut vec![0; length]).await.ok()?;
    let reply = {
        let mut seen = seen.lock();
        seen.push(head);
        script[(seen.len() - 1).min(script.len() - 1)].clone()
    };
    let answer = match reply {
        Says(head, body) => {
            format!("HTTP/1.1 {head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
        }
        Cut(answer) => answer.to_owned(),
        Nothing => String::new(),
    };
    stream.write_all(answer.as_bytes()).await.ok()?;
    stream.shutdown().await.ok()
}

const STORED: Reply = Says("200 OK\r\nETag: \"v2\"", "");
const PRECONDITION: Reply = Says("412 Precondition Failed", "<Code>PreconditionFailed</Code>");
const OBJECT: Reply = Says(
    "200 OK\r\nETag: \"v1\"\r\nLast-Modified: Mon, 30 Nov 2026 00:00:00 GMT\r\nContent-Type: x/y",
    "0123456789",
);
const BUSY: Reply = Says("503 Slow Down", "<Code>SlowDown</Code>");

/// A version to update: what a server that returns [`OBJECT`] has.
async fn version() -> Version {
    Server::new(&[OBJECT]).await.bucket.get("k").await.unwrap().unwrap().version
}

fn body() -> Bytes {
    Bytes::from_static(b"new")
}

/// Both conditional writes of `script`: how they ended and how many requests were sent.
async fn writes(script: &[Reply]) -> [(WriteOutcome, usize); 2] {
    let (create, update) = (Server::new(script).await, Server::new(script).await);
    let created = create.bucket.create("k", body()).await;
    let updated = update.bucket.update("k", body(), &version().await).await;
    assert!(create.requests.lock()[0].to_ascii_lowercase().contains("if-none-match: *"));
    assert!(update.requests.lock()[0].to_ascii_lowercase().contains("if-match: \"v1\""));
    [(created, create.sent()), (updated, update.sent())]
}

#[tokio::test]
async fn a_conditional_write_that_may_have_been_applied_is_sent_once_and_unknown() {
    for script in [
        Says("500 Internal Server Error", "<Code>InternalError</Code>"),
        Says("502 Bad Gateway", ""),
        BUSY,
        Says("504 Gateway Timeout", ""),
        Says("408 Request Timeout", ""),
        Says("200 OK", ""),
        Cut("HTTP/1.1 200 OK\r\nETag: \"v2\"\r\n"),
        Nothing,
    ] {
        // What would follow shows what a second attempt would be told.
        for (outcome, sent) in writes(&[script, PRECONDITION]).await {
            assert!(outcome.is_unknown(), "{outcome:?}");
            assert_eq!(sent, 1, "{outcome:?}");
        }
    }
}

#[tokio::test]
async fn a_conditional_write_that_was_turned_away_is_sent_again() {
    let conflict = Says("409 Conflict", "<Code>ConditionalRequestConflict</Code>");
    for script in [Says("429 Too Many Requests", ""), conflict] {
        for (outcome, sent) in writes(&[script.clone(), STORED]).await {
            assert!(outcome.is_done(), "{outcome:?}");
            assert_eq!(sent, 2);
        }
        for (outcome, sent) in writes(&[script.clone(), PRECONDITION]).await {
            assert!(outcome.is_refused(), "{outcome:?}");
            assert_eq!(sent, 2);
        }
        for (outcome, sent) in writes(&[script]).await {
            assert!(matches!(outcome, WriteOutcome::Failed(BucketError::Throttled { .. })), "{outcome:?}");
            assert!((2..=5).contains(&sent), "{sent}");
        }
    }
}

#[tokio::test]
async fn an_answer_that_is_certain_ends_a_conditional_write() {
    for (outcome, sent) in writes(&[PRECONDITION]).await {
        assert!(outcome.is_refused() && sent == 1, "{outcome:?}");
    }
    for (script, is_right) in [
        (Says("403 Forbidden", "<Code>AccessDenied</Code>"), "access denied"),
        (Says("401 Unauthorized", ""), "access denied"),
        (Says("400 Bad Request", "<Code>ExpiredToken</Code>"), "access denied"),
        (Says("404 Not Found", "<Code>NoSuchBucket</Code>"), "no such bucket"),
        (Says("301 Moved Permanently", "<Code>PermanentRedirect</Code>"), "no such bucket"),
        (Says("400 Bad Request", "<Code>InvalidArgument</Code>"), "InvalidArgument"),
        (Says("501 Not Implemented", "<Code>NotImplemented</Code>"), "NotImplemented"),
    ] {
        for (outcome, sent) in writes(&[script]).await {
            let WriteOutcome::Failed(error) = outcome else { panic!("{outcome:?}") };
            let text = error.to_string();
            assert!(text.contains(is_right) && text.contains(" k in s3://bkt/p"), "{text}");
            assert_eq!(sent, 1, "{text}");
        }
    }
    let gone = Server::new(&[Says("404 Not Found", "<Code>NoSuchKey</Code>")]).await;
    assert!(gone.bucket.update("k", body(), &version().await).await.is_refused());
}

#[tokio::test]
async fn a_lost_answer_is_resolved_by_reading() {
    let written = Says(
        "200 OK\r\nETag: \"v2\"\r\nLast-Modified: Mon, 30 Nov 2026 00:00:00 GMT\r\nContent-Type: x/y",
        "new",
    );
    let server = Server::new(&[Nothing, written]).await;
    let outcome = server.bucket.create_resolved("k", body()).await;
    assert!(outcome.is_done(), "{outcome:?}");
    let methods: Vec<_> = server.requests.lock().iter().map(|r| r[..3].to_owned()).collect();
    assert_eq!(methods, ["PUT", "GET"]);
}

#[tokio::test]
async fn a_read_is_sent_again_but_not_for_ever() {
    let cut = Cut("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nLast-Modified: Mon, 30 Nov 2026 00:00:00 GMT\r\n\
         Content-Length: 10\r\nConnection: close\r\n\r\n01234");
    for script in [Nothing, Says("500 Internal Server Error", ""), BUSY, cut] {
        let server = Server::new(&[script.clone(), OBJECT]).await;
        assert_eq!(server.bucket.get("k").await.unwrap().unwrap().bytes, "0123456789");
        assert_eq!(server.sent(), 2);

        let server = Server::new(&[script]).await;
        let error = server.bucket.get("k").await.unwrap_err();
        assert!(error.is_transient(), "{error}");
        assert!(server.sent() <= 5, "{}", server.sent());
    }
    let server = Server::new(&[Says("403 Forbidden", "")]).await;
    assert!(matches!(server.bucket.get("k").await, Err(BucketError::Denied { .. })));
    assert_eq!(server.sent(), 1);
}

/// A 503 holds back everybody who uses the bucket, so that the store gets the rest that it asks for.
#[tokio::test]
async fn a_busy_store_is_left_alone_by_all() {
    let server = Server::new(&[BUSY, STORED]).await;
    let start = std::time::Instant::now();
    assert!(server.bucket.create("k", body()).await.is_unknown());
    let mut others = tokio::task::JoinSet::new();
    for i in 0..8 {
        let bucket = server.bucket.clone();
        others.spawn(async move { bucket.create(&format!("k{i}"), body()).await.is_done() });
    }
    assert!(others.join_all().await.into_iter().all(|done| done));
    assert!(start.elapsed() >= std::time::Duration::from_millis(25), "{:?}", start.elapsed());
    assert_eq!(server.sent(), 9);
}

/// A store that ignores ranges, or answers with another one, cannot be used, and that is not an outage.
#[tokio::test]
async fn other_bytes_than_the_range_are_an_error() {
    let other = Says(
        "206 Partial Content\r\nETag: \"v1\"\r\nLast-Modified: Mon, 30 Nov 2026 00:00:00 GMT\r\n\
         Content-Range: bytes 0-2/10",
        "012",
    );
    for script in [OBJECT, other] {
        let server = Server::new(&[script]).await;
        let error = server.bucket.get_range("k", 2..5).await.unwrap_err();
        assert!(matches!(error, BucketError::Range { .. }), "{error:?}");
        assert_eq!(server.sent(), 1);
    }
}

#[tokio::test]
async fn a_store_without_conditions_is_named_as_the_fault() {
    let server = Server::new(&[STORED]).await;
    let Probe::CannotFence { what, .. } = server.bucket.probe().await else { panic!() };
    assert!(what.contains("second create"), "{what}");

    let refuses = Server::new(&[Says("501 Not Implemented", "<Code>NotImplemented</Code>")]).await;
    let probe = refuses.bucket.probe().await;
    assert!(matches!(probe, Probe::CannotFence { .. }), "{probe:?}");

    let down = Server::new(&[Says("500 Internal Server Error", "")]).await;
    assert!(matches!(down.bucket.probe().await, Probe::Unreachable(BucketError::Unavailable { .. })));
}

/// Google's conditions are generations, not entity tags.
#[tokio::test]
async fn google_compares_generations() {
    let stored = Says("200 OK\r\nETag: \"x\"\r\nx-goog-generation: 17", "");
    let server = Server::gcs(&[stored.clone(), stored.clone(), PRECONDITION, PRECONDITION]).await;
    let version = server.bucket.create("k", body()).await.done().unwrap();
    let again = server.bucket.update("k", body(), &version).await.done().unwrap();
    assert_eq!(version, again);
    assert!(server.bucket.create("k", body()).await.is_refused());
    assert!(server.bucket.update("k", body(), &version).await.is_refused());
    let requests = server.requests.lock().clone();
    let sent: Vec<_> = requests
        .iter()
        .filter_map(|head| head.lines().find_map(|line| line.strip_prefix("x-goog-if-generation-match: ")))
        .collect();
    assert_eq!(sent, ["0", "17", "0", "17"]);
    assert!(
        requests[0].starts_with("PUT /bkt/p%2Fk ") || requests[0].starts_with("PUT /bkt/p/k "),
        "{}",
        requests[0]
    );

    for script in [Says("500 Internal Server Error", ""), BUSY, Nothing, Says("200 OK\r\nETag: \"x\"", "")] {
        let server = Server::gcs(&[script, PRECONDITION]).await;
        let outcome = server.bucket.create("k", body()).await;
        assert!(outcome.is_unknown() && server.sent() == 1, "{outcome:?}");
    }
    // Only a 412 is about the condition.
    let conflict = Says("409 Conflict", "<Code>OperationAborted</Code>");
    let server = Server::gcs(&[conflict, stored]).await;
    let outcome = server.bucket.create("k", body()).await;
    assert!(outcome.is_done() && server.sent() == 2, "{outcome:?}");

    let missing = Server::gcs(&[Says("404 Not Found", "")]).await;
    let outcome = missing.bucket.create("k", body()).await;
    assert!(matches!(outcome, WriteOutcome::Failed(BucketError::NoBucket { .. })), "{outcome:?}");
}

/// The end of an upload whose answer was lost has taken the parts away. That is neither a missing bucket nor a failure: whoever
/// needs the object looks, or writes it again.
#[tokio::test]
async fn an_upload_that_ended_without_an_answer_is_unknown() {
    let started = Says(
        "200 OK",
        "<InitiateMultipartUploadResult><UploadId>u</UploadId></InitiateMultipartUploadResult>",
    );
    let gone = Says("404 Not Found", "<Code>NoSuchUpload</Code>");
    let script = [started, STORED, STORED, Nothing, gone];
    for server in [Server::new(&script).await, Server::gcs(&script).await] {
        let mut upload = server.bucket.upload("k").await.unwrap();
        upload.write(vec![7; 9 << 20].into()).await.unwrap();
        let error = upload.finish().await.unwrap_err();
        assert!(matches!(error, BucketError::Unavailable { .. }), "{error:?}");
        assert_eq!(server.sent(), 5);
    }
}
