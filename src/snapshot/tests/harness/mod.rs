//! Bundles made in the test, and the thread their isolates live on.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::{Arc, OnceLock, mpsc};

use celld_engine::Snapshot;
use celld_engine::deployment::{Module, ModuleKind, Script};
use celld_engine::host::{ConsoleLevel, SourcePosition};
use celld_engine::platform::console::ConsoleSink;
use celld_engine::platform::isolate::{Isolate, IsolateError, IsolateOptions};
use celld_engine::platform::modules::Modules;
use celld_snapshot::SNAPSHOTS;
use deno_core::v8;

type Job = Box<dyn FnOnce() + Send>;

/// Runs `test` on the one thread that has initialised V8. On processors with memory protection keys
/// V8 works only on that thread and its children, and the test runner's threads are siblings.
pub fn on_engine_thread(test: impl FnOnce() + Send + 'static) {
    static THREAD: OnceLock<mpsc::Sender<Job>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Job>();
        std::thread::spawn(move || {
            celld_engine::platform::init();
            jobs.into_iter().for_each(|job| job());
        });
        sender
    });
    let (done, outcome) = mpsc::channel();
    let job = Box::new(move || {
        let _ = done.send(catch_unwind(AssertUnwindSafe(test)));
    });
    thread.send(job).expect("the engine's thread lives");
    if let Err(panic) = outcome.recv().expect("the engine's thread answers") {
        std::panic::resume_unwind(panic);
    }
}

/// Drives `future` on the engine thread's tokio runtime.
pub fn block_on<F: Future>(future: F) -> F::Output {
    thread_local!(static TOKIO: tokio::runtime::Runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime"));
    TOKIO.with(|tokio| tokio.block_on(future))
}

/// One printed line.
pub type Line = (ConsoleLevel, String, Option<SourcePosition>);

/// Keeps what was printed.
#[derive(Default)]
pub struct Sink(RefCell<Vec<Line>>);

impl ConsoleSink for Sink {
    fn line(&self, level: ConsoleLevel, text: &str, position: Option<SourcePosition>) {
        self.0.borrow_mut().push((level, text.to_owned(), position));
    }
}

impl Sink {
    pub fn lines(&self) -> Vec<Line> {
        self.0.borrow().clone()
    }

    pub fn at(&self, level: ConsoleLevel) -> Vec<String> {
        self.lines().into_iter().filter(|line| line.0 == level).map(|line| line.1).collect()
    }

    pub fn text(&self) -> String {
        self.lines().into_iter().map(|line| line.1 + "\n").collect()
    }
}

/// A script under construction.
pub struct Bundle {
    main: String,
    modules: BTreeMap<String, Module>,
    flags: Vec<String>,
}

impl Bundle {
    pub fn new(main: &str) -> Self {
        let bundle = Bundle { main: main.to_owned(), modules: BTreeMap::new(), flags: Vec::new() };
        bundle
            .esm("assert.js", include_str!("../workers/assert.js"))
            .esm("walk.js", include_str!("../workers/walk.js"))
            .esm("natives.js", include_str!("../workers/natives.js"))
    }

    pub fn module(mut self, name: &str, kind: ModuleKind, bytes: &[u8]) -> Self {
        self.modules.insert(name.to_owned(), Module { kind, bytes: bytes.into(), source_map: None });
        self
    }

    pub fn esm(self, name: &str, source: &str) -> Self {
        self.module(name, ModuleKind::Esm, source.as_bytes())
    }

    pub fn mapped(mut self, name: &str, source: &str, source_map: &str) -> Self {
        let source_map = Some(source_map.as_bytes().into());
        self.modules.insert(
            name.to_owned(),
            Module { kind: ModuleKind::Esm, bytes: source.as_bytes().into(), source_map },
        );
        self
    }

    pub fn flags(mut self, flags: &[&str]) -> Self {
        self.flags = flags.iter().map(|flag| (*flag).to_owned()).collect();
        self
    }

    pub fn script(self) -> Arc<Script> {
        Arc::new(Script {
            name: "test".to_owned(),
            main: self.main,
            modules: self.modules,
            bindings: Vec::new(),
            compatibility_date: None,
            compatibility_flags: self.flags,
            defines: Vec::new(),
            cpu_limit: None,
        })
    }

    pub fn modules(self) -> Arc<Modules> {
        Arc::new(Modules::new(self.script()).expect("a sound bundle"))
    }

    pub fn start(self) -> Running {
        start(self.modules())
    }

    pub fn run(self) -> Outcome {
        run(self.modules())
    }
}

/// An isolate and what it printed.
pub struct Running {
    pub isolate: Isolate,
    pub sink: Rc<Sink>,
}

impl Running {
    pub fn load(&mut self) -> Result<v8::Global<v8::Object>, IsolateError> {
        block_on(self.isolate.load_main())
    }
}

/// How a Worker ended that ran until nothing was left to do.
pub struct Outcome {
    pub result: Result<(), IsolateError>,
    pub sink: Rc<Sink>,
}

/// Set in the process that runs these tests once more with the `node` snapshot.
pub const WITH_NODE: &str = "CELLD_TEST_NODE_SNAPSHOT";

/// The snapshot of this process.
pub fn snapshot() -> &'static Snapshot {
    SNAPSHOTS.of_process(|| std::env::var_os(WITH_NODE).is_some())
}

fn start(modules: Arc<Modules>) -> Running {
    let sink = Rc::new(Sink::default());
    let options = IsolateOptions::new(modules, sink.clone());
    let isolate = block_on(async { Isolate::start(snapshot(), options) }).expect("starts");
    Running { isolate, sink }
}

pub fn run(modules: Arc<Modules>) -> Outcome {
    let mut running = start(modules);
    let result = running.load().map(drop);
    let mut entered = running.isolate.enter();
    let idle = block_on(std::future::poll_fn(|cx| entered.poll_event_loop(cx)));
    drop(entered);
    idle.expect("an exception does not end the event loop");
    Outcome { result, sink: running.sink }
}

/// The resident set of this process in bytes.
pub fn resident_bytes() -> u64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("procfs");
    let pages: u64 = statm.split(' ').nth(1).and_then(|pages| pages.parse().ok()).expect("a number");
    pages * 4096
}
