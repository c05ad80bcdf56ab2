//! From the projects on disk to a deployment in the local bucket.

use std::collections::{BTreeSet, HashSet};
use std::path::PathBuf;

use celld_bucket::Bucket;
use celld_project::{
    Bundle, BundleError, BundleOptions, ConfigError, DeployError, Manifest, Projects, Purpose, deploy,
};

use crate::DevOptions;
use crate::console::Console;
use crate::sources::Sources;

/// Why there is no new deployment.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BuildError {
    /// The configuration is at fault.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The code is at fault, or esbuild is missing.
    #[error(transparent)]
    Bundle(#[from] BundleError),
    /// The project is fine, but its deployment cannot be written.
    #[error("cannot keep the deployment: {0}")]
    Deploy(#[from] DeployError),
}

impl BuildError {
    /// Whether the cause may go away without a change of the project that the watcher sees: a full disk, an esbuild that is
    /// not installed yet, a permission.
    pub(crate) fn is_outside_the_project(&self) -> bool {
        match self {
            Self::Deploy(_) => true,
            Self::Bundle(error) => error.is_outside_the_project(),
            Self::Config(error) => matches!(error, ConfigError::Read { .. }),
        }
    }

    /// Whether the command itself is wrong, whatever the projects say.
    pub(crate) fn is_of_the_command(&self) -> bool {
        matches!(self, Self::Config(ConfigError::Twice { .. }))
    }
}

/// Builds the projects again and again.
#[derive(Debug)]
pub(crate) struct Builder {
    project: PathBuf,
    others: Vec<PathBuf>,
    environment: Option<String>,
    colour: bool,
    bucket: Bucket,
    console: Console,
    /// The bundle of each project; `None` when something in it has changed.
    bundles: Vec<Option<Bundle>>,
    /// The last deployment: its content, and its id.
    last: Option<(Manifest, String)>,
    /// Notes and warnings that were shown; a line that is still true after the next save is no news.
    shown: HashSet<String>,
    sources: Sources,
    /// Deployments made.
    deployments: u64,
}

/// Old deployments are removed after this many new ones, down to the newest few.
const PRUNE_EVERY: u64 = 20;
const KEPT: usize = 10;

impl Builder {
    /// `directories` are those of the projects, in their order.
    pub(crate) fn new(
        options: &DevOptions,
        directories: &[PathBuf],
        bucket: Bucket,
        console: Console,
    ) -> Self {
        Self {
            project: options.project.clone(),
            others: options.others.clone(),
            environment: options.environment.clone(),
            colour: options.colour,
            bucket,
            console,
            bundles: Vec::new(),
            last: None,
            shown: HashSet::new(),
            sources: Sources::new(directories),
            deployments: 0,
        }
    }

    /// Which changes are worth the next build.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Reads the configurations, bundles the projects that have changed and those that could not be bundled before, and deploys
    /// when the result differs from the last one. Returns the id of the deployment.
    pub(crate) async fn build(&mut self, changed: &BTreeSet<usize>) -> Result<String, BuildError> {
        for index in changed {
            if let Some(bundle) = self.bundles.get_mut(*index) {
                *bundle = None;
            }
        }
        let environment = self.environment.as_deref();
        let projects = Projects::load(&self.project, &self.others, environment, Purpose::Dev)?;
        self.sources.configure(&projects);
        let options = BundleOptions { color: self.colour };
        let built = projects.build_missing(&mut self.bundles, &options).await?;
        self.sources.learn(&built);
        for worker in built.iter() {
            let notes = worker.project.notes.iter().map(ToString::to_string);
            for note in notes.chain(worker.bundle.warnings.iter().cloned()) {
                if self.shown.insert(note.clone()) {
                    self.console.note(&note);
                }
            }
        }
        // The time of a deployment is not its content.
        let content = Manifest::new(&built, 0);
        if let Some((last, id)) = &self.last
            && *last == content
        {
            return Ok(id.clone());
        }
        let id = deploy(&self.bucket, &built).await?.id;
        self.last = Some((content, id.clone()));
        self.deployments += 1;
        if self.deployments.is_multiple_of(PRUNE_EVERY) {
            // They cost nothing but space: another time will do.
            if let Err(error) = celld_project::prune(&self.bucket, KEPT).await {
                tracing::debug!(%error, "old deployments stay for now");
            }
        }
        Ok(id)
    }
}
