//! The last committed state of a database: nothing, memory, compressed memory, or a file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use celld_ltx::PAGE_SIZE;

use crate::error::StorageError;
use crate::paged::{PageError, PagedImage};

/// Initial content of a cell's database.
#[derive(Debug)]
pub enum Image {
    /// No database yet.
    Empty,
    /// All pages, in order.
    Memory(Vec<u8>),
    /// A file that holds exactly the pages.
    File(PathBuf),
    /// Some pages in a file, the rest elsewhere.
    Paged(Arc<PagedImage>),
}

/// Why a page could not be read.
#[derive(Debug)]
pub(crate) enum ReadError {
    /// The local image failed.
    File(io::Error),
    /// The page is not here and could not be fetched.
    Page {
        /// The page.
        pgno: u32,
        /// Why not.
        error: PageError,
    },
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::File(error)
    }
}

/// Where a cell's image goes when it outgrows memory.
#[derive(Clone, Debug)]
pub struct ImagePath {
    /// The directory; one allocation shared by all cells.
    pub dir: Arc<Path>,
    /// The file's name in it.
    pub name: Box<str>,
}

impl ImagePath {
    fn path(&self) -> PathBuf {
        self.dir.join(&*self.name)
    }
}

/// The committed pages. Small while the connection is closed: no file descriptor, memory compressed.
#[derive(Debug)]
pub(crate) enum Backing {
    Memory(Vec<u8>),
    /// LZ4 of a memory image, while the connection is closed.
    Packed {
        len: usize,
        bytes: Box<[u8]>,
    },
    File {
        path: Box<Path>,
        size: u64,
        file: Option<File>,
    },
    /// Becomes a file once every page is here.
    Paged(Arc<PagedImage>),
}

impl Backing {
    pub(crate) fn new(image: Image) -> Result<Self, StorageError> {
        Ok(match image {
            Image::Empty => Self::Memory(Vec::new()),
            Image::Memory(bytes) => Self::Memory(bytes),
            Image::File(path) => {
                let size = std::fs::metadata(&path).map_err(|e| failed("open", &path, e))?.len();
                Self::File { path: path.into(), size, file: None }
            }
            Image::Paged(image) => Self::Paged(image),
        })
    }

    /// Lets go of the source of a paged image that has become complete.
    fn settle(&mut self) {
        if let Self::Paged(image) = self
            && image.is_complete()
        {
            *self = Self::File { path: image.path().into(), size: paged_size(image), file: None };
        }
    }

    /// Size in bytes; a multiple of the page size.
    pub(crate) fn size(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.len() as u64,
            Self::Packed { len, .. } => *len as u64,
            Self::File { size, .. } => *size,
            Self::Paged(image) => paged_size(image),
        }
    }

    /// Makes the pages readable: unpacks memory, opens the file.
    pub(crate) fn open(&mut self) -> Result<(), StorageError> {
        self.settle();
        match self {
            Self::Memory(_) | Self::File { file: Some(_), .. } | Self::Paged(_) => {}
            Self::Packed { len, bytes } => {
                let image = lz4_flex::block::decompress(bytes, *len)
                    .map_err(|e| failed("read", Path::new("(memory)"), io::Error::other(e)))?;
                *self = Self::Memory(image);
            }
            Self::File { path, file, .. } => {
                *file = Some(open_file(path).map_err(|e| failed("open", path, e))?);
            }
        }
        Ok(())
    }

    /// The opposite of [`Backing::open`]: what stays is as small as it gets.
    pub(crate) fn close(&mut self) {
        self.settle();
        match self {
            Self::Memory(bytes) if !bytes.is_empty() => {
                let packed = lz4_flex::block::compress(bytes);
                *self = Self::Packed { len: bytes.len(), bytes: packed.into_boxed_slice() };
            }
            Self::Memory(_) | Self::Packed { .. } | Self::Paged(_) => {}
            Self::File { file, .. } => *file = None,
        }
    }

    /// Fills `out` from `offset`; what lies beyond the end reads as zeros. Returns the bytes that were there.
    pub(crate) fn read(&self, offset: u64, out: &mut [u8]) -> Result<usize, ReadError> {
        let there = self.size().saturating_sub(offset).min(out.len() as u64) as usize;
        match self {
            Self::Memory(bytes) => {
                let from = offset as usize;
                if there > 0 {
                    out[..there].copy_from_slice(&bytes[from..from + there]);
                }
            }
            Self::File { file: Some(file), .. } => file.read_exact_at(&mut out[..there], offset)?,
            Self::Paged(image) if there > 0 => image.read(offset, &mut out[..there])?,
            Self::Paged(_) => {}
            Self::Packed { .. } | Self::File { file: None, .. } => return Err(closed().into()),
        }
        out[there..].fill(0);
        Ok(there)
    }

    pub(crate) fn resize(&mut self, size: u64) -> io::Result<()> {
        match self {
            Self::Memory(bytes) => bytes.resize(size as usize, 0),
            Self::File { size: old, file: Some(file), .. } => {
                if *old != size {
                    file.set_len(size)?;
                    *old = size;
                }
            }
            Self::Paged(image) => {
                if paged_size(image) != size {
                    image.resize((size / PAGE_SIZE as u64) as u32)?;
                }
            }
            Self::Packed { .. } | Self::File { file: None, .. } => return Err(closed()),
        }
        Ok(())
    }

    /// Writes one page; `pgno` counts from 1.
    pub(crate) fn write_page(&mut self, pgno: u32, page: &[u8]) -> io::Result<()> {
        let offset = u64::from(pgno - 1) * PAGE_SIZE as u64;
        let end = offset + PAGE_SIZE as u64;
        match self {
            Self::Memory(bytes) => {
                if (bytes.len() as u64) < end {
                    bytes.resize(end as usize, 0);
                }
                bytes[offset as usize..end as usize].copy_from_slice(page);
            }
            Self::File { size, file: Some(file), .. } => {
                file.write_all_at(page, offset)?;
                *size = (*size).max(end);
            }
            Self::Paged(image) => image.write_page(pgno, page)?,
            Self::Packed { .. } | Self::File { file: None, .. } => return Err(closed()),
        }
        Ok(())
    }

    /// Moves a memory image into the file at `to`. On failure the image stays in memory.
    pub(crate) fn move_to_file(&mut self, to: &ImagePath) -> Result<(), StorageError> {
        let Self::Memory(bytes) = self else { return Ok(()) };
        let path = to.path();
        let file = create_file(&path).map_err(|e| failed("open", &path, e))?;
        if let Err(e) = file.write_all_at(bytes, 0) {
            // A partial file is never opened again: it is created anew, and nothing else refers to it.
            let _ = std::fs::remove_file(&path);
            return Err(failed("write", &path, e));
        }
        *self = Self::File { path: path.into(), size: bytes.len() as u64, file: Some(file) };
        Ok(())
    }

    /// A copy of all pages.
    pub(crate) fn copy(&self) -> Result<Vec<u8>, StorageError> {
        match self {
            Self::Memory(bytes) => Ok(bytes.clone()),
            Self::Packed { len, bytes } => lz4_flex::block::decompress(bytes, *len)
                .map_err(|e| failed("read", Path::new("(memory)"), io::Error::other(e))),
            Self::File { path, size, .. } => read_file(path, *size),
            Self::Paged(image) => {
                image.complete().map_err(|error| match error {
                    ReadError::File(error) => failed("read", image.path(), error),
                    ReadError::Page { pgno, error } => StorageError::page(pgno, &error),
                })?;
                read_file(image.path(), paged_size(image))
            }
        }
    }

    /// The bytes of heap this holds.
    pub(crate) fn heap(&self) -> usize {
        match self {
            Self::Memory(bytes) => bytes.capacity(),
            Self::Packed { bytes, .. } => bytes.len(),
            Self::File { path, .. } => path.as_os_str().len(),
            Self::Paged(image) => image.heap(),
        }
    }
}

fn open_file(path: &Path) -> io::Result<File> {
    OpenOptions::new().read(true).write(true).open(path)
}

/// A new empty file. One that is there is removed and not emptied: whoever still has it open must not write into the new one.
pub(crate) fn create_file(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

fn read_file(path: &Path, size: u64) -> Result<Vec<u8>, StorageError> {
    let bytes = std::fs::read(path).map_err(|e| failed("read", path, e))?;
    if bytes.len() as u64 == size {
        return Ok(bytes);
    }
    let other = io::Error::other(format!("{} bytes, expected {size}", bytes.len()));
    Err(failed("read", path, other))
}

fn paged_size(image: &PagedImage) -> u64 {
    u64::from(image.pages()) * PAGE_SIZE as u64
}

fn closed() -> io::Error {
    io::Error::other("the image is closed")
}

fn failed(action: &'static str, path: &Path, source: io::Error) -> StorageError {
    StorageError::Image { action, path: path.display().to_string(), source }
}
