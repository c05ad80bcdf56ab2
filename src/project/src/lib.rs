//! A Wrangler project: its configuration, its bundle made with esbuild, and its deployment in a bucket.
//!
//! [`Project::load`] reads and checks the configuration, [`bundle`](fn@bundle) builds the modules, [`deploy`](fn@deploy)
//! writes them to a bucket, and [`load_current`] gives a node verified modules back.
//!
//! Invariants: this crate runs no JavaScript and starts no Node.js; what it cannot honour it refuses by name;
//! module bytes are used only after their SHA-256 digest was checked.

mod bundle;
mod config;
mod deploy;
mod dotenv;
mod manifest;
mod project;
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
pub use manifest::{DurableObject, Manifest, ManifestError, MigrationEntry, ModuleEntry, Service, VERSION};
pub use project::Project;
pub use prune::prune;
