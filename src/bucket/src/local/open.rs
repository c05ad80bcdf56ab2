//! Opening a directory as a bucket: making it, or recognising it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, Mode, OFlags, flock, fsync};
use rustix::io::Errno;

use super::disk::Sync;
use super::journal::DONE;
use crate::{At, BucketError};

const MARKER: &str = "celld-bucket";
const MARKER_TEXT: &str = "celld bucket directory, layout 2\n";
/// Without `journals/`: whoever knows only this would not see what is in them.
const OLDER_TEXT: &str = "celld bucket directory, layout 1\n";
/// What a marker is called until it is complete.
const NEW_MARKER: &str = ".celld-bucket.";

/// How often the marker is looked for: once more than it can be made by ourselves or others.
const TRIES: usize = 3;

/// The parts of an opened bucket directory.
pub(super) struct Opened {
    pub(super) locks: OwnedFd,
    pub(super) tmp: OwnedFd,
    pub(super) objects: OwnedFd,
    pub(super) journals: OwnedFd,
    /// Held shared as long as the bucket is open.
    pub(super) lock: File,
}

fn io_error(root: &Path, path: impl Into<PathBuf>, source: io::Error) -> BucketError {
    let at = At { verb: "open", key: "".into(), bucket: root.display().to_string().into() };
    BucketError::Io { at, path: path.into(), source: Arc::new(source) }
}

fn foreign(root: &Path, problem: impl Into<String>) -> BucketError {
    BucketError::NotABucket { path: root.to_owned(), problem: problem.into() }
}

/// Opens the bucket in `root`, making it when there is nothing.
pub(super) fn open(root: &Path, sync: Sync) -> Result<Opened, BucketError> {
    let fail = |path: &Path| {
        let path = path.to_owned();
        move |source| io_error(root, path, source)
    };
    match fs::metadata(root) {
        Ok(meta) if !meta.is_dir() => return Err(foreign(root, "it is not a directory")),
        Ok(_) => {}
        Err(error) if error.kind() == io::ErrorKind::NotFound => make_root(root, sync)?,
        Err(error) => return Err(io_error(root, root, error)),
    }
    let layout = recognise(root, sync)?;
    for name in ["locks", "tmp", "objects", "journals"] {
        let path = root.join(name);
        match fs::create_dir(&path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error(root, path, error)),
        }
    }
    let lock_path = root.join("lock");
    let lock = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock_path)
        .map_err(fail(&lock_path))?;
    // Also when all was there: another process may have made it a moment ago.
    sync_dir(root, sync).map_err(fail(root))?;
    // Whoever gets the lock exclusively is alone: what lies in tmp/ was left by processes that are gone.
    match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {
            empty(&root.join("tmp")).map_err(fail(&root.join("tmp")))?;
            remove_unused(&root.join("journals")).map_err(fail(&root.join("journals")))?;
            if layout == Layout::Older {
                renew_marker(root, sync)?;
            }
        }
        Err(Errno::WOULDBLOCK) => {}
        Err(error) => return Err(io_error(root, lock_path, error.into())),
    }
    lock_retrying(&lock, FlockOperation::LockShared).map_err(|e| io_error(root, &lock_path, e.into()))?;
    if layout == Layout::Older && recognise(root, sync)? == Layout::Older {
        return Err(foreign(root, "an older version of celld has it open; stop that first"));
    }
    let dir = |name: &str| {
        let path = root.join(name);
        rustix::fs::open(&path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
            .map_err(|error| io_error(root, &path, error.into()))
    };
    Ok(Opened {
        locks: dir("locks")?,
        tmp: dir("tmp")?,
        objects: dir("objects")?,
        journals: dir("journals")?,
        lock,
    })
}

/// Takes a lock; a signal does not disturb it.
pub(super) fn lock_retrying(file: &File, how: FlockOperation) -> Result<(), Errno> {
    loop {
        match flock(file, how) {
            Err(Errno::INTR) => {}
            other => return other,
        }
    }
}

fn make_root(root: &Path, sync: Sync) -> Result<(), BucketError> {
    // Each new directory is an entry of its parent, which has to last as long as what will be below it.
    let missing: Vec<&Path> =
        root.ancestors().take_while(|p| !p.as_os_str().is_empty() && !p.exists()).collect();
    for path in missing.into_iter().rev() {
        match fs::create_dir(path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(io_error(root, path, error)),
        }
        let parent = path.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        sync_dir(parent, sync).map_err(|error| io_error(root, parent, error))?;
    }
    Ok(())
}

/// What a marker says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    Current,
    /// The one before, which becomes the current one by saying so.
    Older,
}

/// Checks the marker; makes it in an empty directory.
fn recognise(root: &Path, sync: Sync) -> Result<Layout, BucketError> {
    let marker = root.join(MARKER);
    for _ in 0..TRIES {
        match fs::read(&marker) {
            Ok(text) if text == MARKER_TEXT.as_bytes() => return Ok(Layout::Current),
            Ok(text) if text == OLDER_TEXT.as_bytes() => return Ok(Layout::Older),
            Ok(text) if text.starts_with(b"celld bucket directory, layout ") => {
                return Err(foreign(
                    root,
                    "another version of celld made it, with a layout unknown to this one",
                ));
            }
            Ok(_) => return Err(foreign(root, format!("its file {MARKER} is damaged"))),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => return Err(io_error(root, marker, error)),
        }
        for entry in fs::read_dir(root).map_err(|error| io_error(root, root, error))? {
            let name = entry.map_err(|error| io_error(root, root, error))?.file_name();
            // Another process may be making the bucket at this very moment, or have died while it did.
            if name != MARKER && !name.to_string_lossy().starts_with(NEW_MARKER) {
                // Looked at again: the marker comes before everything else.
                if marker.exists() {
                    break;
                }
                let name = name.to_string_lossy();
                return Err(foreign(
                    root,
                    format!("it holds {name:?} and no file {MARKER}, so celld did not make it"),
                ));
            }
        }
        make_marker(root, sync)?;
    }
    Err(foreign(root, format!("its file {MARKER} cannot be read")))
}

/// Writes a marker beside the place where it belongs, and puts it there.
fn write_marker(
    root: &Path,
    sync: Sync,
    place: impl FnOnce(&Path, &Path) -> io::Result<()>,
) -> Result<(), BucketError> {
    let marker = root.join(MARKER);
    let nonce = super::object::Nonce::random().map_err(|error| io_error(root, &marker, error))?;
    let new = root.join(format!("{NEW_MARKER}{}", nonce.text()));
    let write = || -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create_new(true).open(&new)?;
        file.write_all(MARKER_TEXT.as_bytes())?;
        if sync == Sync::Durable {
            file.sync_all()?;
        }
        place(&new, &marker)?;
        sync_dir(root, sync)
    };
    let written = write();
    let _ = fs::remove_file(&new);
    written.map_err(|error| io_error(root, root, error))
}

fn make_marker(root: &Path, sync: Sync) -> Result<(), BucketError> {
    write_marker(root, sync, |new, marker| match fs::hard_link(new, marker) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    })
}

/// Replaces the marker of an older layout. The caller is alone with the bucket.
fn renew_marker(root: &Path, sync: Sync) -> Result<(), BucketError> {
    write_marker(root, sync, |new, marker| fs::rename(new, marker))
}

fn sync_dir(path: &Path, sync: Sync) -> io::Result<()> {
    match sync {
        Sync::Durable => Ok(fsync(File::open(path)?)?),
        Sync::Never => Ok(()),
    }
}

fn empty(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        fs::remove_file(entry?.path())?;
    }
    Ok(())
}

/// Removes journals in which nothing was ever written, and what is left of those whose objects are files.
fn remove_unused(dir: &Path) -> io::Result<()> {
    for entry in fs::read_dir(dir)? {
        let path = entry?.path();
        if path.as_os_str().as_encoded_bytes().ends_with(DONE.as_bytes()) {
            fs::remove_dir_all(&path)?;
            continue;
        }
        match fs::remove_dir(path) {
            Ok(()) => {}
            Err(error)
                if matches!(
                    error.kind(),
                    io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::NotADirectory
                ) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
