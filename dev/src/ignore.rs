//! Which paths below the project never start a build.

use std::path::{Component, Path};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::DevError;

/// Directories that hold no source, at every depth.
const DIRECTORIES: [&str; 5] = [".celld", ".git", ".wrangler", "node_modules", "target"];

/// Whether a path is a directory, as far as a file event tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PathKind {
    Directory,
    FileOrUnknown,
}

/// The ignore rules of one run.
#[derive(Debug)]
pub(crate) struct IgnoreRules {
    globs: GlobSet,
}

impl IgnoreRules {
    /// The fixed directories, and project-relative globs: `*` stays within one path segment, `**` crosses them, and a
    /// glob that matches a directory covers everything below it.
    ///
    /// # Errors
    /// [`DevError::IgnorePattern`] names the pattern that is not a glob.
    pub(crate) fn new(patterns: &[String]) -> Result<Self, DevError> {
        let mut globs = GlobSetBuilder::new();
        for pattern in patterns {
            let named = |source| DevError::IgnorePattern { pattern: pattern.clone(), source };
            let relative = pattern.strip_prefix("./").unwrap_or(pattern);
            let relative = relative.strip_suffix('/').unwrap_or(relative);
            globs.add(GlobBuilder::new(relative).literal_separator(true).build().map_err(named)?);
        }
        let named = |source| DevError::IgnorePattern { pattern: patterns.join(" "), source };
        Ok(Self { globs: globs.build().map_err(named)? })
    }

    /// Whether a change of `path`, relative to the project directory, is ignored.
    pub(crate) fn covers(&self, path: &Path, kind: PathKind) -> bool {
        let last = path.components().count().saturating_sub(1);
        let in_fixed_directory = path.components().enumerate().any(|(depth, component)| {
            let is_directory = depth < last || kind == PathKind::Directory;
            matches!(component, Component::Normal(name) if is_directory && DIRECTORIES.iter().any(|d| name == *d))
        });
        let matches_glob = || path.ancestors().any(|part| part != Path::new("") && self.globs.is_match(part));
        in_fixed_directory || matches_glob()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn covers(rules: &IgnoreRules, path: &str) -> bool {
        rules.covers(Path::new(path), PathKind::FileOrUnknown)
    }

    #[test]
    fn fixed_directories_are_ignored_at_every_depth_but_not_files_of_that_name() {
        let rules = IgnoreRules::new(&[]).unwrap();
        for path in [".celld/dev/lock", ".git/index", "a/b/node_modules/x/i.js", "a/target/y", ".wrangler/t"]
        {
            assert!(covers(&rules, path), "{path}");
        }
        for path in ["src/index.ts", "targets/a", "src/target", ".dev.vars", "wrangler.jsonc", ".github/a"] {
            assert!(!covers(&rules, path), "{path}");
        }
        assert!(rules.covers(Path::new("crate/target"), PathKind::Directory));
    }

    #[test]
    fn globs_are_relative_to_the_project_and_cover_whole_directories() {
        let patterns = ["dist", "*.log", "**/*.snap", "./gen/*.ts"].map(String::from);
        let rules = IgnoreRules::new(&patterns).unwrap();
        for path in ["dist/a/b.js", "dist", "out.log", "a/b/c.snap", "c.snap", "gen/a.ts"] {
            assert!(covers(&rules, path), "{path}");
        }
        for path in ["src/dist/a.js", "a/out.log", "gen/deep/a.ts", "distance/a"] {
            assert!(!covers(&rules, path), "{path}");
        }
    }

    #[test]
    fn a_pattern_that_is_no_glob_is_named() {
        let error = IgnoreRules::new(&["ok".into(), "a[".into()]).unwrap_err().to_string();
        assert!(error.contains("\"a[\""), "{error}");
    }
}
