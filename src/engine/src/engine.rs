//! The engine's handle for the process: starts the shards, hands them connections, deployments and calls.

use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};

use crate::deployment::Deployment;
use crate::host::Host;
use crate::platform::guard;
use crate::platform::modules::{Modules, ModulesError};
use crate::shard::calls::{Call, Router};
use crate::shard::watch::{self, Watch};
use crate::shard::{BuildError, Census, Command, Shard, ShardOptions, StoppedCell};

/// All shards of the process.
pub struct Engine {
    shards: Vec<ShardHandle>,
    router: Router,
    threads: Mutex<Vec<JoinHandle<()>>>,
    serving: Mutex<Option<Arc<Deployment>>>,
    /// Ends the watchdog.
    stopped: Arc<AtomicBool>,
    /// One deployment is adopted at a time.
    adopting: tokio::sync::Mutex<()>,
}

struct ShardHandle {
    commands: mpsc::UnboundedSender<Command>,
    load: Arc<AtomicUsize>,
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

impl Engine {
    /// Starts the threads. They serve nothing until a deployment is adopted.
    pub fn start(options: ShardOptions, host: Arc<dyn Host>) -> Result<Engine, StartError> {
        deno_core::v8::V8::set_flags_from_string(guard::WASM_FLAG);
        deno_core::JsRuntime::init_platform(None);
        let options = Arc::new(options);
        let (router, mailboxes) = Router::new(options.shards);
        let mut shards = Vec::new();
        let mut threads = Vec::new();
        let watches: Vec<Arc<Watch>> = (0..options.shards).map(|_| Arc::default()).collect();
        for (index, mailbox) in mailboxes.into_iter().enumerate() {
            let failed = |cause| StartError::Shard { shard: index, cause };
            let runtime =
                tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
            let (commands, receiver) = mpsc::unbounded_channel();
            let load = Arc::new(AtomicUsize::new(0));
            shards.push(ShardHandle { commands, load: load.clone() });
            let (options, host, router) = (options.clone(), host.clone(), router.clone());
            let watch = watches[index].clone();
            let thread = std::thread::Builder::new().name(format!("shard-{index}")).spawn(move || {
                let _alive = Alive;
                let local = tokio::task::LocalSet::new();
                local.block_on(
                    &runtime,
                    Shard::run(index, options, host, router, load, watch, receiver, mailbox),
                );
            });
            threads.push(thread.map_err(failed)?);
        }
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = stopped.clone();
        let watchdog = std::thread::Builder::new().name("watchdog".into());
        threads.push(watchdog.spawn(move || watch::run(&watches, &stop)).map_err(StartError::Watchdog)?);
        Ok(Engine {
            stopped,
            shards,
            router,
            threads: Mutex::new(threads),
            serving: Mutex::new(None),
            adopting: tokio::sync::Mutex::new(()),
        })
    }

    /// Gives a public connection to the shard with the least work. The socket must be in non-blocking mode.
    pub fn accept(&self, stream: TcpStream) {
        let least = self.shards.iter().min_by_key(|shard| shard.load.load(Ordering::Relaxed));
        if let Some(shard) = least {
            // A shard that has stopped drops the connection.
            let _ = shard.commands.send(Command::Connection(stream));
        }
    }

    /// Builds the deployment on every shard, then switches all of them to it. On an error nothing has changed.
    pub async fn adopt(&self, deployment: Arc<Deployment>) -> Result<(), AdoptError> {
        let modules: Arc<[Arc<Modules>]> = deployment
            .scripts()
            .map(|script| Modules::new(script.clone()).map(Arc::new))
            .collect::<Result<_, _>>()?;
        let _one = self.adopting.lock().await;
        let mut built = Vec::new();
        for shard in &self.shards {
            let (done, outcome) = oneshot::channel();
            let command = Command::Prepare(deployment.clone(), modules.clone(), done);
            shard.commands.send(command).map_err(|_| AdoptError::Stopping)?;
            built.push(outcome);
        }
        let mut failure = None;
        for outcome in built {
            if let Err(error) =
                outcome.await.map_err(|_| AdoptError::Stopping).and_then(|r| r.map_err(Into::into))
            {
                failure = Some(error);
            }
        }
        if let Some(error) = failure {
            for shard in &self.shards {
                let _ = shard.commands.send(Command::Discard);
            }
            return Err(error);
        }
        let mut switched = Vec::new();
        for shard in &self.shards {
            let (done, outcome) = oneshot::channel();
            shard.commands.send(Command::Switch(done)).map_err(|_| AdoptError::Stopping)?;
            switched.push(outcome);
        }
        for outcome in switched {
            outcome.await.map_err(|_| AdoptError::Stopping)?;
        }
        *self.serving.lock() = Some(deployment);
        Ok(())
    }

    /// The deployment that new events run on.
    pub fn serving(&self) -> Option<Arc<Deployment>> {
        self.serving.lock().clone()
    }

    /// Calls a cell.
    pub fn call(&self, call: Call) {
        self.router.send(call);
    }

    /// The counters of each shard; a shard that has stopped is left out.
    pub async fn census(&self) -> Vec<Census> {
        let mut all = Vec::new();
        for shard in &self.shards {
            let (reply, census) = oneshot::channel();
            if shard.commands.send(Command::Census(reply)).is_ok() {
                all.extend(census.await);
            }
        }
        all
    }

    /// Finishes the requests that were accepted, then ends the threads. Every write is committed to the log when this returns, and
    /// nobody uses the image files of the cells that it names.
    pub async fn stop(&self) -> Vec<StoppedCell> {
        let (mut stopped, mut cells) = (Vec::new(), Vec::new());
        for shard in &self.shards {
            let (done, outcome) = oneshot::channel();
            if shard.commands.send(Command::Stop(done)).is_ok() {
                stopped.push(outcome);
            }
        }
        for outcome in stopped {
            // A shard that has stopped already cannot answer.
            cells.extend(outcome.await.unwrap_or_default());
        }
        self.stopped.store(true, Ordering::Relaxed);
        let threads = std::mem::take(&mut *self.threads.lock());
        let joined = tokio::task::spawn_blocking(move || threads.into_iter().for_each(|t| drop(t.join())));
        let _ = joined.await;
        cells
    }
}
