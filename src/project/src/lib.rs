//! Wrangler projects: their configuration, their bundles made with esbuild, and their deployment in a bucket.
//!
//! [`Projects::load`] reads and checks the configurations of a deployment's Workers, [`Projects::build`] builds their modules,
//! [`deploy`](fn@deploy) writes them to a bucket, and [`load_current`] gives a node verified modules back.
//!
//! Invariants: this crate runs no JavaScript and starts no Node.js; what it cannot honour it refuses by name;
//! module bytes are used only after their SHA-256 digest was checked.

mod bundle;
mod config;
mod deploy;
mod dotenv;
mod manifest;
mod project;
mod projects;
mod prune;
pub mod templates;

pub use bundle::{Bundle, BundleError, BundleOptions, Esbuild, Module, ModuleKind, bundle, find_esbuild};
pub use config::{
    Config, ConfigError, CustomBuild, Diagnostic, DurableObjectBinding, FILE_NAMES, Migration, Purpose, Rule,
    RuleKind, Rules, ServiceBinding, locate,
};
pub use deploy::{
    CURRENT_KEY, DeployError, Deployed, LoadError, LoadedDeployment, Pointer, current, deploy, deploy_at,
    load, load_current,
};
pub use dotenv::{DotenvError, read_dotenv};
pub use manifest::{
    DurableObject, Manifest, ManifestError, MigrationEntry, ModuleEntry, Service, VERSION, Worker,
};
pub use project::Project;
pub use projects::{Built, BuiltWorker, Projects};
pub use prune::prune;
