//! `celld deploy`: builds projects and makes them the current deployment of a bucket.

use std::path::PathBuf;
use std::process::ExitCode;

use celld_project::{BuiltWorker, BundleOptions, Projects, Purpose};
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::console;
use crate::settings::{self, Settings};

pub(super) const NAME: &str = "deploy";

#[derive(Debug, Args)]
struct DeployArgs {
    /// The project directory, or a Wrangler configuration file. Its Worker serves the requests.
    #[arg(value_name = "PROJECT", default_value = ".")]
    project: PathBuf,
    /// Projects of other Workers, which only service bindings and script_name reach.
    #[arg(value_name = "OTHER")]
    others: Vec<PathBuf>,
    /// The Wrangler environment.
    #[arg(long, value_name = "NAME")]
    env: Option<String>,
}

pub(super) fn command() -> Command {
    let command =
        DeployArgs::augment_args(Command::new(NAME)).about("Builds projects and deploys them to a bucket");
    settings::add_options(command, settings::BUCKET_OPTIONS)
}

pub(super) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let args = DeployArgs::from_arg_matches(matches)?;
    let settings = Settings::load(matches)?;
    super::warn(&settings);
    let bucket = settings.bucket()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let projects = Projects::load(&args.project, &args.others, args.env.as_deref(), Purpose::Deploy)?;
        let built = projects.build(&BundleOptions { color: console::stderr_colour() }).await?;
        for worker in built.iter() {
            let notes = worker.project.notes.iter().map(ToString::to_string);
            for note in notes.chain(worker.bundle.warnings.iter().cloned()) {
                console::message(note.trim_end());
            }
        }
        let bucket = bucket.open()?;
        let deployed = celld_project::deploy(&bucket, &built).await?;
        let (name, size) = described(&built.primary);
        console::message(format_args!("deployed {name} to {bucket}: {size}"));
        for worker in &built.others {
            let (name, size) = described(worker);
            console::message(format_args!("    with {name}: {size}"));
        }
        console::print(&format!("{}\n", deployed.id))?;
        Ok(ExitCode::SUCCESS)
    })
}

/// A Worker's name, and how large it is.
fn described(worker: &BuiltWorker) -> (&str, String) {
    let modules = &worker.bundle.modules;
    let size: usize = modules.iter().map(|module| module.bytes.len()).sum();
    (&worker.project.config.name, format!("{} modules, {} KiB", modules.len(), size.div_ceil(1024)))
}
