//! Drives the `celld` executable from outside, as a person at a terminal does: projects in temporary directories, the
//! commands, their output, HTTP.
//!
//! Invariant: knows nothing of the crates behind the executable.

mod crash;
mod dev;
mod executable;
mod http;
mod mount;
mod project;
mod proxy;
mod store;
mod wait;

pub use crash::{CrashOptions, CrashReport, crash};
pub use dev::Dev;
pub use executable::{celld, executable};
pub use http::{Events, Response, get, post, request};
pub use mount::Mount;
pub use project::Project;
pub use proxy::Proxy;
pub use store::s3_store;
pub use wait::{PATIENCE, eventually};
