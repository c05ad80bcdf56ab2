//! Why `celld dev` cannot start or go on. What only keeps one change from being served is no `DevError`: it is
//! printed, and the supervisor waits for the next change.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;

use celld_bucket::BucketError;

/// An error that ends `celld dev`.
#[derive(Debug, thiserror::Error)]
pub enum DevError {
    /// The path argument names nothing.
    #[error("{path} does not exist: give a project directory or a Wrangler configuration file")]
    NoProject {
        /// As given.
        path: PathBuf,
    },
    /// `.celld/dev` cannot be made, opened or locked.
    #[error("cannot {action} {path}: {source}. `celld dev` keeps the application's local state there")]
    State {
        /// What was tried.
        action: &'static str,
        /// The file or directory.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// Something else stands where a directory of the local state should be.
    #[error("{path} is not a directory. `celld dev --clean` starts from an empty local state")]
    NotADirectory {
        /// The file, or the directory that a file keeps from being made.
        path: PathBuf,
    },
    /// Another `celld dev` runs on the project.
    #[error("another `celld dev`{holder} already runs on this project ({path} is locked)")]
    Locked {
        /// The lock file.
        path: PathBuf,
        /// ` (process 123)`, or nothing when the file does not say.
        holder: String,
    },
    /// The local bucket cannot be opened.
    #[error(
        "cannot open the local bucket {path}: {source}. `celld dev --clean` starts from an empty local state"
    )]
    Bucket {
        /// Its directory.
        path: PathBuf,
        /// What the bucket said.
        source: BucketError,
    },
    /// The port of the Worker listener is taken.
    #[error(
        "cannot listen on {address}: the port is in use. Stop what uses it, or choose another with --port"
    )]
    PortInUse {
        /// The address of the Worker listener.
        address: SocketAddr,
    },
    /// The Worker listener cannot be opened for another reason.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address of the Worker listener.
        address: SocketAddr,
        /// What the system said.
        source: io::Error,
    },
    /// A `--watch-ignore` pattern is not a glob.
    #[error("--watch-ignore {pattern:?} is not a glob: {source}")]
    IgnorePattern {
        /// As given.
        pattern: String,
        /// What is wrong with it.
        source: globset::Error,
    },
    /// The project cannot be watched at all.
    #[error("cannot watch {path} for changes: {source}. Use --no-watch to run without")]
    Watch {
        /// The project directory.
        path: PathBuf,
        /// What the system said.
        source: notify::Error,
    },
    /// The node process cannot be started.
    #[error("cannot start the node process {path}: {source}")]
    Spawn {
        /// The executable.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A build or a node start failed, and nothing will try again: with `--no-watch`, or because the command is wrong.
    #[error("{message}")]
    Once {
        /// The error as it would have been shown.
        message: String,
    },
    /// The console, the signal handlers or another basic facility failed.
    #[error("cannot {action}: {source}")]
    System {
        /// What was tried.
        action: &'static str,
        /// What the system said.
        source: io::Error,
    },
}

impl DevError {
    /// Whether the only trouble is that nobody reads stdout any more.
    pub fn is_closed_stdout(&self) -> bool {
        matches!(self, Self::System { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}
