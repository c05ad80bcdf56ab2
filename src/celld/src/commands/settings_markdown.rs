//! `celld __settings-markdown`: prints `docs/configuration.md`.

use std::process::ExitCode;

use clap::Command;

pub(super) const NAME: &str = "__settings-markdown";

pub(super) fn command() -> Command {
    Command::new(NAME).hide(true).about("Prints docs/configuration.md")
}

pub(super) fn run() -> anyhow::Result<ExitCode> {
    crate::console::print(&crate::settings::markdown())?;
    Ok(ExitCode::SUCCESS)
}
