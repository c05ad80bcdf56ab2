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

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;

use super::LocalOptions;
use super::dirs::Dirs;
use super::disk::Disk;
use super::journal::{Appended, Index, Journals, Look, Record};
use super::list;
use super::object::{Nonce, ObjectWriter, TRAILER, Trailer};
use super::open::{self, lock_retrying};
use super::path::{self, Place};
use super::staged::{Staged, Staging};
use super::upload::Unfinished;
use crate::{At, BucketError, Listed, Object, Suffix, Version, failpoint};

/// Files `00` … `3f` in `locks/`.
const LOCKS: u64 = 64;

/// How often a write follows a directory that others remove.
const TRIES: usize = 64;

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

/// An object that can be read.
enum Content {
    /// Its file, and the size of its content in bytes.
    File(File, Trailer, u64),
    Record(Record),
}

impl Content {
    fn size(&self) -> u64 {
        match self {
            Content::File(_, _, size) => *size,
            Content::Record(record) => record.body.len() as u64,
        }
    }
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

    // Journals

    /// Begins a journal for the objects directly below `prefix`; see [`crate::Bucket::begin_journal`].
    pub(super) fn begin_journal(&self, prefix: &str) -> Result<bool, Trouble> {
        let dir = path::dir_of(prefix);
        let used = self.dirs.existing(&dir).map_err(|error| Trouble::Io(self.objects.join(&dir), error))?;
        if used.is_some() {
            return Ok(false);
        }
        self.journals.begin(&dir).map_err(self.journal_io(&dir))
    }

    /// Ends the journal for the objects directly below `prefix`, if there is one.
    pub(super) fn end_journal(&self, prefix: &str) -> Result<(), Trouble> {
        self.settle(&path::dir_of(prefix))
    }

    /// Makes sure that all objects of `dir` are files and will be.
    fn settle(&self, dir: &str) -> Result<(), Trouble> {
        let failed = self.journal_io(dir);
        if !self.journals.any(dir).map_err(&failed)? {
            return Ok(());
        }
        let _lock = self.lock(&format!("journal of {dir}"))?;
        let Some(objects) = self.journals.stop(dir).map_err(&failed)? else { return Ok(()) };
        let mut made = None;
        for (key, location) in objects {
            let changed =
                || io::Error::new(io::ErrorKind::InvalidData, format!("the record of {key} changed"));
            let record =
                location.read(&key).and_then(|record| record.ok_or_else(changed)).map_err(&failed)?;
            let place = path::place(&key);
            let staged = self.staging.for_create(&record.body, record.nonce);
            let staged = staged.map_err(|error| self.io(&place, error))?;
            // A file that is there counts: it is the same object, or the record was written too late.
            made = Some(self.named(&place, |dir| match staged.link(dir, &place.file) {
                Err(Errno::EXIST) => Ok(()),
                linked => linked,
            })?);
        }
        if let Some(made) = made {
            self.disk.sync_dir(&made).map_err(|error| Trouble::Io(self.objects.join(dir), error.into()))?;
        }
        failpoint("settle");
        self.journals.remove(dir).map_err(failed)
    }

    /// Gives a name in the object's directory, which is made when it does not exist.
    fn named(
        &self,
        place: &Place,
        mut give: impl FnMut(&OwnedFd) -> Result<(), Errno>,
    ) -> Result<Arc<OwnedFd>, Trouble> {
        for _ in 0..TRIES {
            let dir = self.dirs.made(&place.dir).map_err(|error| self.io(place, error))?;
            match give(&dir) {
                Ok(()) => return Ok(dir),
                // The directory that we hold open has been removed because it was empty, and perhaps made again.
                Err(Errno::NOENT) => self.dirs.forget_above(&place.dir),
                Err(error) => return Err(self.io(place, error)),
            }
        }
        Err(self.io(place, Errno::NOENT))
    }

    // Reading

    /// The object, wherever it is.
    fn find(&self, key: &str) -> Result<Option<Content>, Trouble> {
        let place = path::place(key);
        match self.journals.read(&place.dir, key).map_err(self.journal_io(&place.dir))? {
            Look::Here(record) => return Ok(record.map(Content::Record)),
            Look::Stopped => {
                if let Some(Some(location)) = self.stopped(&place.dir)?.map(|index| index.get(key).cloned())
                    && self.open_object(&place)?.is_none()
                {
                    let record = location.read(key).map_err(self.journal_io(&place.dir))?;
                    return Ok(record.map(Content::Record));
                }
            }
            Look::Gone => {}
        }
        let found = self.open_object(&place)?;
        Ok(found.map(|(file, trailer, size)| Content::File(file, trailer, size)))
    }

    /// The open file of an object with its trailer and the size of its content.
    fn open_object(&self, place: &Place) -> Result<Option<(File, Trailer, u64)>, Trouble> {
        let relative =
            if place.dir.is_empty() { place.file.clone() } else { format!("{}/{}", place.dir, place.file) };
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let file = match openat(self.dirs.root(), relative.as_str(), flags, Mode::empty()) {
            Ok(fd) => File::from(fd),
            Err(Errno::NOENT) => return Ok(None),
            Err(error) => return Err(self.io(place, error)),
        };
        let size = file.metadata().map_err(|error| self.io(place, error))?.len();
        let damaged = |problem| Trouble::Damaged(self.path(place), problem);
        let Some(content) = size.checked_sub(TRAILER as u64) else {
            return Err(damaged(format!("it has {size} bytes, fewer than any object's file")));
        };
        let mut tail = [0; TRAILER];
        file.read_exact_at(&mut tail, content).map_err(|error| self.io(place, error))?;
        let trailer = Trailer::parse(&tail, size).map_err(damaged)?;
        Ok(Some((file, trailer, content)))
    }

    fn read_at(&self, place: &Place, file: &File, range: Range<u64>) -> Result<Bytes, Trouble> {
        let mut bytes = vec![0; (range.end - range.start) as usize];
        file.read_exact_at(&mut bytes, range.start).map_err(|error| self.io(place, error))?;
        Ok(bytes.into())
    }

    pub(super) fn get(&self, key: &str) -> Result<Option<Object>, Trouble> {
        let (file, trailer, size) = match self.find(key)? {
            None => return Ok(None),
            Some(Content::File(file, trailer, size)) => (file, trailer, size),
            Some(Content::Record(record)) => {
                let version = Version::from_tag(&record.nonce.text());
                return Ok(Some(Object { bytes: record.body, version }));
            }
        };
        let place = path::place(key);
        let bytes = self.read_at(&place, &file, 0..size)?;
        if !trailer.matches(&bytes) {
            return Err(Trouble::Damaged(
                self.path(&place),
                "its content does not match its checksum".into(),
            ));
        }
        Ok(Some(Object { bytes, version: Version::from_tag(&trailer.nonce.text()) }))
    }

    pub(super) fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<Bytes>, Trouble> {
        let Some(content) = self.find(key)? else { return Ok(None) };
        let size = content.size();
        if range.end > size {
            return Err(Trouble::Range(range, size));
        }
        self.part(key, content, range).map(Some)
    }

    pub(super) fn get_suffix(&self, key: &str, n: u64) -> Result<Option<Suffix>, Trouble> {
        let Some(content) = self.find(key)? else { return Ok(None) };
        let size = content.size();
        let bytes = self.part(key, content, size.saturating_sub(n)..size)?;
        Ok(Some(Suffix { bytes, size }))
    }

    fn part(&self, key: &str, content: Content, range: Range<u64>) -> Result<Bytes, Trouble> {
        match content {
            Content::File(file, ..) => self.read_at(&path::place(key), &file, range),
            Content::Record(record) => Ok(record.body.slice(range.start as usize..range.end as usize)),
        }
    }

    pub(super) fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listed>, Trouble> {
        // First: what is in none of them any more is a file.
        let journaled = self.journaled(prefix)?;
        let mut found = list::list(&self.objects, prefix, after, limit)
            .map_err(|error| Trouble::Io(self.objects.join(path::dir_of(prefix)), error))?;
        if !journaled.is_empty() {
            found.extend(
                journaled.into_iter().filter(|listed| after.is_none_or(|after| &*listed.key > after)),
            );
            // Some may have become files meanwhile.
            found.sort_unstable_by(|a, b| a.key.cmp(&b.key));
            found.dedup_by(|b, a| a.key == b.key);
            found.truncate(limit);
        }
        Ok(found)
    }

    pub(super) fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, Trouble> {
        let journaled = self.journaled(prefix)?;
        let mut found = list::list_dirs(&self.objects, prefix)
            .map_err(|error| Trouble::Io(self.objects.join(path::dir_of(prefix)), error))?;
        let stem = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let before = found.len();
        let names = journaled.iter().filter_map(|listed| listed.key.strip_prefix(&stem)?.split_once('/'));
        found.extend(names.map(|(name, _)| name.to_owned()));
        if found.len() > before {
            found.sort_unstable();
            found.dedup();
        }
        Ok(found)
    }

    /// The objects below `prefix` that are in journals.
    fn journaled(&self, prefix: &str) -> Result<Vec<Listed>, Trouble> {
        let mut found = Vec::new();
        let dir = path::dir_of(prefix);
        for dir in self.journals.below(&dir).map_err(self.journal_io(&dir))? {
            match self.journals.list(&dir).map_err(self.journal_io(&dir))? {
                Look::Here(listed) => found.extend(listed),
                Look::Stopped => {
                    let index = self.stopped(&dir)?.unwrap_or_default();
                    found.extend(index.into_iter().map(|(key, at)| Listed { key, size: at.size() }));
                }
                Look::Gone => {}
            }
        }
        Ok(found)
    }

    /// Takes a journal apart, for a reader. Where that cannot be done now, because there is no room for files, what is in it: whoever
    /// takes it apart later finds the same.
    fn stopped(&self, dir: &str) -> Result<Option<Index>, Trouble> {
        let Err(trouble) = self.settle(dir) else { return Ok(None) };
        let _lock = self.lock(&format!("journal of {dir}"))?;
        match self.journals.stop(dir) {
            Ok(index) => Ok(index),
            Err(_) => Err(trouble),
        }
    }

    // Writing

    pub(super) fn create(&self, key: &str, body: &[u8]) -> Result<Written, Trouble> {
        let place = path::place(key);
        if let Some(journal) = self.journals.own(&place.dir) {
            let failed = self.journal_io(&place.dir);
            match journal.create(key, body).map_err(&failed)? {
                Appended::Done(nonce) => return Ok(Written::Done(nonce)),
                Appended::Refused => return Ok(Written::Refused),
                Appended::Unknown(error) => return Ok(Written::Unknown(failed(error))),
                // Written or not, it may have been found.
                Appended::Stopped => {
                    self.journals.forget(&place.dir);
                    return Ok(self.create_file(&place, body).unwrap_or_else(Written::Unknown));
                }
            }
        }
        self.create_file(&place, body)
    }

    fn create_file(&self, place: &Place, body: &[u8]) -> Result<Written, Trouble> {
        self.settle(&place.dir)?;
        let failed = |error: io::Error| self.io(place, error);
        let mut staged: Option<(Staged, Nonce)> = None;
        for _ in 0..TRIES {
            let dir = self.dirs.made(&place.dir).map_err(failed)?;
            // A look before the expensive part: whoever loses a race most often loses it here.
            match statat(&dir, place.file.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => return self.refuse(place, &dir),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(failed(error.into())),
            }
            if staged.is_none() {
                let nonce = Nonce::random().map_err(failed)?;
                staged = Some((self.staging.for_create(body, nonce).map_err(failed)?, nonce));
            }
            let Some((file, nonce)) = &staged else { continue };
            match file.link(&dir, &place.file) {
                Ok(()) => return Ok(self.written(place, &dir, *nonce)),
                Err(Errno::EXIST) => return self.refuse(place, &dir),
                // The directory was empty, and somebody removed it.
                Err(Errno::NOENT) => self.dirs.forget_above(&place.dir),
                Err(error) => return Err(failed(error.into())),
            }
        }
        Err(failed(Errno::NOENT.into()))
    }

    pub(super) fn update(&self, key: &str, body: &[u8], version: &Version) -> Result<Written, Trouble> {
        let place = path::place(key);
        self.settle(&place.dir)?;
        let _lock = self.lock(key)?;
        let Some((_, trailer, _)) = self.open_object(&place)? else { return Ok(Written::Refused) };
        if version.e_tag.as_deref() != Some(trailer.nonce.text().as_str()) {
            let dir = self.dirs.made(&place.dir).map_err(|error| self.io(&place, error))?;
            return self.refuse(&place, &dir);
        }
        self.replace(&place, body)
    }

    pub(super) fn put(&self, key: &str, body: &[u8]) -> Result<Written, Trouble> {
        let place = path::place(key);
        self.settle(&place.dir)?;
        let _lock = self.lock(key)?;
        self.replace(&place, body)
    }

    /// Appends to the file of an upload.
    pub(super) fn append(
        &self,
        key: &str,
        file: Option<Unfinished>,
        piece: &[u8],
    ) -> Result<Unfinished, Trouble> {
        let place = path::place(key);
        let failed = |error: io::Error| self.io(&place, error);
        let mut file = match file {
            Some(file) => file,
            None => Unfinished {
                staged: self.staging.for_pieces().map_err(failed)?,
                writer: ObjectWriter::new(),
                nonce: Nonce::random().map_err(failed)?,
            },
        };
        self.staging.append(&mut file.staged, &mut file.writer, piece).map_err(failed)?;
        Ok(file)
    }

    /// Gives the file of an upload its name; an upload without pieces is an empty object.
    pub(super) fn end_upload(&self, key: &str, file: Option<Unfinished>) -> Result<Written, Trouble> {
        let place = path::place(key);
        self.settle(&place.dir)?;
        let file = match file {
            Some(file) => file,
            None => self.append(key, None, &[])?,
        };
        let Unfinished { mut staged, writer, nonce } = file;
        self.staging.end(&mut staged, writer, nonce).map_err(|error| self.io(&place, error))?;
        let _lock = self.lock(key)?;
        self.take_name(&place, staged, nonce)
    }

    /// Writes the object whatever is there. The caller holds its lock.
    fn replace(&self, place: &Place, body: &[u8]) -> Result<Written, Trouble> {
        let failed = |error: io::Error| self.io(place, error);
        let nonce = Nonce::random().map_err(failed)?;
        let staged = self.staging.for_replace(body, nonce).map_err(failed)?;
        self.take_name(place, staged, nonce)
    }

    /// Gives a staged object the name of whatever is there. The caller holds the lock.
    fn take_name(&self, place: &Place, mut staged: Staged, nonce: Nonce) -> Result<Written, Trouble> {
        let dir = self.named(place, |dir| staged.replace(dir, &place.file))?;
        Ok(self.written(place, &dir, nonce))
    }

    pub(super) fn delete(&self, key: &str) -> Result<(), Trouble> {
        match self.delete_many(&[key.to_owned()]).pop() {
            Some((_, trouble)) => Err(trouble),
            None => Ok(()),
        }
    }

    /// Deletes objects with one flush for each directory. Returns those that may still be there.
    pub(super) fn delete_many(&self, keys: &[String]) -> Vec<(String, Trouble)> {
        let mut failed = Vec::new();
        let mut dirs: BTreeMap<String, Vec<&String>> = BTreeMap::new();
        for key in keys {
            dirs.entry(path::place(key).dir).or_default().push(key);
        }
        for (dir, keys) in dirs {
            match self.delete_journaled(&dir, &keys) {
                Ok(true) => {}
                Ok(false) => self.delete_files(&dir, keys, &mut failed),
                Err(error) => {
                    let kind = error.kind();
                    let text = error.to_string();
                    failed.extend(keys.into_iter().map(|key| {
                        let error = io::Error::new(kind, text.clone());
                        (key.clone(), Trouble::Io(self.journals.path(&dir), error))
                    }));
                }
            }
        }
        failed
    }

    /// Deletes them from the journal that this process writes; `false` when there is none.
    fn delete_journaled(&self, dir: &str, keys: &[&String]) -> io::Result<bool> {
        let Some(journal) = self.journals.own(dir) else { return Ok(false) };
        match journal.delete(keys.iter().map(|key| key.as_str()))? {
            Appended::Done(_) | Appended::Refused => Ok(true),
            Appended::Unknown(error) => Err(error),
            Appended::Stopped => {
                self.journals.forget(dir);
                Ok(false)
            }
        }
    }

    fn delete_files(&self, path: &str, keys: Vec<&String>, failed: &mut Vec<(String, Trouble)>) {
        let mut gone: Option<(Arc<OwnedFd>, Vec<&String>)> = None;
        for key in keys {
            let unlinked = self.settle(path).and_then(|()| self.unlink(key, &path::place(key)));
            match unlinked {
                Ok(Some(dir)) => gone.get_or_insert_with(|| (dir, Vec::new())).1.push(key),
                Ok(None) => {}
                Err(trouble) => failed.push((key.clone(), trouble)),
            }
        }
        let Some((dir, keys)) = gone else { return };
        if let Err(error) = self.disk.sync_dir(&dir) {
            let trouble = |key: &String| self.io(&path::place(key), error);
            failed.extend(keys.into_iter().map(|key| (key.clone(), trouble(key))));
        }
        // A directory in which this process creates objects will be needed again.
        if self.dirs.kept(path).is_none() {
            self.prune(path);
        }
    }

    /// Removes an object's name, not yet durably. The directory that changed, if one did.
    fn unlink(&self, key: &str, place: &Place) -> Result<Option<Arc<OwnedFd>>, Trouble> {
        let failed = |error: io::Error| self.io(place, error);
        let _lock = self.lock(key)?;
        // By its path: a directory that we hold open may have been removed and made again.
        let Some(dir) = self.dirs.existing(&place.dir).map_err(failed)? else { return Ok(None) };
        match unlinkat(&dir, place.file.as_str(), AtFlags::empty()) {
            Ok(()) => Ok(Some(dir)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(failed(error.into())),
        }
    }

    /// Removes `dir` and those above it as long as they are empty. Not durable and not complete: an empty directory is
    /// nothing that a key can see.
    fn prune(&self, dir: &str) {
        let mut dir = dir;
        while !dir.is_empty() {
            if unlinkat(self.dirs.root(), dir, AtFlags::REMOVEDIR).is_err() {
                return;
            }
            dir = dir.rsplit_once('/').map_or("", |(parent, _)| parent);
        }
    }

    /// The object has got its name; makes that durable.
    fn written(&self, place: &Place, dir: &OwnedFd, nonce: Nonce) -> Written {
        match self.disk.sync_dir(dir) {
            Ok(()) => Written::Done(nonce),
            Err(error) => Written::Unknown(self.io(place, error)),
        }
    }

    /// Another object stands there; makes sure that it stays.
    fn refuse(&self, place: &Place, dir: &OwnedFd) -> Result<Written, Trouble> {
        self.disk.sync_dir(dir).map_err(|error| self.io(place, error))?;
        Ok(Written::Refused)
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
