//! An open file of [`super::MemFs`].

use std::borrow::Cow;
use std::cell::Cell;
use std::io;
use std::path::Path;
use std::rc::Rc;

use deno_core::{BufMutView, BufView, ResourceHandleFd, WriteOutcome};
use deno_fs::OpenOptions;
use deno_io::fs::{File, FsError, FsResult, FsStat};

use super::os_error;
use super::tree::{Body, Node};

/// A file with a position of its own. It has no descriptor of the host: `backing_fd` is `None`, which
/// makes `deno_node` hand out virtual ones.
pub(super) struct MemFile {
    body: Rc<Body>,
    position: Cell<u64>,
    append: bool,
    readable: bool,
    writable: bool,
}

impl MemFile {
    pub(super) fn new(body: Rc<Body>, options: &OpenOptions) -> Self {
        let writable = options.write || options.append;
        MemFile {
            body,
            position: Cell::new(0),
            append: options.append,
            readable: options.read || !writable,
            writable,
        }
    }

    fn read_from(&self, buffer: &mut [u8], at: u64) -> FsResult<usize> {
        if !self.readable {
            return Err(os_error(libc::EBADF));
        }
        Ok(self.body.with_bytes(|bytes| {
            let start = usize::try_from(at).unwrap_or(usize::MAX).min(bytes.len());
            let count = buffer.len().min(bytes.len() - start);
            buffer[..count].copy_from_slice(&bytes[start..start + count]);
            count
        }))
    }

    fn write_to(&self, data: &[u8], at: u64) -> FsResult<usize> {
        if !self.writable {
            return Err(os_error(libc::EBADF));
        }
        self.body.write(data, at)
    }

    fn write_here(&self, data: &[u8]) -> FsResult<usize> {
        let at = if self.append { self.body.len() as u64 } else { self.position.get() };
        let count = self.write_to(data, at)?;
        self.position.set(at + count as u64);
        Ok(count)
    }
}

#[async_trait::async_trait(?Send)]
impl File for MemFile {
    fn maybe_path(&self) -> Option<&Path> {
        None
    }

    fn read_sync(self: Rc<Self>, buffer: &mut [u8]) -> FsResult<usize> {
        let count = self.read_from(buffer, self.position.get())?;
        self.position.set(self.position.get() + count as u64);
        Ok(count)
    }

    async fn read_byob(self: Rc<Self>, mut buffer: BufMutView) -> FsResult<(usize, BufMutView)> {
        let count = self.read_sync(&mut buffer)?;
        Ok((count, buffer))
    }

    fn write_sync(self: Rc<Self>, data: &[u8]) -> FsResult<usize> {
        self.write_here(data)
    }

    async fn write(self: Rc<Self>, data: BufView) -> FsResult<WriteOutcome> {
        Ok(WriteOutcome::Full { nwritten: self.write_here(&data)? })
    }

    fn write_all_sync(self: Rc<Self>, data: &[u8]) -> FsResult<()> {
        self.write_here(data).map(drop)
    }

    async fn write_all(self: Rc<Self>, data: BufView) -> FsResult<()> {
        self.write_here(&data).map(drop)
    }

    fn read_all_sync(self: Rc<Self>) -> FsResult<Cow<'static, [u8]>> {
        let at = self.position.get();
        let mut rest = vec![0; self.body.len().saturating_sub(usize::try_from(at).unwrap_or(usize::MAX))];
        let count = self.read_from(&mut rest, at)?;
        self.position.set(at + count as u64);
        Ok(Cow::Owned(rest))
    }

    async fn read_all_async(self: Rc<Self>) -> FsResult<Cow<'static, [u8]>> {
        self.read_all_sync()
    }

    fn chmod_sync(self: Rc<Self>, _mode: u32) -> FsResult<()> {
        Ok(())
    }

    async fn chmod_async(self: Rc<Self>, _mode: u32) -> FsResult<()> {
        Ok(())
    }

    fn chown_sync(self: Rc<Self>, _uid: Option<u32>, _gid: Option<u32>) -> FsResult<()> {
        Ok(())
    }

    async fn chown_async(self: Rc<Self>, _uid: Option<u32>, _gid: Option<u32>) -> FsResult<()> {
        Ok(())
    }

    fn seek_sync(self: Rc<Self>, to: io::SeekFrom) -> FsResult<u64> {
        let target = match to {
            io::SeekFrom::Start(offset) => Some(offset),
            io::SeekFrom::End(offset) => (self.body.len() as u64).checked_add_signed(offset),
            io::SeekFrom::Current(offset) => self.position.get().checked_add_signed(offset),
        };
        let target = target.ok_or_else(|| os_error(libc::EINVAL))?;
        self.position.set(target);
        Ok(target)
    }

    async fn seek_async(self: Rc<Self>, to: io::SeekFrom) -> FsResult<u64> {
        self.seek_sync(to)
    }

    fn datasync_sync(self: Rc<Self>) -> FsResult<()> {
        Ok(())
    }

    async fn datasync_async(self: Rc<Self>) -> FsResult<()> {
        Ok(())
    }

    fn sync_sync(self: Rc<Self>) -> FsResult<()> {
        Ok(())
    }

    async fn sync_async(self: Rc<Self>) -> FsResult<()> {
        Ok(())
    }

    fn stat_sync(self: Rc<Self>) -> FsResult<FsStat> {
        Ok(Node::File(self.body.clone()).stat())
    }

    async fn stat_async(self: Rc<Self>) -> FsResult<FsStat> {
        self.stat_sync()
    }

    // One isolate is one thread: a lock is always free.
    fn lock_sync(self: Rc<Self>, _exclusive: bool) -> FsResult<()> {
        Ok(())
    }

    async fn lock_async(self: Rc<Self>, _exclusive: bool) -> FsResult<()> {
        Ok(())
    }

    fn try_lock_sync(self: Rc<Self>, _exclusive: bool) -> FsResult<bool> {
        Ok(true)
    }

    async fn try_lock_async(self: Rc<Self>, _exclusive: bool) -> FsResult<bool> {
        Ok(true)
    }

    fn unlock_sync(self: Rc<Self>) -> FsResult<()> {
        Ok(())
    }

    async fn unlock_async(self: Rc<Self>) -> FsResult<()> {
        Ok(())
    }

    fn truncate_sync(self: Rc<Self>, len: u64) -> FsResult<()> {
        if !self.writable {
            return Err(os_error(libc::EINVAL));
        }
        self.body.resize(len)
    }

    async fn truncate_async(self: Rc<Self>, len: u64) -> FsResult<()> {
        self.truncate_sync(len)
    }

    fn utime_sync(self: Rc<Self>, _: i64, _: u32, _: i64, _: u32) -> FsResult<()> {
        Ok(())
    }

    async fn utime_async(self: Rc<Self>, _: i64, _: u32, _: i64, _: u32) -> FsResult<()> {
        Ok(())
    }

    fn read_at_sync(self: Rc<Self>, buffer: &mut [u8], position: u64) -> FsResult<usize> {
        self.read_from(buffer, position)
    }

    async fn read_at_async(
        self: Rc<Self>,
        mut buffer: BufMutView,
        position: u64,
    ) -> FsResult<(usize, BufMutView)> {
        let count = self.read_from(&mut buffer, position)?;
        Ok((count, buffer))
    }

    fn write_at_sync(self: Rc<Self>, data: &[u8], position: u64) -> FsResult<usize> {
        self.write_to(data, position)
    }

    fn as_stdio(self: Rc<Self>) -> FsResult<std::process::Stdio> {
        Err(FsError::NotSupported)
    }

    fn backing_fd(self: Rc<Self>) -> Option<ResourceHandleFd> {
        None
    }

    fn try_clone_inner(self: Rc<Self>) -> FsResult<Rc<dyn File>> {
        Ok(self)
    }
}
