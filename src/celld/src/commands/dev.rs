//! `celld dev`: projects on this machine, rebuilt and reloaded at every saved change.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::Context;
use celld_dev::{DEFAULT_PORT, DevOptions, WatchOptions};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::console;
use crate::settings::Settings;

pub(super) const NAME: &str = "dev";

#[derive(Debug, Args)]
struct DevArgs {
    /// The project directory, or a Wrangler configuration file. Its Worker serves the requests.
    #[arg(value_name = "PROJECT", default_value = ".")]
    project: PathBuf,
    /// Projects of other Workers, which only service bindings and script_name reach.
    #[arg(value_name = "OTHER")]
    others: Vec<PathBuf>,
    /// The port of the Worker listener; 0 takes a free one.
    #[arg(long, value_name = "PORT", default_value_t = DEFAULT_PORT)]
    port: u16,
    /// The interface of the Worker listener. Another than loopback exposes it to the network.
    #[arg(long, value_name = "IP", default_value = "127.0.0.1", value_parser = parse_host)]
    host: IpAddr,
    /// The Wrangler environment.
    #[arg(long, value_name = "NAME")]
    env: Option<String>,
    /// Show the node's warnings and information too.
    #[arg(long)]
    logs: bool,
    /// Delete .celld/dev of the first project before anything else: start from an empty local state.
    #[arg(long)]
    clean: bool,
    /// Build once, and follow no change.
    #[arg(long)]
    no_watch: bool,
    /// A project-relative glob whose changes start no build; may be repeated.
    #[arg(long, value_name = "GLOB", conflicts_with = "no_watch")]
    watch_ignore: Vec<String>,
    /// Do not make open pages reload after a change.
    #[arg(long)]
    no_live_reload: bool,
}

pub(super) fn command() -> Command {
    DevArgs::augment_args(Command::new(NAME))
        .about("Develops projects on this machine: builds, serves, follows changes")
}

pub(super) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let args = DevArgs::from_arg_matches(matches)?;
    // The node process reads them again; here a mistake is told once and before anything starts.
    super::warn(&Settings::load(matches)?);
    let executable = std::env::current_exe().context("cannot find the celld executable")?;
    let options = DevOptions {
        project: args.project,
        others: args.others,
        environment: args.env,
        host: args.host,
        port: args.port,
        logs: args.logs,
        clean: args.clean,
        watch: (!args.no_watch).then_some(WatchOptions { ignore: args.watch_ignore }),
        live_reload: !args.no_live_reload,
        colour: console::stderr_colour(),
        node_command: (executable, vec![super::dev_node::NAME.to_owned()]),
    };
    // A current-thread runtime on the main thread: see `celld_dev::run`.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    match runtime.block_on(celld_dev::run(options)) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(error) if error.is_closed_stdout() => Err(console::StdoutClosed.into()),
        Err(error) => Err(error.into()),
    }
}

/// An IP address, or the one name that everybody expects to work.
fn parse_host(text: &str) -> Result<IpAddr, String> {
    match text {
        "localhost" => Ok(IpAddr::V4(Ipv4Addr::LOCALHOST)),
        _ => text
            .parse()
            .map_err(|_| "not an IP address of this machine, such as 127.0.0.1 or 0.0.0.0".to_owned()),
    }
}
