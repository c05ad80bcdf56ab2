//! A project on disk.

use std::path::{Component, Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::config::{self, Config, ConfigError, Diagnostic, Loaded, Mentions, Purpose};
use crate::dotenv::{self, DevVars};

/// A Wrangler project whose configuration was read and checked.
#[derive(Debug, Clone)]
pub struct Project {
    /// The directory of the configuration file, absolute.
    pub root: PathBuf,
    /// The configuration file, absolute.
    pub config_file: PathBuf,
    /// The `.dev.vars` file whose variables apply; only in development.
    pub dev_vars_file: Option<PathBuf>,
    /// What the file says.
    pub config: Config,
    /// What it was read for.
    pub purpose: Purpose,
    /// What the user should know and need not act on.
    pub notes: Vec<Diagnostic>,
    /// The names in the file that other projects have to do with.
    pub(crate) mentions: Mentions,
}

impl Project {
    /// Reads the project at `path`, a directory or a configuration file, with the environment `env`. Whether the other
    /// Workers that it names exist, [`Projects`](crate::Projects) checks.
    ///
    /// In [`Purpose::Dev`] the variables of `.dev.vars` (or `.dev.vars.ENV`) override those of the file.
    pub fn load(path: &Path, env: Option<&str>, purpose: Purpose) -> Result<Project, ConfigError> {
        let config_file = config::locate(path)?;
        let config_file = absolute(&config_file)
            .map_err(|source| ConfigError::Read { path: config_file.clone(), source })?;
        let root = config_file.parent().unwrap_or(Path::new("/")).to_owned();
        let Loaded { mut config, notes, mentions } = config::load(&config_file, env, purpose, &today())?;
        let mut dev_vars_file = None;
        if purpose == Purpose::Dev
            && let Some(DevVars { file, vars }) = dotenv::load(&root, env)?
        {
            config.vars.extend(vars.into_iter().map(|(name, value)| (name, value.into())));
            dev_vars_file = Some(file);
        }
        Ok(Project { root, config_file, dev_vars_file, config, purpose, notes, mentions })
    }
}

/// The absolute path, without `..` so that messages are short.
fn absolute(file: &Path) -> std::io::Result<PathBuf> {
    let absolute = std::path::absolute(file)?;
    match (absolute.parent(), absolute.file_name()) {
        (Some(parent), Some(name)) if absolute.components().any(|part| part == Component::ParentDir) => {
            Ok(parent.canonicalize()?.join(name))
        }
        _ => Ok(absolute),
    }
}

/// Today in UTC as `YYYY-MM-DD`.
fn today() -> String {
    let seconds = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let (year, month, day) = civil_date(seconds / 86_400);
    format!("{year:04}-{month:02}-{day:02}")
}

/// The proleptic Gregorian date of a day counted from 1970-01-01 (Howard Hinnant's `civil_from_days`).
pub(crate) fn civil_date(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let era = shifted / 146_097;
    let day_of_era = shifted % 146_097;
    let year_of_era = (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    (year_of_era + era * 400 + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::civil_date;

    #[test]
    fn days_become_dates() {
        assert_eq!(civil_date(0), (1970, 1, 1));
        assert_eq!(civil_date(19_782), (2024, 2, 29));
        assert_eq!(civil_date(20_787), (2026, 11, 30));
    }
}
