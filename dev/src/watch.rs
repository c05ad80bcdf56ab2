//! Which file events of the project are changes, debounced into "build now".
//!
//! Directories are watched one by one: an ignored directory (a `node_modules` of fifty thousand files) costs no watch.
//! Only changes of content count. A read, a permission or a time stamp starts no build.

use std::path::{Path, PathBuf};
use std::time::Instant;

use notify::event::{CreateKind, ModifyKind, RemoveKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use tokio::sync::mpsc;

use crate::build::Sources;
use crate::console::Console;
use crate::debounce::Debounce;
use crate::ignore::{IgnoreRules, PathKind};
use crate::{DevError, WatchOptions};

/// File events that may wait. When more arrive at once, what was lost is "something changed", which the full queue says.
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

/// The watch of one project.
pub(crate) struct ProjectWatch {
    project: PathBuf,
    rules: std::sync::Arc<IgnoreRules>,
    watcher: RecommendedWatcher,
    signals: mpsc::Receiver<Signal>,
    debounce: Debounce,
    console: Console,
    complained: bool,
}

impl ProjectWatch {
    /// Watches `project`, a canonical path.
    ///
    /// # Errors
    /// A pattern that is no glob; a system that refuses to watch the project directory itself.
    pub(crate) fn start(project: &Path, options: &WatchOptions, console: Console) -> Result<Self, DevError> {
        let rules = std::sync::Arc::new(IgnoreRules::new(&options.ignore)?);
        let (sender, signals) = mpsc::channel(QUEUE);
        let cannot = |source| DevError::Watch { path: project.to_owned(), source };
        let watcher = {
            let (project, rules) = (project.to_owned(), rules.clone());
            notify::recommended_watcher(move |event: notify::Result<Event>| {
                for signal in signals_of(event, &project, &rules) {
                    // A full queue holds a change already; a closed one has nobody to tell.
                    let _ = sender.try_send(signal);
                }
            })
            .map_err(cannot)?
        };
        let mut watch = Self {
            project: project.to_owned(),
            rules,
            watcher,
            signals,
            debounce: Debounce::default(),
            console,
            complained: false,
        };
        watch.watcher.watch(project, RecursiveMode::NonRecursive).map_err(cannot)?;
        watch.add_below(project);
        Ok(watch)
    }

    /// Returns when a burst of changes of `sources` is over. Cancel-safe: a burst that is not over yet is kept for the
    /// next call.
    pub(crate) async fn changed(&mut self, sources: &Sources) {
        loop {
            let quiet = async {
                match self.debounce.deadline() {
                    Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = quiet => {
                    if self.debounce.take(Instant::now()) {
                        return;
                    }
                }
                signal = self.signals.recv() => match signal {
                    Some(Signal::Changed(path)) if !sources.contain(&path) => {}
                    Some(Signal::Changed(_) | Signal::Missed) => self.debounce.record(Instant::now()),
                    Some(Signal::Appeared(directory)) => self.appeared(&directory, sources),
                    // The watcher's thread is gone; without it there are no changes to wait for.
                    None => std::future::pending().await,
                },
            }
        }
    }

    fn appeared(&mut self, directory: &Path, sources: &Sources) {
        self.add(directory);
        // Files may have been written before the watch stood.
        if self.add_below(directory) && sources.contain(directory) {
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
                let relative = path.strip_prefix(&self.project).unwrap_or(&path);
                if !self.rules.covers(relative, PathKind::Directory) {
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
fn signals_of(event: notify::Result<Event>, project: &Path, rules: &IgnoreRules) -> Vec<Signal> {
    let Ok(event) = event else { return vec![Signal::Missed] };
    if event.need_rescan() {
        return vec![Signal::Missed, Signal::Appeared(project.to_owned())];
    }
    let kind = match event.kind {
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_)) | EventKind::Other => return vec![],
        EventKind::Create(CreateKind::Folder) | EventKind::Remove(RemoveKind::Folder) => PathKind::Directory,
        _ => PathKind::FileOrUnknown,
    };
    let may_appear = matches!(event.kind, EventKind::Create(_) | EventKind::Modify(ModifyKind::Name(_)));
    let mut signals = Vec::new();
    for path in &event.paths {
        let Ok(relative) = path.strip_prefix(project) else { continue };
        // A directory that was moved here comes as a plain rename.
        let appeared = may_appear && std::fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir());
        let kind = if appeared { PathKind::Directory } else { kind };
        if rules.covers(relative, kind) {
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
        let rules = IgnoreRules::new(&[]).unwrap();
        signals_of(
            Ok(Event::new(kind).add_path(Path::new("/project").join(path))),
            Path::new("/project"),
            &rules,
        )
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
        assert_eq!(signals(EventKind::Access(AccessKind::Open(AccessMode::Read)), "a.ts"), []);
        assert_eq!(signals(EventKind::Access(AccessKind::Close(AccessMode::Write)), "a.ts"), []);
        assert_eq!(signals(EventKind::Modify(ModifyKind::Metadata(MetadataKind::WriteTime)), "a.ts"), []);
    }

    #[tokio::test]
    async fn real_files_a_new_directory_is_watched_and_an_ignored_one_is_not() {
        let project = tempfile::tempdir().unwrap();
        let root = project.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("node_modules/left")).unwrap();
        fs::write(root.join("index.js"), "1").unwrap();
        let options = WatchOptions::default();
        let mut watch = ProjectWatch::start(&root, &options, Console::new(false)).unwrap();
        let patience = Duration::from_secs(20);

        fs::create_dir(root.join("lib")).unwrap();
        fs::write(root.join("lib/a.js"), "1").unwrap();
        tokio::time::timeout(patience, watch.changed(&Sources::All))
            .await
            .expect("a file in a new directory");
        // Whatever the creation still has to say is drained by the time a later change is seen.
        fs::write(root.join("lib/a.js"), "2").unwrap();
        tokio::time::timeout(patience, watch.changed(&Sources::All)).await.expect("a changed file in it");
        while tokio::time::timeout(Duration::from_millis(50), watch.changed(&Sources::All)).await.is_ok() {}

        fs::write(root.join("node_modules/left/i.js"), "2").unwrap();
        fs::read(root.join("index.js")).unwrap();
        let silent = tokio::time::timeout(Duration::from_millis(100), watch.changed(&Sources::All)).await;
        assert!(silent.is_err(), "a read, and a change in an ignored directory, start nothing");
    }
}
