//! A node from start to stop.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use celld_engine::{CacheStore, Engine, ShardOptions};
use celld_ids::SessionId;
use celld_images::Images;
use celld_replica::SessionLog;
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::alarms::Waker;
use crate::config::{NodeConfig, NodeReady};
use crate::console::LogOutput;
use crate::deployments::{Deployments, ReloadError};
use crate::host::{HostParts, NodeHost};
use crate::internal::{Internal, router};
use crate::lease::{Announcement, LeaseError, NodeLease};
use crate::live_reload::LiveReload;
use crate::public::{Public, accept};
use crate::seals::Seals;
use crate::stop::Stop;

/// How much processor time an event may use: the platform's default.
const CPU_LIMIT: Duration = Duration::from_secs(30);

/// How long a node whose log has failed goes on, so that its errors reach the clients.
const LAST_WORDS: Duration = Duration::from_millis(250);

/// Why a node stopped, or did not start.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// A listener.
    #[error("cannot listen on the {which} address{}: {cause}", .address.map(|a| format!(" {a}")).unwrap_or_default())]
    Listen {
        /// `public` or `internal`.
        which: &'static str,
        /// The address, when the node binds it itself.
        address: Option<SocketAddr>,
        /// What the system says.
        cause: io::Error,
    },
    /// The work directory.
    #[error("cannot use the work directory {path}: {cause}")]
    WorkDir {
        /// The directory.
        path: PathBuf,
        /// What the system says.
        cause: io::Error,
    },
    /// SQLite was built without what the storage layer depends on.
    #[error(transparent)]
    Build(#[from] celld_storage::WrongBuild),
    /// The threads.
    #[error(transparent)]
    Engine(#[from] celld_engine::StartError),
    /// The log of this process, or of its predecessor.
    #[error("cannot start the session log: {0}")]
    Log(String),
    /// The lease, at the start.
    #[error(transparent)]
    Lease(LeaseError),
    /// The current deployment, at the start.
    #[error("cannot serve the current deployment: {0}")]
    Deployment(#[from] ReloadError),
    /// The node has stopped because it may no longer serve. The process exits with code 3.
    #[error("SELF-FENCE: {0}")]
    SelfFence(String),
    /// V8 has given up on several shards, whose memory or processor time is not given back. Everything is durable; whoever runs the
    /// process starts it again.
    #[error(
        "V8 gave up on too many isolates in one process: it has to be started again to free what they hold"
    )]
    Worn,
}

/// Runs a node until `stop` is cancelled, or until it may no longer serve. `ready` is called once, when the listeners are open.
///
/// Must be called on a multi-threaded tokio runtime, from the thread whose descendants V8 may run on: the one that started the
/// process's runtime.
///
/// # Errors
/// Whatever keeps the node from starting; [`NodeError::SelfFence`] when it had to stop by itself.
///
/// The future is boxed so that the node is compiled in this crate, not once more in each that runs it.
pub fn run(
    config: NodeConfig,
    stop: CancellationToken,
    ready: impl FnOnce(NodeReady) + Send + 'static,
) -> BoxFuture<'static, Result<(), NodeError>> {
    boxed(config, stop, Box::new(ready))
}

fn boxed(
    config: NodeConfig,
    stop: CancellationToken,
    ready: Box<dyn FnOnce(NodeReady) + Send>,
) -> BoxFuture<'static, Result<(), NodeError>> {
    run_to_the_end(config, stop, ready).boxed()
}

async fn run_to_the_end(
    config: NodeConfig,
    stop: CancellationToken,
    ready: Box<dyn FnOnce(NodeReady) + Send>,
) -> Result<(), NodeError> {
    celld_storage::assert_compile_options()?;
    let NodeConfig { bucket, listen, internal_listen, node, work_dir, lease_ttl, .. } = config;
    let work = |cause| NodeError::WorkDir { path: work_dir.clone(), cause };
    let images = Images::open(work_dir.join("cells"), bucket.clone(), config.restore).map_err(work)?;
    let images = Arc::new(images);
    let public_listener = open("public", listen)?;
    let internal_listener = open("internal", internal_listen)?;
    let addresses = NodeReady {
        public: local_address("public", &public_listener)?,
        internal: local_address("internal", &internal_listener)?,
    };

    let session = SessionId::of(&node, nonce()?);
    let log_failed = |e: &dyn std::fmt::Display| NodeError::Log(e.to_string());
    let seals = Arc::new(Seals::new(bucket.clone(), session.clone()));
    // The earlier life of this node is over. Its cells are sealed off before this one serves anything.
    if let Some(earlier) = NodeLease::predecessor(&bucket, &node).await.map_err(|e| log_failed(&e))? {
        seals.seal(&earlier).await.map_err(|e| log_failed(&e))?;
    }
    let log = SessionLog::start(bucket.clone(), session.clone(), config.log.clone());
    let log = log.await.map_err(|e| log_failed(&e))?;
    let lease = NodeLease::take(
        &bucket,
        Announcement {
            node: node.clone(),
            session: session.clone(),
            internal: Some(config.advertise.clone().unwrap_or_else(|| addresses.internal.to_string())),
            ttl: lease_ttl,
        },
    );
    let lease = lease.await.map_err(NodeError::Lease)?;
    tracing::info!(%node, %session, bucket = %bucket, "a session begins");

    let host = NodeHost::new(HostParts {
        bucket: bucket.clone(),
        node: node.clone(),
        images: images.clone(),
        seals: seals.clone(),
        log,
        gate: config.output_gate,
        max_activations: config.limits.max_activations,
        deadline: config.limits.operation_deadline,
        console: Arc::new(LogOutput),
    });
    let public = Public::new(config.live_reload.then(|| LiveReload::new("")));
    let engine = Engine::start(
        ShardOptions {
            shards: config.shards,
            snapshots: celld_snapshot::SNAPSHOTS,
            max_cell_requests: u32::try_from(config.limits.max_cell_requests).unwrap_or(u32::MAX),
            max_request_body: config.limits.max_request_body_bytes,
            deploy_max_age: config.adoption.max_age,
            cpu_limit: CPU_LIMIT,
            idle_evict: config.idle_evict,
            images: images.dir().clone(),
            // User code must not reach the operator's API.
            deny_net: spellings(addresses.internal),
            cache: Arc::new(CacheStore::new(config.limits.cache_bytes)),
            intercept: Some(public.clone()),
        },
        host.clone(),
    )?;
    let engine = Arc::new(engine);
    let deployments = Arc::new(Deployments {
        bucket: bucket.clone(),
        engine: engine.clone(),
        public: public.clone(),
        vars: config.vars,
    });

    let stop_all = || Stop {
        engine: &engine,
        log: host.log(),
        bucket: &bucket,
        images: images.clone(),
        total: config.shutdown.total,
        retention: config.log.retention,
    };
    match deployments.reload().await {
        Ok(_) => {}
        // Requests get 503 until something is deployed.
        Err(ReloadError::None) => tracing::warn!("the bucket has no deployment yet"),
        Err(error) => {
            stop_all().finish().await;
            return Err(error.into());
        }
    }

    let internal =
        Arc::new(Internal { deployments: deployments.clone(), host: host.clone(), stop: stop.clone() });
    // What ends with the node, after the last request.
    let over = CancellationToken::new();
    let internal_over = over.clone();
    let serve_internal = axum::serve(internal_listener, router(internal))
        .with_graceful_shutdown(async move { internal_over.cancelled().await });
    let internal_task = tokio::spawn(async move { serve_internal.await });
    if let Some(poll) = config.adoption.poll {
        tokio::spawn(deployments.follow(poll, stop.clone()));
    }
    let waker = Waker {
        bucket: bucket.clone(),
        engine: engine.clone(),
        seals,
        session: session.clone(),
        failing: Default::default(),
    };
    tokio::spawn(waker.run(stop.clone()));
    let mut lease_task = tokio::spawn(lease.keep(over.clone()));
    let accept_task = tokio::spawn(accept(public_listener, engine.clone(), stop.clone()));
    ready(addresses);

    let mut is_worn = false;
    let fenced = tokio::select! {
        () = stop.cancelled() => None,
        () = engine.worn() => {
            is_worn = true;
            stop.cancel();
            None
        }
        cause = host.log().failure() => Some(cause.to_string()),
        kept = &mut lease_task => match kept {
            Ok(Err(error)) => Some(error.to_string()),
            // It is kept until `over`.
            Ok(Ok(())) | Err(_) => Some("the task that renews the lease has ended".to_owned()),
        },
    };
    public.close();
    if let Some(cause) = fenced {
        // Nothing this process says now may be taken for an acknowledgement: the log's failure has answered every gate, and the
        // answers, which are errors, still have to reach those who wait.
        if host.failure().is_some() {
            tokio::time::sleep(LAST_WORDS).await;
        }
        return Err(NodeError::SelfFence(cause));
    }
    tracing::info!("stopping: requests finish, then the log");
    accept_task.abort();
    stop_all().finish().await;
    over.cancel();
    // Neither can fail in a way that anybody could still act on.
    let _ =
        tokio::time::timeout(Duration::from_secs(2), async { tokio::join!(lease_task, internal_task) }).await;
    if is_worn { Err(NodeError::Worn) } else { Ok(()) }
}

fn open(which: &'static str, listener: crate::config::Listener) -> Result<TcpListener, NodeError> {
    let address = match &listener {
        crate::config::Listener::Address(address) => Some(*address),
        crate::config::Listener::Open(_) => None,
    };
    let opened = listener.open().and_then(TcpListener::from_std);
    opened.map_err(|cause| NodeError::Listen { which, address, cause })
}

fn local_address(which: &'static str, listener: &TcpListener) -> Result<SocketAddr, NodeError> {
    listener.local_addr().map_err(|cause| NodeError::Listen { which, address: None, cause })
}

/// Every address under which a process on this machine reaches `listener`, as user code may write it.
fn spellings(listener: SocketAddr) -> Vec<String> {
    let port = listener.port();
    let mut hosts = vec![listener.ip().to_string()];
    if let IpAddr::V4(ip) = listener.ip() {
        hosts.push(ip.to_ipv6_mapped().to_string());
    }
    if listener.ip().is_loopback() || listener.ip().is_unspecified() {
        // Connecting to the unspecified address reaches the loopback interface.
        hosts.extend(
            ["127.0.0.1", "0.0.0.0", "::1", "::", "::ffff:127.0.0.1", "::ffff:0.0.0.0", "localhost"]
                .map(Into::into),
        );
    }
    hosts.sort();
    hosts.dedup();
    hosts
        .iter()
        .map(|host| if host.contains(':') { format!("[{host}]:{port}") } else { format!("{host}:{port}") })
        .collect()
}

fn nonce() -> Result<u64, NodeError> {
    let mut bytes = [0; 8];
    getrandom::fill(&mut bytes).map_err(|e| NodeError::Log(format!("no randomness: {e}")))?;
    Ok(u64::from_ne_bytes(bytes))
}
