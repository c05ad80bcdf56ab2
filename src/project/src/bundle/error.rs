use std::path::PathBuf;

/// Why a project could not be built.
#[derive(Debug, thiserror::Error)]
pub enum BundleError {
    /// One of several projects.
    #[error("{}: {source}", file.display())]
    OfProject {
        /// Its configuration file.
        file: PathBuf,
        /// What is wrong.
        source: Box<BundleError>,
    },
    /// No native esbuild anywhere.
    #[error(
        "esbuild is needed to build this project and was not found{}: install it with `npm install --save-dev esbuild` in the project, put it on PATH, or set CELLD_ESBUILD to its path", looked(.scripts)
    )]
    EsbuildMissing {
        /// JavaScript launchers that were found and not used.
        scripts: Vec<PathBuf>,
    },
    /// `CELLD_ESBUILD` does not name an executable file.
    #[error("CELLD_ESBUILD is {}, which is not an executable file", path.display())]
    EsbuildUnusable {
        /// Its value.
        path: PathBuf,
    },
    /// A process could not be started.
    #[error("cannot start {program}: {source}")]
    Start {
        /// esbuild's path, or the build command.
        program: String,
        /// Why.
        source: std::io::Error,
    },
    /// The code has errors.
    #[error("the build failed\n{}", messages.trim_end())]
    Failed {
        /// What esbuild printed: each error with file, line and the line's text.
        messages: String,
    },
    /// The project's build command failed.
    #[error("the build command `{command}` failed ({status})\n{}", output.trim_end())]
    Command {
        /// As configured.
        command: String,
        /// How it ended.
        status: std::process::ExitStatus,
        /// Its output, standard output first.
        output: String,
    },
    /// The entry point is not there.
    #[error("there is no file {}{}", main.display(), after(.built_by))]
    NoEntryPoint {
        /// `main`.
        main: PathBuf,
        /// The build command that should have made it.
        built_by: Option<String>,
    },
    /// A class that the configuration names is not exported.
    #[error(
        "the Durable Object class {class}, {named}, is not exported by {}: add `export class {class} extends DurableObject {{ … }}`", main.display()
    )]
    ClassNotExported {
        /// The class.
        class: String,
        /// By what the configuration names it, such as `bound as ROOM`.
        named: String,
        /// The entry point.
        main: PathBuf,
    },
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// `read`, `create`, …
        action: &'static str,
        /// Of what.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// esbuild's report is not what this version of celld understands.
    #[error("esbuild at {} gave an unexpected result ({detail}); celld is tested with esbuild 0.28", path.display())]
    Unexpected {
        /// esbuild's path.
        path: PathBuf,
        /// What was unexpected.
        detail: String,
    },
}

impl BundleError {
    /// Whether the cause may go away without a change of the project: an esbuild that is not installed yet, a full disk, a
    /// permission.
    pub fn is_outside_the_project(&self) -> bool {
        match self {
            BundleError::OfProject { source, .. } => source.is_outside_the_project(),
            BundleError::EsbuildMissing { .. }
            | BundleError::EsbuildUnusable { .. }
            | BundleError::Start { .. }
            | BundleError::Io { .. } => true,
            BundleError::Failed { .. }
            | BundleError::Command { .. }
            | BundleError::NoEntryPoint { .. }
            | BundleError::ClassNotExported { .. }
            | BundleError::Unexpected { .. } => false,
        }
    }
}

fn looked(scripts: &[PathBuf]) -> String {
    match scripts.first() {
        Some(script) => format!(
            " ({} is a script that needs Node.js to start; celld runs only the native program)",
            script.display()
        ),
        None => String::new(),
    }
}

fn after(command: &Option<String>) -> String {
    command.as_ref().map_or_else(String::new, |command| format!(", although `{command}` ran"))
}
