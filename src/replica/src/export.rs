//! A cell's database at an earlier moment as a SQLite file.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use celld_bucket::Bucket;
use celld_ids::CellScope;
use celld_ltx::PAGE_SIZE;
use tokio::fs::{File, OpenOptions};
use tokio::io::{AsyncSeekExt, AsyncWriteExt};

use crate::restore::{LISTINGS, RestoreError};
use crate::timeline::{Moment, PastError, Target, Timeline};

/// Bytes written at once.
const PIECE: usize = 1 << 20;

/// Why a database was not written to a file. A file that was there is as before.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ExportError {
    /// The moment cannot be restored.
    #[error(transparent)]
    Past(#[from] PastError),
    /// There is a file of this name.
    #[error("{} exists already", .0.display())]
    Exists(PathBuf),
    /// The file system refused.
    #[error("cannot write {path}: {source}", path = path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Arc<io::Error>,
    },
}

/// Writes the database of `scope` at `target` to the file `output`: into a file beside it first, which takes the name when it is
/// complete and on the disk. Every byte from the bucket is verified. Memory does not depend on the database's size. Returns which
/// moment it is.
///
/// `replace`: whether a file of that name may be replaced.
pub async fn restore_to_file(
    bucket: &Bucket,
    scope: &CellScope,
    target: Target,
    output: &Path,
    replace: bool,
) -> Result<Moment, ExportError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |source: io::Error| ExportError::Io { path, source: Arc::new(source) }
    };
    let name = output.file_name().ok_or_else(|| {
        failed(output)(io::Error::new(io::ErrorKind::InvalidInput, "it is not the name of a file"))
    })?;
    let exists = || tokio::fs::try_exists(output);
    if !replace && exists().await.map_err(failed(output))? {
        return Err(ExportError::Exists(output.to_owned()));
    }
    let mut part = name.to_owned();
    part.push(format!(".part-{}", std::process::id()));
    let part = Unnamed(output.with_file_name(part));
    let file = OpenOptions::new().write(true).create_new(true).open(&part.0).await;
    let mut file = file.map_err(failed(&part.0))?;
    let moment = write(bucket, scope, target, &mut file, &part.0).await?;
    file.sync_all().await.map_err(failed(&part.0))?;
    drop(file);
    if replace {
        tokio::fs::rename(&part.0, output).await.map_err(failed(output))?;
    } else {
        // Unlike a renaming, a link does not take a name that somebody has used meanwhile.
        match tokio::fs::hard_link(&part.0, output).await {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(ExportError::Exists(output.to_owned()));
            }
            Err(_) => tokio::fs::rename(&part.0, output).await.map_err(failed(output))?,
        }
    }
    // The name too must survive a power failure.
    let dir = output.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let dir = File::open(dir).await.map_err(failed(output))?;
    dir.sync_all().await.map_err(failed(output))?;
    Ok(moment)
}

/// A file that is removed when it has not become another one.
struct Unnamed(PathBuf);

impl Drop for Unnamed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Writes the pages of the database to the empty `file`.
async fn write(
    bucket: &Bucket,
    scope: &CellScope,
    target: Target,
    file: &mut File,
    path: &Path,
) -> Result<Moment, ExportError> {
    let failed = |source: io::Error| ExportError::Io { path: path.to_owned(), source: Arc::new(source) };
    let mut listing = 1;
    loop {
        let timeline = Timeline::read(bucket, scope).await?;
        let moment = timeline.find(target)?;
        match write_pages(&timeline, &moment, file).await {
            Ok(()) => {
                file.flush().await.map_err(failed)?;
                return Ok(moment);
            }
            // Compaction has taken an object away: another way leads there.
            Err(Stop::Restore(RestoreError::Missing { .. })) if listing < LISTINGS => {
                listing += 1;
                file.rewind().await.map_err(failed)?;
                file.set_len(0).await.map_err(failed)?;
            }
            Err(Stop::Restore(error)) => return Err(PastError::from(error).into()),
            Err(Stop::Io(error)) => return Err(failed(error)),
        }
    }
}

enum Stop {
    Restore(RestoreError),
    Io(io::Error),
}

impl From<RestoreError> for Stop {
    fn from(error: RestoreError) -> Stop {
        Stop::Restore(error)
    }
}

impl From<io::Error> for Stop {
    fn from(error: io::Error) -> Stop {
        Stop::Io(error)
    }
}

async fn write_pages(timeline: &Timeline, moment: &Moment, file: &mut File) -> Result<(), Stop> {
    let Some(mut pages) = timeline.pages(moment).await? else { return Ok(()) };
    let commit = pages.header().commit;
    let mut out = Vec::with_capacity(PIECE + 2 * PAGE_SIZE);
    let mut next = 1;
    while let Some(page) = pages.next().await? {
        // Only the lock page is ever left out of a whole database.
        for _ in next..page.pgno {
            out.extend_from_slice(&[0; PAGE_SIZE]);
        }
        out.extend_from_slice(&page.data);
        next = page.pgno + 1;
        if out.len() >= PIECE {
            file.write_all(&out).await?;
            out.clear();
        }
    }
    for _ in next..=commit {
        out.extend_from_slice(&[0; PAGE_SIZE]);
    }
    Ok(file.write_all(&out).await?)
}
