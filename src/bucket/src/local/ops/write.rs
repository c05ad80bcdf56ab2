//! Changing: creating, replacing and deleting objects.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, statat, unlinkat};
use rustix::io::Errno;

use super::{Inner, Trouble, Written};
use crate::Version;
use crate::local::journal::Appended;
use crate::local::object::{Nonce, ObjectWriter};
use crate::local::path::{self, Place};
use crate::local::staged::Staged;
use crate::local::upload::Unfinished;

/// How often a write follows a directory that others remove.
const TRIES: usize = 64;

impl Inner {
    pub(in crate::local) fn create(&self, key: &str, body: &[u8]) -> Result<Written, Trouble> {
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

    pub(in crate::local) fn update(
        &self,
        key: &str,
        body: &[u8],
        version: &Version,
    ) -> Result<Written, Trouble> {
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

    pub(in crate::local) fn put(&self, key: &str, body: &[u8]) -> Result<Written, Trouble> {
        let place = path::place(key);
        self.settle(&place.dir)?;
        let _lock = self.lock(key)?;
        self.replace(&place, body)
    }

    /// Appends to the file of an upload.
    pub(in crate::local) fn append(
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
    pub(in crate::local) fn end_upload(
        &self,
        key: &str,
        file: Option<Unfinished>,
    ) -> Result<Written, Trouble> {
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

    pub(in crate::local) fn delete(&self, key: &str) -> Result<(), Trouble> {
        match self.delete_many(&[key.to_owned()]).pop() {
            Some((_, trouble)) => Err(trouble),
            None => Ok(()),
        }
    }

    /// Deletes objects with one flush for each directory. Returns those that may still be there.
    pub(in crate::local) fn delete_many(&self, keys: &[String]) -> Vec<(String, Trouble)> {
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
        let mut settled = false;
        for key in keys {
            let ready = if settled { Ok(()) } else { self.settle(path) };
            settled = ready.is_ok();
            let unlinked = ready.and_then(|()| self.unlink(key, &path::place(key)));
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

    /// Gives a name in the object's directory, which is made when it does not exist.
    pub(super) fn named(
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
}
