//! `.celld/dev` below the project directory: the local bucket, the node's work files, and the lock that keeps two
//! supervisors apart. Nothing else of the project is ever written.

use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::DevError;

/// What `--clean` found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cleaned {
    /// The state was deleted.
    Deleted,
    /// There was none, which is the wanted result.
    Absent,
}

/// The state directory, locked for as long as this lives.
#[derive(Debug)]
pub(crate) struct Layout {
    root: PathBuf,
    /// The kernel releases the lock with the last descriptor, so also after `kill -9`.
    _lock: File,
}

/// The directory whose project `path` names: itself, or that of a configuration file.
pub(crate) fn project_directory(path: &Path) -> Result<PathBuf, DevError> {
    let absent = |_| DevError::NoProject { path: path.to_owned() };
    let path = path.canonicalize().map_err(absent)?;
    if path.is_dir() {
        return Ok(path);
    }
    match path.parent() {
        Some(parent) => Ok(parent.to_owned()),
        None => Err(DevError::NoProject { path }),
    }
}

impl Layout {
    /// Opens (and makes) the state directory of a project and takes its lock; `clean` deletes the directory first.
    ///
    /// # Errors
    /// [`DevError::Locked`] when another supervisor holds the lock, [`DevError::State`] when the system refuses.
    pub(crate) fn open(project: &Path, clean: bool) -> Result<(Self, Option<Cleaned>), DevError> {
        let root = project.join(".celld").join("dev");
        let cleaned = if clean { Some(delete(&root)?) } else { None };
        create(&root)?;
        let lock = lock(&root)?;
        let layout = Self { root, _lock: lock };
        for directory in [layout.bucket(), layout.work()] {
            create(&directory)?;
        }
        Ok((layout, cleaned))
    }

    /// The directory of the local bucket.
    pub(crate) fn bucket(&self) -> PathBuf {
        self.root.join("bucket")
    }

    /// The node's local caches.
    pub(crate) fn work(&self) -> PathBuf {
        self.root.join("work")
    }
}

fn state(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> DevError {
    let path = path.to_owned();
    move |source| DevError::State { action, path, source }
}

fn create(directory: &Path) -> Result<(), DevError> {
    match fs::create_dir_all(directory) {
        Ok(()) => Ok(()),
        Err(error) if matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotADirectory) => {
            Err(DevError::NotADirectory { path: directory.to_owned() })
        }
        Err(error) => Err(state("create", directory)(error)),
    }
}

/// Deletes `root` unless a running supervisor uses it. Whatever stands at that name goes: a file or a link in its
/// place is one of the ways in which the state can be broken.
fn delete(root: &Path) -> Result<Cleaned, DevError> {
    let kind = match fs::symlink_metadata(root) {
        Ok(metadata) => metadata.file_type(),
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Cleaned::Absent),
        Err(error) => return Err(state("inspect", root)(error)),
    };
    if kind.is_dir() {
        let _lock = lock(root)?;
        fs::remove_dir_all(root).map_err(state("delete", root))?;
    } else {
        fs::remove_file(root).map_err(state("delete", root))?;
    }
    Ok(Cleaned::Deleted)
}

/// Takes `root/lock` without waiting, and writes the process id into it for the message of whoever comes second.
fn lock(root: &Path) -> Result<File, DevError> {
    let path = root.join("lock");
    let mut file = OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(state("open", &path))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => {
            let mut holder = String::new();
            // The process id only decorates the message.
            let _ = file.read_to_string(&mut holder);
            let holder = match holder.trim().parse::<u32>() {
                Ok(pid) => format!(" (process {pid})"),
                Err(_) => String::new(),
            };
            return Err(DevError::Locked { path, holder });
        }
        Err(errno) => return Err(state("lock", &path)(errno.into())),
    }
    let written = file.set_len(0).and_then(|()| writeln!(file, "{}", std::process::id()));
    match written {
        Ok(()) => Ok(file),
        Err(error) => Err(state("write", &path)(error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clean_deletes_the_dev_state_and_nothing_beside_it() {
        let project = tempfile::tempdir().unwrap();
        assert_eq!(Layout::open(project.path(), true).unwrap().1, Some(Cleaned::Absent));
        let celld = project.path().join(".celld");
        fs::write(celld.join("kept"), "x").unwrap();
        fs::write(celld.join("dev/bucket/object"), "x").unwrap();

        let (layout, cleaned) = Layout::open(project.path(), true).unwrap();
        assert_eq!(cleaned, Some(Cleaned::Deleted));
        assert!(!layout.bucket().join("object").exists());
        assert!(celld.join("kept").exists());
    }

    #[test]
    fn a_file_in_place_of_the_state_is_named_and_clean_repairs_it() {
        let project = tempfile::tempdir().unwrap();
        fs::create_dir(project.path().join(".celld")).unwrap();
        fs::write(project.path().join(".celld/dev"), "not a directory").unwrap();
        let error = Layout::open(project.path(), false).unwrap_err().to_string();
        assert!(error.contains(".celld/dev"), "{error}");
        assert_eq!(Layout::open(project.path(), true).unwrap().1, Some(Cleaned::Deleted));
    }

    #[test]
    fn the_second_supervisor_is_refused_even_when_it_cleans() {
        let project = tempfile::tempdir().unwrap();
        let (first, _) = Layout::open(project.path(), false).unwrap();
        for clean in [false, true] {
            let error = Layout::open(project.path(), clean).unwrap_err();
            assert!(matches!(error, DevError::Locked { .. }), "{error}");
            assert!(error.to_string().contains(&std::process::id().to_string()));
        }
        drop(first);
        Layout::open(project.path(), false).unwrap();
    }
}
