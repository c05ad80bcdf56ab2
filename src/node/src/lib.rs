//! The server of one node: listeners, routing, deployment adoption; executes what `celld-fleet` decides.
//!
//! Invariant: reads no environment variable and no command line; [`NodeConfig`] says everything.

mod alarms;
pub mod config;
mod console;
mod deployments;
mod durable;
mod host;
mod internal;
mod lease;
pub mod live_reload;
mod past;
mod public;
mod run;
mod seals;
mod stop;

pub use config::{
    Adoption, CONSOLE_TARGET, Limits, Listener, NodeConfig, NodeReady, RestoreOptions, Shutdown, VarOverrides,
};
pub use deployments::ReloadError;
pub use internal::ReloadAnswer;
pub use lease::LeaseError;
pub use run::{NodeError, run};
