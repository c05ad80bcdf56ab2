//! Projects in temporary directories.

use std::fs;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

/// A project that is deleted with this value.
#[derive(Debug)]
pub struct Project {
    directory: TempDir,
}

impl Project {
    /// A project of these files.
    ///
    /// # Panics
    /// When a file cannot be written, as in all of this module.
    pub fn new(files: &[(&str, &str)]) -> Project {
        let project = Project { directory: tempfile::tempdir().expect("a temporary directory") };
        for (file, content) in files {
            project.write(file, content);
        }
        project
    }

    /// The same in memory, where the system has a place for that: for tests that flush a disk often and prove nothing about it.
    pub fn in_memory(files: &[(&str, &str)]) -> Project {
        let Ok(directory) = tempfile::tempdir_in("/dev/shm") else { return Project::new(files) };
        let project = Project { directory };
        for (file, content) in files {
            project.write(file, content);
        }
        project
    }

    /// A project of one JavaScript module.
    pub fn worker(source: &str) -> Project {
        let config = r#"{ "name": "test", "main": "src/index.js", "compatibility_date": "2026-01-01" }"#;
        Project::new(&[("wrangler.jsonc", config), ("src/index.js", source)])
    }

    /// A Worker that answers everything with `text`.
    pub fn text(text: &str) -> Project {
        Project::worker(&answering(text))
    }

    /// A copy of one of the repository's examples, with its installed packages.
    pub fn example(name: &str) -> Project {
        let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
        let project = Project::new(&[]);
        copy(&examples.join(name), project.path());
        project
    }

    /// Its directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// A file of it.
    pub fn file(&self, file: &str) -> PathBuf {
        self.path().join(file)
    }

    /// Writes a file as editors do: beside it first, then renamed into place.
    pub fn write(&self, file: &str, content: &str) {
        let path = self.file(file);
        fs::create_dir_all(path.parent().expect("files are below the project")).expect("a directory");
        let new = path.with_extension("new~");
        fs::write(&new, content).expect("a file");
        fs::rename(&new, &path).expect("a renamed file");
    }

    /// Reads a file.
    pub fn read(&self, file: &str) -> String {
        fs::read_to_string(self.file(file)).expect("a file")
    }

    /// Replaces `from`, which must be there, with `to`.
    pub fn replace(&self, file: &str, from: &str, to: &str) {
        let content = self.read(file);
        assert!(content.contains(from), "{file} does not contain {from:?}");
        self.write(file, &content.replace(from, to));
    }
}

/// The source of a Worker that answers everything with `text`.
pub(crate) fn answering(text: &str) -> String {
    format!("export default {{ fetch() {{ return new Response({text:?}); }} }};\n")
}

/// Installed packages are linked, everything else is copied.
fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).unwrap_or_else(|error| panic!("{}: {error}", from.display())) {
        let entry = entry.expect("a directory entry");
        let target = to.join(entry.file_name());
        if entry.file_name() == "node_modules" {
            std::os::unix::fs::symlink(entry.path(), target).expect("a link");
        } else if entry.file_name() == ".celld" {
            // The state of somebody who tried the example.
        } else if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::copy(entry.path(), target).expect("a copied file");
        }
    }
}
