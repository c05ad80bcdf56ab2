//! Bringing a cell's database here.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use celld_bucket::Bucket;
use celld_ids::{CellScope, Epoch, SessionId};
use celld_ltx::Txid;
use celld_replica::{Chain, PagedError, RestoreError};
use celld_storage::{Image, PagedImage};
use parking_lot::Mutex;
use tokio::runtime::Handle;

use crate::hydrate::Hydration;
use crate::local::{CleanCell, CleanStop, LocalImages};
use crate::source::BucketSource;

/// How a node restores its cells.
#[derive(Debug, Clone)]
pub struct Options {
    /// Whether large cells are read page by page (`CELLD_LTX_PAGED`).
    pub paged: bool,
    /// Bytes of history from which a cell is large (`CELLD_LTX_PAGED_MIN_MB`).
    pub paged_min_bytes: u64,
    /// Bytes of database per second that are filled in the background; None leaves the files sparse (`CELLD_LTX_HYDRATE_MBPS`).
    pub hydrate: Option<u64>,
    /// The longest that SQLite waits for one page.
    pub page_deadline: Duration,
    /// Bytes of history up to which a cell is put together in memory.
    pub memory_bytes: u64,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            paged: true,
            paged_min_bytes: 256 << 20,
            hydrate: Some(16 << 20),
            page_deadline: Duration::from_secs(10),
            memory_bytes: 64 << 10,
        }
    }
}

/// Where a database came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// The cell has no history.
    Nothing,
    /// The file of a clean stop.
    LocalFile,
    /// A copy of the history.
    Clone,
    /// Pages are fetched when they are read.
    Pages,
}

/// A cell's database, at its last durable transaction.
#[derive(Debug)]
pub struct Activated {
    /// The content.
    pub image: Image,
    /// Its last transaction; zero for a cell without history.
    pub txid: Txid,
    /// Objects in its history: a long one is worth shortening.
    pub objects: usize,
    /// How it was brought here.
    pub from: From,
}

/// Why a cell's database cannot be brought here.
#[derive(Debug, thiserror::Error)]
pub enum ImagesError {
    /// The history cannot be read, or is damaged. The message names the object.
    #[error(transparent)]
    History(#[from] PagedError),
    /// The local file cannot be written.
    #[error("cannot write {path}: {cause}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        cause: std::io::Error,
    },
}

impl std::convert::From<RestoreError> for ImagesError {
    fn from(error: RestoreError) -> Self {
        Self::History(error.into())
    }
}

/// The image files of a node.
pub struct Images {
    bucket: Bucket,
    dir: Arc<Path>,
    options: Options,
    /// Where the bucket's connections live, and the background work.
    io: Handle,
    hydration: Option<Arc<Hydration>>,
    local: Mutex<LocalImages>,
}

impl Images {
    /// Opens the directory `dir` and removes from it what the last clean stop does not vouch for. The marker of that stop is beside
    /// `dir` ([`crate::MARKER`]) and is taken away: call this before anything is served. Must be called on the I/O runtime; blocks for
    /// a few file operations.
    pub fn open(dir: PathBuf, bucket: Bucket, options: Options) -> std::io::Result<Images> {
        let local = LocalImages::open(&dir)?;
        Ok(Images {
            bucket,
            dir: dir.into(),
            hydration: options.hydrate.map(Hydration::new),
            options,
            io: Handle::current(),
            local: Mutex::new(local),
        })
    }

    /// The directory of the files.
    pub fn dir(&self) -> &Arc<Path> {
        &self.dir
    }

    /// Brings the database of `scope` here, which this process owns by now and whose history holds everything that was ever
    /// acknowledged. `owner` is what the owner record said before this process claimed the cell: the session and the epoch.
    ///
    /// One listing, then: a small cell is read whole and put together in memory, one more round trip; a larger one is copied into
    /// its file; one of at least [`Options::paged_min_bytes`] answers after another round trip, and its pages follow.
    pub async fn activate(
        &self,
        scope: &CellScope,
        owner: Option<(&SessionId, Epoch)>,
    ) -> Result<Activated, ImagesError> {
        let chain = Chain::read(&self.bucket, scope).await?;
        let (txid, objects) = (chain.txid(), chain.len());
        if let Some(path) = self.local_file(scope, owner, txid).await {
            return Ok(Activated { image: Image::File(path), txid, objects, from: From::LocalFile });
        }
        if chain.is_empty() {
            return Ok(Activated { image: Image::Empty, txid, objects, from: From::Nothing });
        }
        if self.options.paged && chain.bytes() >= self.options.paged_min_bytes && chain.is_pageable() {
            match self.page(scope, chain.clone()).await {
                // A companion is gone, together with its object or without it: the copy says which.
                Err(ImagesError::History(PagedError::NoSums { key })) => {
                    tracing::warn!(cell = %scope, key, "a large cell cannot be paged and is copied");
                }
                result => return result,
            }
        }
        self.copy(scope, chain).await
    }

    async fn local_file(
        &self,
        scope: &CellScope,
        owner: Option<(&SessionId, Epoch)>,
        txid: Txid,
    ) -> Option<PathBuf> {
        let candidate = self.local.lock().take(scope, owner, txid)?;
        let dir = self.dir.clone();
        tokio::task::spawn_blocking(move || candidate.verify(&dir)).await.ok()?
    }

    async fn copy(&self, scope: &CellScope, chain: Chain) -> Result<Activated, ImagesError> {
        let objects = chain.len();
        if chain.bytes() <= self.options.memory_bytes {
            let restored = chain.clone_in_memory(&self.bucket).await?;
            let image = if restored.image.is_empty() { Image::Empty } else { Image::Memory(restored.image) };
            return Ok(Activated { image, txid: restored.txid, objects, from: From::Clone });
        }
        let path = self.dir.join(scope.file_name());
        let cloned = chain.clone_to(&self.bucket, &path).await?;
        // Compression and deletions can make a small database of a long history, but a file does as well.
        Ok(Activated { image: Image::File(path), txid: cloned.txid, objects, from: From::Clone })
    }

    async fn page(&self, scope: &CellScope, chain: Chain) -> Result<Activated, ImagesError> {
        let objects = chain.len();
        let (remote, at_hand) = chain.open_paged(&self.bucket).await?;
        let source =
            BucketSource { image: remote.clone(), io: self.io.clone(), deadline: self.options.page_deadline };
        let path = self.dir.join(scope.file_name());
        let failed = |cause| ImagesError::File { path: path.clone(), cause };
        let image = PagedImage::create(path.clone(), remote.pages(), Box::new(source)).map_err(failed)?;
        let filled = {
            let image = image.clone();
            tokio::task::spawn_blocking(move || image.fill(&at_hand)).await
        };
        filled.map_err(|_| RestoreError::Stopped)?.map_err(failed)?;
        if let Some(hydration) = &self.hydration {
            let hydration = hydration.clone();
            self.io.spawn(hydration.run(scope.clone(), Arc::downgrade(&image), remote.clone()));
        }
        Ok(Activated { image: Image::Paged(image), txid: remote.txid(), objects, from: From::Pages })
    }

    /// Vouches for the files of `cells`, so that the next process of this node need not restore them. Call it when nothing is served
    /// any more, every commit is durable and the log of `session` is closed; takes no file after `deadline`. Blocks.
    pub fn clean_stop(
        &self,
        session: &SessionId,
        cells: Vec<CleanCell>,
        deadline: Instant,
    ) -> std::io::Result<CleanStop> {
        std::mem::take(&mut *self.local.lock()).vouch(&self.dir, session, cells, deadline)
    }
}
