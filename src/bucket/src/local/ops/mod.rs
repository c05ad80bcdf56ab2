//! The operations of a bucket directory.
//!
//! Why conditional writes hold across processes and crashes:
//!
//! * An object's file is complete and durable before it gets its name; it gets its name in one system call. Whoever dies
//!   before leaves the old object (or none), whoever dies after leaves the new one.
//! * *Create* gives the name with `link`, which the kernel refuses when the name exists. It needs no lock.
//! * *Update*, *put* and *delete* of one object exclude each other with `flock` on a file chosen by the key's hash: between
//!   the look at the version and the `rename` nobody else can change or remove the object, and while it exists no create can
//!   succeed. The kernel drops the lock of a process that dies.
//! * A write is answered only after its directory entry has been flushed, and so is a refusal: what refuses a writer will
//!   still be there after a power failure.
//! * The objects of a log are in a journal instead, which says for itself why this holds there too (`journal`). Whatever does
//!   not go through the journal of its directory takes it apart first ([`Inner::settle`]).

mod read;
mod settle;
mod write;

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustix::fs::{FlockOperation, Mode, OFlags, openat};
use rustix::io::Errno;

use super::LocalOptions;
use super::dirs::Dirs;
use super::disk::Disk;
use super::journal::Journals;
use super::object::Nonce;
use super::open::{self, lock_retrying};
use super::path::Place;
use super::staged::Staging;
use crate::{At, BucketError};

/// Files `00` … `3f` in `locks/`.
const LOCKS: u64 = 64;

/// One open directory.
pub(super) struct Inner {
    name: Arc<str>,
    objects: PathBuf,
    disk: Arc<Disk>,
    dirs: Dirs,
    staging: Staging,
    journals: Journals,
    locks: OwnedFd,
    /// Its shared lock says that this process uses the directory.
    _open: File,
}

/// What an operation reports before it knows which verb and key the message names.
pub(super) enum Trouble {
    Io(PathBuf, io::Error),
    Damaged(PathBuf, String),
    Range(Range<u64>, u64),
}

/// How a write ended before it is told to the caller.
pub(super) enum Written {
    Done(Nonce),
    Refused,
    /// Its name is there, but perhaps not durably.
    Unknown(Trouble),
}

impl Inner {
    pub(super) fn open(root: &Path, options: &LocalOptions) -> Result<Inner, BucketError> {
        let opened = open::open(root, options.sync)?;
        let disk = Arc::new(Disk::new(options.sync));
        Ok(Inner {
            name: root.display().to_string().into(),
            objects: root.join("objects"),
            dirs: Dirs::new(opened.objects, disk.clone()),
            staging: Staging::new(opened.tmp, disk.clone()),
            journals: Journals::new(opened.journals, root.join("journals"), disk.clone()),
            disk,
            locks: opened.locks,
            _open: opened.lock,
        })
    }

    #[cfg(test)]
    pub(super) fn journals(&self) -> &Journals {
        &self.journals
    }

    pub(super) fn name(&self) -> &Arc<str> {
        &self.name
    }

    /// Why nothing can be done with the bucket any more, if so.
    pub(super) fn check(&self, verb: &'static str, key: &str) -> Result<(), BucketError> {
        match self.disk.failure() {
            None => Ok(()),
            Some(detail) => Err(BucketError::Failing { at: self.at(verb, key), detail: detail.to_owned() }),
        }
    }

    pub(super) fn at(&self, verb: &'static str, key: &str) -> At {
        At { verb, key: key.into(), bucket: self.name.clone() }
    }

    pub(super) fn error(&self, verb: &'static str, key: &str, trouble: Trouble) -> BucketError {
        let at = self.at(verb, key);
        match trouble {
            // The kernel has several words for a directory that is open and has no name any more.
            Trouble::Io(..) if !self.objects.exists() => BucketError::NotABucket {
                path: self.objects.with_file_name(""),
                problem: "it was removed while it was in use".into(),
            },
            Trouble::Io(path, source) => BucketError::Io { at, path, source: Arc::new(source) },
            Trouble::Damaged(path, problem) => BucketError::Damaged { at, path, problem },
            Trouble::Range(range, size) => BucketError::Range {
                at,
                start: range.start,
                end: range.end,
                problem: format!("the object has {size} bytes"),
            },
        }
    }

    fn path(&self, place: &Place) -> PathBuf {
        self.objects.join(&place.dir).join(&place.file)
    }

    fn io(&self, place: &Place, error: impl Into<io::Error>) -> Trouble {
        Trouble::Io(self.path(place), error.into())
    }

    fn journal_io(&self, dir: &str) -> impl Fn(io::Error) -> Trouble {
        let path = self.journals.path(dir);
        move |error| Trouble::Io(path.clone(), error)
    }

    /// Excludes other changes of this object, in this process and in every other. Waits as long as one of them takes.
    fn lock(&self, key: &str) -> Result<File, Trouble> {
        let name = format!("{:02x}", hash(key) % LOCKS);
        let failed =
            |error: Errno| Trouble::Io(self.objects.with_file_name("locks").join(&name), error.into());
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::CLOEXEC;
        let file = openat(&self.locks, name.as_str(), flags, Mode::from_raw_mode(0o666)).map_err(failed)?;
        let file = File::from(file);
        lock_retrying(&file, FlockOperation::LockExclusive).map_err(failed)?;
        Ok(file)
    }
}

/// FNV-1a: the same in every process and every build, which the standard library's hash does not promise.
fn hash(key: &str) -> u64 {
    key.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
