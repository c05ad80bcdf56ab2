use std::path::PathBuf;

use super::source::Diagnostic;

/// Why a project's configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// No configuration file in the directory.
    #[error(
        "no wrangler.jsonc, wrangler.json or wrangler.toml in {}: run celld init to start a project there, or name the project's directory", directory.display()
    )]
    NotFound {
        /// The directory that was searched.
        directory: PathBuf,
    },
    /// The file, or the directory, cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// What could not be read.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Neither JSON nor TOML by its name.
    #[error("{} is not a Wrangler configuration: its name must end in .jsonc, .json or .toml", path.display())]
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// Not JSON or TOML inside.
    #[error("{0}")]
    Syntax(Diagnostic),
    /// Everything that is wrong with the keys and their values, in the order of the files; never empty.
    #[error("{}", lines(.0))]
    Invalid(Vec<Diagnostic>),
    /// `--env` names an environment that the file does not have.
    #[error("{}: there is no environment \"{name}\"; {}", file.display(), known_environments(.known))]
    NoEnvironment {
        /// The configuration file.
        file: PathBuf,
        /// The name asked for.
        name: String,
        /// The names it has.
        known: Vec<String>,
    },
    /// The same project twice in one deployment.
    #[error("{} is named twice, as {} and as {}: each project of a deployment is named once", file.display(), first.display(), second.display())]
    Twice {
        /// Its configuration file.
        file: PathBuf,
        /// As given.
        first: PathBuf,
        /// As given.
        second: PathBuf,
    },
    /// `.dev.vars` is not in the dotenv format.
    #[error(transparent)]
    DevVars(#[from] crate::dotenv::DotenvError),
}

fn lines(diagnostics: &[Diagnostic]) -> String {
    diagnostics.iter().map(Diagnostic::to_string).collect::<Vec<_>>().join("\n")
}

fn known_environments(known: &[String]) -> String {
    if known.is_empty() {
        "the file defines no environments".to_owned()
    } else {
        format!("the file defines {}", known.join(", "))
    }
}
