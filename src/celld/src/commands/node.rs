//! `celld --bucket URL`: one node of a fleet.

use std::process::ExitCode;

use anyhow::Context;
use clap::ArgMatches;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::settings::Settings;
use crate::{console, logging};

pub(super) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let settings = Settings::load(matches)?;
    super::warn(&settings);
    let bucket_settings = settings.bucket()?;
    logging::production(console::stderr_colour())?;
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let stop = CancellationToken::new();
        stop_on_signals(stop.clone())?;
        let config = settings.node(bucket_settings.open()?)?;
        let ready = |ready: celld_node::NodeReady| {
            let line =
                format!("listening on http://{} (internal: http://{})\n", ready.public, ready.internal);
            if let Err(error) = console::print(&line) {
                tracing::debug!("cannot announce the listeners: {error:#}");
            }
        };
        celld_node::run(config, stop, ready).await?;
        Ok(ExitCode::SUCCESS)
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
