//! The file system of an isolate: a tree in memory that looks like the one of the Workers platform.
//!
//! `/bundle` holds the modules of the deployment, read-only; `/tmp` is writable, up to a quota, and
//! lives as long as the isolate. Nothing else exists, and nothing here touches the host: this is the
//! only implementation of [`deno_fs::FileSystem`] an isolate gets.

mod file;
mod tree;

use std::path::PathBuf;
use std::rc::Rc;

use deno_fs::{FileSystem, FsDirEntry, FsFileType, FsReadDirRc, OpenOptions};
use deno_io::fs::{File, FsError, FsResult, FsStat, FsStatFs};
use deno_permissions::{CheckedPath, CheckedPathBuf};

use self::file::MemFile;
use self::tree::Tree;
use super::modules::Modules;

/// The directory of the deployment's modules.
pub const BUNDLE_DIR: &str = "/bundle";
/// The writable directory.
pub const TEMP_DIR: &str = "/tmp";
/// The bytes an isolate may keep below [`TEMP_DIR`] unless told otherwise.
pub const DEFAULT_QUOTA: usize = 16 << 20;

/// An in-memory file system; see the module documentation.
#[derive(Debug)]
pub struct MemFs {
    tree: Tree,
}

impl MemFs {
    /// A file system whose `/tmp` holds at most `quota` bytes and whose `/bundle` shows `modules`.
    pub fn new(quota: usize, modules: &Modules) -> Self {
        MemFs { tree: Tree::new(quota, modules) }
    }
}

/// An error with the number of an operating-system error, which is how Node's error codes arise.
fn os_error(number: i32) -> FsError {
    FsError::Io(std::io::Error::from_raw_os_error(number))
}

#[derive(Debug)]
struct Entries(std::cell::RefCell<std::vec::IntoIter<FsDirEntry>>);

#[async_trait::async_trait(?Send)]
impl deno_fs::FsReadDir for Entries {
    async fn next(&self) -> FsResult<Option<FsDirEntry>> {
        Ok(self.0.borrow_mut().next())
    }
}

// Every operation completes at once, so each asynchronous method is its synchronous sibling.
#[async_trait::async_trait(?Send)]
impl FileSystem for MemFs {
    fn cwd(&self) -> FsResult<PathBuf> {
        Ok(BUNDLE_DIR.into())
    }

    fn tmp_dir(&self) -> FsResult<PathBuf> {
        Ok(TEMP_DIR.into())
    }

    fn chdir(&self, _path: &CheckedPath) -> FsResult<()> {
        Err(FsError::NotSupported)
    }

    fn umask(&self, _mask: Option<u32>) -> FsResult<u32> {
        Ok(0o22)
    }

    fn open_sync(&self, path: &CheckedPath, options: OpenOptions) -> FsResult<Rc<dyn File>> {
        let body = self.tree.open(path, &options)?;
        Ok(Rc::new(MemFile::new(body, &options)))
    }

    async fn open_async<'a>(&'a self, path: CheckedPathBuf, options: OpenOptions) -> FsResult<Rc<dyn File>> {
        self.open_sync(&path.as_checked_path(), options)
    }

    fn mkdir_sync(&self, path: &CheckedPath, recursive: bool, _mode: Option<u32>) -> FsResult<()> {
        self.tree.make_dir(path, recursive)
    }

    async fn mkdir_async(&self, path: CheckedPathBuf, recursive: bool, mode: Option<u32>) -> FsResult<()> {
        self.mkdir_sync(&path.as_checked_path(), recursive, mode)
    }

    // Modes and owners are constant: changing them on something that exists is accepted without effect.
    fn chmod_sync(&self, path: &CheckedPath, _mode: u32) -> FsResult<()> {
        self.tree.get(path).map(drop)
    }

    async fn chmod_async(&self, path: CheckedPathBuf, _mode: u32) -> FsResult<()> {
        self.tree.get(&path).map(drop)
    }

    fn chown_sync(&self, path: &CheckedPath, _uid: Option<u32>, _gid: Option<u32>) -> FsResult<()> {
        self.tree.get(path).map(drop)
    }

    async fn chown_async(&self, path: CheckedPathBuf, _uid: Option<u32>, _gid: Option<u32>) -> FsResult<()> {
        self.tree.get(&path).map(drop)
    }

    fn lchmod_sync(&self, path: &CheckedPath, _mode: u32) -> FsResult<()> {
        self.tree.get(path).map(drop)
    }

    async fn lchmod_async(&self, path: CheckedPathBuf, _mode: u32) -> FsResult<()> {
        self.tree.get(&path).map(drop)
    }

    fn lchown_sync(&self, path: &CheckedPath, _uid: Option<u32>, _gid: Option<u32>) -> FsResult<()> {
        self.tree.get(path).map(drop)
    }

    async fn lchown_async(&self, path: CheckedPathBuf, _uid: Option<u32>, _gid: Option<u32>) -> FsResult<()> {
        self.tree.get(&path).map(drop)
    }

    fn remove_sync(&self, path: &CheckedPath, recursive: bool) -> FsResult<()> {
        self.tree.remove(path, recursive)
    }

    async fn remove_async(&self, path: CheckedPathBuf, recursive: bool) -> FsResult<()> {
        self.tree.remove(&path, recursive)
    }

    fn copy_file_sync(&self, from: &CheckedPath, to: &CheckedPath) -> FsResult<()> {
        self.tree.copy_file(from, to)
    }

    async fn copy_file_async(&self, from: CheckedPathBuf, to: CheckedPathBuf) -> FsResult<()> {
        self.tree.copy_file(&from, &to)
    }

    fn cp_sync(&self, from: &CheckedPath, to: &CheckedPath) -> FsResult<()> {
        self.tree.copy(from, to)
    }

    async fn cp_async(&self, from: CheckedPathBuf, to: CheckedPathBuf) -> FsResult<()> {
        self.tree.copy(&from, &to)
    }

    fn stat_sync(&self, path: &CheckedPath) -> FsResult<FsStat> {
        Ok(self.tree.get(path)?.stat())
    }

    async fn stat_async(&self, path: CheckedPathBuf) -> FsResult<FsStat> {
        Ok(self.tree.get(&path)?.stat())
    }

    fn lstat_sync(&self, path: &CheckedPath) -> FsResult<FsStat> {
        Ok(self.tree.get(path)?.stat())
    }

    async fn lstat_async(&self, path: CheckedPathBuf) -> FsResult<FsStat> {
        Ok(self.tree.get(&path)?.stat())
    }

    fn statfs_sync(&self, _path: &CheckedPath, _bigint: bool) -> FsResult<FsStatFs> {
        Err(FsError::NotSupported)
    }

    async fn statfs_async(&self, _path: CheckedPathBuf, _bigint: bool) -> FsResult<FsStatFs> {
        Err(FsError::NotSupported)
    }

    fn realpath_sync(&self, path: &CheckedPath) -> FsResult<PathBuf> {
        self.tree.get(path)?;
        Ok(path.to_path_buf())
    }

    async fn realpath_async(&self, path: CheckedPathBuf) -> FsResult<PathBuf> {
        self.realpath_sync(&path.as_checked_path())
    }

    fn read_dir_sync(&self, path: &CheckedPath) -> FsResult<Vec<FsDirEntry>> {
        self.tree.entries(path)
    }

    async fn read_dir_async(&self, path: CheckedPathBuf) -> FsResult<FsReadDirRc> {
        let entries = self.tree.entries(&path)?;
        Ok(deno_maybe_sync::new_rc(Entries(std::cell::RefCell::new(entries.into_iter()))))
    }

    fn rename_sync(&self, from: &CheckedPath, to: &CheckedPath) -> FsResult<()> {
        self.tree.rename(from, to)
    }

    async fn rename_async(&self, from: CheckedPathBuf, to: CheckedPathBuf) -> FsResult<()> {
        self.tree.rename(&from, &to)
    }

    fn rmdir_sync(&self, path: &CheckedPath) -> FsResult<()> {
        self.tree.remove_dir(path)
    }

    async fn rmdir_async(&self, path: CheckedPathBuf) -> FsResult<()> {
        self.tree.remove_dir(&path)
    }

    fn link_sync(&self, _from: &CheckedPath, _to: &CheckedPath) -> FsResult<()> {
        Err(FsError::NotSupported)
    }

    async fn link_async(&self, _from: CheckedPathBuf, _to: CheckedPathBuf) -> FsResult<()> {
        Err(FsError::NotSupported)
    }

    fn symlink_sync(
        &self,
        _from: &CheckedPath,
        _to: &CheckedPath,
        _file_type: Option<FsFileType>,
    ) -> FsResult<()> {
        Err(FsError::NotSupported)
    }

    async fn symlink_async(
        &self,
        _from: CheckedPathBuf,
        _to: CheckedPathBuf,
        _file_type: Option<FsFileType>,
    ) -> FsResult<()> {
        Err(FsError::NotSupported)
    }

    fn read_link_sync(&self, path: &CheckedPath) -> FsResult<PathBuf> {
        self.tree.get(path)?;
        Err(os_error(libc::EINVAL))
    }

    async fn read_link_async(&self, path: CheckedPathBuf) -> FsResult<PathBuf> {
        self.read_link_sync(&path.as_checked_path())
    }

    fn truncate_sync(&self, path: &CheckedPath, len: u64) -> FsResult<()> {
        self.tree.open(path, &OpenOptions { write: true, ..Default::default() })?.resize(len)
    }

    async fn truncate_async(&self, path: CheckedPathBuf, len: u64) -> FsResult<()> {
        self.truncate_sync(&path.as_checked_path(), len)
    }

    // Times are constant, as for `chmod`.
    fn utime_sync(&self, path: &CheckedPath, _: i64, _: u32, _: i64, _: u32) -> FsResult<()> {
        self.tree.get(path).map(drop)
    }

    async fn utime_async(&self, path: CheckedPathBuf, _: i64, _: u32, _: i64, _: u32) -> FsResult<()> {
        self.tree.get(&path).map(drop)
    }

    fn lutime_sync(&self, path: &CheckedPath, _: i64, _: u32, _: i64, _: u32) -> FsResult<()> {
        self.tree.get(path).map(drop)
    }

    async fn lutime_async(&self, path: CheckedPathBuf, _: i64, _: u32, _: i64, _: u32) -> FsResult<()> {
        self.tree.get(&path).map(drop)
    }

    fn exists_sync(&self, path: &CheckedPath) -> bool {
        self.tree.get(path).is_ok()
    }

    async fn exists_async(&self, path: CheckedPathBuf) -> FsResult<bool> {
        Ok(self.tree.get(&path).is_ok())
    }
}
