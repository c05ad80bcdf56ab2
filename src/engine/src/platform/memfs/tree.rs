//! The tree of [`super::MemFs`]: paths, files and the quota. Paths arrive absolute and normalised.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use deno_fs::{FsDirEntry, OpenOptions};
use deno_io::fs::{FsResult, FsStat};

use super::{BUNDLE_DIR, TEMP_DIR, os_error};
use crate::platform::modules::Modules;

/// The bytes in use below `/tmp` and how many there may be.
#[derive(Debug)]
pub(super) struct Quota {
    used: Cell<usize>,
    limit: usize,
}

impl Quota {
    /// Accounts for a file that changes from `old` to `new` bytes.
    fn change(&self, old: usize, new: usize) -> FsResult<()> {
        let used = self.used.get() - old;
        match used.checked_add(new) {
            Some(total) if new <= old || total <= self.limit => {
                self.used.set(total);
                Ok(())
            }
            _ => Err(os_error(libc::ENOSPC)),
        }
    }
}

/// The content of a file. Open files keep it alive after its name is gone, as on any Unix.
#[derive(Debug)]
pub(super) enum Body {
    /// A module of the deployment: shared by all isolates, never written.
    Bundled(Arc<[u8]>),
    /// A file below `/tmp`.
    Owned { bytes: RefCell<Vec<u8>>, quota: Rc<Quota> },
}

impl Body {
    fn empty(quota: &Rc<Quota>) -> Rc<Body> {
        Rc::new(Body::Owned { bytes: RefCell::default(), quota: quota.clone() })
    }

    pub(super) fn len(&self) -> usize {
        self.with_bytes(<[u8]>::len)
    }

    pub(super) fn with_bytes<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        match self {
            Body::Bundled(bytes) => read(bytes),
            Body::Owned { bytes, .. } => read(&bytes.borrow()),
        }
    }

    /// Writes `data` at byte `at`, filling a gap before it with zeros.
    pub(super) fn write(&self, data: &[u8], at: u64) -> FsResult<usize> {
        let Body::Owned { bytes, .. } = self else { return Err(os_error(libc::EPERM)) };
        let start = usize::try_from(at).map_err(|_| os_error(libc::EFBIG))?;
        let end = start.checked_add(data.len()).ok_or_else(|| os_error(libc::EFBIG))?;
        if end > self.len() {
            self.resize(end as u64)?;
        }
        bytes.borrow_mut()[start..end].copy_from_slice(data);
        Ok(data.len())
    }

    pub(super) fn resize(&self, len: u64) -> FsResult<()> {
        let Body::Owned { bytes, quota } = self else { return Err(os_error(libc::EPERM)) };
        let new = usize::try_from(len).map_err(|_| os_error(libc::EFBIG))?;
        let mut bytes = bytes.borrow_mut();
        quota.change(bytes.len(), new)?;
        bytes.resize(new, 0);
        Ok(())
    }
}

impl Drop for Body {
    fn drop(&mut self) {
        if let Body::Owned { bytes, quota } = self {
            quota.used.set(quota.used.get() - bytes.get_mut().len());
        }
    }
}

/// What a path names.
#[derive(Clone, Debug)]
pub(super) enum Node {
    Dir,
    File(Rc<Body>),
}

impl Node {
    pub(super) fn stat(&self) -> FsStat {
        let (is_directory, size) = match self {
            Node::Dir => (true, 0),
            Node::File(body) => (false, body.len() as u64),
        };
        FsStat {
            is_file: !is_directory,
            is_directory,
            is_symlink: false,
            size,
            mtime: Some(0),
            atime: Some(0),
            birthtime: Some(0),
            ctime: Some(0),
            dev: 1,
            ino: Some(1),
            mode: if is_directory { 0o40755 } else { 0o100644 },
            nlink: Some(1),
            uid: 0,
            gid: 0,
            rdev: 0,
            blksize: 4096,
            blocks: Some(size.div_ceil(512)),
            is_block_device: false,
            is_char_device: false,
            is_fifo: false,
            is_socket: false,
        }
    }
}

/// All paths that exist. `/`, `/bundle` and `/tmp` always do.
#[derive(Debug)]
pub(super) struct Tree {
    nodes: RefCell<BTreeMap<PathBuf, Node>>,
    quota: Rc<Quota>,
}

impl Tree {
    pub(super) fn new(limit: usize, modules: &Modules) -> Self {
        let mut nodes = BTreeMap::new();
        for dir in ["/", BUNDLE_DIR, TEMP_DIR] {
            nodes.insert(PathBuf::from(dir), Node::Dir);
        }
        for (name, module) in modules.iter() {
            let path = Path::new(BUNDLE_DIR).join(name);
            for dir in path.ancestors().skip(1) {
                nodes.entry(dir.to_path_buf()).or_insert(Node::Dir);
            }
            nodes.insert(path, Node::File(Rc::new(Body::Bundled(module.bytes.clone()))));
        }
        Tree { nodes: RefCell::new(nodes), quota: Rc::new(Quota { used: Cell::new(0), limit }) }
    }

    pub(super) fn get(&self, path: &Path) -> FsResult<Node> {
        self.nodes.borrow().get(path).cloned().ok_or_else(|| os_error(libc::ENOENT))
    }

    /// The file at `path`, created or emptied as `options` say.
    pub(super) fn open(&self, path: &Path, options: &OpenOptions) -> FsResult<Rc<Body>> {
        let writes = options.write || options.append || options.truncate;
        let existing = self.nodes.borrow().get(path).cloned();
        let body = match existing {
            Some(Node::Dir) => return Err(os_error(libc::EISDIR)),
            Some(Node::File(_)) if options.create_new => return Err(os_error(libc::EEXIST)),
            Some(Node::File(body)) => body,
            None if options.create || options.create_new => {
                self.writable_parent(path)?;
                let body = Body::empty(&self.quota);
                self.nodes.borrow_mut().insert(path.to_path_buf(), Node::File(body.clone()));
                body
            }
            None => return Err(os_error(libc::ENOENT)),
        };
        if writes && matches!(*body, Body::Bundled(_)) {
            return Err(os_error(libc::EPERM));
        }
        if options.truncate {
            body.resize(0)?;
        }
        Ok(body)
    }

    /// Succeeds when an entry may be added to, or removed from, the directory of `path`.
    fn writable_parent(&self, path: &Path) -> FsResult<()> {
        let Some(parent) = path.parent() else { return Err(os_error(libc::EBUSY)) };
        match self.get(parent)? {
            Node::File(_) => Err(os_error(libc::ENOTDIR)),
            Node::Dir if parent.starts_with(TEMP_DIR) => Ok(()),
            Node::Dir => Err(os_error(libc::EPERM)),
        }
    }

    pub(super) fn make_dir(&self, path: &Path, recursive: bool) -> FsResult<()> {
        match self.get(path) {
            Ok(Node::Dir) if recursive => return Ok(()),
            Ok(_) => return Err(os_error(libc::EEXIST)),
            Err(_) => {}
        }
        if recursive && let Some(parent) = path.parent() {
            self.make_dir(parent, true)?;
        }
        self.writable_parent(path)?;
        self.nodes.borrow_mut().insert(path.to_path_buf(), Node::Dir);
        Ok(())
    }

    fn children(&self, path: &Path) -> Vec<(PathBuf, Node)> {
        let nodes = self.nodes.borrow();
        nodes
            .iter()
            .filter(|(child, _)| child.parent() == Some(path))
            .map(|(child, node)| (child.clone(), node.clone()))
            .collect()
    }

    pub(super) fn entries(&self, path: &Path) -> FsResult<Vec<FsDirEntry>> {
        let Node::Dir = self.get(path)? else { return Err(os_error(libc::ENOTDIR)) };
        let entry = |(child, node): (PathBuf, Node)| {
            let name = child.file_name()?.to_string_lossy().into_owned();
            let is_file = matches!(node, Node::File(_));
            Some(FsDirEntry { name, is_file, is_directory: !is_file, is_symlink: false })
        };
        Ok(self.children(path).into_iter().filter_map(entry).collect())
    }

    pub(super) fn remove(&self, path: &Path, recursive: bool) -> FsResult<()> {
        if let Node::Dir = self.get(path)?
            && !recursive
        {
            return self.remove_dir(path);
        }
        self.writable_parent(path)?;
        self.nodes.borrow_mut().retain(|name, _| !name.starts_with(path));
        Ok(())
    }

    /// Removes an empty directory.
    pub(super) fn remove_dir(&self, path: &Path) -> FsResult<()> {
        let Node::Dir = self.get(path)? else { return Err(os_error(libc::ENOTDIR)) };
        self.writable_parent(path)?;
        if !self.children(path).is_empty() {
            return Err(os_error(libc::ENOTEMPTY));
        }
        self.nodes.borrow_mut().remove(path);
        Ok(())
    }

    pub(super) fn copy_file(&self, from: &Path, to: &Path) -> FsResult<()> {
        let Node::File(source) = self.get(from)? else { return Err(os_error(libc::EISDIR)) };
        let content = source.with_bytes(<[u8]>::to_vec);
        let options = OpenOptions { write: true, create: true, truncate: true, ..Default::default() };
        self.open(to, &options)?.write(&content, 0).map(drop)
    }

    /// Copies a file or a whole directory.
    pub(super) fn copy(&self, from: &Path, to: &Path) -> FsResult<()> {
        if let Node::File(_) = self.get(from)? {
            return self.copy_file(from, to);
        }
        if to.starts_with(from) {
            return Err(os_error(libc::EINVAL));
        }
        self.make_dir(to, true)?;
        for (child, _) in self.children(from) {
            if let Some(name) = child.file_name() {
                self.copy(&child, &to.join(name))?;
            }
        }
        Ok(())
    }

    pub(super) fn rename(&self, from: &Path, to: &Path) -> FsResult<()> {
        let moved = self.get(from)?;
        self.writable_parent(from)?;
        self.writable_parent(to)?;
        if from == to {
            return Ok(());
        }
        if to.starts_with(from) {
            return Err(os_error(libc::EINVAL));
        }
        match (&moved, self.get(to)) {
            (Node::File(_), Ok(Node::Dir)) => return Err(os_error(libc::EISDIR)),
            (Node::Dir, Ok(Node::File(_))) => return Err(os_error(libc::ENOTDIR)),
            (Node::Dir, Ok(Node::Dir)) => self.remove_dir(to)?,
            _ => {}
        }
        let mut nodes = self.nodes.borrow_mut();
        let names: Vec<PathBuf> = nodes.keys().filter(|name| name.starts_with(from)).cloned().collect();
        for name in names {
            // `to.join("")` would end in a slash, hence the distinction.
            let target = match name.strip_prefix(from) {
                Ok(rest) if !rest.as_os_str().is_empty() => to.join(rest),
                _ => to.to_path_buf(),
            };
            if let Some(node) = nodes.remove(&name) {
                nodes.insert(target, node);
            }
        }
        Ok(())
    }
}
