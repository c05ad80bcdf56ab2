//! A Wrangler configuration: `wrangler.jsonc`, `wrangler.json` or `wrangler.toml`.
//!
//! Everything that is wrong is reported at once, each with file, line, column and the path of the key. A key
//! that this release does not provide is an error, because a Worker that silently lacks a binding fails later
//! and far away; a key that cannot change what the Worker does is accepted with a note; any other key is
//! unknown and an error.

mod environment;
mod error;
mod keys;
mod mentions;
mod read;
mod reader;
mod rules;
mod sections;
mod source;
mod tree;

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

pub use error::ConfigError;
pub(crate) use keys::nearest;
pub(crate) use mentions::{Borrowed, Mentions, Place};
pub use rules::{Rule, RuleKind, Rules};
pub use source::Diagnostic;

use source::Source;

/// What the project is read for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// `celld dev`: `.dev.vars` applies, `name` and `compatibility_date` have defaults.
    Dev,
    /// `celld deploy`: only the configuration file counts and both are required.
    Deploy,
}

/// A checked configuration, with the chosen environment applied. Paths are absolute.
#[derive(Debug, Clone)]
pub struct Config {
    /// The script's name: `name`, or `name-ENV` in an environment without a name of its own.
    pub name: String,
    /// The entry point.
    pub main: PathBuf,
    /// `YYYY-MM-DD`.
    pub compatibility_date: String,
    /// As written, in order.
    pub compatibility_flags: Vec<String>,
    /// `durable_objects.bindings`.
    pub durable_objects: Vec<DurableObjectBinding>,
    /// `services`.
    pub services: Vec<ServiceBinding>,
    /// `limits.cpu_ms`: milliseconds of processor time that an event may use.
    pub cpu_ms: Option<u64>,
    /// In the order they apply.
    pub migrations: Vec<Migration>,
    /// `vars`: a string is a text variable, any other value a JSON variable.
    pub vars: IndexMap<String, serde_json::Value>,
    /// Which imported files become modules of which kind.
    pub rules: Rules,
    /// Identifier to JavaScript expression, replaced when bundling.
    pub define: IndexMap<String, String>,
    /// Module specifier to module specifier or path.
    pub alias: IndexMap<String, String>,
    /// Whether the bundle is minified.
    pub minify: bool,
    /// Whether functions keep their `name` when the bundler renames them; on unless turned off.
    pub keep_names: bool,
    /// Upload `main` as it stands, with the modules that the rules find beside it.
    pub no_bundle: bool,
    /// The directory in which `no_bundle` looks for modules: `base_dir`, or the directory of `main`.
    pub module_root: PathBuf,
    /// A command of the user's that runs before bundling.
    pub build: Option<CustomBuild>,
    /// Overrides the `tsconfig.json` that the bundler finds.
    pub tsconfig: Option<PathBuf>,
    /// The function that JSX elements compile to.
    pub jsx_factory: Option<String>,
    /// The value that JSX fragments compile to.
    pub jsx_fragment: Option<String>,
}

impl Config {
    /// Whether `flag` is among the compatibility flags.
    pub fn has_flag(&self, flag: &str) -> bool {
        self.compatibility_flags.iter().any(|set| set == flag)
    }
}

/// A Durable Object namespace in `env`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DurableObjectBinding {
    /// The property of `env`.
    pub name: String,
    /// The class that the Worker's entry point exports.
    pub class: String,
    /// `script_name`: the Worker that exports the class; `None` when it is this one.
    pub script: Option<String>,
}

/// An entrypoint of a Worker in `env`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceBinding {
    /// The property of `env`.
    pub name: String,
    /// The Worker; `None` when it is this one.
    pub service: Option<String>,
    /// The exported class, or `default`.
    pub entrypoint: String,
    /// `ctx.props` of the entrypoint: an object.
    pub props: serde_json::Value,
}

/// A step in the history of the Durable Object classes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Migration {
    /// Unique among the migrations.
    pub tag: String,
    /// Classes that exist from here on (`new_sqlite_classes` and `new_classes`).
    pub new_classes: Vec<String>,
}

/// `build`: a command that produces `main`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CustomBuild {
    /// Run by `sh -c`.
    pub command: String,
    /// Where it runs; the project directory unless configured.
    pub cwd: PathBuf,
    /// Where its sources are; `src` unless configured.
    pub watch_dirs: Vec<PathBuf>,
}

/// The names a configuration file can have, in the order they are looked for.
pub const FILE_NAMES: [&str; 3] = ["wrangler.json", "wrangler.jsonc", "wrangler.toml"];

/// The configuration file that `path` means: itself, or the first of [`FILE_NAMES`] in that directory.
pub fn locate(path: &Path) -> Result<PathBuf, ConfigError> {
    let metadata =
        std::fs::metadata(path).map_err(|source| ConfigError::Read { path: path.to_owned(), source })?;
    if !metadata.is_dir() {
        return Ok(path.to_owned());
    }
    FILE_NAMES
        .iter()
        .map(|name| path.join(name))
        .find(|candidate| candidate.is_file())
        .ok_or_else(|| ConfigError::NotFound { directory: path.to_owned() })
}

/// What a configuration file says.
pub(crate) struct Loaded {
    pub config: Config,
    pub notes: Vec<Diagnostic>,
    pub mentions: Mentions,
}

/// Reads the configuration file `file` with the environment `env`.
///
/// `today` (`YYYY-MM-DD`) stands in for a missing compatibility date in [`Purpose::Dev`].
pub(crate) fn load(
    file: &Path,
    env: Option<&str>,
    purpose: Purpose,
    today: &str,
) -> Result<Loaded, ConfigError> {
    let text = std::fs::read_to_string(file)
        .map_err(|source| ConfigError::Read { path: file.to_owned(), source })?;
    let source = Source::new(file.to_owned(), text);
    let tree = match file.extension().and_then(|extension| extension.to_str()) {
        Some("toml") => tree::parse_toml(&source),
        Some("json" | "jsonc") => tree::parse_json(&source),
        _ => return Err(ConfigError::UnknownFormat { path: file.to_owned() }),
    }
    .map_err(|diagnostic| ConfigError::Syntax(*diagnostic))?;
    read::read(&source, &tree, env, purpose, today)
}
