//! A file that is being written and that nobody can see yet.

use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, CWD, Mode, OFlags, linkat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::disk::Disk;
use super::object::{self, Nonce, ObjectWriter};

/// `tmp/` of one bucket.
pub(super) struct Staging {
    dir: Arc<OwnedFd>,
    disk: Arc<Disk>,
    /// Whether files without a name work here (Linux; not every file system). They vanish by themselves when a process dies.
    nameless: bool,
}

static FILES: AtomicU64 = AtomicU64::new(0);

fn unique_name() -> io::Result<String> {
    Ok(format!("{}-{}", Nonce::random()?.text(), FILES.fetch_add(1, Ordering::Relaxed)))
}

impl Staging {
    /// Finds out what the file system can do by doing it once.
    pub(super) fn new(dir: OwnedFd, disk: Arc<Disk>) -> Staging {
        let mut staging = Staging { dir: Arc::new(dir), disk, nameless: true };
        staging.nameless = staging.try_nameless().unwrap_or(false);
        staging
    }

    fn try_nameless(&self) -> io::Result<bool> {
        let Some(staged) = self.open_nameless()? else { return Ok(false) };
        let name = unique_name()?;
        let linked = staged.link(&self.dir, &name).is_ok();
        let _ = unlinkat(&self.dir, name.as_str(), AtFlags::empty());
        Ok(linked)
    }

    #[cfg(target_os = "linux")]
    fn open_nameless(&self) -> io::Result<Option<Staged>> {
        let mode = Mode::from_raw_mode(0o666);
        let file = openat(&self.dir, ".", OFlags::WRONLY | OFlags::TMPFILE | OFlags::CLOEXEC, mode)?;
        Ok(Some(Staged { dir: self.dir.clone(), file: file.into(), name: None }))
    }

    #[cfg(not(target_os = "linux"))]
    fn open_nameless(&self) -> io::Result<Option<Staged>> {
        Ok(None)
    }

    fn open_named(&self) -> io::Result<Staged> {
        let name = unique_name()?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let file = openat(&self.dir, name.as_str(), flags, Mode::from_raw_mode(0o666))?;
        Ok(Staged { dir: self.dir.clone(), file: file.into(), name: Some(name) })
    }

    /// Writes an object that will get a name of its own ([`Staged::link`]); its content is durable on return.
    pub(super) fn for_create(&self, body: &[u8], nonce: Nonce) -> io::Result<Staged> {
        let nameless = if self.nameless { self.open_nameless()? } else { None };
        let staged = match nameless {
            Some(staged) => staged,
            None => self.open_named()?,
        };
        self.fill(staged, body, nonce)
    }

    /// Writes an object that will take another one's name ([`Staged::replace`]), which needs a file that has a name.
    pub(super) fn for_replace(&self, body: &[u8], nonce: Nonce) -> io::Result<Staged> {
        let staged = self.open_named()?;
        self.fill(staged, body, nonce)
    }

    /// A file for an object that comes in pieces and will take another one's name.
    pub(super) fn for_pieces(&self) -> io::Result<Staged> {
        self.open_named()
    }

    /// Appends a piece.
    pub(super) fn append(
        &self,
        staged: &mut Staged,
        writer: &mut ObjectWriter,
        piece: &[u8],
    ) -> io::Result<()> {
        writer.append(&mut staged.file, piece)
    }

    /// Ends an object that came in pieces; its content is durable on return.
    pub(super) fn end(&self, staged: &mut Staged, writer: ObjectWriter, nonce: Nonce) -> io::Result<()> {
        writer.end(&mut staged.file, nonce)?;
        self.disk.sync_file(&staged.file)?;
        Ok(())
    }

    fn fill(&self, mut staged: Staged, body: &[u8], nonce: Nonce) -> io::Result<Staged> {
        object::write(&mut staged.file, body, nonce)?;
        self.disk.sync_file(&staged.file)?;
        Ok(staged)
    }
}

/// One such file. Dropping it removes it.
pub(super) struct Staged {
    dir: Arc<OwnedFd>,
    file: File,
    /// Its name in `tmp/`, unless it has none.
    name: Option<String>,
}

impl Staged {
    /// Gives it the name `name` in `dir` if there is no such name: the instant in which a create happens.
    pub(super) fn link(&self, dir: &OwnedFd, name: &str) -> Result<(), Errno> {
        match &self.name {
            Some(staged) => linkat(&self.dir, staged.as_str(), dir, name, AtFlags::empty()),
            None => {
                let path = format!("/proc/self/fd/{}", self.file.as_raw_fd());
                linkat(CWD, path.as_str(), dir, name, AtFlags::SYMLINK_FOLLOW)
            }
        }
    }

    /// Gives it the name `name` in `dir`, whatever had that name: the instant in which an update happens.
    pub(super) fn replace(&mut self, dir: &OwnedFd, name: &str) -> Result<(), Errno> {
        let Some(staged) = &self.name else { return Err(Errno::INVAL) };
        renameat(&self.dir, staged.as_str(), dir, name)?;
        self.name = None;
        Ok(())
    }
}

impl Drop for Staged {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            let _ = unlinkat(&self.dir, name.as_str(), AtFlags::empty());
        }
    }
}
