//! The server of one node: listeners, routing, deployment adoption; executes what `celld-fleet` decides.
//!
//! Invariant: reads no environment variable and no command line; [`NodeConfig`] says everything.

pub mod config;
pub mod live_reload;

pub use config::{Adoption, CONSOLE_TARGET, Limits, Listener, NodeConfig, NodeReady, Shutdown, VarOverrides};
