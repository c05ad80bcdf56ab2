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

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags, openat, statat, unlinkat};
use rustix::io::Errno;
use tokio::sync::Semaphore;

use super::LocalOptions;
use super::dirs::Dirs;
use super::disk::Disk;
use super::list;
use super::object::{Nonce, ObjectWriter, TRAILER, Trailer};
use super::open::{self, lock_retrying};
use super::path::{self, Place};
use super::staged::{Staged, Staging};
use super::upload::{LocalUpload, Unfinished};
use crate::store::Store;
use crate::upload::Pieces;
use crate::{At, BucketError, Listed, Object, Suffix, Version, WriteOutcome};

/// Files `00` … `3f` in `locks/`.
const LOCKS: u64 = 64;

/// Operations that wait for the disk at the same time, each on a thread of the runtime's blocking pool.
const PARALLEL: usize = 64;

/// How often a write follows a directory that others remove.
const TRIES: usize = 64;

/// Cloning is cheap: all clones are one store.
#[derive(Clone)]
pub(crate) struct LocalStore {
    inner: Arc<Inner>,
    slots: Arc<Semaphore>,
}

struct Inner {
    name: Arc<str>,
    objects: PathBuf,
    disk: Arc<Disk>,
    dirs: Dirs,
    staging: Staging,
    locks: OwnedFd,
    /// Its shared lock says that this process uses the directory.
    _open: File,
}

/// What an operation reports before it knows which verb and key the message names.
enum Trouble {
    Io(PathBuf, io::Error),
    Damaged(PathBuf, String),
    Range(Range<u64>, u64),
}

/// How a write ended before it is told to the caller.
enum Written {
    Done(Nonce),
    Refused,
    /// Its name is there, but perhaps not durably.
    Unknown(Trouble),
}

impl LocalStore {
    pub(crate) fn open(root: &Path, options: LocalOptions) -> Result<LocalStore, BucketError> {
        let opened = open::open(root, options.sync)?;
        let disk = Arc::new(Disk::new(options.sync));
        let inner = Inner {
            name: root.display().to_string().into(),
            objects: root.join("objects"),
            dirs: Dirs::new(opened.objects, disk.clone()),
            staging: Staging::new(opened.tmp, disk.clone()),
            disk,
            locks: opened.locks,
            _open: opened.lock,
        };
        Ok(LocalStore { inner: Arc::new(inner), slots: Arc::new(Semaphore::new(PARALLEL)) })
    }

    /// Runs file work on a thread that may block. The work is not cut short when the caller goes away.
    async fn run<T: Send + 'static>(
        &self,
        verb: &'static str,
        key: &str,
        work: impl FnOnce(&Inner, &str) -> Result<T, Trouble> + Send + 'static,
    ) -> Result<T, Failure> {
        let permit =
            self.slots.clone().acquire_owned().await.map_err(|_| Failure::NotRun(self.gone(verb, key)))?;
        let (inner, owned) = (self.inner.clone(), key.to_owned());
        let task = tokio::task::spawn_blocking(move || {
            let _permit = permit;
            if let Some(detail) = inner.disk.failure() {
                return Err(BucketError::Failing { at: inner.at(verb, &owned), detail: detail.to_owned() });
            }
            work(&inner, &owned).map_err(|trouble| inner.error(verb, &owned, trouble))
        });
        match task.await {
            Ok(result) => result.map_err(Failure::NotRun),
            Err(_) => Err(Failure::Lost(self.gone(verb, key))),
        }
    }

    fn gone(&self, verb: &'static str, key: &str) -> BucketError {
        BucketError::Other { at: self.inner.at(verb, key), detail: "the process is stopping".into() }
    }

    pub(super) fn at(&self, verb: &'static str, key: &str) -> At {
        self.inner.at(verb, key)
    }

    /// Appends a piece to the file of an upload, or begins one.
    pub(super) async fn append(
        &self,
        key: &str,
        file: Option<Unfinished>,
        piece: Bytes,
    ) -> Result<Unfinished, BucketError> {
        Ok(self.run("write", key, move |inner, key| inner.append(key, file, &piece)).await?)
    }

    /// Ends an upload: gives its file the object's name.
    pub(super) async fn name(&self, key: &str, file: Option<Unfinished>) -> Result<(), BucketError> {
        match self.run("write", key, move |inner, key| inner.name(key, file)).await? {
            Written::Unknown(trouble) => Err(self.inner.error("write", key, trouble)),
            Written::Done(_) | Written::Refused => Ok(()),
        }
    }

    async fn write(
        &self,
        verb: &'static str,
        key: &str,
        work: impl FnOnce(&Inner, &str) -> Result<Written, Trouble> + Send + 'static,
    ) -> WriteOutcome {
        match self.run(verb, key, work).await {
            Ok(Written::Done(nonce)) => WriteOutcome::Done(Version::from_tag(&nonce.text())),
            Ok(Written::Refused) => WriteOutcome::Refused,
            Ok(Written::Unknown(trouble)) => WriteOutcome::Unknown(self.inner.error(verb, key, trouble)),
            Err(Failure::NotRun(error)) => WriteOutcome::Failed(error),
            Err(Failure::Lost(error)) => WriteOutcome::Unknown(error),
        }
    }
}

/// Why file work gave no result.
enum Failure {
    /// It changed nothing.
    NotRun(BucketError),
    /// It was started, and nobody knows how it ended.
    Lost(BucketError),
}

impl From<Failure> for BucketError {
    fn from(failure: Failure) -> BucketError {
        match failure {
            Failure::NotRun(error) | Failure::Lost(error) => error,
        }
    }
}

impl Inner {
    fn at(&self, verb: &'static str, key: &str) -> At {
        At { verb, key: key.into(), bucket: self.name.clone() }
    }

    fn error(&self, verb: &'static str, key: &str, trouble: Trouble) -> BucketError {
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

    // Reading

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

    fn get(&self, key: &str) -> Result<Option<Object>, Trouble> {
        let place = path::place(key);
        let Some((file, trailer, size)) = self.open_object(&place)? else { return Ok(None) };
        let bytes = self.read_at(&place, &file, 0..size)?;
        if !trailer.matches(&bytes) {
            return Err(Trouble::Damaged(
                self.path(&place),
                "its content does not match its checksum".into(),
            ));
        }
        Ok(Some(Object { bytes, version: Version::from_tag(&trailer.nonce.text()) }))
    }

    fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<Bytes>, Trouble> {
        let place = path::place(key);
        let Some((file, _, size)) = self.open_object(&place)? else { return Ok(None) };
        if range.end > size {
            return Err(Trouble::Range(range, size));
        }
        self.read_at(&place, &file, range).map(Some)
    }

    fn get_suffix(&self, key: &str, n: u64) -> Result<Option<Suffix>, Trouble> {
        let place = path::place(key);
        let Some((file, _, size)) = self.open_object(&place)? else { return Ok(None) };
        let bytes = self.read_at(&place, &file, size.saturating_sub(n)..size)?;
        Ok(Some(Suffix { bytes, size }))
    }

    // Writing

    fn create(&self, key: &str, body: &[u8]) -> Result<Written, Trouble> {
        let place = path::place(key);
        let failed = |error: io::Error| self.io(&place, error);
        let mut staged: Option<(Staged, Nonce)> = None;
        for _ in 0..TRIES {
            let dir = self.dirs.made(&place.dir).map_err(failed)?;
            // A look before the expensive part: whoever loses a race most often loses it here.
            match statat(&dir, place.file.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
                Ok(_) => return self.refuse(&place, &dir),
                Err(Errno::NOENT) => {}
                Err(error) => return Err(failed(error.into())),
            }
            if staged.is_none() {
                let nonce = Nonce::random().map_err(failed)?;
                staged = Some((self.staging.for_create(body, nonce).map_err(failed)?, nonce));
            }
            let Some((file, nonce)) = &staged else { continue };
            match file.link(&dir, &place.file) {
                Ok(()) => return Ok(self.written(&place, &dir, *nonce)),
                Err(Errno::EXIST) => return self.refuse(&place, &dir),
                // The directory was empty, and somebody removed it.
                Err(Errno::NOENT) => self.dirs.forget_above(&place.dir),
                Err(error) => return Err(failed(error.into())),
            }
        }
        Err(failed(Errno::NOENT.into()))
    }

    fn update(&self, key: &str, body: &[u8], version: &Version) -> Result<Written, Trouble> {
        let place = path::place(key);
        let _lock = self.lock(key)?;
        let Some((_, trailer, _)) = self.open_object(&place)? else { return Ok(Written::Refused) };
        if version.e_tag.as_deref() != Some(trailer.nonce.text().as_str()) {
            let dir = self.dirs.made(&place.dir).map_err(|error| self.io(&place, error))?;
            return self.refuse(&place, &dir);
        }
        self.replace(&place, body)
    }

    fn put(&self, key: &str, body: &[u8]) -> Result<Written, Trouble> {
        let _lock = self.lock(key)?;
        self.replace(&path::place(key), body)
    }

    /// Appends to the file of an upload.
    fn append(&self, key: &str, file: Option<Unfinished>, piece: &[u8]) -> Result<Unfinished, Trouble> {
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
    fn name(&self, key: &str, file: Option<Unfinished>) -> Result<Written, Trouble> {
        let place = path::place(key);
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
        let failed = |error: io::Error| self.io(place, error);
        for _ in 0..TRIES {
            let dir = self.dirs.made(&place.dir).map_err(failed)?;
            match staged.replace(&dir, &place.file) {
                Ok(()) => return Ok(self.written(place, &dir, nonce)),
                // The directory that we hold open has been removed, and perhaps made again.
                Err(Errno::NOENT) => self.dirs.forget_above(&place.dir),
                Err(error) => return Err(failed(error.into())),
            }
        }
        Err(failed(Errno::NOENT.into()))
    }

    fn delete(&self, key: &str) -> Result<(), Trouble> {
        match self.delete_many(&[key.to_owned()]).pop() {
            Some((_, trouble)) => Err(trouble),
            None => Ok(()),
        }
    }

    /// Deletes objects with one flush for each directory. Returns those that may still be there.
    fn delete_many(&self, keys: &[String]) -> Vec<(String, Trouble)> {
        let mut failed = Vec::new();
        let mut changed: BTreeMap<String, (Arc<OwnedFd>, Vec<&String>)> = BTreeMap::new();
        for key in keys {
            let place = path::place(key);
            match self.unlink(key, &place) {
                Ok(Some(dir)) => {
                    changed.entry(place.dir).or_insert_with(|| (dir, Vec::new())).1.push(key);
                }
                Ok(None) => {}
                Err(trouble) => failed.push((key.clone(), trouble)),
            }
        }
        for (path, (dir, keys)) in changed {
            if let Err(error) = self.disk.sync_dir(&dir) {
                let trouble = |key: &String| self.io(&path::place(key), error);
                failed.extend(keys.into_iter().map(|key| (key.clone(), trouble(key))));
            }
            // A directory in which this process creates objects will be needed again.
            if self.dirs.kept(&path).is_none() {
                self.prune(&path);
            }
        }
        failed
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

#[async_trait]
impl Store for LocalStore {
    fn name(&self) -> &Arc<str> {
        &self.inner.name
    }

    async fn get(&self, key: &str) -> Result<Option<Object>, BucketError> {
        Ok(self.run("read", key, |inner, key| inner.get(key)).await?)
    }

    async fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<Bytes>, BucketError> {
        Ok(self.run("read", key, move |inner, key| inner.get_range(key, range)).await?)
    }

    async fn get_suffix(&self, key: &str, n: u64) -> Result<Option<Suffix>, BucketError> {
        Ok(self.run("read", key, move |inner, key| inner.get_suffix(key, n)).await?)
    }

    async fn create(&self, key: &str, bytes: Bytes) -> WriteOutcome {
        self.write("create", key, move |inner, key| inner.create(key, &bytes)).await
    }

    fn is_on_disk(&self) -> bool {
        true
    }

    fn create_blocking(&self, key: &str, bytes: &Bytes) -> Option<WriteOutcome> {
        let inner = &self.inner;
        if let Some(detail) = inner.disk.failure() {
            let at = inner.at("create", key);
            return Some(WriteOutcome::Failed(BucketError::Failing { at, detail: detail.to_owned() }));
        }
        Some(match inner.create(key, bytes) {
            Ok(Written::Done(nonce)) => WriteOutcome::Done(Version::from_tag(&nonce.text())),
            Ok(Written::Refused) => WriteOutcome::Refused,
            Ok(Written::Unknown(trouble)) => WriteOutcome::Unknown(inner.error("create", key, trouble)),
            Err(trouble) => WriteOutcome::Failed(inner.error("create", key, trouble)),
        })
    }

    async fn update(&self, key: &str, bytes: Bytes, version: &Version) -> WriteOutcome {
        let version = version.clone();
        self.write("update", key, move |inner, key| inner.update(key, &bytes, &version)).await
    }

    async fn put(&self, key: &str, bytes: Bytes) -> Result<Version, BucketError> {
        match self.run("write", key, move |inner, key| inner.put(key, &bytes)).await? {
            Written::Done(nonce) => Ok(Version::from_tag(&nonce.text())),
            Written::Unknown(trouble) => Err(self.inner.error("write", key, trouble)),
            Written::Refused => {
                Err(BucketError::Other { at: self.inner.at("write", key), detail: "refused".into() })
            }
        }
    }

    async fn upload(&self, key: &str) -> Result<Box<dyn Pieces>, BucketError> {
        Ok(Box::new(LocalUpload::new(self.clone(), key)))
    }

    async fn delete(&self, key: &str) -> Result<(), BucketError> {
        Ok(self.run("delete", key, |inner, key| inner.delete(key)).await?)
    }

    async fn delete_many(&self, keys: Vec<String>) -> Vec<(String, BucketError)> {
        let all = keys.clone();
        let deleted = self.run("delete", "", move |inner, _| Ok(inner.delete_many(&keys))).await;
        match deleted {
            Ok(failed) => {
                let error = |(key, trouble): (String, Trouble)| {
                    let error = self.inner.error("delete", &key, trouble);
                    (key, error)
                };
                failed.into_iter().map(error).collect()
            }
            Err(failure) => {
                let error = BucketError::from(failure);
                all.into_iter().map(|key| (key, error.clone())).collect()
            }
        }
    }

    async fn list(
        &self,
        prefix: &str,
        after: Option<&str>,
        limit: usize,
    ) -> Result<Vec<Listed>, BucketError> {
        let after = after.map(str::to_owned);
        let list = move |inner: &Inner, prefix: &str| {
            list::list(&inner.objects, prefix, after.as_deref(), limit)
                .map_err(|error| Trouble::Io(inner.objects.join(path::dir_of(prefix)), error))
        };
        Ok(self.run("list", prefix, list).await?)
    }

    async fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, BucketError> {
        let list = |inner: &Inner, prefix: &str| {
            list::list_dirs(&inner.objects, prefix)
                .map_err(|error| Trouble::Io(inner.objects.join(path::dir_of(prefix)), error))
        };
        Ok(self.run("list", prefix, list).await?)
    }
}
