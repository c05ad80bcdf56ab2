//! Directories below `objects/`: made durably, and kept open while they are in use.

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::{Mode, OFlags, mkdirat, openat};
use rustix::io::Errno;

use super::disk::Disk;

/// Directories kept open at most.
const OPEN: usize = 128;

/// How often making a directory is tried while others remove it.
const TRIES: usize = 64;

/// The open directories. An entry is a promise: the directory's own entry in its parent, and so on up to `objects/`, is
/// durable. Holding the descriptor makes the promise checkable: once the directory is removed, nothing can be created through
/// it (`ENOENT`), even if another process has made one of the same name since.
pub(super) struct Dirs {
    root: Arc<OwnedFd>,
    disk: Arc<Disk>,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    dirs: HashMap<String, (Arc<OwnedFd>, u64)>,
    uses: u64,
}

/// How directories are opened here.
pub(super) const DIRECTORY: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

impl Dirs {
    pub(super) fn new(root: OwnedFd, disk: Arc<Disk>) -> Dirs {
        Dirs { root: Arc::new(root), disk, open: Mutex::default() }
    }

    /// `objects/`.
    pub(super) fn root(&self) -> &OwnedFd {
        &self.root
    }

    /// The directory, if this process has created objects in it lately.
    pub(super) fn kept(&self, path: &str) -> Option<Arc<OwnedFd>> {
        if path.is_empty() {
            return Some(self.root.clone());
        }
        let mut open = self.open.lock();
        open.uses += 1;
        let now = open.uses;
        let (dir, used) = open.dirs.get_mut(path)?;
        *used = now;
        Some(dir.clone())
    }

    /// The directory, or `None` when it does not exist.
    pub(super) fn existing(&self, path: &str) -> io::Result<Option<Arc<OwnedFd>>> {
        if path.is_empty() {
            return Ok(Some(self.root.clone()));
        }
        match openat(&self.root, path, DIRECTORY, Mode::empty()) {
            Ok(dir) => Ok(Some(Arc::new(dir))),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// The directory, made durably when it does not exist.
    pub(super) fn made(&self, path: &str) -> io::Result<Arc<OwnedFd>> {
        if let Some(dir) = self.kept(path) {
            return Ok(dir);
        }
        let mut tries = 0;
        'again: loop {
            let mut dir = self.root.clone();
            for end in path.match_indices('/').map(|(i, _)| i).chain([path.len()]) {
                let here = &path[..end];
                if let Some(kept) = self.kept(here) {
                    dir = kept;
                    continue;
                }
                let name = here.rsplit('/').next().unwrap_or(here);
                match self.child(&dir, name) {
                    Ok(child) => {
                        dir = Arc::new(child);
                        self.keep(here, &dir);
                    }
                    // Removed under our feet because it was empty.
                    Err(Errno::NOENT) if tries < TRIES => {
                        tries += 1;
                        self.forget_above(here);
                        continue 'again;
                    }
                    Err(error) => return Err(error.into()),
                }
            }
            return Ok(dir);
        }
    }

    fn child(&self, parent: &OwnedFd, name: &str) -> Result<OwnedFd, Errno> {
        match mkdirat(parent, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
        let child = openat(parent, name, DIRECTORY, Mode::empty())?;
        // Also when it was there before: another process may have made it a moment ago.
        self.disk.sync_dir(parent)?;
        Ok(child)
    }

    fn keep(&self, path: &str, dir: &Arc<OwnedFd>) {
        let mut open = self.open.lock();
        open.uses += 1;
        let now = open.uses;
        open.dirs.insert(path.to_owned(), (dir.clone(), now));
        if open.dirs.len() > OPEN {
            let oldest = open.dirs.iter().min_by_key(|(_, (_, used))| *used).map(|(path, _)| path.clone());
            if let Some(oldest) = oldest {
                open.dirs.remove(&oldest);
            }
        }
    }

    /// Drops a directory that turned out to be removed, and those above it, which may be removed too.
    pub(super) fn forget_above(&self, path: &str) {
        let mut open = self.open.lock();
        for end in path.match_indices('/').map(|(i, _)| i).chain([path.len()]) {
            open.dirs.remove(&path[..end]);
        }
    }
}
