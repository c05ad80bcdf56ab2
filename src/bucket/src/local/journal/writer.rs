//! Writing a journal: the one process that may.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use parking_lot::Mutex;
use rustix::fs::{AtFlags, Mode, OFlags, Stat, fstat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::record::{BLOCK, Head, Kind, Record};
use super::scan::{Index, Location};
use crate::local::disk::Disk;
use crate::local::object::Nonce;

/// Bytes after which another segment is begun.
const SEGMENT: u64 = 16 << 20;

/// A file grows by this many bytes at once, all zero: a flush behind its end would have to flush the file's size and the place of
/// its blocks as well.
const GROWTH: u64 = 512 << 10;

/// How an append ended.
pub(in crate::local) enum Appended {
    Done(Nonce),
    /// There is such an object.
    Refused,
    /// Nothing is acknowledged here any more: somebody takes the journal apart. What stands now must be looked up.
    Stopped,
    /// It may stand and be durable, or not. Nothing is acknowledged here any more.
    Unknown(io::Error),
}

/// A journal that this process writes.
pub(in crate::local) struct Writer {
    /// `journals/`, and what the journal is called there.
    parent: Arc<OwnedFd>,
    name: String,
    dir: OwnedFd,
    /// Which directory that is.
    identity: Stat,
    disk: Arc<Disk>,
    state: Mutex<State>,
    /// Called at the points at which a writer that falls asleep is interesting.
    #[cfg(test)]
    pub(super) asleep: Mutex<Option<Asleep>>,
}

#[cfg(test)]
pub(super) type Asleep = Box<dyn FnMut(Point) + Send>;

#[cfg(test)]
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Point {
    BeforeWriting,
    BeforeLooking,
}

#[derive(Default)]
struct State {
    stopped: bool,
    /// In the order of their generations; the last one is written.
    segments: Vec<Segment>,
    /// How many files there have been.
    files: u32,
    generations: u64,
    index: Index,
    buffer: Vec<u8>,
}

struct Segment {
    file: Arc<File>,
    name: String,
    head: Head,
    /// Where the next record begins.
    end: u64,
    /// Up to here the file has blocks.
    allocated: u64,
    /// Objects in it that have not been deleted.
    objects: usize,
}

impl Writer {
    /// The directory is new, empty and durable.
    pub(super) fn new(parent: Arc<OwnedFd>, name: &str, dir: OwnedFd, disk: Arc<Disk>) -> io::Result<Writer> {
        let identity = fstat(&dir)?;
        Ok(Writer {
            parent,
            name: name.to_owned(),
            dir,
            identity,
            disk,
            state: Mutex::default(),
            #[cfg(test)]
            asleep: Mutex::default(),
        })
    }

    /// Creates an object. An error says that it was certainly not created.
    pub(in crate::local) fn create(&self, key: &str, body: &[u8]) -> io::Result<Appended> {
        let mut state = self.state.lock();
        if state.stopped {
            return Ok(Appended::Stopped);
        }
        if state.index.contains_key(key) {
            return self.refused(&mut state);
        }
        let nonce = Nonce::random()?;
        let location = match self.append(&mut state, Kind::Create, key, nonce, body)? {
            Ok(location) => location,
            Err(ended) => return Ok(ended),
        };
        state.index.insert(key.to_owned(), location);
        if let Some(segment) = state.segments.last_mut() {
            segment.objects += 1;
        }
        Ok(Appended::Done(nonce))
    }

    /// Deletes those of the objects that are here. [`Appended::Refused`] when none is.
    pub(in crate::local) fn delete<'a>(&self, keys: impl Iterator<Item = &'a str>) -> io::Result<Appended> {
        let mut state = self.state.lock();
        if state.stopped {
            return Ok(Appended::Stopped);
        }
        let keys: Vec<&str> = keys.filter(|key| state.index.contains_key(*key)).collect();
        if keys.is_empty() {
            return self.refused(&mut state);
        }
        let nonce = Nonce::random()?;
        if let Err(ended) = self.append(&mut state, Kind::Delete, "", nonce, keys.join("\n").as_bytes())? {
            return Ok(ended);
        }
        for key in keys {
            if let Some(location) = state.index.remove(key) {
                let of = |segment: &&mut Segment| segment.head.generation == location.generation;
                if let Some(segment) = state.segments.iter_mut().find(of) {
                    segment.objects -= 1;
                }
            }
        }
        Ok(Appended::Done(nonce))
    }

    /// What is known here is known only as long as the journal has its name.
    fn refused(&self, state: &mut State) -> io::Result<Appended> {
        state.stopped = !self.is_named()?;
        Ok(if state.stopped { Appended::Stopped } else { Appended::Refused })
    }

    /// Makes a record durable, and makes sure that it counts. `Err` inside when it does not.
    fn append(
        &self,
        state: &mut State,
        kind: Kind,
        key: &str,
        nonce: Nonce,
        body: &[u8],
    ) -> io::Result<Result<Location, Appended>> {
        let extent = Record::extent(key, body);
        if state.segments.last().is_none_or(|s| s.end + extent > SEGMENT && s.end > BLOCK as u64) {
            match self.begin_segment(state) {
                // Where there is no directory any more, nothing was written.
                Err(_) if !self.is_named()? => {
                    state.stopped = true;
                    return Ok(Err(Appended::Stopped));
                }
                begun => begun?,
            }
        }
        let State { segments, buffer, stopped, .. } = state;
        let Some(segment) = segments.last_mut() else { return Ok(Err(Appended::Stopped)) };
        let Head { generation, salt } = segment.head;
        let offset = segment.end;
        Record::encode(buffer, (salt, offset), kind, key, nonce, body);
        #[cfg(test)]
        self.sleep(Point::BeforeWriting);
        if let Err(error) = segment.file.write_all_at(buffer, offset) {
            // Cut short, it is no record, and the next one takes its place.
            return if matches!(Record::read(&segment.file, salt, offset), Ok(None)) {
                Err(error)
            } else {
                *stopped = true;
                Ok(Err(Appended::Unknown(error)))
            };
        }
        let end = offset + extent;
        if end > segment.allocated {
            // Without room for more than the record, the next one will find out.
            let zeros = vec![0; GROWTH as usize];
            let grown = segment.file.write_all_at(&zeros, end).is_ok();
            segment.allocated = if grown { end + GROWTH } else { end };
        }
        if let Err(error) = self.disk.sync_written(&segment.file) {
            *stopped = true;
            return Ok(Err(Appended::Unknown(error.into())));
        }
        #[cfg(test)]
        self.sleep(Point::BeforeLooking);
        // Whoever takes the journal apart takes its name away first and reads its records afterwards: as long as it has its name,
        // this record will be found.
        let named = self.is_named();
        *stopped = !matches!(named, Ok(true));
        match named {
            Ok(true) => segment.end = end,
            Ok(false) => return Ok(Err(Appended::Stopped)),
            Err(error) => return Ok(Err(Appended::Unknown(error))),
        }
        Ok(Ok(Location { file: segment.file.clone(), generation, salt, offset, size: body.len() as u64 }))
    }

    fn begin_segment(&self, state: &mut State) -> io::Result<()> {
        self.give_back(state)?;
        let generation = state.generations + 1;
        let head = Head { generation, salt: u128::from_le_bytes(Nonce::random()?.to_bytes()) };
        // Only the oldest: a later one may hold the deletions of what is in an earlier one.
        let reused = state.segments.len() > 1 && state.segments[0].objects == 0;
        if reused {
            let oldest = &mut state.segments[0];
            // Before anything else is written there: with a head of before, the records of before would count that have been deleted
            // further on. Whether this succeeds or not, the oldest holds nothing that counts.
            oldest.file.write_all_at(&head.encode(), 0)?;
            self.disk.sync_written(&oldest.file)?;
            let mut segment = state.segments.remove(0);
            (segment.head, segment.end) = (head, BLOCK as u64);
            state.segments.push(segment);
        } else {
            let name = state.files.to_string();
            state.files += 1;
            let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
            let file = File::from(openat(&self.dir, name.as_str(), flags, Mode::from_raw_mode(0o666))?);
            let begun =
                file.write_all_at(&head.encode(), 0).and_then(|()| Ok(self.disk.sync_dir(&self.dir)?));
            if let Err(error) = begun {
                // Without its head a segment is none: nothing may come into it.
                let _ = unlinkat(&self.dir, name.as_str(), AtFlags::empty());
                return Err(error);
            }
            let (file, end) = (Arc::new(file), BLOCK as u64);
            state.segments.push(Segment { file, name, head, end, allocated: end, objects: 0 });
        }
        state.generations = generation;
        Ok(())
    }

    /// Removes the oldest segments as long as another one is left to be used again.
    fn give_back(&self, state: &mut State) -> io::Result<()> {
        while state.segments.len() > 2 && state.segments[..2].iter().all(|segment| segment.objects == 0) {
            unlinkat(&self.dir, state.segments[0].name.as_str(), AtFlags::empty())?;
            state.segments.remove(0);
            // Before the next one goes, which may hold the deletions of what was in this one.
            self.disk.sync_dir(&self.dir)?;
        }
        Ok(())
    }

    /// Whether the journal still has its name: nobody has begun to take it apart.
    pub(super) fn is_named(&self) -> io::Result<bool> {
        match statat(&*self.parent, self.name.as_str(), AtFlags::SYMLINK_NOFOLLOW) {
            Ok(named) => {
                let own = &self.identity;
                Ok((named.st_dev, named.st_ino) == (own.st_dev, own.st_ino))
            }
            Err(Errno::NOENT) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(test)]
    fn sleep(&self, point: Point) {
        if let Some(asleep) = self.asleep.lock().as_mut() {
            asleep(point);
        }
    }

    /// Whether what is known here is all there is to know.
    pub(super) fn is_live(&self) -> io::Result<bool> {
        Ok(!self.state.lock().stopped && self.is_named()?)
    }

    /// From here on nothing is acknowledged. What is being written now is waited for.
    pub(super) fn stop(&self) {
        self.state.lock().stopped = true;
    }

    /// What lies here now.
    pub(super) fn index(&self) -> Index {
        self.state.lock().index.clone()
    }

    /// An object.
    pub(super) fn read(&self, key: &str) -> io::Result<Option<Record>> {
        // Under the lock, so that its segment stays what it is.
        let state = self.state.lock();
        state.index.get(key).map_or(Ok(None), |location| location.read(key))
    }
}
