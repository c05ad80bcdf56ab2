//! Starting an isolate and loading a script into it.

// Entering and leaving an isolate by hand is unsafe: V8 keeps the entered isolates of a thread in a stack.
#![allow(unsafe_code)]

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll};

use deno_core::error::{CoreError, CoreErrorKind};
use deno_core::{JsRuntime, PollEventLoopOptions, RuntimeOptions, v8};
use serde::Serialize;

use super::console::{Console, ConsoleSink};
use super::errors::UserError;
use super::fatal::{self, Inside};
use super::guard::{self, IsolateGuard};
use super::loader::Loader;
use super::modules::Modules;
use super::snapshot::Snapshot;
use super::{extensions, loader, memfs, permissions, timers};

/// What an isolate is started with.
pub struct IsolateOptions {
    /// The script's modules.
    pub modules: Arc<Modules>,
    /// Where `console` and uncaught exceptions go.
    pub console: Rc<dyn ConsoleSink>,
    /// Limit of the V8 heap, array buffers and WebAssembly memories together, in bytes.
    pub memory_limit: usize,
    /// Limit of the files below `/tmp` in bytes.
    pub temp_quota: usize,
    /// Addresses (`host`, `host:port`, subnets) that `fetch` and sockets may not reach.
    pub deny_net: Vec<String>,
}

impl IsolateOptions {
    /// The default limits.
    pub fn new(modules: Arc<Modules>, console: Rc<dyn ConsoleSink>) -> Self {
        IsolateOptions {
            modules,
            console,
            memory_limit: guard::DEFAULT_LIMIT,
            temp_quota: memfs::DEFAULT_QUOTA,
            deny_net: Vec::new(),
        }
    }
}

/// Why an isolate could not be started or a script not be loaded.
#[derive(Debug, thiserror::Error)]
pub enum IsolateError {
    /// A file of the host that every isolate needs.
    #[error("cannot open /dev/null for a new isolate: {0}")]
    Stdio(#[from] std::io::Error),
    /// `deny_net` has an entry that is no address.
    #[error("cannot set up the permissions of a new isolate: {0}")]
    Permissions(#[from] deno_permissions::PermissionsFromOptionsError),
    /// Isolates of two snapshots cannot live in one process.
    #[error("this process has isolates of another snapshot")]
    OtherSnapshot,
    /// V8 or the snapshot is broken; nothing a user does causes it.
    #[error("cannot start an isolate: {0}")]
    Start(Box<CoreError>),
    /// The bootstrap failed; nothing a user does causes it.
    #[error("cannot start an isolate: the bootstrap failed: {0}")]
    Boot(String),
    /// The user's modules: syntax, imports, or an exception while they were evaluated.
    #[error(transparent)]
    Script(Box<UserError>),
}

/// What `boot` in `js/platform/bootstrap.js` takes.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BootOptions<'a> {
    compatibility_flags: &'a [String],
    /// With `nodejs_compat`: timers are Node.js's objects, not numbers.
    node_timers: bool,
}

/// A `JsRuntime` that is entered only while it is used, so that several can live on one thread.
///
/// Start it inside a tokio runtime (V8 sets timers on it) and keep it on its thread.
pub struct Isolate {
    /// Dropped by hand, because V8 wants an isolate to be entered while it is disposed of.
    runtime: ManuallyDrop<JsRuntime>,
    raw: RawIsolate,
    modules: Arc<Modules>,
    loader: Rc<Loader>,
    booted: Booted,
    guard: Arc<IsolateGuard>,
}

/// What the bootstrap hands out.
struct Booted {
    /// Imports the module of a URL.
    import_main: v8::Global<v8::Function>,
    /// Runs a timer.
    fire_timer: v8::Global<v8::Function>,
    /// See [`Isolate::hooks`].
    hooks: v8::Global<v8::Object>,
}

impl Isolate {
    /// Starts an isolate with all globals and no user code.
    pub fn start(snapshot: &Snapshot, options: IsolateOptions) -> Result<Isolate, IsolateError> {
        if !snapshot.is_of_process() {
            return Err(IsolateError::OtherSnapshot);
        }
        let IsolateOptions { modules, console, memory_limit, temp_quota, deny_net } = options;
        let permissions = permissions::container(&deny_net)?;
        let guard = IsolateGuard::new(memory_limit);
        let evaluated = modules.clone();
        let loader = Rc::new(Loader::new(modules.clone()));
        // A new isolate is the current one of its thread at once.
        let _inside = Inside::new();
        let runtime = JsRuntime::try_new(RuntimeOptions {
            startup_snapshot: Some(snapshot.bytes),
            // The snapshot has their functions.
            skip_op_registration: true,
            residual_lazy_js_sources: snapshot.residual_js,
            residual_lazy_esm_sources: snapshot.residual_esm,
            extensions: extensions::for_runtime(&modules, temp_quota)?,
            module_loader: Some(loader.clone()),
            create_params: Some(guard.params()),
            custom_module_evaluation_cb: Some(Box::new(move |scope, _kind, url, _code| {
                loader::evaluate(&evaluated, scope, url)
            })),
            ..Default::default()
        });
        let mut runtime = runtime.map_err(|error| IsolateError::Start(Box::new(error)))?;
        runtime.v8_isolate().set_host_initialize_import_meta_object_callback(leave_import_meta_empty);
        let mapper = runtime.source_mapper();
        let state = runtime.op_state();
        state.borrow_mut().put(permissions);
        state.borrow_mut().put(Console { sink: console, mapper });
        state.borrow_mut().put(guard.clone());
        guard.attach(&mut runtime);
        runtime.v8_isolate().set_oom_error_handler(fatal::out_of_memory);
        // Until here an error drops a runtime whose isolate is entered, as V8 wants it.
        let booted = boot(&mut runtime, &modules)?;
        timers::install(&mut runtime, booted.fire_timer.clone());
        let raw = RawIsolate::of(&mut runtime);
        raw.exit();
        Ok(Isolate { runtime: ManuallyDrop::new(runtime), raw, modules, loader, booted, guard })
    }

    /// The object with the functions of `js/events` that start events; empty without that extension.
    pub fn hooks(&self) -> &v8::Global<v8::Object> {
        &self.booted.hooks
    }

    /// Keeps the isolate to its limits.
    pub fn guard(&self) -> &Arc<IsolateGuard> {
        &self.guard
    }

    /// Enters the isolate until the guard is dropped. Guards of several isolates must be dropped in the
    /// reverse order of their making.
    pub fn enter(&mut self) -> Entered<'_> {
        let inside = Inside::new();
        self.raw.enter();
        Entered { isolate: self, _inside: inside }
    }

    /// The modules the isolate was started for.
    pub fn modules(&self) -> &Arc<Modules> {
        &self.modules
    }

    /// Loads and evaluates the script's main module and returns its namespace object.
    ///
    /// Top-level `await` is driven to its end; the caller sets a deadline by dropping the future.
    pub async fn load_main(&mut self) -> Result<v8::Global<v8::Object>, IsolateError> {
        let raw = self.raw;
        let (runtime, guard) = (&mut *self.runtime, &*self.guard);
        let (import_main, main) = (&self.booted.import_main, self.modules.main().as_str());
        let load = async move {
            let url = {
                deno_core::scope!(scope, runtime);
                let url = v8::String::new(scope, main).unwrap_or_else(|| v8::String::empty(scope));
                v8::Global::new(scope, v8::Local::<v8::Value>::from(url))
            };
            let mut imported = pin!(runtime.call_with_args(import_main, &[url]));
            let namespace = std::future::poll_fn(|cx| {
                if let Poll::Ready(namespace) = imported.as_mut().poll(cx) {
                    return Poll::Ready(namespace.map_err(CoreError::from));
                }
                if poll_event_loop(runtime, guard, cx)?.is_pending() {
                    return Poll::Pending;
                }
                // Nothing is pending any more.
                match imported.as_mut().poll(cx) {
                    Poll::Ready(namespace) => Poll::Ready(namespace.map_err(CoreError::from)),
                    Poll::Pending => Poll::Ready(Err(CoreErrorKind::PendingPromiseResolution.into_box())),
                }
            });
            let namespace = namespace.await?;
            deno_core::scope!(scope, runtime);
            let namespace = v8::Local::<v8::Object>::try_from(v8::Local::new(scope, namespace));
            let no_namespace = |_| CoreError::from(CoreErrorKind::MissingFromModuleMap(main.to_owned()));
            namespace.map(|object| v8::Global::new(scope, object)).map_err(no_namespace)
        };
        let namespace: Result<_, CoreError> = raw.entered_while_polled(load).await;
        self.loader.set_running();
        namespace.map_err(|error| IsolateError::Script(Box::new(UserError::from_core(&error))))
    }
}

/// Fires timers that are due, and goes on with every operation and promise that can. Ready when nothing is pending.
///
/// # Errors
/// What the script threw in a place where nothing catches it; what else is ready comes with the next call.
pub(crate) fn poll_event_loop(
    runtime: &mut JsRuntime,
    guard: &IsolateGuard,
    cx: &mut Context<'_>,
) -> Poll<Result<(), CoreError>> {
    if !timers::run(runtime, cx, || guard.has_ended()) {
        return Poll::Pending;
    }
    match runtime.poll_event_loop(cx, PollEventLoopOptions::default()) {
        Poll::Ready(Ok(())) if timers::is_any_pending(runtime) => Poll::Pending,
        rest => rest,
    }
}

/// `import.meta` of a Worker is an empty object, as on the platform.
extern "C" fn leave_import_meta_empty(
    _context: v8::Local<v8::Context>,
    _module: v8::Local<v8::Module>,
    _meta: v8::Local<v8::Object>,
) {
}

/// The part of the bootstrap that depends on the deployment; it also removes what only the bootstrap may
/// see, and from then on code comes from modules only.
fn boot(runtime: &mut JsRuntime, modules: &Modules) -> Result<Booted, IsolateError> {
    let boot_error = |error: &dyn std::fmt::Display| IsolateError::Boot(error.to_string());
    // It would hold up every event of the thread.
    runtime.v8_isolate().set_allow_atomics_wait(false);
    let script = modules.script();
    let options = BootOptions {
        compatibility_flags: &script.compatibility_flags,
        node_timers: script.is_on("enable_nodejs_global_timers", "2026-02-10", "no_nodejs_global_timers"),
    };
    let options = serde_json::to_string(&options).map_err(|error| boot_error(&error))?;
    let script = format!("__bootstrap.internals.celldBoot({options})");
    let result =
        runtime.execute_script("ext:celld_platform/boot", script).map_err(|error| boot_error(&error))?;
    deno_core::scope!(scope, runtime);
    scope.get_current_context().set_allow_generation_from_strings(false);
    let result = v8::Local::<v8::Object>::try_from(v8::Local::new(scope, result));
    let result = result.map_err(|error| boot_error(&error))?;
    let get = |name: &str| {
        let key = v8::String::new(scope, name).unwrap_or_else(|| v8::String::empty(scope));
        result.get(scope, key.into()).ok_or_else(|| boot_error(&format!("it returned no {name}")))
    };
    let function = |name: &str| {
        let function = v8::Local::<v8::Function>::try_from(get(name)?);
        function.map(|function| v8::Global::new(scope, function)).map_err(|error| boot_error(&error))
    };
    let (import_main, fire_timer) = (function("importMain")?, function("fireTimer")?);
    let hooks = v8::Local::<v8::Object>::try_from(get("hooks")?).map_err(|error| boot_error(&error))?;
    Ok(Booted { import_main, fire_timer, hooks: v8::Global::new(scope, hooks) })
}

impl Drop for Isolate {
    fn drop(&mut self) {
        let _inside = Inside::new();
        self.raw.enter();
        // SAFETY: `self` is being dropped, nothing uses `runtime` after this. It exits the isolate.
        unsafe { ManuallyDrop::drop(&mut self.runtime) };
    }
}

/// The right to use an [`Isolate`]: it is the current one of its thread until this is dropped.
pub struct Entered<'a> {
    isolate: &'a mut Isolate,
    _inside: Inside,
}

impl Entered<'_> {
    /// Fires timers that are due, and goes on with every operation and promise that can. Ready when nothing is pending.
    ///
    /// # Errors
    /// What the script threw in a place where nothing catches it; what else is ready comes with the next call.
    pub fn poll_event_loop(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), CoreError>> {
        poll_event_loop(&mut self.isolate.runtime, &self.isolate.guard, cx)
    }

    /// The runtime, for as long as its isolate is entered.
    pub fn runtime(&mut self) -> &mut JsRuntime {
        &mut self.isolate.runtime
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        self.isolate.raw.exit();
    }
}

/// The isolate behind a runtime. Only an [`Isolate`] keeps one, and not longer than its runtime.
#[derive(Clone, Copy)]
struct RawIsolate(v8::UnsafeRawIsolatePtr);

impl RawIsolate {
    fn of(runtime: &mut JsRuntime) -> RawIsolate {
        // SAFETY: the pointer is used only while the runtime lives, see the type.
        RawIsolate(unsafe { runtime.v8_isolate().as_raw_isolate_ptr() })
    }

    fn enter(self) {
        // SAFETY: the isolate is alive, see the type, and on its own thread: `Isolate` is not `Send`.
        unsafe { v8::Isolate::from_raw_isolate_ptr(self.0).enter() }
    }

    fn exit(self) {
        // SAFETY: as in `enter`; each caller has entered this isolate last.
        unsafe { v8::Isolate::from_raw_isolate_ptr(self.0).exit() }
    }

    /// Drives `future`, which uses this isolate, and leaves the isolate whenever the future waits.
    async fn entered_while_polled<F: Future>(self, future: F) -> F::Output {
        let mut future = pin!(future);
        std::future::poll_fn(|context| {
            let _inside = Inside::new();
            self.enter();
            let progress = future.as_mut().poll(context);
            self.exit();
            progress
        })
        .await
    }
}
