//! `celld init`: writes a first project.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use celld_project::templates::{self, Template};
use clap::builder::PossibleValue;
use clap::{Arg, ArgMatches, Command};

use crate::console;

pub(super) const NAME: &str = "init";

pub(super) fn command() -> Command {
    let names =
        templates::ALL.iter().map(|template| PossibleValue::new(template.name).help(template.description));
    let default = templates::ALL.first().map_or("", |template| template.name);
    Command::new(NAME)
        .about("Writes a new project")
        .arg(
            Arg::new("directory")
                .value_name("DIRECTORY")
                .default_value(".")
                .value_parser(clap::value_parser!(PathBuf))
                .help("Where; made when it does not exist. Nothing is overwritten"),
        )
        .arg(
            Arg::new("template")
                .long("template")
                .value_name("NAME")
                .default_value(default)
                .value_parser(names.collect::<Vec<_>>())
                .help("What to start from"),
        )
}

pub(super) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let directory = matches.get_one::<PathBuf>("directory").map_or(Path::new("."), PathBuf::as_path);
    let template: Option<&Template> =
        matches.get_one::<String>("template").and_then(|name| templates::find(name));
    let Some(template) = template else { anyhow::bail!("there is no such template") };
    for file in template.write(directory)? {
        console::print(&format!("{}\n", directory.join(file).display()))?;
    }
    let place = if directory == Path::new(".") { String::new() } else { format!(" {}", directory.display()) };
    console::message(format_args!("Start it with: celld dev{place}"));
    Ok(ExitCode::SUCCESS)
}
