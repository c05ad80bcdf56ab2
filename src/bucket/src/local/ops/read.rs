//! Reading: an object is found in the journal of its directory, or as a file.

use std::fs::File;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use bytes::Bytes;
use rustix::fs::{Mode, OFlags, openat};
use rustix::io::Errno;

use super::{Inner, Trouble};
use crate::local::journal::{Look, Record};
use crate::local::list;
use crate::local::object::{TRAILER, Trailer};
use crate::local::path::{self, Place};
use crate::{Listed, Object, Suffix, Version};

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
    pub(super) fn open_object(&self, place: &Place) -> Result<Option<(File, Trailer, u64)>, Trouble> {
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

    pub(in crate::local) fn get(&self, key: &str) -> Result<Option<Object>, Trouble> {
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

    pub(in crate::local) fn get_range(&self, key: &str, range: Range<u64>) -> Result<Option<Bytes>, Trouble> {
        let Some(content) = self.find(key)? else { return Ok(None) };
        let size = content.size();
        if range.end > size {
            return Err(Trouble::Range(range, size));
        }
        self.part(key, content, range).map(Some)
    }

    pub(in crate::local) fn get_suffix(&self, key: &str, n: u64) -> Result<Option<Suffix>, Trouble> {
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

    pub(in crate::local) fn list(
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

    pub(in crate::local) fn list_dirs(&self, prefix: &str) -> Result<Vec<String>, Trouble> {
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
            let index = match self.journals.index(&dir).map_err(self.journal_io(&dir))? {
                Look::Here(index) => index,
                Look::Stopped => self.stopped(&dir)?.unwrap_or_default(),
                Look::Gone => continue,
            };
            found.extend(index.into_iter().map(|(key, at)| Listed { key, size: at.size }));
        }
        Ok(found)
    }
}
