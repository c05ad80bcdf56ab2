//! The one loader of settings: command line, then environment, then default.
//!
//! `table` says what exists; this file resolves and checks it; `node` and `bucket` turn it into what the crates take;
//! `help` writes it down for people. Nothing else of the product reads a `CELLD_*` variable, except for `CELLD_ESBUILD`, which belongs to the search for esbuild.

mod bucket;
mod help;
mod node;
mod table;
mod value;

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::PathBuf;

use celld_ids::NodeId;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Command};

pub(crate) use help::{environment_help, markdown};
use table::{Kind, SETTINGS, Scope, Setting, Status};
use value::Value;

/// Variables that override Worker variables start with this.
const VAR_PREFIX: &str = "CELLD_VAR_";

/// Why the settings cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingError {
    /// A value that is not of its kind or outside of its bounds.
    #[error("{source_name} is {value:?}, but must be {allowed}")]
    Invalid { source_name: String, value: String, allowed: String },
    /// A variable whose value is not text.
    #[error("{name} is not valid UTF-8")]
    NotText { name: String },
    /// A setting of a later release.
    #[error("{name} is not available in this release: unset it ({doc})")]
    NotAvailable { name: &'static str, doc: &'static str },
    /// A setting that must be set.
    #[error("no bucket: give --bucket URL or set CELLD_BUCKET (s3://NAME, gs://NAME or az://NAME)")]
    NoBucket,
    /// Two settings that exclude each other, or one that needs another.
    #[error("{0}")]
    Conflict(String),
}

/// The options and the environment, checked. Defaults are applied by the typed getters of `node` and `bucket`.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Settings {
    /// By [`Setting::name`].
    values: HashMap<&'static str, Value>,
    /// Worker variables, without the prefix.
    vars: BTreeMap<String, String>,
    /// What to tell the operator.
    pub(crate) warnings: Vec<String>,
}

/// Adds the options of `scope` to a command.
pub(crate) fn add_options(mut command: Command, scopes: &[Scope]) -> Command {
    for setting in SETTINGS {
        let Some(flag) = setting.flag.as_ref().filter(|flag| scopes.contains(&flag.scope)) else { continue };
        let help =
            format!("{} [env: {}] [default: {}]", setting.doc, setting.variables.join(", "), setting.default);
        command = command.arg(Arg::new(setting.name()).long(flag.long).value_name(flag.value).help(help));
    }
    command
}

/// The options of commands that only need the bucket.
pub(crate) const BUCKET_OPTIONS: &[Scope] = &[Scope::Bucket];
/// The options of the node.
pub(crate) const NODE_OPTIONS: &[Scope] = &[Scope::Bucket, Scope::Node];

impl Settings {
    /// Reads the options of `matches` and the process environment.
    ///
    /// # Errors
    /// The first invalid, unknown or unavailable setting.
    pub(crate) fn load(matches: &ArgMatches) -> Result<Settings, SettingError> {
        let mut options = HashMap::new();
        for setting in SETTINGS.iter().filter(|setting| setting.flag.is_some()) {
            let given = matches.try_contains_id(setting.name()).unwrap_or(false)
                && matches.value_source(setting.name()) == Some(ValueSource::CommandLine);
            if given && let Some(value) = matches.get_one::<String>(setting.name()) {
                options.insert(setting.name(), value.clone());
            }
        }
        let mut environment = Vec::new();
        for (name, value) in std::env::vars_os() {
            let Ok(name) = name.into_string() else { continue };
            if name.starts_with("CELLD_") || find(&name).is_some() {
                let value = value.into_string().map_err(|_| SettingError::NotText { name: name.clone() })?;
                environment.push((name, value));
            }
        }
        Settings::resolve(&options, &environment)
    }

    /// The pure part of [`Settings::load`].
    fn resolve(
        options: &HashMap<&'static str, String>,
        environment: &[(String, String)],
    ) -> Result<Settings, SettingError> {
        let mut settings = Settings::default();
        let environment: BTreeMap<&str, &str> =
            environment.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        for (name, value) in &environment {
            if let Some(variable) = name.strip_prefix(VAR_PREFIX) {
                settings.vars.insert(variable.to_owned(), (*value).to_owned());
            } else if find(name).is_none() && name.starts_with("CELLD_") {
                // It may belong to another release on the same machine, so it stops nothing.
                settings
                    .warnings
                    .push(format!("{name} is not a setting of this release; `celld --help` lists them"));
            }
        }
        for setting in SETTINGS {
            let option = options.get(setting.name()).zip(setting.flag.as_ref());
            let given = match option {
                Some((value, flag)) => Some((format!("--{}", flag.long), value.as_str())),
                None => setting
                    .variables
                    .iter()
                    .find_map(|name| environment.get(name).map(|value| ((*name).to_owned(), *value))),
            };
            if let Some((source_name, text)) = given {
                settings.set(setting, source_name, text)?;
            }
        }
        Ok(settings)
    }

    fn set(
        &mut self,
        setting: &'static Setting,
        source_name: String,
        text: &str,
    ) -> Result<(), SettingError> {
        if setting.kind == Kind::External {
            return Ok(());
        }
        let invalid = || SettingError::Invalid {
            source_name,
            value: text.to_owned(),
            allowed: setting.kind.to_string(),
        };
        let value = value::parse(setting.kind, text).ok_or_else(invalid)?;
        match setting.status {
            Status::Works => {
                self.values.insert(setting.name(), value);
            }
            Status::Planned => {
                return Err(SettingError::NotAvailable { name: setting.name(), doc: setting.doc });
            }
            Status::PlannedTuning => {
                self.warnings.push(format!("{} has no effect in this release", setting.name()));
            }
        }
        Ok(())
    }

    fn boolean(&self, name: &'static str) -> Option<bool> {
        match self.values.get(name) {
            Some(Value::Boolean(value)) => Some(*value),
            _ => None,
        }
    }

    fn integer(&self, name: &'static str) -> Option<u64> {
        match self.values.get(name) {
            Some(Value::Integer(value)) => Some(*value),
            _ => None,
        }
    }

    fn address(&self, name: &'static str) -> Option<SocketAddr> {
        match self.values.get(name) {
            Some(Value::Address(value)) => Some(*value),
            _ => None,
        }
    }

    fn node_id(&self, name: &'static str) -> Option<NodeId> {
        match self.values.get(name) {
            Some(Value::Node(value)) => Some(value.clone()),
            _ => None,
        }
    }

    fn path(&self, name: &'static str) -> Option<PathBuf> {
        match self.values.get(name) {
            Some(Value::Path(value)) => Some(value.clone()),
            _ => None,
        }
    }

    fn text(&self, name: &'static str) -> Option<&str> {
        match self.values.get(name) {
            Some(Value::Text(value)) => Some(value),
            _ => None,
        }
    }
}

/// The setting that a variable belongs to.
fn find(name: &str) -> Option<&'static Setting> {
    SETTINGS.iter().find(|setting| {
        setting.variables.iter().any(|variable| match variable.strip_suffix('*') {
            Some(prefix) => name.strip_prefix(prefix).is_some_and(|rest| !rest.is_empty()),
            None => *variable == name,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) fn settings(
        options: &[(&'static str, &str)],
        environment: &[(&str, &str)],
    ) -> Result<Settings, SettingError> {
        let options = options.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let environment: Vec<_> =
            environment.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Settings::resolve(&options, &environment)
    }

    #[test]
    fn the_command_line_wins_over_the_environment_and_the_first_variable_over_the_second() {
        let settings = settings(
            &[("CELLD_BUCKET", "s3://option")],
            &[("CELLD_BUCKET", "s3://variable"), ("AWS_DEFAULT_REGION", "second"), ("AWS_REGION", "first")],
        )
        .unwrap();
        assert_eq!(settings.text("CELLD_BUCKET"), Some("s3://option"));
        assert_eq!(settings.text("AWS_REGION"), Some("first"));
        assert_eq!(settings.text("S3_ENDPOINT"), None);
    }

    #[test]
    fn an_invalid_value_names_its_source_the_value_and_what_is_allowed() {
        let error = settings(&[], &[("CELLD_MAX_CELL_REQUESTS", "0")]).unwrap_err().to_string();
        assert_eq!(
            error,
            "CELLD_MAX_CELL_REQUESTS is \"0\", but must be a whole number of requests from 1 to 1000000"
        );
        let error = settings(&[("CELLD_ADDR", "nowhere")], &[]).unwrap_err().to_string();
        assert_eq!(error, "--listen is \"nowhere\", but must be IP:PORT, such as 127.0.0.1:8080");
        let error = settings(&[], &[("CELLD_UNSAFE_PUBLIC_ADVERTISE", "true")]).unwrap_err().to_string();
        assert_eq!(error, "CELLD_UNSAFE_PUBLIC_ADVERTISE is \"true\", but must be 0 or 1");
        let error = settings(&[], &[("CELLD_NODE", "..")]).unwrap_err().to_string();
        assert!(error.contains("CELLD_NODE") && error.contains("\"..\""), "{error}");
    }

    #[test]
    fn what_this_release_lacks_is_an_error_or_a_warning_but_never_silence() {
        let error = settings(&[], &[("CELLD_MAX_RSS_MB", "60")]).unwrap_err().to_string();
        assert!(error.contains("CELLD_MAX_RSS_MB is not available in this release"), "{error}");
        let warnings = settings(&[], &[("CELLD_LOG_PIPELINE", "8"), ("CELLD_TYPO", "1")]).unwrap().warnings;
        assert!(warnings.iter().any(|warning| warning.contains("CELLD_LOG_PIPELINE")), "{warnings:?}");
        assert!(warnings.iter().any(|warning| warning.contains("CELLD_TYPO")), "{warnings:?}");
        // The value is checked all the same: a later release would refuse it.
        assert!(settings(&[], &[("CELLD_LOG_PIPELINE", "many")]).is_err());
    }

    #[test]
    fn worker_variables_lose_their_prefix_and_are_no_settings() {
        let settings = settings(&[], &[("CELLD_VAR_GREETING", "hello")]).unwrap();
        assert_eq!(settings.vars, BTreeMap::from([("GREETING".to_owned(), "hello".to_owned())]));
        assert_eq!(settings.warnings, Vec::<String>::new());
    }
}
