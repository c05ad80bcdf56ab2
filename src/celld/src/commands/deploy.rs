//! `celld deploy`: builds a project and makes it the current deployment of a bucket.

use std::path::PathBuf;
use std::process::ExitCode;

use celld_project::{BundleOptions, Project, Purpose};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::console;
use crate::settings::{self, Settings};

pub(super) const NAME: &str = "deploy";

#[derive(Debug, Args)]
struct DeployArgs {
    /// The project directory, or a Wrangler configuration file.
    #[arg(value_name = "PATH", default_value = ".")]
    project: PathBuf,
    /// The Wrangler environment.
    #[arg(long, value_name = "NAME")]
    env: Option<String>,
}

pub(super) fn command() -> Command {
    let command =
        DeployArgs::augment_args(Command::new(NAME)).about("Builds a project and deploys it to a bucket");
    settings::add_options(command, settings::BUCKET_OPTIONS)
}

pub(super) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let args = DeployArgs::from_arg_matches(matches)?;
    let settings = Settings::load(matches)?;
    super::warn(&settings);
    let bucket = settings.bucket()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let project = Project::load(&args.project, args.env.as_deref(), Purpose::Deploy)?;
        let bundle =
            celld_project::bundle(&project, &BundleOptions { color: console::stderr_colour() }).await?;
        let notes = project.notes.iter().map(ToString::to_string);
        for note in notes.chain(bundle.warnings.iter().cloned()) {
            console::message(note.trim_end());
        }
        let bucket = bucket.open()?;
        let deployed = celld_project::deploy(&bucket, &project, &bundle).await?;
        let size: usize = bundle.modules.iter().map(|module| module.bytes.len()).sum();
        console::message(format_args!(
            "deployed {} to {bucket}: {} modules, {} KiB",
            project.config.name,
            bundle.modules.len(),
            size.div_ceil(1024)
        ));
        console::print(&format!("{}\n", deployed.id))?;
        Ok(ExitCode::SUCCESS)
    })
}
