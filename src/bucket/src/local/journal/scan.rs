//! Reading a journal from its files: what another process writes or has written.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{Dir, Mode, OFlags, fstat, openat};
use rustix::io::Errno;

use super::record::{BLOCK, Head, Kind, Record};

/// Where an object lies.
#[derive(Debug, Clone)]
pub(in crate::local) struct Location {
    pub(super) file: Arc<File>,
    pub(super) generation: u64,
    pub(super) salt: u128,
    pub(super) offset: u64,
    /// Bytes of its content.
    pub(in crate::local) size: u64,
}

impl Location {
    /// The record; `None` when the segment has become another one since.
    pub(in crate::local) fn read(&self, key: &str) -> io::Result<Option<Record>> {
        let record = Record::read(&self.file, self.salt, self.offset)?;
        Ok(record.filter(|record| record.kind == Kind::Create && record.key == key))
    }
}

/// The objects of a journal, by key.
pub(in crate::local) type Index = BTreeMap<String, Location>;

/// What is known of one journal's files so far.
pub(super) struct Scan {
    dir: OwnedFd,
    segments: BTreeMap<String, Segment>,
    index: Index,
}

struct Segment {
    file: Arc<File>,
    head: Head,
    /// Where the next record will begin.
    end: u64,
    found: Vec<Found>,
}

enum Found {
    Created(String, u64, u64),
    Deleted(Vec<String>),
}

impl Scan {
    pub(super) fn new(dir: OwnedFd) -> Scan {
        Scan { dir, segments: BTreeMap::new(), index: Index::new() }
    }

    /// `true` when this is about the directory `dir`.
    pub(super) fn is_of(&self, dir: &OwnedFd) -> io::Result<bool> {
        let (mine, other) = (fstat(&self.dir)?, fstat(dir)?);
        Ok((mine.st_dev, mine.st_ino) == (other.st_dev, other.st_ino))
    }

    /// Reads what has been written since the last time.
    pub(super) fn refresh(&mut self) -> io::Result<&Index> {
        let names = names(&self.dir)?;
        let before = self.segments.len();
        self.segments.retain(|name, _| names.contains(name));
        let mut changed = self.segments.len() < before;
        for name in names {
            let segment = match self.segments.get_mut(&name) {
                Some(segment) => segment,
                None => {
                    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                    let file = match openat(&self.dir, name.as_str(), flags, Mode::empty()) {
                        Ok(fd) => Arc::new(File::from(fd)),
                        // Whoever removes a segment has made objects of what it held.
                        Err(Errno::NOENT) => continue,
                        Err(error) => return Err(error.into()),
                    };
                    let Some(head) = Head::read(&file)? else { continue };
                    let segment = Segment { file, head, end: BLOCK as u64, found: Vec::new() };
                    self.segments.entry(name).or_insert(segment)
                }
            };
            changed |= segment.refresh()?;
        }
        if changed {
            self.replay();
        }
        Ok(&self.index)
    }

    /// Makes the index anew: records count in the order in which they were written, whatever the files are called.
    fn replay(&mut self) {
        self.index.clear();
        let mut segments: Vec<&Segment> = self.segments.values().collect();
        segments.sort_unstable_by_key(|segment| segment.head.generation);
        for Segment { file, head, found, .. } in segments {
            for found in found {
                match found {
                    Found::Created(key, offset, size) => {
                        let (file, offset, size) = (file.clone(), *offset, *size);
                        let location =
                            Location { file, generation: head.generation, salt: head.salt, offset, size };
                        self.index.insert(key.clone(), location);
                    }
                    Found::Deleted(keys) => keys.iter().for_each(|key| drop(self.index.remove(key))),
                }
            }
        }
    }
}

impl Segment {
    /// `true` when there was something new.
    fn refresh(&mut self) -> io::Result<bool> {
        let mut changed = false;
        match Head::read(&self.file)? {
            Some(head) if head == self.head => {}
            // Used again: what was in it has been deleted. A head that is being written is read the next time.
            head => {
                changed = true;
                (self.end, self.found) = (BLOCK as u64, Vec::new());
                match head {
                    Some(head) => self.head = head,
                    None => return Ok(true),
                }
            }
        }
        while let Some(record) = Record::read(&self.file, self.head.salt, self.end)? {
            let extent = Record::extent(&record.key, &record.body);
            self.found.push(match record.kind {
                Kind::Create => Found::Created(record.key, self.end, record.body.len() as u64),
                Kind::Delete => {
                    let keys = String::from_utf8_lossy(&record.body);
                    Found::Deleted(keys.lines().map(str::to_owned).collect())
                }
            });
            self.end += extent;
            changed = true;
        }
        Ok(changed)
    }
}

/// The entries of a directory; none when it has been removed.
pub(super) fn names(dir: &OwnedFd) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    // Opened anew: a position is shared by those who share a descriptor.
    let entries = match Dir::read_from(dir) {
        Ok(entries) => entries,
        Err(Errno::NOENT) => return Ok(names),
        Err(error) => return Err(error.into()),
    };
    for entry in entries {
        let entry = entry?;
        if let Ok(name) = entry.file_name().to_str()
            && name != "."
            && name != ".."
        {
            names.push(name.to_owned());
        }
    }
    Ok(names)
}
