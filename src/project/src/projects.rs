//! The projects of one deployment: the Worker that serves the requests, and others that bindings reach.

use std::path::{Path, PathBuf};

use crate::bundle::{Bundle, BundleError, BundleOptions, bundle};
use crate::config::{self, ConfigError, Diagnostic, Place, Purpose, nearest};
use crate::project::Project;

/// The projects of one deployment, whose references to each other were checked.
#[derive(Debug, Clone)]
pub struct Projects {
    /// The Worker that serves the requests.
    pub primary: Project,
    /// The Workers that only bindings reach, in the order given.
    pub others: Vec<Project>,
}

/// What a deployment is made from.
#[derive(Debug, Clone)]
pub struct Built {
    /// The Worker that serves the requests.
    pub primary: BuiltWorker,
    /// The Workers that only bindings reach, in the order given.
    pub others: Vec<BuiltWorker>,
}

/// A project and its bundle.
#[derive(Debug, Clone)]
pub struct BuiltWorker {
    /// What the configuration says.
    pub project: Project,
    /// The modules.
    pub bundle: Bundle,
}

impl Projects {
    /// Reads the projects at these paths, each as [`Project::load`] does.
    pub fn load(
        primary: &Path,
        others: &[PathBuf],
        env: Option<&str>,
        purpose: Purpose,
    ) -> Result<Projects, ConfigError> {
        let paths: Vec<&Path> = std::iter::once(primary).chain(others.iter().map(PathBuf::as_path)).collect();
        check_files(&paths)?;
        let mut projects = Vec::new();
        let mut errors = Vec::new();
        for path in &paths {
            match Project::load(path, env, purpose) {
                Ok(project) => projects.push(project),
                Err(ConfigError::Invalid(found)) => errors.extend(found),
                Err(error) => return Err(error),
            }
        }
        if errors.is_empty() {
            check_names(&projects, &mut errors);
            check_classes(&projects, &mut errors);
            check_references(&projects, env, &command(&paths, purpose), &mut errors);
        }
        let mut projects = projects.into_iter();
        match projects.next() {
            Some(primary) if errors.is_empty() => Ok(Projects { primary, others: projects.collect() }),
            _ => Err(ConfigError::Invalid(errors)),
        }
    }

    /// All projects, the primary one first.
    pub fn iter(&self) -> impl Iterator<Item = &Project> {
        std::iter::once(&self.primary).chain(&self.others)
    }

    /// Builds all projects.
    pub async fn build(self, options: &BundleOptions) -> Result<Built, BundleError> {
        self.build_missing(&mut Vec::new(), options).await
    }

    /// Builds those projects of which `kept` has no bundle at their place in [`Projects::iter`], and keeps what it has built
    /// there, also when a later one fails. One after the other: their build commands may work on the same files.
    pub async fn build_missing(
        self,
        kept: &mut Vec<Option<Bundle>>,
        options: &BundleOptions,
    ) -> Result<Built, BundleError> {
        let several = !self.others.is_empty();
        kept.resize(1 + self.others.len(), None);
        let primary = build(self.primary, &mut kept[0], several, options).await?;
        let mut others = Vec::with_capacity(self.others.len());
        for (project, kept) in self.others.into_iter().zip(&mut kept[1..]) {
            others.push(build(project, kept, several, options).await?);
        }
        Ok(Built { primary, others })
    }
}

/// Builds one project unless it is built. Where there are `several`, an error names it.
async fn build(
    project: Project,
    kept: &mut Option<Bundle>,
    several: bool,
    options: &BundleOptions,
) -> Result<BuiltWorker, BundleError> {
    let bundle = match kept {
        Some(bundle) => bundle.clone(),
        None => {
            let built = bundle(&project, options).await.map_err(|source| match several {
                true => {
                    BundleError::OfProject { file: project.config_file.clone(), source: Box::new(source) }
                }
                false => source,
            })?;
            kept.insert(built).clone()
        }
    };
    Ok(BuiltWorker { project, bundle })
}

impl Built {
    /// All Workers, the primary one first.
    pub fn iter(&self) -> impl Iterator<Item = &BuiltWorker> {
        std::iter::once(&self.primary).chain(&self.others)
    }
}

/// What the developer ran, without its options.
fn command(paths: &[&Path], purpose: Purpose) -> String {
    let mut command = match purpose {
        Purpose::Dev => "celld dev".to_owned(),
        Purpose::Deploy => "celld deploy".to_owned(),
    };
    for path in paths {
        command.push_str(&format!(" {}", path.display()));
    }
    command
}

/// Each configuration file once.
fn check_files(paths: &[&Path]) -> Result<(), ConfigError> {
    let mut files: Vec<(PathBuf, &Path)> = Vec::new();
    for path in paths {
        let file = config::locate(path)?;
        let file = file.canonicalize().unwrap_or(file);
        if let Some((_, first)) = files.iter().find(|(known, _)| *known == file) {
            let (first, second) = ((*first).to_owned(), (*path).to_owned());
            return Err(ConfigError::Twice { file, first, second });
        }
        files.push((file, path));
    }
    Ok(())
}

/// Bindings find a Worker by its name.
fn check_names(projects: &[Project], errors: &mut Vec<Diagnostic>) {
    for (index, project) in projects.iter().enumerate() {
        let name = &project.config.name;
        if let Some(first) = projects[..index].iter().find(|first| first.config.name == *name) {
            errors.push(project.mentions.name.says(format!(
                "the Worker of {} is named \"{name}\" too: each Worker of a deployment needs a name of its own",
                first.config_file.display()
            )));
        }
    }
}

/// A cell is named by its class and its ID, so a class belongs to one Worker.
fn check_classes(projects: &[Project], errors: &mut Vec<Diagnostic>) {
    for (index, project) in projects.iter().enumerate() {
        let mut reported: Vec<&str> = Vec::new();
        for (class, place) in &project.mentions.defines {
            let first = projects[..index].iter().find(|first| defines(first, class));
            if let Some(first) = first.filter(|_| !reported.contains(&class.as_str())) {
                reported.push(class);
                errors.push(place.says(format!(
                    "{} defines a Durable Object class \"{class}\" too, and cells are named by their class: rename one of them, or bind that one with script_name",
                    first.config_file.display()
                )));
            }
        }
    }
}

/// Every Worker that is named is there, and has the class that is bound.
fn check_references(projects: &[Project], env: Option<&str>, command: &str, errors: &mut Vec<Diagnostic>) {
    let known = |name: &str| projects.iter().find(|project| project.config.name == name);
    let no_worker = |name: &str, place: &Place| {
        // An environment is part of a Worker's name.
        let names = projects.iter().map(|project| project.config.name.as_str());
        let in_environment = env.map(|env| format!("{name}-{env}"));
        let meant = names.clone().find(|known| in_environment.as_deref() == Some(*known));
        let question = match meant.or_else(|| nearest(name, names)) {
            Some(meant) => format!(", or did you mean \"{meant}\"?"),
            None => String::new(),
        };
        place.says(format!(
            "no Worker of this deployment is named \"{name}\"; add its project, as in `{command} ../{name}`{question}"
        ))
    };
    for project in projects {
        let mentions = &project.mentions;
        for (name, place) in &mentions.services {
            if known(name).is_none() {
                errors.push(no_worker(name, place));
            }
        }
        for borrowed in &mentions.borrowed {
            let Some(owner) = known(&borrowed.script) else {
                errors.push(no_worker(&borrowed.script, &borrowed.script_place));
                continue;
            };
            if !defines(owner, &borrowed.class) {
                errors.push(borrowed.class_place.says(format!(
                    "the Worker \"{}\" ({}) does not define the class \"{class}\"; its migrations need {{\"tag\": \"v1\", \"new_sqlite_classes\": [\"{class}\"]}}",
                    borrowed.script,
                    owner.config_file.display(),
                    class = borrowed.class
                )));
            }
        }
    }
}

fn defines(project: &Project, class: &str) -> bool {
    project.mentions.defines.iter().any(|(defined, _)| defined == class)
}
