//! Reading single pages of a chain.

use std::ops::Range;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use celld_bucket::Bucket;
use celld_ids::{CellScope, Epoch};
use celld_ltx::{ApplyError, Checksum, PAGE_SIZE, Page, Txid};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use parking_lot::RwLock;

use super::PagedError;
use super::chain::{Chain, missing, page, verify_frame};
use super::map::{PageMap, Place};
use crate::restore::{LISTINGS, MAX_PAGES, RestoreError};

/// Ranges read at a time.
const PARALLEL: usize = 16;

/// Objects of a chain opened at a time: most are small, and each wait is the first request of somebody.
const OPENING: usize = 64;

/// Pages that came along when the chain was opened and are handed out at once: 32 MiB of them. The rest is read again.
const AT_HAND: usize = (32 << 20) / PAGE_SIZE;

/// Frames that are at most this far apart are read together: so many bytes cost less than another request.
const GAP: u64 = 32 << 10;

/// One range is no longer than this.
const LONGEST: u64 = 4 << 20;

/// A cell's database in the bucket. Clones share one map.
#[derive(Clone)]
pub struct RemoteImage(Arc<Inner>);

struct Inner {
    bucket: Bucket,
    scope: CellScope,
    txid: Txid,
    epoch: Option<Epoch>,
    timestamp_ms: i64,
    pages: u32,
    places: RwLock<Arc<Places>>,
    /// One plans anew, the others wait for it.
    planning: tokio::sync::Mutex<()>,
}

struct Places {
    /// The objects of the chain.
    keys: Vec<String>,
    map: PageMap,
    timestamp_ms: i64,
}

/// Frames of one object that are read together.
struct Run {
    object: usize,
    range: Range<u64>,
    frames: Vec<(u32, Range<u64>, Checksum)>,
}

impl Chain {
    /// Opens the database for reading page by page: one round trip for the ends of all objects (one for each 64 of them), however
    /// large it is. Returns also the pages that came along.
    ///
    /// When an object has vanished since the chain was read, the history is listed again: the image may then stand at a later
    /// transaction than the chain.
    pub async fn open_paged(self, bucket: &Bucket) -> Result<(RemoteImage, Vec<Page>), PagedError> {
        let mut chain = self;
        let mut listing = 1;
        let (places, at_hand) = loop {
            match chain.places(bucket).await {
                Err(error) if error.vanished().is_some() && listing < LISTINGS => {
                    tracing::debug!(cell = %chain.scope, %error, "the history changed while it was opened");
                    listing += 1;
                    chain = Chain::read(bucket, &chain.scope).await?;
                }
                result => break result?,
            }
        };
        let inner = Inner {
            bucket: bucket.clone(),
            txid: chain.txid(),
            epoch: chain.epoch(),
            timestamp_ms: places.timestamp_ms,
            pages: places.map.len(),
            scope: chain.scope,
            places: RwLock::new(Arc::new(places)),
            planning: tokio::sync::Mutex::default(),
        };
        Ok((RemoteImage(Arc::new(inner)), at_hand))
    }

    /// Maps the pages, from the newest object to the oldest.
    async fn places(&self, bucket: &Bucket) -> Result<(Places, Vec<Page>), PagedError> {
        let mut places =
            Places { keys: vec![String::new(); self.links.len()], map: PageMap::default(), timestamp_ms: 0 };
        let mut kept = Vec::new();
        // Owned, so that the future is `Send` whatever its caller lends it.
        let mut contents = stream::iter(self.links.clone().into_iter().enumerate().rev())
            .map(|(object, link)| {
                async move { Ok::<_, PagedError>((object, link.contents(bucket, &self.scope).await?)) }
                    .boxed()
            })
            .buffered(OPENING);
        while let Some((object, contents)) = contents.try_next().await? {
            let pages = contents.header.commit;
            if pages > MAX_PAGES {
                let problem = ApplyError::TooLarge { pages };
                return Err(RestoreError::Apply { key: contents.key, problem }.into());
            }
            if object + 1 == self.links.len() {
                places.timestamp_ms = contents.header.timestamp_ms;
            }
            let mut at_hand = contents.at_hand.into_iter().peekable();
            places.map.add(object, &contents.header, &contents.pages, &contents.sums, |at| {
                let pgno = contents.pages[at].0;
                // Both ascend.
                while at_hand.next_if(|page| page.pgno < pgno).is_some() {}
                if let Some(page) = at_hand.next_if(|page| page.pgno == pgno)
                    && kept.len() < AT_HAND
                {
                    kept.push(page);
                }
            });
            places.keys[object] = contents.key;
        }
        Ok((places, kept))
    }
}

impl RemoteImage {
    /// Pages in the database.
    pub fn pages(&self) -> u32 {
        self.0.pages
    }

    /// Its last transaction.
    pub fn txid(&self) -> Txid {
        self.0.txid
    }

    /// The epoch that the last transaction was written under.
    pub fn epoch(&self) -> Option<Epoch> {
        self.0.epoch
    }

    /// When the last transaction was committed, in milliseconds since the Unix epoch.
    pub fn timestamp_ms(&self) -> i64 {
        self.0.timestamp_ms
    }

    /// Bytes of memory that the map takes, about.
    pub fn memory(&self) -> usize {
        let places = self.0.places.read();
        places.map.memory() + places.keys.iter().map(String::len).sum::<usize>()
    }

    /// Reads `pages`, each verified, in any order: neighbours in one request, the rest in parallel. A page that the cell's owner
    /// has cut off since the image was opened may be left out.
    pub async fn read(&self, pages: &[u32]) -> Result<Vec<Page>, PagedError> {
        let mut listing = 1;
        loop {
            let places = self.0.places.read().clone();
            match self.read_from(&places, pages).await {
                Err(error) if error.vanished().is_some() && listing < LISTINGS => {
                    tracing::debug!(cell = %self.0.scope, %error, "the history changed; it is planned anew");
                    listing += 1;
                    self.plan_anew(&places, error).await?;
                }
                result => return result,
            }
        }
    }

    async fn read_from(&self, places: &Places, pages: &[u32]) -> Result<Vec<Page>, PagedError> {
        let mut found = Vec::with_capacity(pages.len());
        let mut frames = Vec::with_capacity(pages.len());
        for pgno in pages {
            match places.map.find(*pgno) {
                Place::Beyond => {}
                Place::Zeros => found.push(Page { pgno: *pgno, data: ZEROS.clone() }),
                Place::At { object, frame, sum } => frames.push((object, *pgno, frame, sum)),
            }
        }
        let mut runs = stream::iter(runs(frames))
            .map(|run| self.read_run(&places.keys[run.object], run).boxed())
            .buffer_unordered(PARALLEL);
        while let Some(pages) = runs.try_next().await? {
            found.extend(pages);
        }
        Ok(found)
    }

    async fn read_run(&self, key: &str, run: Run) -> Result<Vec<Page>, PagedError> {
        let bytes = self.0.bucket.get_range(key, run.range.clone()).await?.ok_or_else(|| missing(key))?;
        unpack(key, &run, &bytes)
    }

    /// Replaces the places, of which an object has vanished. `error` says which.
    async fn plan_anew(&self, old: &Arc<Places>, error: PagedError) -> Result<(), PagedError> {
        let _alone = self.0.planning.lock().await;
        if !Arc::ptr_eq(&self.0.places.read(), old) {
            return Ok(());
        }
        let chain = Chain::read(&self.0.bucket, &self.0.scope).await?;
        if chain.txid() < self.0.txid {
            // What was there when the image was opened is there no more.
            return Err(error);
        }
        match chain.places(&self.0.bucket).await {
            Ok((places, _)) => *self.0.places.write() = Arc::new(places),
            // It changed again: the caller reads, fails and comes back.
            Err(again) if again.vanished().is_some() => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

static ZEROS: LazyLock<Arc<[u8]>> = LazyLock::new(|| Arc::from([0; PAGE_SIZE].as_slice()));

/// Puts frames together that lie close to each other in one object.
fn runs(mut frames: Vec<(usize, u32, Range<u64>, Checksum)>) -> Vec<Run> {
    frames.sort_unstable_by_key(|(object, _, frame, _)| (*object, frame.start));
    let mut runs: Vec<Run> = Vec::new();
    for (object, pgno, frame, sum) in frames {
        match runs.last_mut() {
            Some(run)
                if run.object == object
                    && frame.start.saturating_sub(run.range.end) <= GAP
                    && frame.end - run.range.start <= LONGEST =>
            {
                // The same page asked for twice does not lead back.
                run.range.end = run.range.end.max(frame.end);
                run.frames.push((pgno, frame, sum));
            }
            _ => runs.push(Run { object, range: frame.clone(), frames: vec![(pgno, frame, sum)] }),
        }
    }
    runs
}

fn unpack(key: &str, run: &Run, bytes: &Bytes) -> Result<Vec<Page>, PagedError> {
    let mut pages = Vec::with_capacity(run.frames.len());
    for (pgno, frame, sum) in &run.frames {
        let (from, to) = (frame.start - run.range.start, frame.end - run.range.start);
        let verified = match bytes.get(from as usize..to as usize) {
            Some(bytes) => verify_frame(bytes, *pgno, *sum),
            None => Err("its bytes did not come".to_owned()),
        };
        pages.push(verified.map_err(|problem| page(key, *pgno, problem))?);
    }
    Ok(pages)
}
