//! Behind `celld dev`: a supervisor that builds a project and those of other Workers, keeps a node serving them, and follows every
//! saved change.
//!
//! Invariant: this crate runs no JavaScript and does not depend on the server. The node is another process of the
//! same executable (`protocol`), so a Worker that exhausts memory or crashes the engine leaves the supervisor, its
//! port and its console standing, and one kernel rule ends the node when the supervisor disappears.
//!
//! | module | what it does |
//! | --- | --- |
//! | `supervisor` | the loop: build, adopt, restart, stop |
//! | `build` | projects on disk -> deployment in the local bucket |
//! | `sources` | which projects a changed file belongs to |
//! | `layout` | `.celld/dev`: where it is, its lock, `--clean` |
//! | `watch`, `ignore`, `debounce` | which file events start a build, and when |
//! | `protocol`, `child`, `attached` | the two ends of the conversation with the node process |
//! | `adopt` | `POST /reload` |
//! | `holding` | answers on the public port while nothing else can |
//! | `console` | what the developer sees |

mod adopt;
mod attached;
mod build;
mod child;
mod console;
mod debounce;
mod error;
mod holding;
mod ignore;
mod layout;
mod protocol;
mod sources;
mod supervisor;
mod watch;

use std::net::IpAddr;
use std::path::PathBuf;

pub use attached::{AttachError, Attached};
pub use error::DevError;
pub use protocol::NodeParameters;
pub use supervisor::run;

/// The port of the Worker listener unless the developer names another.
pub const DEFAULT_PORT: u16 = 9876;

/// What `celld dev` was asked to do.
#[derive(Debug, Clone)]
pub struct DevOptions {
    /// The project that serves the requests and keeps the state: its directory or its Wrangler configuration file.
    pub project: PathBuf,
    /// The projects of the Workers that only bindings reach.
    pub others: Vec<PathBuf>,
    /// The Wrangler environment (`--env`).
    pub environment: Option<String>,
    /// The interface of the Worker listener. The internal listener stays on loopback whatever this is.
    pub host: IpAddr,
    /// The port of the Worker listener; 0 takes a free one.
    pub port: u16,
    /// Show the node's warnings and information too, not only its errors and the Worker's console.
    pub logs: bool,
    /// Delete `.celld/dev` first.
    pub clean: bool,
    /// `None`: build once (`--no-watch`).
    pub watch: Option<WatchOptions>,
    /// Let open pages load themselves again after a change.
    pub live_reload: bool,
    /// Colour on the console.
    pub colour: bool,
    /// The executable and the arguments that start the node process.
    pub node_command: (PathBuf, Vec<String>),
}

/// What the watcher leaves alone besides the directories that it always ignores.
#[derive(Debug, Clone, Default)]
pub struct WatchOptions {
    /// Project-relative globs (`--watch-ignore`).
    pub ignore: Vec<String>,
}
