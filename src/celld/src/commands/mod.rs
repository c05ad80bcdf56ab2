//! One file for each command.

mod cell;
mod cell_past;
mod deploy;
mod dev;
mod dev_node;
mod diagnose;
mod init;
mod node;
mod settings_markdown;
mod top;

use std::process::ExitCode;

use clap::{ArgMatches, Command};

use crate::settings;

/// The command line. Without a subcommand, `celld` is a node.
pub(crate) fn command_line() -> Command {
    let command = Command::new("celld")
        .version(env!("CARGO_PKG_VERSION"))
        .about("Runs Workers with durable cells on your machines. Without a command: starts a node.")
        .after_help(settings::environment_help())
        .args_conflicts_with_subcommands(true)
        .subcommand_value_name("COMMAND")
        .disable_help_subcommand(true)
        .subcommands([
            dev::command(),
            deploy::command(),
            init::command(),
            cell::command(),
            top::command(),
            diagnose::command(),
            dev_node::command(),
            settings_markdown::command(),
        ]);
    settings::add_options(command, settings::NODE_OPTIONS)
}

/// Runs what the command line asks for.
pub(crate) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    match matches.subcommand() {
        None => node::run(matches),
        Some((dev::NAME, matches)) => dev::run(matches),
        Some((deploy::NAME, matches)) => deploy::run(matches),
        Some((init::NAME, matches)) => init::run(matches),
        Some((cell::NAME, matches)) => cell::run(matches),
        Some((top::NAME, matches)) => top::run(matches),
        Some((diagnose::NAME, matches)) => diagnose::run(matches),
        Some((dev_node::NAME, matches)) => dev_node::run(matches),
        Some((settings_markdown::NAME, _)) => settings_markdown::run(),
        Some((name, _)) => anyhow::bail!("the command {name} has no implementation"),
    }
}

/// Tells the operator what the settings loader noticed.
fn warn(settings: &settings::Settings) {
    for warning in &settings.warnings {
        crate::console::message(format_args!("celld: warning: {warning}"));
    }
}

#[cfg(test)]
mod tests {
    use super::command_line;

    #[test]
    fn the_command_line_is_consistent() {
        command_line().debug_assert();
    }

    #[test]
    fn commands_take_their_options_and_refuse_what_contradicts_itself() {
        for good in [
            &["celld", "--bucket", "s3://b", "--listen", "0.0.0.0:1", "--internal-listen", "10.0.0.1:2"][..],
            &["celld", "dev"],
            &[
                "celld",
                "dev",
                "./examples/counter",
                "--port",
                "3000",
                "--host",
                "0.0.0.0",
                "--logs",
                "--clean",
            ],
            &["celld", "dev", ".", "../auth", "../mail/wrangler.jsonc", "--port", "0"],
            &["celld", "deploy", ".", "../auth", "--bucket", "s3://b"],
            &["celld", "dev", "--watch-ignore", "a", "--watch-ignore", "b/**", "--env", "staging"],
            &["celld", "deploy", ".", "--bucket", "s3://b", "--endpoint", "http://h", "--region", "auto"],
            &["celld", "cell", "list", "Room", "--json", "--limit", "5", "--after", "Room:1"],
            &["celld", "cell", "list", "--all"],
            &["celld", "diagnose", "--peer", "a", "--peer", "b", "--bucket", "s3://b"],
            &["celld", "cell", "history", "Room:1", "--json"],
            &[
                "celld",
                "cell",
                "restore",
                "Room:1",
                "--at",
                "2026-11-30T08:25:00Z",
                "--output",
                "f",
                "--force",
            ],
            &["celld", "cell", "restore", "Room:1", "--last", "--output", "f"],
        ] {
            assert!(command_line().try_get_matches_from(good).is_ok(), "{good:?}");
        }
        for bad in [
            &["celld", "dev", "--no-watch", "--watch-ignore", "a"][..],
            &["celld", "dev", "--port", "70000"],
            &["celld", "dev", "--host", "nowhere"],
            &["celld", "dev", "--bucket", "s3://b"],
            &["celld", "cell", "list", "--all", "--limit", "5"],
            &["celld", "cell", "list", "--limit", "0"],
            &["celld", "cell", "list", "--after", "Room"],
            &["celld", "diagnose", "--peer", "not a name"],
            &["celld", "cell", "restore", "Room:1", "--output", "f"],
            &["celld", "cell", "restore", "Room:1", "--at", "yesterday", "--output", "f"],
            &["celld", "cell", "restore", "Room:1", "--at", "5", "--last", "--output", "f"],
            &["celld", "cell", "restore", "Room:1", "--bookmark", "0-0-0-0", "--output", "f"],
            &["celld", "nonsense"],
        ] {
            assert!(command_line().try_get_matches_from(bad).is_err(), "{bad:?}");
        }
    }
}
