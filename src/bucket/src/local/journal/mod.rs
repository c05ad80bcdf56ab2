//! Journals: many small objects of one directory in few files.
//!
//! An object of its own costs a file that is made, flushed, named, and removed soon after; where they come by the thousand, that
//! is most of what they cost. In a journal an object is a record behind the last one, and creating it is one write and one
//! flush of blocks that the file has already.
//!
//! A journal belongs to one directory of keys and is written by one process, which begins it before anybody else knows the
//! directory. It is `journals/NAME/` with its segments (`record.rs`). Nobody sees a difference:
//!
//! * Reading finds objects in a journal as it finds files. It disturbs nobody. As long as a journal has its name, there are no files.
//! * Whoever else changes anything in the directory takes the journal apart before, under a lock: renames it to `NAME~`, makes files of
//!   what it holds, renames it to `NAME#` as a sign that this is done, and removes it. There is never another one, so from then on the
//!   files are all there is.
//! * The writer needs no lock. It acknowledges a record when it is durable *and* the journal has its name after that. Whoever takes
//!   the journal apart takes the name first and reads the records then: an acknowledged record is found, and a writer that was
//!   asleep meanwhile acknowledges nothing more. What it has written too late is created like every other file, or refused.
//! * Nor does a reader show what was written too late: it looks for the name after it has read, too, and what has lost its name is
//!   made into files before anybody reads. (On a full disk it is read under the lock instead: nothing is decided before it is files.)

mod record;
mod scan;
#[cfg(test)]
mod tests;
mod writer;

use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Mode, mkdirat, openat, renameat, statat, unlinkat};
use rustix::io::Errno;

pub(super) use self::record::Record;
pub(super) use self::scan::Index;
use self::scan::{Scan, names};
pub(super) use self::writer::Appended;
use self::writer::Writer;
use super::dirs::DIRECTORY;
use super::disk::Disk;

/// A directory's name in `journals/` has this instead of `/`. No part of it can hold it.
const SLASH: &str = "!";
/// Behind the name of a journal that is being taken apart.
const STOPPED: &str = "~";
/// Behind the name of one whose objects are files; only its own files are left to be removed.
pub(super) const DONE: &str = "#";
/// The longest name, in bytes; with the mark below the 255 of every file system.
const LONGEST: usize = 240;

/// `journals/` of one bucket.
pub(super) struct Journals {
    dir: Arc<OwnedFd>,
    path: PathBuf,
    disk: Arc<Disk>,
    /// Those that this process writes, by the directory they are for.
    own: Mutex<HashMap<String, Arc<Writer>>>,
    /// What is known of others, by name.
    scans: Mutex<HashMap<String, Arc<Mutex<Scan>>>>,
    /// Called when a reader that falls asleep is interesting.
    #[cfg(test)]
    asleep: Mutex<Option<Box<dyn FnOnce() + Send>>>,
}

/// What looking into the journal of a directory gives.
pub(super) enum Look<T> {
    /// There is none. Files are all there is, and all there will be in a directory that others know.
    Gone,
    /// It is being taken apart; nothing can be said before that is done.
    Stopped,
    Here(T),
}

/// What the journal of `dir` is called; `None` for a directory that cannot have one.
fn name_of(dir: &str) -> Option<String> {
    (!dir.is_empty() && dir.len() <= LONGEST).then(|| dir.replace('/', SLASH))
}

fn stopped(name: &str) -> String {
    format!("{name}{STOPPED}")
}

impl Journals {
    pub(super) fn new(dir: OwnedFd, path: PathBuf, disk: Arc<Disk>) -> Journals {
        Journals {
            dir: Arc::new(dir),
            path,
            disk,
            own: Mutex::default(),
            scans: Mutex::default(),
            #[cfg(test)]
            asleep: Mutex::default(),
        }
    }

    /// Where the journal of `dir` is, for messages.
    pub(super) fn path(&self, dir: &str) -> PathBuf {
        self.path.join(dir.replace('/', SLASH))
    }

    /// Begins the journal of `dir`, in which nobody has created anything and which nobody else knows yet. `false` when it cannot have
    /// one.
    pub(super) fn begin(&self, dir: &str) -> io::Result<bool> {
        let Some(name) = name_of(dir) else { return Ok(false) };
        if self.exists(&stopped(&name))? {
            return Ok(false);
        }
        match mkdirat(&*self.dir, name.as_str(), Mode::from_raw_mode(0o777)) {
            Ok(()) => {}
            Err(Errno::EXIST) => return Ok(false),
            Err(error) => return Err(error.into()),
        }
        self.disk.sync_dir(&*self.dir)?;
        let fd = openat(&*self.dir, name.as_str(), DIRECTORY, Mode::empty())?;
        let writer = Writer::new(self.dir.clone(), &name, fd, self.disk.clone())?;
        self.own.lock().insert(dir.to_owned(), Arc::new(writer));
        Ok(true)
    }

    /// The journal that this process writes for `dir`.
    pub(super) fn own(&self, dir: &str) -> Option<Arc<Writer>> {
        let own = self.own.lock();
        if own.is_empty() { None } else { own.get(dir).cloned() }
    }

    /// Forgets that this process writes a journal for `dir`: somebody else has stopped it.
    pub(super) fn forget(&self, dir: &str) {
        let own = self.own.lock().remove(dir);
        if let Some(writer) = own {
            writer.stop();
        }
    }

    /// Whether there is a journal of `dir`, in whatever state.
    pub(super) fn any(&self, dir: &str) -> io::Result<bool> {
        let Some(name) = name_of(dir) else { return Ok(false) };
        // In the order in which a journal has its names.
        Ok(self.exists(&name)? || self.exists(&stopped(&name))?)
    }

    /// Looks into the journal of `dir`, and makes sure that it had its name all the time.
    fn look<T>(
        &self,
        dir: &str,
        own: impl FnOnce(&Writer) -> io::Result<T>,
        other: impl FnOnce(&mut Scan) -> io::Result<T>,
    ) -> io::Result<Look<T>> {
        let Some(name) = name_of(dir) else { return Ok(Look::Gone) };
        if let Some(writer) = self.own(dir) {
            let found = own(&writer)?;
            if writer.is_live()? {
                return Ok(Look::Here(found));
            }
            self.forget(dir);
        }
        if let Some(fd) = self.open(&name)? {
            #[cfg(test)]
            if let Some(asleep) = self.asleep.lock().take() {
                asleep();
            }
            let found = other(&mut self.scan_of(&name, fd)?.lock())?;
            // It is the same journal: there is never another one of this name.
            if self.exists(&name)? {
                return Ok(Look::Here(found));
            }
        }
        let mut scans = self.scans.lock();
        if !scans.is_empty() {
            scans.remove(&name);
        }
        Ok(if self.exists(&stopped(&name))? { Look::Stopped } else { Look::Gone })
    }

    fn exists(&self, name: &str) -> io::Result<bool> {
        match statat(&*self.dir, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(_) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    fn open(&self, name: &str) -> io::Result<Option<OwnedFd>> {
        match openat(&*self.dir, name, DIRECTORY, Mode::empty()) {
            Ok(dir) => Ok(Some(dir)),
            // Or something that is not ours.
            Err(Errno::NOENT | Errno::NOTDIR) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// What is known of another process's journal.
    fn scan_of(&self, name: &str, dir: OwnedFd) -> io::Result<Arc<Mutex<Scan>>> {
        let mut scans = self.scans.lock();
        if let Some(scan) = scans.get(name)
            && scan.lock().is_of(&dir)?
        {
            return Ok(scan.clone());
        }
        let scan = Arc::new(Mutex::new(Scan::new(dir)));
        scans.insert(name.to_owned(), scan.clone());
        Ok(scan)
    }

    /// The object `key` in the journal of its directory `dir`.
    pub(super) fn read(&self, dir: &str, key: &str) -> io::Result<Look<Option<Record>>> {
        self.look(
            dir,
            |writer| writer.read(key),
            |scan| {
                // Its segment may be used again between the look and the reading, once.
                for _ in 0..2 {
                    let Some(location) = scan.refresh()?.get(key) else { return Ok(None) };
                    if let Some(record) = location.read(key)? {
                        return Ok(Some(record));
                    }
                }
                Ok(None)
            },
        )
    }

    /// The objects in the journal of `dir`.
    pub(super) fn index(&self, dir: &str) -> io::Result<Look<Index>> {
        self.look(dir, |writer| Ok(writer.index()), |scan| Ok(scan.refresh()?.clone()))
    }

    /// The directories that have journals: `dir`, and those below it.
    pub(super) fn below(&self, dir: &str) -> io::Result<Vec<String>> {
        let mut found = Vec::new();
        let entries = names(&self.dir)?;
        let known = |entry: &String, name: &str| entry.strip_suffix(STOPPED).unwrap_or(entry) == name;
        self.scans.lock().retain(|name, _| entries.iter().any(|entry| known(entry, name)));
        for entry in entries.iter().filter(|entry| !entry.ends_with(DONE)) {
            let of = entry.strip_suffix(STOPPED).unwrap_or(entry).replace(SLASH, "/");
            let rest = if dir.is_empty() { Some("") } else { of.strip_prefix(dir) };
            if rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')) {
                found.push(of);
            }
        }
        // A listing may miss what is renamed meanwhile.
        if !found.iter().any(|of| of == dir) && self.any(dir)? {
            found.push(dir.to_owned());
        }
        Ok(found)
    }

    /// Takes the name of a journal away: its writer acknowledges nothing more. The objects that it holds, `None` when it is gone. The
    /// caller holds the lock for it.
    pub(super) fn stop(&self, dir: &str) -> io::Result<Option<Index>> {
        let Some(name) = name_of(dir) else { return Ok(None) };
        self.forget(dir);
        let stopped = stopped(&name);
        match renameat(&*self.dir, name.as_str(), &*self.dir, stopped.as_str()) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(error.into()),
        }
        self.scans.lock().remove(&name);
        let Some(dir) = self.open(&stopped)? else { return Ok(None) };
        // Before anything is created in its place, whoever renamed it: a loss of power must not bring the name back.
        self.disk.sync_dir(&*self.dir)?;
        Ok(Some(Scan::new(dir).refresh()?.clone()))
    }

    /// Removes a journal that is stopped and whose objects are files now.
    pub(super) fn remove(&self, dir: &str) -> io::Result<()> {
        let Some(name) = name_of(dir) else { return Ok(()) };
        let done = format!("{name}{DONE}");
        match renameat(&*self.dir, stopped(&name).as_str(), &*self.dir, done.as_str()) {
            Ok(()) => {}
            Err(Errno::NOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
        // As a whole: some of its files without the others would bring deleted objects back.
        self.disk.sync_dir(&*self.dir)?;
        // What cannot be removed now goes when somebody is alone with the bucket.
        if let Ok(Some(files)) = self.open(&done) {
            for name in names(&files)? {
                let _ = unlinkat(&files, name.as_str(), AtFlags::empty());
            }
            let _ = unlinkat(&*self.dir, done.as_str(), AtFlags::REMOVEDIR);
        }
        Ok(())
    }
}
