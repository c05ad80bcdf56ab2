//! The engine's handle for the process: starts the shards, hands them connections, deployments and calls.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use parking_lot::{Mutex, RwLock};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::deployment::Deployment;
use crate::host::Host;
use crate::platform::modules::{Modules, ModulesError};
use crate::platform::{self, builtins, fatal};
use crate::shard::calls::{Call, Door, Router, reply};
use crate::shard::watch::{self, Loss, Watch};
use crate::shard::{
    AlarmRuns, BuildError, Census, Command, OpenConnections, Shard, ShardOptions, Start, StoppedCell,
};
use crate::socket::Lines;

/// How many shards may be lost before the process should be replaced: each leaves its memory behind, up to half a gigabyte.
const MAX_LOST: u64 = 4;

/// All shards of the process.
pub struct Engine {
    shared: Arc<Shared>,
    watchdog: Mutex<Option<JoinHandle<()>>>,
    /// Ends the watchdog.
    stopped: Arc<AtomicBool>,
    /// One deployment is adopted at a time.
    adopting: tokio::sync::Mutex<()>,
}

/// What the watchdog needs to start a shard in the place of one that was lost.
struct Shared {
    options: Arc<ShardOptions>,
    host: Arc<dyn Host>,
    router: Router,
    shards: Vec<RwLock<ShardHandle>>,
    serving: Mutex<Option<Served>>,
    alarm_runs: Arc<AlarmRuns>,
    /// Shards that were lost.
    lost: AtomicU64,
    /// Cancelled when too many were.
    worn: CancellationToken,
}

#[derive(Clone)]
struct Served {
    deployment: Arc<Deployment>,
    modules: Arc<[Arc<Modules>]>,
}

struct ShardHandle {
    commands: mpsc::UnboundedSender<Command>,
    load: Arc<AtomicUsize>,
    thread: Option<JoinHandle<()>>,
    /// Cancelled when the thread is lost.
    lost: CancellationToken,
    open: Arc<OpenConnections>,
    lines: Lines,
}

/// Why a deployment was not adopted; the previous one goes on serving.
#[derive(Debug, Clone, thiserror::Error)]
pub enum AdoptError {
    /// The modules do not fit together.
    #[error("{0}")]
    Modules(String),
    /// The script does not start.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// A shard has stopped.
    #[error("the engine is stopping")]
    Stopping,
    /// V8 gave up on a shard meanwhile.
    #[error(
        "a shard was lost while the deployment was adopted, as a rule because its top-level code asks too much of V8"
    )]
    ShardLost,
}

impl From<ModulesError> for AdoptError {
    fn from(error: ModulesError) -> AdoptError {
        AdoptError::Modules(error.to_string())
    }
}

/// Why the threads could not be started.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// A shard's thread, or its event loop.
    #[error("cannot start the thread of shard {shard}: {cause}")]
    Shard {
        /// Its number.
        shard: usize,
        /// What the system says.
        cause: std::io::Error,
    },
    /// The thread that ends JavaScript which runs too long.
    #[error("cannot start the watchdog's thread: {0}")]
    Watchdog(std::io::Error),
}

/// Ends the process when its thread panics: a node without one of its shards answers nothing for the cells of that shard, and only a
/// restart brings them back.
struct Alive;

impl Drop for Alive {
    fn drop(&mut self) {
        if std::thread::panicking() {
            std::process::abort();
        }
    }
}

impl Shared {
    /// Starts the thread of a shard, and opens its door.
    fn start(&self, index: usize, life: u64) -> std::io::Result<(ShardHandle, Arc<Watch>)> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let (sender, commands) = mpsc::unbounded_channel();
        let lost = CancellationToken::new();
        let (door, mailbox) = Door::new(lost.clone());
        let watch = Arc::<Watch>::default();
        let mut handle = ShardHandle {
            commands: sender,
            load: Arc::default(),
            thread: None,
            lost: lost.clone(),
            open: Arc::default(),
            lines: Lines::default(),
        };
        let start = Start {
            index,
            life,
            options: self.options.clone(),
            host: self.host.clone(),
            router: self.router.clone(),
            load: handle.load.clone(),
            watch: watch.clone(),
            lost,
            alarm_runs: self.alarm_runs.clone(),
            open: handle.open.clone(),
            lines: handle.lines.clone(),
            commands,
            mailbox,
        };
        // A signal handler may look at it as long as the process lives.
        let flag: &'static Arc<Watch> = Box::leak(Box::new(watch.clone()));
        let thread = std::thread::Builder::new().name(format!("shard-{index}")).spawn(move || {
            let _alive = Alive;
            fatal::guard_thread(&flag.lost);
            flag.adopt_thread();
            let local = tokio::task::LocalSet::new();
            local.block_on(&runtime, Shard::run(start));
        });
        handle.thread = Some(thread?);
        self.router.open(index, door);
        Ok((handle, watch))
    }

    /// Starts a shard in the place of one whose thread is lost. Its cells come back from what is durable.
    fn replace(&self, index: usize, loss: Loss) -> Arc<Watch> {
        let life = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
        let why = match loss {
            Loss::Fatal => "V8 gave up on an isolate, as a rule because one allocation was too large",
            Loss::Deaf => {
                "a built-in function of V8 cannot be ended, as a rule because it was given an absurd length"
            }
        };
        tracing::error!(
            shard = index,
            "{why}. The shard's connections are closed, and a new one takes its place"
        );
        if life >= MAX_LOST {
            self.worn.cancel();
        }
        // Before a cell is activated anew.
        self.alarm_runs.shard_lost(index);
        let (handle, watch) = match self.start(index, life) {
            Ok(started) => started,
            Err(error) => {
                tracing::error!(shard = index, %error, "no thread for the new shard: the process ends");
                std::process::abort();
            }
        };
        if let Some(Served { deployment, modules }) = self.serving.lock().clone() {
            // A thread that has just started takes commands.
            let _ = handle.commands.send(Command::Serve(deployment, modules));
        }
        // The old thread is never joined.
        let old = std::mem::replace(&mut *self.shards[index].write(), handle);
        old.lost.cancel();
        old.open.shut_down();
        old.lines.hang_up();
        watch
    }

    /// Sends each of the `shards` a command made by `command`, and gives what they answer; `None` from those that are gone.
    async fn ask_some<T>(
        shards: &[RwLock<ShardHandle>],
        command: impl Fn(oneshot::Sender<T>) -> Command,
    ) -> Vec<Option<T>> {
        let mut asked = Vec::new();
        for shard in shards {
            let (to, answer) = oneshot::channel();
            let shard = shard.read();
            let sent = shard.commands.send(command(to)).is_ok();
            asked.push((sent, answer, shard.lost.clone()));
        }
        let mut answers = Vec::new();
        for (sent, answer, lost) in asked {
            answers.push(if sent { reply(answer, &lost).await } else { None });
        }
        answers
    }

    /// The same with all shards.
    async fn ask<T>(&self, command: impl Fn(oneshot::Sender<T>) -> Command) -> Vec<Option<T>> {
        Self::ask_some(&self.shards, command).await
    }

    fn tell(&self, command: impl Fn() -> Command) {
        for shard in &self.shards {
            // One that has stopped needs no telling.
            let _ = shard.read().commands.send(command());
        }
    }
}

impl Engine {
    /// Starts the threads. They serve nothing until a deployment is adopted.
    pub fn start(options: ShardOptions, host: Arc<dyn Host>) -> Result<Engine, StartError> {
        platform::init();
        let mut shared = Shared {
            router: Router::new(options.shards),
            options: Arc::new(options),
            host,
            shards: Vec::new(),
            serving: Mutex::new(None),
            alarm_runs: Arc::default(),
            lost: AtomicU64::new(0),
            worn: CancellationToken::new(),
        };
        let mut watches = Vec::new();
        for index in 0..shared.options.shards {
            let started = shared.start(index, 0);
            let (handle, watch) = started.map_err(|cause| StartError::Shard { shard: index, cause })?;
            shared.shards.push(RwLock::new(handle));
            watches.push(watch);
        }
        let shared = Arc::new(shared);
        let stopped = Arc::new(AtomicBool::new(false));
        let (stop, replacing) = (stopped.clone(), shared.clone());
        let watchdog = std::thread::Builder::new()
            .name("watchdog".into())
            .spawn(move || watch::run(watches, &stop, |index, loss| replacing.replace(index, loss)))
            .map_err(StartError::Watchdog)?;
        Ok(Engine {
            shared,
            watchdog: Mutex::new(Some(watchdog)),
            stopped,
            adopting: tokio::sync::Mutex::new(()),
        })
    }

    /// Gives a public connection to the shard with the least work. The socket must be in non-blocking mode.
    pub fn accept(&self, stream: TcpStream) {
        let work = |shard: &ShardHandle| shard.load.load(Ordering::Relaxed) + shard.open.waiting();
        let least = self.shared.shards.iter().min_by_key(|shard| work(&shard.read()));
        if let Some(shard) = least {
            let shard = shard.read();
            shard.open.announce(&stream);
            // A shard that has stopped drops the connection.
            let _ = shard.commands.send(Command::Connection(stream));
        }
    }

    /// Builds the deployment on every shard, then switches all of them to it. On an error nothing has changed.
    pub async fn adopt(&self, deployment: Arc<Deployment>) -> Result<(), AdoptError> {
        let modules = deployment.scripts().map(|script| Modules::new(script.clone()).map(Arc::new));
        let modules: Arc<[Arc<Modules>]> = modules.collect::<Result<_, _>>()?;
        let _one = self.adopting.lock().await;
        // Decided by all Workers of the deployment, before the first isolate decides for itself.
        let uses_node = || deployment.scripts().any(|script| script.has_flag(builtins::NODEJS_COMPAT));
        self.shared.options.snapshots.of_process(uses_node);
        let lives = self.shared.lost.load(Ordering::Relaxed);
        let prepare = |done| Command::Prepare(deployment.clone(), modules.clone(), done);
        // One shard tries: what costs it its thread costs no other one.
        let (first, others) = self.shared.shards.split_at(1);
        let mut failure = None;
        for shards in [first, others] {
            let built = Shared::ask_some(shards, prepare).await;
            failure = built.into_iter().find_map(|built| match built {
                Some(Ok(())) => None,
                Some(Err(error)) => Some(error.into()),
                None => Some(AdoptError::Stopping),
            });
            if failure.is_some() {
                break;
            }
        }
        let is_whole = self.shared.lost.load(Ordering::Relaxed) == lives;
        if let Some(error) = failure {
            self.shared.tell(|| Command::Discard);
            return Err(if is_whole { error } else { AdoptError::ShardLost });
        }
        // A shard that is lost from here on is replaced by one that serves this.
        let before = self.shared.serving.lock().replace(Served { deployment, modules });
        if self.shared.ask(Command::Switch).await.iter().any(Option::is_none)
            && self.shared.lost.load(Ordering::Relaxed) == lives
        {
            *self.shared.serving.lock() = before;
            return Err(AdoptError::Stopping);
        }
        Ok(())
    }

    /// The deployment that new events run on.
    pub fn serving(&self) -> Option<Arc<Deployment>> {
        self.shared.serving.lock().as_ref().map(|served| served.deployment.clone())
    }

    /// Calls a cell. The token is for [`reply`](crate::shard::calls::reply).
    pub fn call(&self, call: Call) -> CancellationToken {
        self.shared.router.send(call)
    }

    /// Resolves when so many shards were lost that the process should be replaced.
    pub async fn worn(&self) {
        self.shared.worn.cancelled().await;
    }

    /// The counters of each shard; a shard that has stopped is left out.
    pub async fn census(&self) -> Vec<Census> {
        self.shared.ask(Command::Census).await.into_iter().flatten().collect()
    }

    /// Finishes the requests that were accepted, then ends the threads. Every write is committed to the log when this returns, and
    /// nobody uses the image files of the cells that it names.
    pub async fn stop(&self) -> Vec<StoppedCell> {
        let stopped = self.shared.ask(Command::Stop).await;
        self.stopped.store(true, Ordering::Relaxed);
        let mut threads: Vec<JoinHandle<()>> = self.watchdog.lock().take().into_iter().collect();
        // A shard that did not answer has ended already, or never will.
        for (shard, _) in self.shared.shards.iter().zip(&stopped).filter(|(_, answer)| answer.is_some()) {
            threads.extend(shard.write().thread.take());
        }
        let joined = tokio::task::spawn_blocking(move || threads.into_iter().for_each(|t| drop(t.join())));
        let _ = joined.await;
        stopped.into_iter().flatten().flatten().collect()
    }
}
