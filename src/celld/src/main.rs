//! The `celld` binary: the command line, and the one loader of settings. Everything else is in the crates.
//!
//! Exit codes: 0 success (also when the reader of stdout closed the pipe), 1 the command failed, 2 the command line or a
//! setting is wrong, 3 the node lost its lease.

mod commands;
mod console;
mod logging;
mod probe;
mod settings;

use std::process::ExitCode;

use clap::error::ErrorKind;

use crate::console::StdoutClosed;
use crate::settings::SettingError;

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(error) if error.is::<StdoutClosed>() => ExitCode::SUCCESS,
        Err(error) => {
            console::message(format_args!("celld: {}", describe(&error)));
            if error.is::<SettingError>() { ExitCode::from(2) } else { ExitCode::FAILURE }
        }
    }
}

fn run() -> anyhow::Result<ExitCode> {
    match commands::command_line().try_get_matches() {
        Ok(matches) => commands::run(&matches),
        // What was asked for is data, and goes the way of all data.
        Err(help) if matches!(help.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) => {
            console::print(&help.render().to_string())?;
            Ok(ExitCode::SUCCESS)
        }
        Err(usage) => {
            let text = usage.render();
            let text = if console::stderr_colour() { text.ansi().to_string() } else { text.to_string() };
            console::message(text.trim_end());
            Ok(ExitCode::from(2))
        }
    }
}

/// The error with its causes, each said once: our own errors name their cause already.
fn describe(error: &anyhow::Error) -> String {
    let mut text = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
