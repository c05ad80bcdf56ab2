//! From the project on disk to a deployment in the local bucket.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use celld_bucket::Bucket;
use celld_project::{
    BundleError, BundleOptions, ConfigError, DeployError, Manifest, Project, Purpose, bundle, deploy,
};

use crate::DevOptions;
use crate::console::Console;

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
            Self::Bundle(error) => matches!(
                error,
                BundleError::EsbuildMissing { .. }
                    | BundleError::EsbuildUnusable { .. }
                    | BundleError::Start { .. }
                    | BundleError::Io { .. }
            ),
            Self::Config(error) => matches!(error, ConfigError::Read { .. }),
        }
    }
}

/// Builds one project again and again.
#[derive(Debug)]
pub(crate) struct Builder {
    project: PathBuf,
    environment: Option<String>,
    colour: bool,
    bucket: Bucket,
    console: Console,
    /// The last deployment: its content, and its id.
    last: Option<(Manifest, String)>,
    /// Notes and warnings that were shown; a line that is still true after the next save is no news.
    shown: HashSet<String>,
    sources: Sources,
    /// Deployments made.
    deployments: u64,
}

/// Which files below the project the last build was made from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum Sources {
    /// Any of them.
    #[default]
    All,
    /// A build command runs first and writes into the project: only these directories and files are sources, or every
    /// build would start the next one.
    Only(Vec<PathBuf>),
}

/// Old deployments are removed after this many new ones, down to the newest few.
const PRUNE_EVERY: u64 = 20;
const KEPT: usize = 10;

impl Sources {
    /// Whether a change of `path` can change the result.
    pub(crate) fn contain(&self, path: &Path) -> bool {
        match self {
            Self::All => true,
            Self::Only(roots) => roots.iter().any(|root| path.starts_with(root)),
        }
    }
}

impl Builder {
    pub(crate) fn new(options: &DevOptions, bucket: Bucket, console: Console) -> Self {
        Self {
            project: options.project.clone(),
            environment: options.environment.clone(),
            colour: options.colour,
            bucket,
            console,
            last: None,
            shown: HashSet::new(),
            sources: Sources::All,
            deployments: 0,
        }
    }

    /// Which changes are worth the next build.
    pub(crate) fn sources(&self) -> &Sources {
        &self.sources
    }

    /// Reads the configuration, bundles, and deploys when the result differs from the last one. Returns the id of the
    /// deployment.
    pub(crate) async fn build(&mut self) -> Result<String, BuildError> {
        let project = Project::load(&self.project, self.environment.as_deref(), Purpose::Dev)?;
        self.sources = sources_of(&project);
        let bundle = bundle(&project, &BundleOptions { color: self.colour }).await?;
        let notes = project.notes.iter().map(ToString::to_string);
        for note in notes.chain(bundle.warnings.iter().cloned()) {
            if self.shown.insert(note.clone()) {
                self.console.note(&note);
            }
        }
        // The time of a deployment is not its content.
        let content = Manifest::new(&project, &bundle, 0);
        if let Some((last, id)) = &self.last
            && *last == content
        {
            return Ok(id.clone());
        }
        let id = deploy(&self.bucket, &project, &bundle).await?.id;
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

fn sources_of(project: &Project) -> Sources {
    let Some(build) = &project.config.build else { return Sources::All };
    let mut roots = build.watch_dirs.clone();
    roots.push(project.config_file.clone());
    roots.push(project.root.join("package.json"));
    // Whichever of them applies, and also when it does not exist yet.
    roots.push(project.root.join(".dev.vars"));
    roots.extend(project.dev_vars_file.clone());
    Sources::Only(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_output_of_a_build_command_is_no_source() {
        let sources = Sources::Only(vec!["/p/src".into(), "/p/wrangler.jsonc".into()]);
        assert!(sources.contain(Path::new("/p/src/a/b.ts")));
        assert!(sources.contain(Path::new("/p/wrangler.jsonc")));
        assert!(!sources.contain(Path::new("/p/dist/index.js")));
        assert!(Sources::All.contain(Path::new("/p/dist/index.js")));
    }
}
