//! The output gate, with a log that makes nothing durable before the test says so: whatever leaves a cell waits.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use celld_engine::deployment::{Binding, BindingValue, Deployment, Module, ModuleKind, Script};
use celld_engine::host::{
    ActivateError, Activation, AlarmChange, CommitLog, ConsoleLine, Host, LogFailed, Position, RewindError,
};
use celld_engine::shard::body::Body;
use celld_engine::shard::calls::{Call, CallTarget};
use celld_engine::shard::events::Failure;
use celld_engine::{Engine, ShardOptions};
use celld_ids::{CellScope, Epoch};
use celld_ltx::Txid;
use celld_snapshot::SNAPSHOTS;
use celld_storage::{CommittedTx, Image};
use futures::FutureExt;
use futures::future::BoxFuture;
use http_body_util::BodyExt;
use tokio::sync::{oneshot, watch};

const WORKER: &str = r#"
import { DurableObject } from "cloudflare:workers";

export class Probe extends DurableObject {
  write() { this.ctx.storage.kv.put("n", (this.ctx.storage.kv.get("n") ?? 0) + 1); }

  async fetch(request) {
    switch (new URL(request.url).pathname) {
      case "/read": return new Response(String(this.ctx.storage.kv.get("n") ?? 0));
      case "/write": this.write(); return new Response("written");
      case "/throw": this.write(); throw new Error("after a write");
      case "/unconfirmed":
        await this.ctx.storage.put("loose", 1, { allowUnconfirmed: true });
        return new Response(String(await this.ctx.storage.get("loose")));
      case "/sync":
        await this.ctx.storage.put("loose", 2, { allowUnconfirmed: true });
        await this.ctx.storage.sync();
        return new Response("synced");
      case "/stream": {
        const probe = this;
        let step = 0;
        return new Response(new ReadableStream({
          async pull(controller) {
            await new Promise((resolve) => setTimeout(resolve, 5));
            if (step++ === 0) return controller.enqueue(new TextEncoder().encode("first;"));
            probe.write();
            controller.enqueue(new TextEncoder().encode("after a write;"));
            controller.close();
          },
        }));
      }
      case "/tell":
        this.write();
        return this.env.PROBE.getByName("other").fetch("http://x/read");
      case "/alarm":
        await this.ctx.storage.setAlarm(Date.now() + 3600_000);
        return new Response("set");
    }
  }

  async alarm() {}
}

export default { fetch() { return new Response("unused"); } };
"#;

/// Orders everything, makes durable what it is told to, and remembers the changes of alarms.
struct Log {
    durable: watch::Sender<u64>,
    appended: watch::Sender<Vec<AlarmChange>>,
    congested: watch::Sender<bool>,
}

impl CommitLog for Log {
    fn append(&self, _: &CellScope, _: Epoch, _: Txid, _: CommittedTx, alarm: AlarmChange) -> Position {
        self.appended.send_modify(|all| all.push(alarm));
        Position(self.appended.borrow().len() as u64)
    }

    fn durable(&self) -> Position {
        Position(*self.durable.borrow())
    }

    fn is_congested(&self) -> bool {
        *self.congested.borrow()
    }

    fn wait(&self, position: Position) -> BoxFuture<'static, Result<(), LogFailed>> {
        let mut durable = self.durable.subscribe();
        async move {
            let reached = durable.wait_for(|now| *now >= position.0).await;
            reached.map(drop).map_err(|e| LogFailed(e.to_string().into()))
        }
        .boxed()
    }
}

struct World(Arc<Log>);

impl Host for World {
    fn activate(&self, _: CellScope) -> BoxFuture<'static, Result<Activation, ActivateError>> {
        std::future::ready(Ok(Activation { epoch: Epoch::FIRST, txid: Txid(0), image: Image::Empty })).boxed()
    }

    fn bookmark(&self, _: &CellScope, _: Epoch, txid: Txid) -> String {
        txid.0.to_string()
    }

    fn bookmark_at(&self, _: CellScope, _: u64) -> BoxFuture<'static, Result<String, String>> {
        std::future::ready(Err("no history".to_owned())).boxed()
    }

    fn check_bookmark(&self, _: CellScope, _: String) -> BoxFuture<'static, Result<(), String>> {
        std::future::ready(Err("no history".to_owned())).boxed()
    }

    fn rewind(
        &self,
        _: CellScope,
        _: String,
        _: Vec<u8>,
    ) -> BoxFuture<'static, Result<CommittedTx, RewindError>> {
        std::future::ready(Err(RewindError::Never("no history".to_owned()))).boxed()
    }

    fn log(&self) -> Arc<dyn CommitLog> {
        self.0.clone()
    }

    fn console(&self, _: ConsoleLine) {}
}

struct Setup {
    engine: Engine,
    log: Arc<Log>,
    _images: tempfile::TempDir,
}

impl Setup {
    async fn new() -> Setup {
        let log = Arc::new(Log {
            durable: watch::Sender::new(0),
            appended: watch::Sender::new(Vec::new()),
            congested: watch::Sender::new(false),
        });
        let images = tempfile::tempdir().expect("a directory");
        crate::harness::snapshot();
        let options = ShardOptions {
            shards: 1,
            snapshots: SNAPSHOTS,
            max_cell_requests: 64,
            max_request_body: 1 << 20,
            deploy_max_age: Duration::from_secs(60),
            cpu_limit: Duration::from_secs(30),
            idle_evict: None,
            images: Arc::from(Path::new(images.path())),
            deny_net: Vec::new(),
            cache: Arc::new(celld_engine::CacheStore::new(1 << 20)),
            intercept: None,
        };
        let engine = Engine::start(options, Arc::new(World(log.clone()))).expect("the engine starts");
        let module = Module { kind: ModuleKind::Esm, bytes: WORKER.as_bytes().into(), source_map: None };
        let script = Arc::new(Script {
            name: "gate".into(),
            main: "index.js".into(),
            modules: [("index.js".to_owned(), module)].into(),
            bindings: vec![Binding {
                name: "PROBE".into(),
                value: BindingValue::DurableObject { class: "Probe".into() },
            }],
            compatibility_date: Some("2026-01-01".into()),
            compatibility_flags: Vec::new(),
            defines: vec!["Probe".into()],
            cpu_limit: None,
        });
        let deployment = Arc::new(Deployment { id: "1".into(), script, others: Vec::new() });
        engine.adopt(deployment).await.expect("the Worker starts");
        Setup { engine, log, _images: images }
    }

    /// Calls the `fetch` handler of a cell.
    fn fetch(&self, cell: &str, path: &str) -> oneshot::Receiver<celld_engine::shard::events::FetchReply> {
        let (reply, answer) = oneshot::channel();
        self.engine.call(Call {
            scope: CellScope::new("Probe", cell).expect("a scope"),
            name: None,
            target: CallTarget::Fetch {
                method: "GET".into(),
                url: format!("http://cell{path}"),
                headers: Default::default(),
                body: Body::Empty,
                reply,
            },
        });
        answer
    }

    /// Waits until the cells have committed `count` transactions.
    async fn committed(&self, count: usize) {
        let mut appended = self.log.appended.subscribe();
        appended.wait_for(|all| all.len() >= count).await.expect("the log lives");
    }

    fn prove(&self, position: u64) {
        self.log.durable.send_replace(position);
    }
}

/// Long enough for an answer that does not wait.
const MOMENT: Duration = Duration::from_millis(150);

async fn is_held<T>(answer: &mut (impl Future<Output = T> + Unpin)) -> bool {
    tokio::time::timeout(MOMENT, answer).await.is_err()
}

async fn text(answer: oneshot::Receiver<celld_engine::shard::events::FetchReply>) -> String {
    let response = answer.await.expect("an answer").expect("a response");
    let mut body = response.into_body();
    let mut text = Vec::new();
    while let Some(chunk) = next_chunk(&mut body).await {
        text.extend_from_slice(&chunk);
    }
    String::from_utf8(text).expect("text")
}

async fn next_chunk(body: &mut Body) -> Option<bytes::Bytes> {
    let frame = body.frame().await?.expect("the body is whole");
    Some(frame.into_data().expect("data"))
}

/// The whole test is one story: an engine has threads, and V8's platform is one for the process.
pub async fn nothing_leaves_before_it_is_durable() {
    let setup = Setup::new().await;

    // A response, and one that only reads: it can reveal the write before it.
    let mut written = setup.fetch("a", "/write");
    setup.committed(1).await;
    assert!(is_held(&mut written).await, "a response after a write");
    let mut read = setup.fetch("a", "/read");
    assert!(is_held(&mut read).await, "a response that reveals a write");
    assert_eq!(text(setup.fetch("b", "/read")).await, "0", "another cell waits for nothing");
    setup.prove(1);
    assert_eq!((text(written).await, text(read).await), ("written".into(), "1".into()));

    // An error.
    let mut thrown = setup.fetch("a", "/throw");
    setup.committed(2).await;
    assert!(is_held(&mut thrown).await, "an error after a write");
    setup.prove(2);
    let error = thrown.await.expect("an answer").expect_err("an error");
    let Failure::Thrown(payload) = error else { panic!("{error:?}") };
    let message = b"after a write";
    let caps = payload.caps.expect("an error");
    assert!(caps.windows(message.len()).any(|bytes| bytes == message));

    // A chunk of a body.
    let response = setup.fetch("a", "/stream").await.expect("an answer").expect("a response");
    let mut body = response.into_body();
    assert_eq!(&*next_chunk(&mut body).await.expect("a chunk"), b"first;");
    setup.committed(3).await;
    assert!(is_held(&mut next_chunk(&mut body).boxed()).await, "a chunk after a write");
    setup.prove(3);
    assert_eq!(&*next_chunk(&mut body).await.expect("a chunk"), b"after a write;");

    // A call to the outside: the other cell must not hear of what could be lost.
    let mut told = setup.fetch("a", "/tell");
    setup.committed(4).await;
    assert!(is_held(&mut told).await, "a call after a write");
    setup.prove(4);
    assert_eq!(text(told).await, "0");

    // What need not be confirmed holds nothing back, but `sync` waits for it.
    assert_eq!(text(setup.fetch("a", "/unconfirmed")).await, "1");
    let mut synced = setup.fetch("a", "/sync");
    setup.committed(6).await;
    assert!(is_held(&mut synced).await, "sync");
    setup.prove(6);
    assert_eq!(text(synced).await, "synced");

    // An alarm is in the log with its transaction.
    let mut set = setup.fetch("a", "/alarm");
    setup.committed(7).await;
    assert!(matches!(setup.log.appended.borrow()[6], AlarmChange::Set(_)));
    assert!(is_held(&mut set).await, "a response after setAlarm");
    setup.prove(7);
    assert_eq!(text(set).await, "set");

    // A log that has fallen behind refuses what has not begun.
    setup.log.congested.send_replace(true);
    let refused = setup.fetch("a", "/read").await.expect("an answer").expect("a response");
    assert_eq!(refused.status(), 503);
    assert_eq!(
        (&refused.headers()["retry-after"], &refused.headers()["x-celld-overload"]),
        (&"1".parse().expect("a value"), &"log".parse().expect("a value"))
    );
    setup.log.congested.send_replace(false);
    assert_eq!(text(setup.fetch("a", "/read")).await, "4");
    setup.engine.stop().await;
}
