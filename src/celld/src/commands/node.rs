//! `celld --bucket URL`: one node of a fleet.

use std::process::ExitCode;

use anyhow::Context;
use celld_node::NodeError;
use clap::ArgMatches;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::settings::Settings;
use crate::{console, logging, probe};

/// The exit code of a node that stopped because it may no longer serve.
const LEASE_LOST: u8 = 3;

pub(super) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let settings = Settings::load(matches)?;
    super::warn(&settings);
    let bucket_settings = settings.bucket()?;
    logging::production(console::stderr_colour())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let stop = CancellationToken::new();
        stop_on_signals(stop.clone())?;
        let bucket = bucket_settings.open()?;
        probe::before_serving(&bucket).await?;
        let config = settings.node(bucket)?;
        let ready = |ready: celld_node::NodeReady| {
            let line =
                format!("listening on http://{} (internal: http://{})\n", ready.public, ready.internal);
            if let Err(error) = console::print(&line) {
                tracing::debug!("cannot announce the listeners: {error:#}");
            }
        };
        match celld_node::run(config, stop, ready).await {
            Ok(()) => Ok(ExitCode::SUCCESS),
            // Another node may serve the cells now. An orchestrator tells this apart from a failed start.
            Err(error @ NodeError::SelfFence(_)) => {
                console::message(format_args!("celld: {error}"));
                Ok(ExitCode::from(LEASE_LOST))
            }
            Err(error) => Err(error.into()),
        }
    })
}

/// SIGTERM and SIGINT start the graceful stop.
fn stop_on_signals(stop: CancellationToken) -> anyhow::Result<()> {
    let mut terminate = signal(SignalKind::terminate()).context("cannot install a signal handler")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("cannot install a signal handler")?;
    tokio::spawn(async move {
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        stop.cancel();
    });
    Ok(())
}
