//! Which projects a changed file belongs to.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use celld_project::{Built, Projects};

/// The files that each project is made from, in the order of the projects.
#[derive(Debug)]
pub(crate) struct Sources(Vec<ProjectSources>);

#[derive(Debug)]
struct ProjectSources {
    /// The project's directory.
    root: PathBuf,
    /// A build command runs first and writes into the project: only these directories and files are sources, or every build
    /// would start the next one. Otherwise any file in the project's directory is one.
    only: Option<Vec<PathBuf>>,
    /// What the last build has read, which may lie in another project.
    read: HashSet<PathBuf>,
}

impl Sources {
    /// Any file of the projects in these directories, whose paths are canonical.
    pub(crate) fn new(directories: &[PathBuf]) -> Self {
        let any = |root: &PathBuf| ProjectSources { root: root.clone(), only: None, read: HashSet::new() };
        Self(directories.iter().map(any).collect())
    }

    /// How many projects there are.
    pub(crate) fn count(&self) -> usize {
        self.0.len()
    }

    /// The projects, by their place, that a change of `path` changes. A file of a project inside of another one is not the
    /// outer one's, unless that has read it.
    pub(crate) fn changed_by(&self, path: &Path) -> impl Iterator<Item = usize> {
        let inside = self.0.iter().filter(|project| path.starts_with(&project.root));
        let nearest = inside.map(|project| project.root.components().count()).max();
        self.0.iter().enumerate().filter_map(move |(index, project)| {
            let is_source = match &project.only {
                Some(only) => only.iter().any(|root| path.starts_with(root)),
                None => {
                    let is_inside =
                        path.starts_with(&project.root) && nearest == Some(project.root.components().count());
                    is_inside || project.read.contains(path)
                }
            };
            is_source.then_some(index)
        })
    }

    /// Takes over what the configurations say.
    pub(crate) fn configure(&mut self, projects: &Projects) {
        for (sources, project) in self.0.iter_mut().zip(projects.iter()) {
            sources.only = project.config.build.as_ref().map(|build| {
                let mut only = build.watch_dirs.clone();
                only.push(project.config_file.clone());
                only.push(project.root.join("package.json"));
                // Whichever of them applies, and also when it does not exist yet.
                only.push(project.root.join(".dev.vars"));
                only.extend(project.dev_vars_file.clone());
                only.iter().map(|path| canonical(path)).collect()
            });
        }
    }

    /// Takes over what was read.
    pub(crate) fn learn(&mut self, built: &Built) {
        for (sources, worker) in self.0.iter_mut().zip(built.iter()) {
            sources.read = worker.bundle.inputs.iter().cloned().collect();
        }
    }
}

/// The path as the system's file events have it, also of a file that does not exist yet.
fn canonical(path: &Path) -> PathBuf {
    if let Ok(canonical) = path.canonicalize() {
        return canonical;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => canonical(parent).join(name),
        _ => path.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed(sources: &Sources, path: &str) -> Vec<usize> {
        sources.changed_by(Path::new(path)).collect()
    }

    #[test]
    fn the_output_of_a_build_command_is_no_source() {
        let mut sources = Sources::new(&["/p".into()]);
        assert_eq!(changed(&sources, "/p/dist/index.js"), [0]);
        sources.0[0].only = Some(vec!["/p/src".into(), "/p/wrangler.jsonc".into()]);
        sources.0[0].read.insert("/p/dist/index.js".into());
        assert_eq!(changed(&sources, "/p/src/a/b.ts"), [0]);
        assert_eq!(changed(&sources, "/p/wrangler.jsonc"), [0]);
        assert_eq!(changed(&sources, "/p/dist/index.js"), Vec::<usize>::new());
    }

    #[test]
    fn a_file_belongs_to_the_nearest_project_and_to_those_that_read_it() {
        let mut sources = Sources::new(&["/p".into(), "/p/auth".into(), "/q".into()]);
        assert_eq!(changed(&sources, "/p/src/a.ts"), [0]);
        assert_eq!(changed(&sources, "/p/auth/a.ts"), [1]);
        assert_eq!(changed(&sources, "/p/authors/a.ts"), [0]);
        assert_eq!(changed(&sources, "/elsewhere/a.ts"), Vec::<usize>::new());
        sources.0[2].read.insert("/p/auth/a.ts".into());
        assert_eq!(changed(&sources, "/p/auth/a.ts"), [1, 2]);
        // What the inner one's build command writes is nobody's source.
        sources.0[1].only = Some(vec!["/p/auth/src".into()]);
        assert_eq!(changed(&sources, "/p/auth/dist/a.ts"), Vec::<usize>::new());
        assert_eq!(changed(&sources, "/p/auth/src/a.ts"), [1]);
    }

    #[test]
    fn what_does_not_exist_yet_has_a_canonical_path() {
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().canonicalize().unwrap();
        std::fs::create_dir(real.join("a")).unwrap();
        assert_eq!(canonical(&directory.path().join("a/../b/.dev.vars")), real.join("b/.dev.vars"));
    }
}
