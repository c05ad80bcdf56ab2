//! `celld top`: the nodes of a fleet, live on the terminal.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use celld_bucket::Bucket;
use celld_tui::{Discover, TopOptions};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::settings::{self, Settings};

pub(super) const NAME: &str = "top";

#[derive(Debug, Args)]
struct TopArgs {
    /// Only this node, by the address of its internal listener; may be repeated. Without it: every node with a lease in the
    /// bucket.
    #[arg(long, value_name = "HOST:PORT")]
    node: Vec<String>,
    /// Seconds between two refreshes.
    #[arg(long, value_name = "S", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,
}

pub(super) fn command() -> Command {
    let top = TopArgs::augment_args(Command::new(NAME)).about("Shows the nodes of a fleet, live");
    settings::add_options(top, settings::BUCKET_OPTIONS)
}

pub(super) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let args = TopArgs::from_arg_matches(matches)?;
    let settings = Settings::load(matches)?;
    super::warn(&settings);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let discover: Discover = if args.node.is_empty() {
            let bucket = Arc::new(settings.bucket()?.open()?);
            Box::new(move || Box::pin(leased(bucket.clone())))
        } else {
            Box::new(move || Box::pin(std::future::ready(Ok(args.node.clone()))))
        };
        celld_tui::run(TopOptions { discover, interval: Duration::from_secs(args.interval) }).await?;
        Ok(ExitCode::SUCCESS)
    })
}

/// The internal addresses of the nodes that hold a lease. One that has run out is shown too: its node may be in trouble.
async fn leased(bucket: Arc<Bucket>) -> Result<Vec<String>, String> {
    let leases = celld_replica::read_leases(&bucket).await.map_err(|e| e.to_string())?;
    let held = leases.into_iter().filter(|lease| lease.record.expires_ms > 0);
    Ok(held.filter_map(|lease| lease.record.internal).collect())
}
