//! Making writes durable, and noticing when the disk does not.

use std::os::fd::AsFd;
use std::sync::OnceLock;

use rustix::fs::{fdatasync, fsync};
use rustix::io::Errno;

/// Whether a write waits for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sync {
    /// An answered write survives the loss of power: the content and the directory entry have been flushed.
    #[default]
    Durable,
    /// An answered write survives the end of the process, not the end of the machine. For tests.
    Never,
}

/// The disk below one bucket.
pub(super) struct Disk {
    sync: Sync,
    /// The first flush that failed. The kernel reports such a failure once and then forgets the pages, so a second flush that
    /// succeeds proves nothing: from here on, every operation fails.
    failure: OnceLock<String>,
}

impl Disk {
    pub(super) fn new(sync: Sync) -> Disk {
        Disk { sync, failure: OnceLock::new() }
    }

    /// The first failure to make something durable.
    pub(super) fn failure(&self) -> Option<&str> {
        self.failure.get().map(String::as_str)
    }

    /// Makes a file's content durable.
    pub(super) fn sync_file(&self, file: impl AsFd) -> Result<(), Errno> {
        match self.sync {
            Sync::Durable => self.note(fdatasync(file)),
            Sync::Never => Ok(()),
        }
    }

    /// Makes the entries of a directory durable.
    pub(super) fn sync_dir(&self, dir: impl AsFd) -> Result<(), Errno> {
        match self.sync {
            Sync::Durable => self.note(fsync(dir)),
            Sync::Never => Ok(()),
        }
    }

    fn note(&self, result: Result<(), Errno>) -> Result<(), Errno> {
        if let Err(error) = result {
            // A full disk or quota is reported before any page is lost; the write is abandoned as a whole.
            if error != Errno::NOSPC && error != Errno::DQUOT {
                let _ = self.failure.set(error.to_string());
            }
        }
        result
    }
}
