//! Putting a whole database into a local file, in memory that does not grow with it.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;
use std::sync::Arc;

use celld_bucket::Bucket;
use celld_ids::Epoch;
use celld_ltx::{ApplyError, Image, PAGE_SIZE, Page, Txid};
use futures::{FutureExt, Stream, StreamExt, TryStreamExt, stream};

use super::PagedError;
use super::chain::{Chain, Link, fetch_whole, missing, page, verify_frame};
use crate::keys;
use crate::record::patiently;
use crate::restore::{LISTINGS, MAX_PAGES, RestoreError, Restored};

/// Small objects fetched ahead.
const AHEAD: usize = 8;

/// Parts of a large object: about this many bytes each, and so many at a time.
const PART: u64 = 4 << 20;
const PARTS_AHEAD: usize = 4;

/// A database in a local file, as durable history has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cloned {
    /// Its size in pages.
    pub pages: u32,
    /// Its last transaction.
    pub txid: Txid,
    /// The epoch that the last transaction was written under.
    pub epoch: Option<Epoch>,
    /// When the last transaction was committed, in milliseconds since the Unix epoch.
    pub timestamp_ms: i64,
}

impl Chain {
    /// Writes the database into a new file at `path` (one that is there is removed) and verifies everything that goes into it.
    /// Large objects with page checksums are read in parts; others are held in memory one at a time. After an error the file's
    /// content means nothing.
    pub async fn clone_to(self, bucket: &Bucket, path: &Path) -> Result<Cloned, PagedError> {
        let mut chain = self;
        let mut listing = 1;
        loop {
            let file = create(path).map_err(|problem| failed(path, &problem))?;
            match chain.write(bucket, path, Arc::new(file)).await {
                Err(error) if error.vanished().is_some() && listing < LISTINGS => {
                    tracing::debug!(cell = %chain.scope, %error, "the history changed during the restore");
                    listing += 1;
                    chain = Chain::read(bucket, &chain.scope).await?;
                }
                result => return result,
            }
        }
    }

    /// Puts the database together in memory, for a chain of small objects: every one is read whole.
    pub async fn clone_in_memory(self, bucket: &Bucket) -> Result<Restored, PagedError> {
        let mut chain = self;
        let mut listing = 1;
        loop {
            match chain.apply(bucket).await {
                Err(error) if error.vanished().is_some() && listing < LISTINGS => {
                    tracing::debug!(cell = %chain.scope, %error, "the history changed during the restore");
                    listing += 1;
                    chain = Chain::read(bucket, &chain.scope).await?;
                }
                result => return result,
            }
        }
    }

    async fn apply(&self, bucket: &Bucket) -> Result<Restored, PagedError> {
        let mut image = Image::empty();
        let mut restored = Restored { epoch: self.epoch(), objects: self.len(), ..Restored::default() };
        let mut objects = self.objects(bucket, &self.links, AHEAD);
        while let Some((key, object)) = objects.try_next().await? {
            image
                .apply(&object, MAX_PAGES)
                .map_err(|problem| PagedError::from(RestoreError::Apply { key, problem }))?;
            restored.timestamp_ms = object.header().timestamp_ms;
        }
        restored.txid = image.txid();
        restored.image = image.into_bytes();
        Ok(restored)
    }

    /// Reads whole objects, in order.
    fn objects<'a>(
        &'a self,
        bucket: &'a Bucket,
        links: &'a [Link],
        ahead: usize,
    ) -> impl Stream<Item = Result<(String, celld_ltx::File), PagedError>> + Unpin + 'a {
        // Owned, so that the future is `Send` whatever its caller lends it.
        stream::iter(links.to_vec())
            .map(move |link| {
                async move {
                    let key = keys::history(&self.scope, &link.object.name);
                    let (_, object) = fetch_whole(bucket, &key, &link.object.name).await?;
                    Ok((key, object))
                }
                .boxed()
            })
            .buffered(ahead)
    }

    async fn write(&self, bucket: &Bucket, path: &Path, file: Arc<File>) -> Result<Cloned, PagedError> {
        let mut cloned = Cloned { pages: 0, txid: self.txid(), epoch: self.epoch(), timestamp_ms: 0 };
        for group in self.links.chunk_by(|a, b| !a.is_divisible() && !b.is_divisible()) {
            if let [link] = group
                && link.is_divisible()
            {
                self.write_parts(bucket, path, &file, link, &mut cloned).await?;
                continue;
            }
            let ahead = if group.iter().any(Link::is_large) { 1 } else { AHEAD };
            let mut objects = self.objects(bucket, group, ahead);
            while let Some((key, object)) = objects.try_next().await? {
                let header = *object.header();
                resize(&key, path, &file, header.is_snapshot(), header.commit)?;
                write_pages(path, &file, object.pages().to_vec()).await?;
                cloned.pages = header.commit;
                cloned.timestamp_ms = header.timestamp_ms;
            }
        }
        Ok(cloned)
    }

    async fn write_parts(
        &self,
        bucket: &Bucket,
        path: &Path,
        file: &Arc<File>,
        link: &Link,
        cloned: &mut Cloned,
    ) -> Result<(), PagedError> {
        let contents = link.contents(bucket, &self.scope).await?;
        let key = contents.key.as_str();
        let header = contents.header;
        resize(key, path, file, header.is_snapshot(), header.commit)?;
        let frames: Vec<_> = contents.pages.into_iter().zip(contents.sums).collect();
        // The frames lie one after another, so a part is a run of them.
        let mut parts = Vec::new();
        let mut rest = frames.as_slice();
        while let [((_, first), _), ..] = rest {
            let end = first.start + PART;
            let count = rest.partition_point(|((_, frame), _)| frame.end <= end).max(1);
            let (part, after) = rest.split_at(count);
            parts.push(part.to_vec());
            rest = after;
        }
        let mut read = stream::iter(parts)
            .map(|part| {
                async move {
                    let start = part.first().map_or(0, |((_, frame), _)| frame.start);
                    let end = part.last().map_or(start, |((_, frame), _)| frame.end);
                    let bytes =
                        patiently(|| bucket.get_range(key, start..end)).await?.ok_or_else(|| missing(key))?;
                    Ok::<_, PagedError>((part, start, bytes))
                }
                .boxed()
            })
            .buffered(PARTS_AHEAD);
        while let Some((part, start, bytes)) = read.try_next().await? {
            let (key, path, file) = (key.to_owned(), path.to_owned(), file.clone());
            let written = tokio::task::spawn_blocking(move || {
                for ((pgno, frame), sum) in part {
                    let verified =
                        match bytes.get((frame.start - start) as usize..(frame.end - start) as usize) {
                            Some(bytes) => verify_frame(bytes, pgno, sum),
                            None => Err("its bytes did not come".to_owned()),
                        };
                    let found = verified.map_err(|problem| page(&key, pgno, problem))?;
                    write_page(&file, &found).map_err(|problem| failed(&path, &problem))?;
                }
                Ok::<_, PagedError>(())
            });
            written.await.map_err(|_| RestoreError::Stopped)??;
        }
        cloned.pages = header.commit;
        cloned.timestamp_ms = header.timestamp_ms;
        Ok(())
    }
}

/// Brings the file to the size of the database after an object. Shrinking before growing matters: what was cut off must come back
/// as zeros. A snapshot replaces everything.
fn resize(key: &str, path: &Path, file: &File, snapshot: bool, pages: u32) -> Result<(), PagedError> {
    if pages > MAX_PAGES {
        return Err(
            RestoreError::Apply { key: key.to_owned(), problem: ApplyError::TooLarge { pages } }.into()
        );
    }
    let resized = if snapshot { file.set_len(0) } else { Ok(()) };
    resized
        .and_then(|()| file.set_len(u64::from(pages) * PAGE_SIZE as u64))
        .map_err(|problem| failed(path, &problem))
}

async fn write_pages(path: &Path, file: &Arc<File>, pages: Vec<Page>) -> Result<(), PagedError> {
    let file = file.clone();
    let written =
        tokio::task::spawn_blocking(move || pages.iter().try_for_each(|page| write_page(&file, page)));
    written.await.map_err(|_| RestoreError::Stopped)?.map_err(|problem| failed(path, &problem))
}

fn write_page(file: &File, page: &Page) -> io::Result<()> {
    file.write_all_at(&page.data, u64::from(page.pgno - 1) * PAGE_SIZE as u64)
}

/// A new file, never one that somebody still has open.
fn create(path: &Path) -> io::Result<File> {
    match std::fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(path)
}

fn failed(path: &Path, problem: &io::Error) -> PagedError {
    PagedError::File { path: path.display().to_string(), problem: problem.to_string() }
}
