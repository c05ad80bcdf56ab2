//! What a node needs to start. The binary's config loader builds it; nothing in this crate reads the environment.
//!
//! Every field is something the node acts on. A setting that this release does not implement is refused or
//! reported by the loader (`src/celld/src/settings`), so it has no field here.

use std::collections::BTreeMap;
use std::io;
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::time::Duration;

use celld_bucket::Bucket;
use celld_ids::NodeId;
pub use celld_images::Options as RestoreOptions;
use celld_replica::LogOptions;

/// The `tracing` target of the Worker's own console: one event for each line, with the level of the call, the text as
/// the message and the source position as the field `at` (`src/index.ts:3:5`). The binary shows these lines also where it
/// hides the node's log.
pub const CONSOLE_TARGET: &str = "worker";

/// Where a listener comes from.
#[derive(Debug)]
pub enum Listener {
    /// The node binds this address itself.
    Address(SocketAddr),
    /// A listener that is open already: `celld dev` keeps the public port for its whole life and lends it to each
    /// node process, so a connection made during a restart waits instead of being refused.
    Open(TcpListener),
}

/// How many connections the kernel may hold for a listener before the node accepts them.
const BACKLOG: i32 = 1024;

impl Listener {
    /// The listening socket, non-blocking, ready for `tokio::net::TcpListener::from_std`.
    ///
    /// # Errors
    /// What the system says about the address: in use, not of this machine, not permitted.
    pub fn open(self) -> io::Result<TcpListener> {
        let listener = match self {
            Self::Open(listener) => listener,
            Self::Address(address) => {
                use socket2::{Domain, Protocol, Socket, Type};
                let socket = Socket::new(Domain::for_address(address), Type::STREAM, Some(Protocol::TCP))?;
                // A node that restarts must not wait for the TIME_WAIT connections of the previous one.
                socket.set_reuse_address(true)?;
                socket.bind(&address.into())?;
                socket.listen(BACKLOG)?;
                socket.into()
            }
        };
        listener.set_nonblocking(true)?;
        Ok(listener)
    }
}

/// Bounds on what the node accepts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// The largest body of a public request, in bytes (`CELLD_MAX_REQUEST_BODY_BYTES`). Above it: 413.
    pub max_request_body_bytes: u64,
    /// Concurrent fetch events of one cell (`CELLD_MAX_CELL_REQUESTS`), at least 1. Above it: 503 with
    /// `Retry-After: 1` and `X-Celld-Overload: cell`, and the event does not start.
    pub max_cell_requests: usize,
    /// Cells that may start cold at the same time (`CELLD_ACTIVATIONS`), at least 1.
    pub max_activations: usize,
    /// What the Cache API may hold in memory, in bytes (`CELLD_CACHE_BYTES`). Zero: nothing is ever found.
    pub cache_bytes: usize,
    /// The deadline of an operation that is not a restore (`CELLD_OPERATION_DEADLINE_MS`).
    pub operation_deadline: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            max_request_body_bytes: 1 << 30,
            max_cell_requests: 64,
            max_activations: 16,
            cache_bytes: 64 << 20,
            operation_deadline: Duration::from_secs(15),
        }
    }
}

/// When a node adopts a new deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Adoption {
    /// How often `deploy/current.json` is read (`CELLD_DEPLOY_POLL_S`). `None`: only on `POST /reload`.
    pub poll: Option<Duration>,
    /// How long a resident cell may keep the previous code (`CELLD_DEPLOY_MAX_AGE_S`). Zero: moved at once.
    pub max_age: Duration,
}

impl Default for Adoption {
    fn default() -> Self {
        Self { poll: Some(Duration::from_secs(30)), max_age: Duration::from_secs(60) }
    }
}

/// Bounds on stopping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shutdown {
    /// The longest complete stop (`CELLD_SHUTDOWN_TOTAL_MS`): requests finish, the log becomes durable, databases
    /// close. What is not finished by then is cut; durable history is complete all the same.
    pub total: Duration,
}

impl Default for Shutdown {
    fn default() -> Self {
        Self { total: Duration::from_secs(40) }
    }
}

/// Worker variables that override those of the deployment. The process environment wins over the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VarOverrides {
    /// `CELLD_VAR_<NAME>` of the environment, without the prefix.
    pub fixed: BTreeMap<String, String>,
    /// `CELLD_VARS_FILE`: `NAME=value` lines as in `.dev.vars`; read again at each adoption and each `POST /reload`.
    pub file: Option<PathBuf>,
}

/// Everything that [`run`](crate::run) needs.
#[derive(Debug)]
pub struct NodeConfig {
    /// The fleet's bucket. A bucket without a deployment is not an error: requests get 503 until one is adopted.
    pub bucket: Bucket,
    /// The public Worker listener.
    pub listen: Listener,
    /// The listener of operators and peers.
    pub internal_listen: Listener,
    /// `host:port` at which peers reach the internal listener; written into the lease. `None`: its own address.
    pub advertise: Option<String>,
    /// The name of this node's lease.
    pub node: NodeId,
    /// Local caches: database images and the log's work files. Created when absent.
    pub work_dir: PathBuf,
    /// Shard threads, at least 1.
    pub shards: usize,
    /// The lifetime of the node's lease (`CELLD_TTL_MS`), renewed at a third of it.
    pub lease_ttl: Duration,
    /// Answers wait until the writes they reveal are durable (`CELLD_OUTPUT_GATE`). `false`: an acknowledged write can be lost.
    pub output_gate: bool,
    /// How the log is written and the cells' histories are kept (`CELLD_LTX_COMPACTION*`, `CELLD_LTX_RETENTION_HOURS`).
    pub log: LogOptions,
    /// Idle cells leave memory after this time (`CELLD_IDLE_EVICT_S`). `None`: they stay.
    pub idle_evict: Option<Duration>,
    /// How cells are brought here (`CELLD_LTX_PAGED*`, `CELLD_LTX_HYDRATE_MBPS`).
    pub restore: RestoreOptions,
    /// Bounds on what is accepted.
    pub limits: Limits,
    /// When deployments are adopted.
    pub adoption: Adoption,
    /// Bounds on stopping.
    pub shutdown: Shutdown,
    /// Worker variables of the operator.
    pub vars: VarOverrides,
    /// Development only: HTML responses load [`live_reload`](crate::live_reload), and errors show their stack.
    pub live_reload: bool,
}

/// What a node that serves says about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeReady {
    /// The address of the public listener, with the port that was really bound.
    pub public: SocketAddr,
    /// The address of the internal listener.
    pub internal: SocketAddr,
}
