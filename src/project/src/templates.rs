//! The projects that `celld init` writes, embedded in the binary.
//!
//! They live in `templates/` at the top of the repository as plain Wrangler projects, with `__NAME__` where the
//! project's name goes and `gitignore` for `.gitignore` (which would apply to the repository itself).

use std::io::Write as _;
use std::path::{Path, PathBuf};

/// A project to start from.
#[derive(Debug, Clone, Copy)]
pub struct Template {
    /// What `celld init --template` calls it.
    pub name: &'static str,
    /// One line about it.
    pub description: &'static str,
    /// Path below the project and content.
    files: &'static [(&'static str, &'static str)],
}

macro_rules! files {
    ($template:literal: $($source:literal => $target:literal),+ $(,)?) => {
        &[$(($target, include_str!(concat!("../../../templates/", $template, "/", $source)))),+]
    };
}

/// All templates; the first is the default.
pub const ALL: &[Template] = &[
    Template {
        name: "hello",
        description: "a Worker with an HTML page",
        files: files!("hello":
            "wrangler.jsonc" => "wrangler.jsonc",
            "package.json" => "package.json",
            "tsconfig.json" => "tsconfig.json",
            "gitignore" => ".gitignore",
            "src/index.ts" => "src/index.ts",
            "src/modules.d.ts" => "src/modules.d.ts",
            "src/page.html" => "src/page.html",
        ),
    },
    Template {
        name: "counter",
        description: "a Worker with a Durable Object that counts",
        files: files!("counter":
            "wrangler.jsonc" => "wrangler.jsonc",
            "package.json" => "package.json",
            "tsconfig.json" => "tsconfig.json",
            "gitignore" => ".gitignore",
            "src/index.ts" => "src/index.ts",
            "src/modules.d.ts" => "src/modules.d.ts",
            "src/page.html" => "src/page.html",
        ),
    },
];

/// Why a template was not written.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// Files that are there already; nothing was written.
    #[error("{} already has {}: celld init overwrites nothing", directory.display(), files.join(", "))]
    Exists {
        /// The directory.
        directory: PathBuf,
        /// The files, relative to it.
        files: Vec<&'static str>,
    },
    /// The file system refused.
    #[error("cannot create {}: {source}", path.display())]
    Io {
        /// What was being created.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// The template of that name.
pub fn find(name: &str) -> Option<&'static Template> {
    ALL.iter().find(|template| template.name == name)
}

impl Template {
    /// Writes the project into `directory`, which is made when it does not exist, and returns the written files
    /// relative to it. The project is called after the directory. Refuses, before it writes anything, when one of
    /// its files exists.
    pub fn write(&self, directory: &Path) -> Result<Vec<&'static str>, TemplateError> {
        let taken = |file: &&str| directory.join(file).symlink_metadata().is_ok();
        let files: Vec<&'static str> = self.files.iter().map(|(file, _)| *file).filter(taken).collect();
        if !files.is_empty() {
            return Err(TemplateError::Exists { directory: directory.to_owned(), files });
        }
        let name = project_name(directory);
        for (file, content) in self.files {
            let path = directory.join(file);
            let io = |source| TemplateError::Io { path: path.clone(), source };
            if let Some(parent) = path.parent() {
                std::fs::create_dir_all(parent).map_err(io)?;
            }
            // `create_new` so that a file that appeared meanwhile is not overwritten either.
            let mut target = std::fs::File::create_new(&path).map_err(io)?;
            target.write_all(content.replace("__NAME__", &name).as_bytes()).map_err(io)?;
        }
        Ok(self.files.iter().map(|(file, _)| *file).collect())
    }
}

/// The directory's name as the name of a script: lower-case letters, digits and dashes; at most 63 of them.
fn project_name(directory: &Path) -> String {
    let absolute = std::path::absolute(directory).unwrap_or_else(|_| directory.to_owned());
    let name = absolute.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let mut clean = String::new();
    for c in name.chars() {
        if c.is_ascii_alphanumeric() {
            clean.push(c);
        } else if !clean.is_empty() && !clean.ends_with('-') {
            clean.push('-');
        }
    }
    clean.truncate(63);
    let clean = clean.trim_end_matches('-');
    if clean.is_empty() { "worker".to_owned() } else { clean.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Project, Purpose};

    #[test]
    fn every_template_is_a_project_that_can_be_deployed() {
        for template in ALL {
            let parent = tempfile::tempdir().unwrap();
            let directory = parent.path().join("My first_project!");
            let written = template.write(&directory).unwrap();
            assert!(written.contains(&".gitignore"));
            let project = Project::load(&directory, None, Purpose::Deploy).unwrap();
            assert_eq!(project.config.name, "my-first-project");
            assert!(project.notes.is_empty(), "{:?}", project.notes);
        }
    }

    #[test]
    fn every_file_of_a_template_is_embedded() {
        let templates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../templates");
        for template in ALL {
            let mut count = 0;
            let mut directories = vec![templates.join(template.name)];
            while let Some(directory) = directories.pop() {
                for entry in std::fs::read_dir(directory).unwrap() {
                    let path = entry.unwrap().path();
                    if path.is_dir() {
                        directories.push(path);
                    } else {
                        count += 1;
                    }
                }
            }
            assert_eq!(count, template.files.len(), "{}", template.name);
        }
    }

    #[test]
    fn nothing_is_overwritten() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("package.json"), "mine").unwrap();
        let error = ALL[0].write(directory.path()).unwrap_err();
        assert!(
            error.to_string().ends_with("already has package.json: celld init overwrites nothing"),
            "{error}"
        );
        assert_eq!(std::fs::read_dir(directory.path()).unwrap().count(), 1);
    }

    #[test]
    fn names_are_made_valid() {
        assert_eq!(project_name(Path::new("/a/Über_Café 2")), "ber-caf-2");
        assert_eq!(project_name(Path::new("/a/...")), "worker");
        assert_eq!(project_name(Path::new("/")), "worker");
    }
}
