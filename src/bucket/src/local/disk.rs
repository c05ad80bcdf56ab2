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
    /// The first directory or journal that could not be flushed. The kernel reports such a failure once, so a second flush that succeeds
    /// proves nothing about the entries made before: from here on, every operation fails, reading included, so that nobody
    /// takes an object that is merely visible for a durable one.
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

    /// Makes a new file's content durable. The file has no name yet: after a failure it is abandoned and nothing is lost.
    pub(super) fn sync_file(&self, file: impl AsFd) -> Result<(), Errno> {
        match self.sync {
            Sync::Durable => fdatasync(file),
            Sync::Never => Ok(()),
        }
    }

    /// Makes what was written to a file that others read durable.
    pub(super) fn sync_written(&self, file: impl AsFd) -> Result<(), Errno> {
        self.sync_file(file).inspect_err(|error| {
            let _ = self.failure.set(error.to_string());
        })
    }

    /// Makes the entries of a directory durable.
    pub(super) fn sync_dir(&self, dir: impl AsFd) -> Result<(), Errno> {
        if self.sync == Sync::Never {
            return Ok(());
        }
        fsync(dir).inspect_err(|error| {
            let _ = self.failure.set(error.to_string());
        })
    }
}
