//! Which file events of the projects are changes, debounced into "build now".
//!
//! Directories are watched one by one: an ignored directory (a `node_modules` of fifty thousand files) costs no watch.
//! Only changes of content count. A read, a permission or a time stamp starts no build.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use notify::event::{CreateKind, ModifyKind, RemoveKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use crate::console::Console;
use crate::debounce::Debounce;
use crate::ignore::{IgnoreRules, PathKind};
use crate::sources::Sources;
use crate::{DevError, WatchOptions};

/// File events that may wait. When more arrive at once, some are lost, and everything counts as changed.
const QUEUE: usize = 1024;

/// What the system's file events mean to us.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Signal {
    /// The content of this path changed.
    Changed(PathBuf),
    /// Something was missed, which may be a change.
    Missed,
    /// A directory appeared: it needs a watch, and what it holds already is a change.
    Appeared(PathBuf),
}

/// The watch of the projects.
pub(crate) struct ProjectWatch {
    directories: Arc<Directories>,
    watcher: RecommendedWatcher,
    signals: mpsc::Receiver<Signal>,
    /// A signal found no place in the queue.
    overflowed: Arc<AtomicBool>,
    debounce: Debounce,
    /// The projects that the changes of the burst belong to, by their place.
    changed: BTreeSet<usize>,
    console: Console,
    complained: bool,
}

/// The directories of the projects, and what is ignored in them.
struct Directories {
    roots: Vec<PathBuf>,
    rules: IgnoreRules,
}

impl Directories {
    /// Whether nothing in the projects can depend on `path`. Of projects inside of each other the nearest one counts.
    fn ignore(&self, path: &Path, kind: PathKind) -> bool {
        let relative = self.roots.iter().filter_map(|root| path.strip_prefix(root).ok());
        relative.min_by_key(|path| path.components().count()).is_none_or(|path| self.rules.covers(path, kind))
    }
}

impl ProjectWatch {
    /// Watches the directories of the projects, canonical paths.
    ///
    /// # Errors
    /// A pattern that is no glob; a system that refuses to watch a project directory itself.
    pub(crate) fn start(
        projects: &[PathBuf],
        options: &WatchOptions,
        console: Console,
    ) -> Result<Self, DevError> {
        let rules = IgnoreRules::new(&options.ignore)?;
        let directories = Arc::new(Directories { roots: projects.to_owned(), rules });
        let (sender, signals) = mpsc::channel(QUEUE);
        let overflowed = Arc::new(AtomicBool::new(false));
        let cannot = |path: &Path, source| DevError::Watch { path: path.to_owned(), source };
        let watcher = {
            let (directories, overflowed) = (directories.clone(), overflowed.clone());
            notify::recommended_watcher(move |event: notify::Result<Event>| {
                for signal in signals_of(event, &directories) {
                    // A closed queue has nobody to tell.
                    if let Err(TrySendError::Full(_)) = sender.try_send(signal) {
                        overflowed.store(true, Ordering::Release);
                    }
                }
            })
            .map_err(|source| cannot(projects.first().map_or(Path::new(""), PathBuf::as_path), source))?
        };
        let mut watch = Self {
            directories,
            watcher,
            signals,
            overflowed,
            debounce: Debounce::default(),
            changed: BTreeSet::new(),
            console,
            complained: false,
        };
        for project in projects {
            let watched = watch.watcher.watch(project, RecursiveMode::NonRecursive);
            watched.map_err(|source| cannot(project, source))?;
            watch.add_below(project);
        }
        Ok(watch)
    }

    /// Returns the projects that have changed, by their place in `sources`, when a burst of changes is over. Cancel-safe: a burst
    /// that is not over yet is kept for the next call.
    pub(crate) async fn changed(&mut self, sources: &Sources) -> BTreeSet<usize> {
        loop {
            let quiet = async {
                match self.debounce.deadline() {
                    Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = quiet => {
                    self.catch_up(sources);
                    if self.debounce.take(Instant::now()) {
                        return std::mem::take(&mut self.changed);
                    }
                }
                signal = self.signals.recv() => {
                    match signal {
                        Some(Signal::Changed(path)) => self.record(sources.changed_by(&path)),
                        Some(Signal::Missed) => self.record(0..sources.count()),
                        Some(Signal::Appeared(directory)) => self.appeared(&directory, sources),
                        // The watcher's thread is gone; without it there are no changes to wait for.
                        None => std::future::pending().await,
                    }
                    if self.signals.is_empty() {
                        self.catch_up(sources);
                    }
                }
            }
        }
    }

    /// After an overflow anything may have changed or appeared.
    fn catch_up(&mut self, sources: &Sources) {
        if self.overflowed.swap(false, Ordering::Acquire) {
            self.record(0..sources.count());
            for root in &self.directories.clone().roots {
                self.appeared(root, sources);
            }
        }
    }

    fn appeared(&mut self, directory: &Path, sources: &Sources) {
        self.add(directory);
        // Files may have been written before the watch stood.
        if self.add_below(directory) {
            self.record(sources.changed_by(directory));
        }
    }

    /// These projects have changed.
    fn record(&mut self, projects: impl Iterator<Item = usize>) {
        let mut projects = projects.peekable();
        if projects.peek().is_some() {
            self.changed.extend(projects);
            self.debounce.record(Instant::now());
        }
    }

    /// Watches every directory below `directory` that is not ignored; `true` if there is a file. Links are not followed.
    fn add_below(&mut self, directory: &Path) -> bool {
        let mut found_file = false;
        let mut pending = vec![directory.to_owned()];
        while let Some(directory) = pending.pop() {
            // Removed meanwhile, or not readable: an error in the build, if it matters, says so better.
            let Ok(entries) = std::fs::read_dir(&directory) else { continue };
            for entry in entries.flatten() {
                let Ok(kind) = entry.file_type() else { continue };
                if !kind.is_dir() {
                    found_file = true;
                    continue;
                }
                let path = entry.path();
                if !self.directories.ignore(&path, PathKind::Directory) {
                    self.add(&path);
                    pending.push(path);
                }
            }
        }
        found_file
    }

    fn add(&mut self, directory: &Path) {
        let Err(error) = self.watcher.watch(directory, RecursiveMode::NonRecursive) else { return };
        let gone = matches!(&error.kind, notify::ErrorKind::PathNotFound) || !directory.exists();
        if gone || self.complained {
            return;
        }
        self.complained = true;
        let reason = match error.kind {
            notify::ErrorKind::MaxFilesWatch => {
                "the system's limit of watches is reached (sysctl fs.inotify.max_user_watches)".to_owned()
            }
            _ => error.to_string(),
        };
        self.console.note(&format!("cannot watch {} for changes: {reason}", directory.display()));
    }
}

/// What one event of the watcher means. An error or an overflow may hide a change, so it counts as one.
fn signals_of(event: notify::Result<Event>, directories: &Directories) -> Vec<Signal> {
    let Ok(event) = event else { return vec![Signal::Missed] };
    if event.need_rescan() {
        let appeared = directories.roots.iter().cloned().map(Signal::Appeared);
        return std::iter::once(Signal::Missed).chain(appeared).collect();
    }
    let kind = match event.kind {
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) | EventKind::Other => return vec![],
        EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => PathKind::Directory,
        _ => PathKind::FileOrUnknown,
    };
    let may_appear = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)));
    let mut signals = Vec::new();
    for path in &event.paths {
        // A directory that was moved here comes as a plain rename.
        let appeared = may_appear && std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
        let kind = if appeared { PathKind::Directory } else { kind };
        if directories.ignore(path, kind) {
            continue;
        }
        signals.push(match (appeared, event.kind) {
            (true, _) => Signal::Appeared(path.clone()),
            // An empty directory that goes changes no content; its files have events of their own.
            (false, EventKind::Create(CreateKind::Folder)) => continue,
            _ => Signal::Changed(path.clone()),
        });
    }
    signals
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use notify::event::{AccessKind, AccessMode, DataChange, MetadataKind};

    use super::*;

    fn signals(kind: EventKind, path: &str) -> Vec<Signal> {
        let roots = vec!["/project".into(), "/project/node_modules/inner".into()];
        let directories = Directories { roots, rules: IgnoreRules::new(&[]).unwrap() };
        signals_of(Ok(Event::new(kind).add_path(Path::new("/project").join(path))), &directories)
    }

    #[test]
    fn only_changes_of_content_are_changes() {
        let written = EventKind::Modify(ModifyKind::Data(DataChange::Any));
        assert_eq!(signals(written, "src/a.ts"), [Signal::Changed("/project/src/a.ts".into())]);
        assert_eq!(
            signals(EventKind::Remove(RemoveKind::File), "a.ts"),
            [Signal::Changed("/project/a.ts".into())]
        );
        assert_eq!(signals(written, "node_modules/x/a.ts"), []);
        assert_eq!(signals(written, "/elsewhere/a.ts"), []);
        let inner = "node_modules/inner/a.ts";
        assert_eq!(signals(written, inner), [Signal::Changed(Path::new("/project").join(inner))]);
        assert_eq!(signals(EventKind::Access(AccessKind::Open(AccessMode::Read)), "a.ts"), []);
        assert_eq!(signals(EventKind::Access(AccessKind::Close(AccessMode::Write)), "a.ts"), []);
        assert_eq!(signals(EventKind::Modify(ModifyKind::Metadata(MetadataKind::WriteTime)), "a.ts"), []);
    }

    #[tokio::test]
    async fn real_files_a_new_directory_is_watched_and_an_ignored_one_is_not() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("app/node_modules/left")).unwrap();
        fs::create_dir_all(root.join("auth")).unwrap();
        fs::write(root.join("app/index.js"), "1").unwrap();
        let roots = [root.join("app"), root.join("auth")];
        let sources = Sources::new(&roots);
        let mut watch = ProjectWatch::start(&roots, &WatchOptions::default(), Console::new(false)).unwrap();
        let patience = Duration::from_secs(20);

        fs::create_dir(root.join("app/lib")).unwrap();
        fs::write(root.join("app/lib/a.js"), "1").unwrap();
        let changed = tokio::time::timeout(patience, watch.changed(&sources)).await;
        assert_eq!(changed.expect("a file in a new directory"), [0].into());
        // Whatever the creation still has to say is drained by the time a later change is seen.
        fs::write(root.join("app/lib/a.js"), "2").unwrap();
        tokio::time::timeout(patience, watch.changed(&sources)).await.expect("a changed file in it");
        while tokio::time::timeout(Duration::from_millis(50), watch.changed(&sources)).await.is_ok() {}

        fs::write(root.join("app/node_modules/left/i.js"), "2").unwrap();
        fs::read(root.join("app/index.js")).unwrap();
        let silent = tokio::time::timeout(Duration::from_millis(100), watch.changed(&sources)).await;
        assert!(silent.is_err(), "a read, and a change in an ignored directory, start nothing");

        fs::write(root.join("auth/index.js"), "1").unwrap();
        let changed = tokio::time::timeout(patience, watch.changed(&sources)).await;
        assert_eq!(changed.expect("a file of the other project"), [1].into());
    }

    #[tokio::test]
    async fn more_changes_than_can_wait_are_changes_of_all_projects() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path().canonicalize().unwrap();
        let roots = [root.join("app"), root.join("auth")];
        for root in &roots {
            fs::create_dir(root).unwrap();
        }
        let sources = Sources::new(&roots);
        let mut watch = ProjectWatch::start(&roots, &WatchOptions::default(), Console::new(false)).unwrap();
        // Nobody takes anything out of the queue meanwhile.
        for n in 0..QUEUE {
            fs::write(root.join("app").join(n.to_string()), "1").unwrap();
        }
        let full = || watch.overflowed.load(Ordering::Acquire);
        let deadline = Instant::now() + Duration::from_secs(20);
        while !full() {
            assert!(Instant::now() < deadline, "the queue is full");
            std::thread::sleep(Duration::from_millis(5));
        }
        fs::write(root.join("auth/index.js"), "1").unwrap();
        let changed = tokio::time::timeout(Duration::from_secs(20), watch.changed(&sources)).await;
        assert_eq!(changed.expect("a change"), [0, 1].into());
    }
}
