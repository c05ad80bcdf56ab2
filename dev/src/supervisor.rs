//! The loop of `celld dev`: build, let the node adopt, start it again when it dies, stop everything together.
//!
//! One task does one thing at a time. Changes that arrive meanwhile wait in the watch and become one more build.
//! Nothing here is undone when the developer stops in the middle: every step on disk is safe to be cut short.

use std::collections::BTreeSet;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::pin::Pin;
use std::time::{Duration, Instant};

use celld_bucket::Bucket;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::JoinSet;

use crate::adopt::{AdoptError, adopt};
use crate::build::{BuildError, Builder};
use crate::child::{NodeFailure, NodeProcess};
use crate::console::Console;
use crate::holding::hold;
use crate::layout::{Cleaned, Layout, project_directory};
use crate::watch::ProjectWatch;
use crate::{DevError, DevOptions, NodeParameters};

/// The first pause before an ended node is started again; it doubles up to [`LONGEST_PAUSE`].
const FIRST_PAUSE: Duration = Duration::from_millis(100);
/// The longest pause between two starts.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);
/// A node that has served this long was healthy: the next pause is the first one again.
const HEALTHY: Duration = Duration::from_secs(10);
/// From this many failed starts in a row on, requests are answered with the reason instead of waiting.
const HOLD_AFTER: u32 = 3;
/// The same code is not tried again so soon after it was refused: what changed may be a file in the project that the log goes to.
const TRY_AGAIN: Duration = Duration::from_secs(5);
/// A build that failed for a reason outside of the project (a full disk) is tried again after this.
const BUILD_AGAIN: Duration = Duration::from_secs(2);

/// Runs until the developer stops it (SIGINT, SIGTERM, SIGHUP, a closed stdout): that is `Ok`.
///
/// It must run on the main thread, in a current-thread tokio runtime: the kernel ends the node when the *thread* that
/// started it ends.
///
/// # Errors
/// [`DevError`]: it cannot start at all. With watching, a broken project is no error.
///
/// The future is boxed so that it is compiled in this crate, not once more in each that runs it.
pub fn run(options: DevOptions) -> Pin<Box<dyn Future<Output = Result<(), DevError>>>> {
    Box::pin(run_to_the_end(options))
}

async fn run_to_the_end(options: DevOptions) -> Result<(), DevError> {
    let started = Instant::now();
    let mut signals = StopSignals::install()?;
    let mut supervisor = Supervisor::new(options, started).await?;
    let outcome = tokio::select! {
        outcome = supervisor.work() => outcome,
        () = signals.next() => Ok(()),
    };
    supervisor.holding.shutdown().await;
    if let Node::Prepared(process) | Node::Serving { process, .. } = supervisor.node {
        process.stop(signals.next()).await;
    }
    outcome
}

struct Supervisor {
    options: DevOptions,
    console: Console,
    /// Held for its lock.
    _layout: Layout,
    parameters: NodeParameters,
    /// Open for the whole run and lent to each node.
    listener: TcpListener,
    address: SocketAddr,
    builder: Builder,
    watch: Option<ProjectWatch>,
    node: Node,
    /// What the running node serves.
    served: Option<String>,
    /// The last build or adoption failed, and the developer was told this.
    failing: Option<String>,
    /// What the node refused to serve last, and when.
    refused: Option<(String, Instant)>,
    /// Failed or ended nodes in a row.
    failures: u32,
    /// When something that failed for a reason outside of the project is tried again.
    retry: Option<Instant>,
    /// The last build failed for a reason outside of the project.
    build_again: bool,
    /// The task that answers while nothing is served; empty otherwise.
    holding: JoinSet<io::Error>,
    /// Since when the developer waits for the application.
    waiting_since: Instant,
}

/// The node process.
enum Node {
    Absent,
    /// Started, waiting for a deployment.
    Prepared(NodeProcess),
    Serving {
        process: NodeProcess,
        internal: SocketAddr,
        since: Instant,
    },
}

/// What the loop waits for.
enum Event {
    /// These projects, by their place.
    Changed(BTreeSet<usize>),
    NodeEnded(String),
    Retry,
}

impl Supervisor {
    async fn new(options: DevOptions, started: Instant) -> Result<Self, DevError> {
        let console = Console::new(options.colour);
        let project = project_directory(&options.project)?;
        let others = options.others.iter().map(|path| project_directory(path));
        let directories: Vec<PathBuf> =
            std::iter::once(Ok(project.clone())).chain(others).collect::<Result<_, _>>()?;
        let (layout, cleaned) = Layout::open(&project, options.clean)?;
        match cleaned {
            Some(Cleaned::Deleted) => {
                console.note("deleted .celld/dev: the application starts from an empty state")
            }
            Some(Cleaned::Absent) => console.note("there was no .celld/dev to delete"),
            None => {}
        }
        let address = SocketAddr::new(options.host, options.port);
        let (listener, address) = listen(address)?;
        let parameters = NodeParameters {
            bucket: layout.bucket(),
            work: layout.work(),
            live_reload: options.live_reload,
            logs: options.logs,
            colour: options.colour,
        };
        // First of all, because loading the engine takes as long as building a small project.
        let node = Node::Prepared(NodeProcess::start(&options.node_command, &listener, &parameters).await?);
        // Before the first read of the project, so that no change falls between the two.
        let watch = match &options.watch {
            Some(watch) => Some(ProjectWatch::start(&directories, watch, console)?),
            None => None,
        };
        let path = layout.bucket();
        let bucket = Bucket::local(&path).map_err(|source| DevError::Bucket { path, source })?;
        let builder = Builder::new(&options, &directories, bucket, console);
        Ok(Self {
            options,
            console,
            _layout: layout,
            parameters,
            listener,
            address,
            builder,
            watch,
            node,
            served: None,
            failing: None,
            refused: None,
            failures: 0,
            retry: None,
            build_again: false,
            holding: JoinSet::new(),
            waiting_since: started,
        })
    }

    async fn work(&mut self) -> Result<(), DevError> {
        self.build(&BTreeSet::new()).await?;
        loop {
            if self.options.watch.is_none() && self.served.is_none() {
                let message = self.failing.take().unwrap_or_default();
                return Err(DevError::Once { message });
            }
            match self.next_event().await {
                Event::Changed(projects) => self.build(&projects).await?,
                Event::NodeEnded(how) => self.node_ended(&how),
                Event::Retry => self.retry().await?,
            }
        }
    }

    async fn next_event(&mut self) -> Event {
        let Self { watch, builder, node, retry, .. } = self;
        let changed = async {
            match watch {
                Some(watch) => watch.changed(builder.sources()).await,
                None => std::future::pending().await,
            }
        };
        let retry = async {
            match *retry {
                Some(at) => tokio::time::sleep_until(at.into()).await,
                None => std::future::pending().await,
            }
        };
        let ended = async {
            match node {
                Node::Prepared(process) | Node::Serving { process, .. } => process.ended().await,
                Node::Absent => std::future::pending().await,
            }
        };
        tokio::select! {
            how = ended => Event::NodeEnded(how),
            projects = changed => Event::Changed(projects),
            () = retry => Event::Retry,
        }
    }

    async fn retry(&mut self) -> Result<(), DevError> {
        self.retry = None;
        match (&self.node, self.served.clone()) {
            // What was served once needs no build: the project may be broken just now.
            (Node::Absent, Some(deployment)) => self.serve(deployment).await,
            _ => self.build(&BTreeSet::new()).await,
        }
    }

    /// Builds what has changed and makes the node serve the result.
    async fn build(&mut self, changed: &BTreeSet<usize>) -> Result<(), DevError> {
        let began = Instant::now();
        let built = self.builder.build(changed).await;
        // Whatever comes in between is news.
        let refused = self.refused.take();
        self.build_again = built.as_ref().is_err_and(BuildError::is_outside_the_project);
        let deployment = match built {
            Ok(deployment) => deployment,
            Err(error) if error.is_of_the_command() && self.served.is_none() => {
                return Err(DevError::Once { message: error.to_string() });
            }
            Err(error) => {
                if self.build_again {
                    self.retry.get_or_insert(Instant::now() + BUILD_AGAIN);
                }
                self.failed(error.to_string());
                return Ok(());
            }
        };
        let Node::Serving { internal, .. } = self.node else { return self.serve(deployment).await };
        let again = refused.filter(|(refused, _)| *refused == deployment);
        if self.served.as_deref() == Some(deployment.as_str()) {
            if self.failing.take().is_some() {
                self.console.note("the project builds again; what is served has not changed");
            }
            return Ok(());
        }
        if again.as_ref().is_some_and(|(_, at)| at.elapsed() < TRY_AGAIN) {
            self.refused = again;
            return Ok(());
        }
        match adopt(internal).await {
            Ok(()) => {
                self.failing = None;
                self.served = Some(deployment);
                self.console.adopted(began.elapsed());
            }
            Err(AdoptError::Refused(message)) => {
                // The developer has changed something, and is to see that it was looked at.
                if again.is_none() {
                    self.failing = None;
                }
                self.refused = Some((deployment, Instant::now()));
                self.failed(message);
            }
            Err(AdoptError::Unreachable(message)) => {
                self.failing = None;
                self.console.note(&format!("the node does not answer ({message}); starting it again"));
                self.restart_later();
            }
        }
        Ok(())
    }

    /// Makes a node serve what the bucket points to, starting one if there is none.
    async fn serve(&mut self, deployment: String) -> Result<(), DevError> {
        let mut process = match std::mem::replace(&mut self.node, Node::Absent) {
            Node::Prepared(process) => process,
            Node::Absent | Node::Serving { .. } => {
                NodeProcess::start(&self.options.node_command, &self.listener, &self.parameters).await?
            }
        };
        self.holding.shutdown().await;
        match process.serve().await {
            Ok(internal) => {
                self.node = Node::Serving { process, internal, since: Instant::now() };
                self.served = Some(deployment);
                if !self.build_again {
                    self.failing = None;
                }
                self.retry = self.build_again.then(|| Instant::now() + BUILD_AGAIN);
                match self.console.ready(self.address, self.waiting_since.elapsed()) {
                    Ok(()) => Ok(()),
                    Err(source) => Err(DevError::System { action: "write to stdout", source }),
                }
            }
            Err(failure) => {
                let message = match failure {
                    NodeFailure::Said(message) => message,
                    NodeFailure::Ended(how) => format!("the node ended while it started ({how})"),
                };
                self.restart_later();
                self.failed(message);
                Ok(())
            }
        }
    }

    fn node_ended(&mut self, how: &str) {
        self.console.error(format!("the node ended unexpectedly ({how}); starting it again"));
        self.restart_later();
    }

    /// Gives the node up, and schedules the next start.
    fn restart_later(&mut self) {
        if let Node::Serving { since, .. } = self.node
            && since.elapsed() >= HEALTHY
        {
            self.failures = 0;
        }
        // Dropping the process kills it, should it hang.
        self.node = Node::Absent;
        let pause = FIRST_PAUSE.saturating_mul(1 << self.failures.min(16)).min(LONGEST_PAUSE);
        self.failures = self.failures.saturating_add(1);
        self.waiting_since = Instant::now();
        self.retry = Some(self.waiting_since + pause);
    }

    /// Tells the developer, once for each message, and whoever asks the application while nothing is served.
    fn failed(&mut self, message: String) {
        let nothing_served = !matches!(self.node, Node::Serving { .. });
        let starting_again = self.served.is_some() && self.failures < HOLD_AFTER;
        if nothing_served && !starting_again {
            self.holding.abort_all();
            let (listener, reason) = (self.listener.try_clone(), message.clone());
            self.holding.spawn(async move {
                match listener {
                    Ok(listener) => hold(&listener, &reason).await,
                    Err(error) => error,
                }
            });
        }
        if self.failing.as_ref() == Some(&message) {
            return;
        }
        // `--no-watch` returns it as the command's own error.
        let will_be_returned = self.options.watch.is_none() && self.served.is_none();
        if !will_be_returned {
            self.console.error(&message);
            if !nothing_served {
                self.console.note("the previous version keeps serving");
            }
        }
        self.failing = Some(message);
    }
}

/// Opens the Worker listener; returns it with its real address.
fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), DevError> {
    let opened = || {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((listener, address))
    };
    opened().map_err(|source: io::Error| match source.kind() {
        io::ErrorKind::AddrInUse => DevError::PortInUse { address },
        _ => DevError::Listen { address, source },
    })
}

/// The signals by which a developer, a terminal or a script stops the command.
struct StopSignals([Signal; 3]);

impl StopSignals {
    fn install() -> Result<Self, DevError> {
        let install = |kind| {
            signal(kind).map_err(|source| DevError::System { action: "install a signal handler", source })
        };
        Ok(Self([
            install(SignalKind::interrupt())?,
            install(SignalKind::terminate())?,
            install(SignalKind::hangup())?,
        ]))
    }

    async fn next(&mut self) {
        let [interrupt, terminate, hangup] = &mut self.0;
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
            _ = hangup.recv() => {}
        }
    }
}
