//! One isolate of a shard: a script's code, the events that run in it, and the turn of its event loop.
//!
//! A *turn* is one entry into JavaScript and everything that follows from it before the thread does something else: the call, its
//! microtasks, the deliveries to cells that it queued. At the end of a turn the writes of each cell become one transaction.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use deno_core::{JsRuntime, v8};
use tokio_util::sync::CancellationToken;

use super::ShardState;
use super::cells::{Place, Resident};
use super::commit::{commit, discard_failed, has_failed, unhost};
use super::events::{ErrorDescription, Events};
use super::gates::Gates;
use super::install::{Hooks, install, prepare};
use super::values::{call, integer, optional, text};
use crate::deployment::{Deployment, Script};
use crate::host::{ConsoleLevel, ConsoleLine};
use crate::platform::builtins;
use crate::platform::console::ConsoleSink;
use crate::platform::errors::UserError;
use crate::platform::guard::IsolateGuard;
use crate::platform::isolate::{Isolate, IsolateError, IsolateOptions, poll_event_loop};
use crate::platform::modules::Modules;
use crate::socket::{Close, OpenSockets};
use crate::storage::table::CellTable;

/// What the ops of one isolate share; in its `OpState`.
pub(crate) struct IsolateState {
    /// Tells the isolates of a shard apart.
    pub serial: u64,
    pub shard: Rc<ShardState>,
    pub script: String,
    /// The Durable Object classes whose cells may live here.
    pub defines: Vec<String>,
    pub events: Events,
    /// Deliveries to cells that wait for an empty microtask queue.
    pub queued: Cell<u32>,
    /// The residents whose databases are in this isolate's [`CellTable`], by handle.
    pub hosted: RefCell<Vec<Option<Rc<Resident>>>>,
    /// What waits at the output gates of its cells.
    pub gates: Gates,
    /// A newer deployment serves; what is here finishes and leaves.
    pub retiring: Cell<bool>,
    /// Cancelled, and a new one takes its place, when the host has ended all code.
    pub ended: RefCell<CancellationToken>,
}

impl IsolateState {
    /// The resident behind a handle that JavaScript gave.
    pub fn resident(&self, handle: u32) -> Option<Rc<Resident>> {
        self.hosted.borrow().get(handle as usize).cloned().flatten()
    }

    /// Puts an error that nobody will catch into the log and returns its text.
    pub fn report_uncaught<'s>(
        &self,
        scope: &mut v8::PinScope<'s, '_>,
        error: v8::Local<'s, v8::Value>,
        place: Option<&str>,
    ) -> String {
        let error = UserError::from_js(&deno_core::error::JsError::from_v8_exception(scope, error));
        let text = match place {
            Some(place) => format!("{} (in {place})", error.stack),
            None => error.stack.clone(),
        };
        self.shard.host.console(ConsoleLine {
            level: ConsoleLevel::Uncaught,
            script: self.script.clone(),
            text,
            position: error.position,
        });
        error.stack
    }
}

/// `console` of user code, on its way to the host.
struct ShardConsole {
    shard: Rc<ShardState>,
    script: String,
}

impl ConsoleSink for ShardConsole {
    fn line(&self, level: ConsoleLevel, text: &str, position: Option<crate::host::SourcePosition>) {
        self.shard.host.console(ConsoleLine {
            level,
            script: self.script.clone(),
            text: text.to_owned(),
            position,
        });
    }
}

/// A script that runs.
pub(crate) struct ScriptIsolate {
    pub deployment: Arc<Deployment>,
    script: Arc<Script>,
    pub state: Rc<IsolateState>,
    pub(super) isolate: RefCell<Isolate>,
    guard: Arc<IsolateGuard>,
    /// How long one event may keep the processor.
    cpu_limit: Duration,
    pub(super) hooks: Hooks,
    /// Wakes the task that polls the event loop.
    pump: RefCell<Option<Waker>>,
    /// Set when the isolate is about to be dropped: the pump ends.
    closed: Cell<bool>,
    /// Why it is to be replaced.
    worn: Cell<Option<Worn>>,
    /// Code was ended since the event loop was polled last.
    was_ended: Cell<bool>,
    /// When [`check_memory`](Self::check_memory) last had garbage collected.
    collected: Cell<Option<Instant>>,
}

/// Why an isolate is to be replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Worn {
    /// What it holds on to leaves no room for events.
    #[error("What the Worker keeps leaves too little of its memory")]
    Full,
    /// Code was ended inside of the platform.
    #[error(
        "The Worker had to be ended in the middle of a function of the platform's, which may be left in disorder"
    )]
    Torn,
}

/// Why a deployment does not run.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BuildError {
    /// The user's code or its configuration: the text is for the developer.
    #[error("{0}")]
    Script(String),
    /// The engine itself.
    #[error("cannot start an isolate: {0}")]
    Engine(String),
    /// The script did not finish evaluating in time.
    #[error(
        "the script did not finish starting within {0} seconds: a top-level await does not settle, or a loop does not end"
    )]
    Timeout(u64),
}

impl From<IsolateError> for BuildError {
    fn from(error: IsolateError) -> BuildError {
        match error {
            IsolateError::Script(error) => BuildError::Script(error.stack.clone()),
            other => BuildError::Engine(other.to_string()),
        }
    }
}

/// Seconds that the evaluation of a script's modules may take.
const START_SECONDS: u64 = 10;
/// When the code that hears of an end is ended too, so many times in a row, nobody hears of it any more.
const ENDS: u32 = 4;
/// A collection of all garbage holds up the whole shard: not more often than this.
const COLLECT_EVERY: Duration = Duration::from_secs(10);

impl ScriptIsolate {
    /// Starts an isolate for the script of `modules`, evaluates it and checks that it exports what its configuration names.
    pub async fn build(
        shard: &Rc<ShardState>,
        deployment: Arc<Deployment>,
        modules: Arc<Modules>,
    ) -> Result<Rc<ScriptIsolate>, BuildError> {
        let definition = modules.script().clone();
        let script = definition.name.clone();
        let console = Rc::new(ShardConsole { shard: shard.clone(), script: script.clone() });
        let mut options = IsolateOptions::new(modules, console);
        options.deny_net = shard.options.deny_net.clone();
        let snapshot = shard.options.snapshots.of_process(|| definition.has_flag(builtins::NODEJS_COMPAT));
        let mut isolate = Isolate::start(snapshot, options)?;
        let state = Rc::new(IsolateState {
            serial: shard.next_serial(),
            shard: shard.clone(),
            script,
            defines: definition.defines.clone(),
            events: Events::default(),
            queued: Cell::new(0),
            hosted: RefCell::default(),
            gates: Gates::default(),
            retiring: Cell::new(false),
            ended: RefCell::default(),
        });
        {
            let mut entered = isolate.enter();
            let op_state = entered.runtime().op_state();
            let mut op_state = op_state.borrow_mut();
            op_state.put(state.clone());
            op_state.put(state.shard.options.cache.clone());
            op_state.put(state.shard.lines.clone());
            op_state.put(CellTable::default());
        }
        prepare(&mut isolate, &definition)?;
        let limit = Duration::from_secs(START_SECONDS);
        let guard = isolate.guard().clone();
        let loading = tokio::time::timeout(limit, watched(shard, &guard, limit, isolate.load_main())).await;
        let namespace = loading.map_err(|_| BuildError::Timeout(START_SECONDS))?;
        let namespace = match namespace {
            Err(_) if shard.watch.take_ended() => {
                return Err(BuildError::Timeout(START_SECONDS));
            }
            loaded => loaded?,
        };
        let cpu_limit = definition.cpu_limit.unwrap_or(shard.options.cpu_limit);
        let hooks = {
            // It looks at what the script exports, which may run code.
            let _turn = shard.watch.begin(&guard, limit);
            install(&mut isolate, &namespace, &definition, cpu_limit)
        };
        if shard.watch.take_ended() {
            return Err(BuildError::Timeout(START_SECONDS));
        }
        let hooks = hooks?;
        Ok(Rc::new(ScriptIsolate {
            deployment,
            script: definition,
            state,
            isolate: RefCell::new(isolate),
            guard,
            cpu_limit,
            hooks,
            pump: RefCell::new(None),
            closed: Cell::new(false),
            worn: Cell::new(None),
            was_ended: Cell::new(false),
            collected: Cell::new(None),
        }))
    }

    /// Drives timers, operations and everything else that is not started by a call. Ends when the isolate is closed.
    pub async fn pump(self: Rc<Self>) {
        std::future::poll_fn(|cx| {
            if self.closed.get() {
                return Poll::Ready(());
            }
            *self.pump.borrow_mut() = Some(cx.waker().clone());
            self.poll_event_loop(cx);
            if self.state.gates.poll(&*self.state.shard.log, cx).is_ready() {
                cx.waker().wake_by_ref();
            }
            Poll::Pending
        })
        .await;
    }

    fn poll_event_loop(&self, cx: &mut Context<'_>) {
        self.was_ended.set(false);
        let (outcome, is_at_rest) = self.enter(|runtime| {
            self.release_held(runtime);
            let outcome = poll_event_loop(runtime, &self.guard, cx);
            let is_at_rest = matches!(outcome, Poll::Ready(Ok(())))
                && self.state.queued.get() == 0
                && self.state.gates.is_empty();
            (outcome, is_at_rest)
        });
        if is_at_rest && self.state.events.borrow().len() > 0 {
            // No operation, no timer, no delivery will ever go on with what has not been answered by now.
            let has_hung = self.enter(|runtime| {
                deno_core::scope!(scope, runtime);
                let message = text(scope, HUNG);
                let has_hung = call(scope, &self.hooks.hung, &[message]).is_some_and(|hung| hung.is_true());
                // Which may have been what another one waited for.
                scope.perform_microtask_checkpoint();
                has_hung
            });
            if has_hung {
                self.state.events.borrow_mut().fail_all(&ErrorDescription::new(HUNG));
            }
        }
        if let Poll::Ready(Err(error)) = outcome {
            // That it was ended is told already.
            if !self.was_ended.get() {
                let error = UserError::from_core(&error);
                self.state.shard.host.console(ConsoleLine {
                    level: ConsoleLevel::Uncaught,
                    script: self.state.script.clone(),
                    text: error.stack,
                    position: error.position,
                });
            }
            // One failure ends a poll early; whatever else is ready comes with the next.
            cx.waker().wake_by_ref();
        }
    }

    /// Lets go of what the output gates held back and need not any more.
    fn release_held(&self, runtime: &mut JsRuntime) {
        let gates = &self.state.gates;
        if gates.can_release(self.state.shard.log.durable()) {
            deno_core::scope!(scope, runtime);
            call(scope, &self.hooks.release_held, &[]);
        }
        while let Some((number, why)) = gates.next_lost() {
            deno_core::scope!(scope, runtime);
            let args = [integer(scope, number), text(scope, &why)];
            call(scope, &self.hooks.lose_held, &args);
            scope.perform_microtask_checkpoint();
        }
    }

    /// One turn: runs `f`, then the deliveries it queued, then commits.
    fn enter<R>(&self, f: impl FnOnce(&mut JsRuntime) -> R) -> R {
        let mut isolate = self.isolate.borrow_mut();
        let mut entered = isolate.enter();
        let runtime = entered.runtime();
        let limit = self.cpu_limit;
        let turn = self.state.shard.watch.begin(&self.guard, limit);
        let result = f(runtime);
        while self.state.queued.get() > 0 {
            self.state.queued.set(self.state.queued.get() - 1);
            deno_core::scope!(scope, runtime);
            call(scope, &self.hooks.deliver_next, &[]);
            scope.perform_microtask_checkpoint();
        }
        drop(turn);
        self.settle(runtime);
        result
    }

    /// What follows a turn: tells of what was ended in it, and commits. The user's code that hears of it runs in turns of its own,
    /// which may have to be ended too.
    fn settle(&self, runtime: &mut JsRuntime) {
        let mut ends = 0;
        loop {
            // All are asked: one event may have come to several limits at once.
            let (ended, exceeded) = (self.guard.take_ended(), self.guard.take_exceeded());
            self.state.shard.watch.take_ended();
            if ended {
                ends += 1;
                let limit = if exceeded { Limit::Memory } else { Limit::Cpu(self.cpu_limit) };
                let turn = self.state.shard.watch.begin(&self.guard, self.cpu_limit);
                self.after_termination(runtime, &limit, ends < ENDS);
                drop(turn);
            }
            if self.guard.take_torn() {
                self.worn.set(Some(Worn::Torn));
            }
            if exceeded {
                self.collect(runtime);
            }
            if ended && self.guard.has_ended() {
                continue;
            }
            commit(&self.state, runtime);
            if !has_failed(runtime) {
                return;
            }
            let turn = self.state.shard.watch.begin(&self.guard, self.cpu_limit);
            discard_failed(self, runtime);
            drop(turn);
        }
    }

    /// The turn was ended from outside: the event that ran fails, everything else in the isolate goes on. Unless `tells`: what is told
    /// of it ends as well, again and again; then all fail, and the isolate has no future.
    fn after_termination(&self, runtime: &mut JsRuntime, limit: &Limit, tells: bool) {
        runtime.v8_isolate().cancel_terminate_execution();
        // A sample may still be on its way: it would end the code that tells of the end.
        self.guard.forgive();
        self.was_ended.set(true);
        deno_core::scope!(scope, runtime);
        let (why, of_cell) = (limit.of_worker(), limit.of_cell());
        let messages = [text(scope, &why), text(scope, &of_cell)];
        let is_told =
            tells && call(scope, &self.hooks.terminated, &messages).is_some_and(|told| told.is_true());
        if !tells {
            self.worn.set(Some(Worn::Torn));
        }
        if !is_told {
            self.state.events.borrow_mut().fail_all(&ErrorDescription::new(&*why));
            self.state.ended.take().cancel();
            self.state.shard.host.console(ConsoleLine {
                level: ConsoleLevel::Error,
                script: self.state.script.clone(),
                text: format!("{why} Every event of this isolate was ended with it."),
                position: None,
            });
        }
        scope.perform_microtask_checkpoint();
    }

    /// Collects garbage, and has the isolate replaced if that leaves too little room.
    fn collect(&self, runtime: &mut JsRuntime) {
        let used = self.guard.recover(runtime);
        if self.guard.is_full(used) {
            self.worn.set(Some(Worn::Full));
        }
    }

    /// Looks at the isolate's memory, and collects garbage when it is far beyond its limit: nothing that ran lately was long enough to
    /// be looked at.
    pub fn check_memory(&self) {
        let mut isolate = self.isolate.borrow_mut();
        let mut entered = isolate.enter();
        let runtime = entered.runtime();
        let used = self.guard.look(runtime.v8_isolate());
        if self.guard.is_far_beyond(used)
            && self.collected.get().is_none_or(|at| at.elapsed() >= COLLECT_EVERY)
        {
            self.collect(runtime);
            self.collected.set(Some(Instant::now()));
        }
    }

    /// Whether the isolate is to be replaced, and why; says so once.
    pub fn take_worn(&self) -> Option<Worn> {
        self.worn.take()
    }

    /// What the isolate runs.
    pub fn script(&self) -> &Script {
        &self.script
    }

    /// The modules that the isolate runs.
    pub fn modules(&self) -> Arc<Modules> {
        self.isolate.borrow().modules().clone()
    }

    /// One turn that calls `hook` with the arguments that `args` makes.
    pub(super) fn turn<'f>(
        &self,
        hook: &v8::Global<v8::Function>,
        args: impl for<'s, 'i> FnOnce(&mut v8::PinScope<'s, 'i>) -> Vec<v8::Local<'s, v8::Value>> + 'f,
    ) {
        self.enter(|runtime| {
            deno_core::scope!(scope, runtime);
            let args = args(scope);
            call(scope, hook, &args);
            scope.perform_microtask_checkpoint();
        });
        // Timers, ticks and rejections that the call left behind are the pump's.
        if let Some(waker) = &*self.pump.borrow() {
            waker.wake_by_ref();
        }
    }

    /// Takes a cell out of the isolate: fails what it was doing, gives its database back to the shard.
    pub fn evict(&self, resident: &Resident, reason: Option<&str>) {
        let Place::Hosted { isolate, handle } = *resident.place.borrow() else { return };
        if isolate != self.state.serial {
            return;
        }
        self.turn(&self.hooks.evict, |scope| {
            vec![
                text(scope, resident.scope.class()),
                text(scope, resident.scope.id()),
                optional(scope, reason),
            ]
        });
        let mut isolate = self.isolate.borrow_mut();
        let mut entered = isolate.enter();
        unhost(&self.state, entered.runtime(), handle);
    }

    /// Closes the SQLite connection of an idle cell; the next access opens it again.
    pub fn close_idle_connection(&self, handle: u32) {
        let mut isolate = self.isolate.borrow_mut();
        let mut entered = isolate.enter();
        let op_state = entered.runtime().op_state();
        let mut op_state = op_state.borrow_mut();
        if let Some(db) = op_state.borrow_mut::<CellTable>().db_mut(handle) {
            db.close_idle();
        }
    }

    /// Whether the script exports an entrypoint of this name.
    pub fn has_entrypoint(&self, name: &str) -> bool {
        self.enter(|runtime| {
            deno_core::scope!(scope, runtime);
            let name = text(scope, name);
            call(scope, &self.hooks.has_entrypoint, &[name]).is_some_and(|has| has.is_true())
        })
    }

    /// Stateless events that are not finished.
    pub fn live_events(&self) -> u32 {
        self.enter(|runtime| {
            deno_core::scope!(scope, runtime);
            call(scope, &self.hooks.live, &[]).and_then(|v| v.uint32_value(scope)).unwrap_or(0)
        })
    }

    /// Ends the pump; events that are left fail, sockets that are open close with 1012.
    pub fn close(&self) {
        {
            let mut isolate = self.isolate.borrow_mut();
            let mut entered = isolate.enter();
            let op_state = entered.runtime().op_state();
            let close = Close::new(1012, "The deployment that ran this WebSocket was replaced.");
            op_state.borrow().borrow::<OpenSockets>().close_all(&close);
        }
        self.closed.set(true);
        self.state
            .events
            .borrow_mut()
            .fail_all(&ErrorDescription::new("The deployment that ran this event was replaced."));
        if let Some(waker) = self.pump.borrow_mut().take() {
            waker.wake();
        }
    }
}

/// Of an event whose promise nothing will ever settle; the platform's words.
const HUNG: &str = "The Workers runtime canceled this request because it detected that your Worker's code had hung and would never \
     generate a response.";

/// A limit that was exceeded, in the platform's words and with ours.
enum Limit {
    Cpu(Duration),
    Memory,
}

impl Limit {
    fn of_worker(&self) -> String {
        match self {
            Limit::Cpu(limit) => {
                format!("Worker exceeded CPU time limit. (It used {} ms.)", limit.as_millis())
            }
            Limit::Memory => "Worker exceeded memory limit.".to_owned(),
        }
    }

    fn of_cell(&self) -> String {
        match self {
            Limit::Cpu(limit) => format!(
                "Durable Object exceeded its CPU time limit and was reset. (It used {} ms.)",
                limit.as_millis()
            ),
            Limit::Memory => "Durable Object's isolate exceeded its memory limit and was reset.".to_owned(),
        }
    }
}

/// `future`, each poll of which runs under the watchdog.
async fn watched<F: Future>(
    shard: &ShardState,
    isolate: &Arc<IsolateGuard>,
    limit: Duration,
    future: F,
) -> F::Output {
    let mut future = std::pin::pin!(future);
    std::future::poll_fn(|cx| {
        let _turn = shard.watch.begin(isolate, limit);
        future.as_mut().poll(cx)
    })
    .await
}
