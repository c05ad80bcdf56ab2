//! `celld __dev-node`: the node process of `celld dev`. The same node as in production, on the local bucket.

use std::net::{Ipv4Addr, SocketAddr};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Context;
use celld_bucket::Bucket;
use celld_dev::Attached;
use celld_ids::NodeId;
use celld_node::{Adoption, Listener, NodeConfig};
use clap::{ArgMatches, Command};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::logging;
use crate::settings::Settings;

pub(super) const NAME: &str = "__dev-node";

/// The lifetime of the node's lease in its own local bucket.
const LEASE: Duration = Duration::from_secs(24 * 3600);

pub(super) fn command() -> Command {
    Command::new(NAME).hide(true).about("The node process of `celld dev`")
}

pub(super) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let settings = Settings::load(matches)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(&settings))
}

async fn serve(settings: &Settings) -> anyhow::Result<ExitCode> {
    let (mut attached, parameters, listener) = Attached::attach().await?;
    logging::development(parameters.logs, parameters.colour)?;
    // Only the supervisor decides when to stop; without a handler a Ctrl-C could end the node first.
    let _interrupt = signal(SignalKind::interrupt()).context("cannot install a signal handler")?;
    let mut terminate = signal(SignalKind::terminate()).context("cannot install a signal handler")?;
    if !attached.deployment().await? {
        return Ok(ExitCode::SUCCESS);
    }
    let config = match config(settings, &parameters, Listener::Open(listener)) {
        Ok(config) => config,
        Err(error) => {
            attached.failed(format!("{error:#}")).await?;
            return Ok(ExitCode::FAILURE);
        }
    };
    let stop = CancellationToken::new();
    let (tell, told) = oneshot::channel();
    let node = celld_node::run(config, stop.clone(), move |ready| {
        // The receiver is gone only when the node is being stopped already.
        let _ = tell.send(ready);
    });
    tokio::pin!(node);
    tokio::select! {
        // A node that is told to stop while it starts must still stop gracefully, so it is never dropped here.
        ended = &mut node => {
            let message = match ended {
                Ok(()) => "the node stopped before it served".to_owned(),
                Err(error) => error.to_string(),
            };
            attached.failed(message).await?;
            return Ok(ExitCode::FAILURE);
        }
        Ok(ready) = told => attached.ready(ready.internal).await?,
        () = attached.stopped() => stop.cancel(),
        _ = terminate.recv() => stop.cancel(),
    }
    tokio::select! {
        ended = &mut node => return Ok(ended.map(|()| ExitCode::SUCCESS)?),
        () = attached.stopped() => stop.cancel(),
        _ = terminate.recv() => stop.cancel(),
    }
    node.await?;
    Ok(ExitCode::SUCCESS)
}

fn config(
    settings: &Settings,
    parameters: &celld_dev::NodeParameters,
    listener: Listener,
) -> anyhow::Result<NodeConfig> {
    let bucket = Bucket::local(&parameters.bucket)
        .map_err(|error| anyhow::anyhow!("{error}. `celld dev --clean` starts from an empty local state"))?;
    let config = settings.node(bucket)?;
    Ok(NodeConfig {
        node: NodeId::new("dev")?,
        listen: listener,
        // Loopback whatever the Worker listener is: no other machine reaches the operator's API.
        internal_listen: Listener::Address(SocketAddr::new(Ipv4Addr::LOCALHOST.into(), 0)),
        advertise: None,
        // Nobody waits for this lease, and a laptop that slept must not find its node fenced.
        lease_ttl: LEASE,
        work_dir: parameters.work.clone(),
        // The supervisor says when.
        adoption: Adoption { poll: None, ..config.adoption },
        live_reload: parameters.live_reload,
        ..config
    })
}
