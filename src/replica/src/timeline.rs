//! A cell's past: which transactions it can be taken back to, and the database at each of them.
//!
//! Every object of the history ends with a transaction, and leads to it when something leads to where the object begins. Those
//! transactions are the *points* that can be restored. Transactions that were merged into one object and whose own objects are gone
//! cannot be told apart any more: asked for one of them, the point before it is the answer, and it says so.

use celld_bucket::{Bucket, BucketError};
use celld_ids::{CellScope, Epoch};
use celld_ltx::{ApplyError, LOCK_PAGE, PAGE_SIZE, Page, Txid};

use crate::bookmark::{Bookmark, bookmark_of};
use crate::history::{HistoryObject, PlanError, list_history, plan};
use crate::json::RecordError;
use crate::keys::Level;
use crate::pages::{MergedPages, Source};
use crate::restore::{LISTINGS, RestoreError};
use crate::tail::{TailTx, beyond, unfolded};

/// A transaction that a cell can be taken back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Point {
    /// The transaction; [`Txid::ZERO`] is the empty cell.
    pub txid: Txid,
    /// When it was committed, in milliseconds since the Unix epoch, by the clock of the node that did; zero when nobody knows.
    pub timestamp_ms: u64,
    /// Under which ownership it was committed.
    pub epoch: Epoch,
}

impl Point {
    const EMPTY: Point = Point { txid: Txid::ZERO, timestamp_ms: 0, epoch: Epoch(0) };

    /// The point as text.
    pub fn bookmark(&self) -> Bookmark {
        bookmark_of(self.epoch, self.txid)
    }
}

/// Where to go back to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// The last transaction.
    Last,
    /// The last transaction not later than this time, in milliseconds since the Unix epoch.
    Time(u64),
    /// This transaction.
    Txid(Txid),
    /// The transaction of this bookmark.
    Bookmark(Bookmark),
}

/// The point that answers a [`Target`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// What is restored.
    pub point: Point,
    /// `false` when a later transaction may be what was asked for, but is merged with others that came after it: somewhere between
    /// `point` and `after`.
    pub exact: bool,
    /// The point before.
    pub before: Option<Point>,
    /// The point after.
    pub after: Option<Point>,
}

/// Why a cell cannot be taken back to a moment.
#[derive(Debug, Clone, thiserror::Error)]
pub enum PastError {
    /// The history cannot be read.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// The record of the cell's owner or its session cannot be read.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The log holds something that cannot be read.
    #[error("{key} is damaged: {problem}")]
    Log {
        /// The object.
        key: String,
        /// What is wrong with it.
        problem: String,
    },
    /// The owner kept folding its log faster than it could be read.
    #[error("the log of the owner of {scope} keeps moving; try again")]
    Moving {
        /// The cell.
        scope: CellScope,
    },
    /// The cell has no history.
    #[error("{scope} has no history")]
    Empty {
        /// The cell.
        scope: CellScope,
    },
    /// What was asked for is before everything that is kept.
    #[error(
        "the history of {scope} begins with transaction {txid} at {timestamp_ms} ms; nothing before it is kept",
        txid = first.txid.0, timestamp_ms = first.timestamp_ms
    )]
    TooEarly {
        /// The cell.
        scope: CellScope,
        /// The first point.
        first: Point,
    },
    /// The transaction does not exist.
    #[error("{scope} has no transaction {txid}; the last is {last}", txid = txid.0, last = last.txid.0)]
    NotYet {
        /// The cell.
        scope: CellScope,
        /// What was asked for.
        txid: Txid,
        /// The last point.
        last: Point,
    },
    /// The bookmark's transaction was never acknowledged, and another one has its number.
    #[error("transaction {txid} of {scope} was committed under epoch {found}, after the bookmark's epoch {wanted}", txid = txid.0, found = found.0, wanted = wanted.0)]
    OtherEpoch {
        /// The cell.
        scope: CellScope,
        /// The transaction.
        txid: Txid,
        /// The epoch in the history.
        found: Epoch,
        /// The epoch of the bookmark.
        wanted: Epoch,
    },
}

impl From<BucketError> for PastError {
    fn from(error: BucketError) -> PastError {
        RestoreError::from(error).into()
    }
}

/// A cell's history as it was at one moment, with what its owner had acknowledged and not yet folded.
#[derive(Debug, Clone)]
pub struct Timeline {
    bucket: Bucket,
    scope: CellScope,
    objects: Vec<HistoryObject>,
    tail: Vec<TailTx>,
    points: Vec<Point>,
    problem: Option<PlanError>,
}

impl Timeline {
    /// Reads what there is of `scope`. Changes nothing, whoever owns the cell.
    pub async fn read(bucket: &Bucket, scope: &CellScope) -> Result<Timeline, PastError> {
        // The log before the history: what is folded in between is then in both, not in neither.
        let tail = unfolded(bucket, scope).await?;
        let objects = list_history(bucket, scope).await?;
        let problem = plan(scope, &objects).err();
        let tail = beyond(tail, &objects);
        let points = points(&objects, if problem.is_none() { &tail } else { &[] });
        Ok(Timeline { bucket: bucket.clone(), scope: scope.clone(), objects, tail, points, problem })
    }

    /// The points that can be restored, the earliest first.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// How many transactions at the end are in the log of the owner alone.
    pub fn unfolded(&self) -> usize {
        self.tail.len()
    }

    /// What is wrong with the history: the points end before it, and the cell itself cannot be restored.
    pub fn problem(&self) -> Option<&PlanError> {
        self.problem.as_ref()
    }

    /// Finds the point that answers `target`.
    pub fn find(&self, target: Target) -> Result<Moment, PastError> {
        let scope = || self.scope.clone();
        let (Some(first), Some(last)) = (self.points.first(), self.points.last()) else {
            return Err(PastError::Empty { scope: scope() });
        };
        let wanted = match target {
            Target::Last => last.txid,
            Target::Txid(txid) => txid,
            Target::Bookmark(bookmark) => bookmark.txid,
            Target::Time(time) => {
                let found = self.points.iter().rfind(|point| point.timestamp_ms <= time);
                match found {
                    Some(found) => return Ok(self.moment(found.txid, None)),
                    // Before its first transaction the cell was empty.
                    None if first.txid == Txid(1) => return Ok(self.moment(Txid::ZERO, None)),
                    None => return Err(PastError::TooEarly { scope: scope(), first: *first }),
                }
            }
        };
        if wanted > last.txid {
            return Err(PastError::NotYet { scope: scope(), txid: wanted, last: *last });
        }
        let moment = self.moment(wanted, Some(wanted));
        if moment.point.txid == Txid::ZERO && wanted != Txid::ZERO {
            return Err(PastError::TooEarly { scope: scope(), first: *first });
        }
        if let Target::Bookmark(bookmark) = target
            && moment.exact
            && moment.point.epoch > bookmark.epoch
        {
            let (found, wanted) = (moment.point.epoch, bookmark.epoch);
            return Err(PastError::OtherEpoch { scope: scope(), txid: bookmark.txid, found, wanted });
        }
        Ok(moment)
    }

    /// The last point that is not after `txid`. `wanted` is the transaction that was asked for, if it was one.
    fn moment(&self, txid: Txid, wanted: Option<Txid>) -> Moment {
        let count = self.points.partition_point(|point| point.txid <= txid);
        let (until, after) = self.points.split_at(count);
        let (point, before) = match until {
            [] => (Point::EMPTY, None),
            [.., before, point] => (*point, Some(*before)),
            [point] => (*point, None),
        };
        let after = after.first().copied();
        let exact = match wanted {
            Some(wanted) => wanted == point.txid,
            // Of the transactions up to the next point, all but its last may lie before the time that was asked for.
            None => after.is_none_or(|after| after.txid == point.txid.next()),
        };
        Moment { point, exact, before, after }
    }

    /// The files that together make the database of `moment`.
    pub(crate) fn sources(&self, moment: &Moment) -> Result<Vec<Source>, RestoreError> {
        let until = moment.point.txid;
        let objects: Vec<HistoryObject> =
            self.objects.iter().filter(|object| object.name.max <= until).cloned().collect();
        let chain = plan(&self.scope, &objects)?;
        let tail = self.tail.iter().filter(|tx| tx.header.max_txid <= until);
        Ok(chain
            .into_iter()
            .map(Source::Object)
            .chain(tail.map(|tx| Source::Bytes(tx.ltx.clone())))
            .collect())
    }

    /// The merged pages of `moment`; `None` for the empty cell.
    pub(crate) async fn pages(&self, moment: &Moment) -> Result<Option<MergedPages>, RestoreError> {
        let sources = self.sources(moment)?;
        if sources.is_empty() {
            return Ok(None);
        }
        MergedPages::open(&self.bucket, &self.scope, &sources).await.map(Some)
    }
}

/// The transactions that some chain of objects, and then of transactions in the log, leads to.
fn points(objects: &[HistoryObject], tail: &[TailTx]) -> Vec<Point> {
    let mut sorted: Vec<&HistoryObject> = objects.iter().collect();
    // A snapshot may have been written under a later epoch than its last transaction: the others know better.
    sorted.sort_by_key(|object| (object.name.max, object.name.level == Level::L9));
    let mut points: Vec<Point> = Vec::new();
    for HistoryObject { name, .. } in sorted {
        let known = points.last().is_some_and(|point| point.txid == name.max);
        // The furthest point before the end of the object is the one that can reach its beginning, if any can.
        let reached = points.last().map_or(Txid::ZERO, |point| point.txid);
        if !known && (name.min == Txid(1) || (name.min <= reached.next() && reached != Txid::ZERO)) {
            points.push(Point { txid: name.max, timestamp_ms: name.timestamp_ms, epoch: name.epoch });
        }
    }
    points.extend(tail.iter().map(|tx| Point {
        txid: tx.header.max_txid,
        timestamp_ms: u64::try_from(tx.header.timestamp_ms).unwrap_or(0),
        epoch: tx.epoch,
    }));
    points
}

/// A cell's database at an earlier moment.
#[derive(Debug, Clone)]
pub struct Restoration {
    /// The database file; empty for a cell without transactions.
    pub image: Vec<u8>,
    /// Which moment it is.
    pub moment: Moment,
}

/// Puts together the database of `scope` at `target`, in memory ([`crate::restore_to_file`] does without). Changes nothing: to take
/// the cell back, commit [`changed_pages`] as its next transaction.
pub async fn restore_at(
    bucket: &Bucket,
    scope: &CellScope,
    target: Target,
) -> Result<Restoration, PastError> {
    let mut listing = 1;
    loop {
        let timeline = Timeline::read(bucket, scope).await?;
        let moment = timeline.find(target)?;
        match image(&timeline, &moment).await {
            Err(RestoreError::Missing { .. }) if listing < LISTINGS => listing += 1,
            image => return Ok(Restoration { image: image?, moment }),
        }
    }
}

async fn image(timeline: &Timeline, moment: &Moment) -> Result<Vec<u8>, RestoreError> {
    let Some(mut pages) = timeline.pages(moment).await? else { return Ok(Vec::new()) };
    let size = pages.header().commit as usize * PAGE_SIZE;
    let mut image = Vec::new();
    let large = |_| RestoreError::Apply {
        key: format!("the database of {}", timeline.scope),
        problem: ApplyError::TooLarge { pages: (size / PAGE_SIZE) as u32 },
    };
    image.try_reserve_exact(size).map_err(large)?;
    image.resize(size, 0);
    while let Some(page) = pages.next().await? {
        let start = (page.pgno as usize - 1) * PAGE_SIZE;
        image[start..start + PAGE_SIZE].copy_from_slice(&page.data);
    }
    Ok(image)
}

/// The bookmark of the last transaction not later than `time_ms` (milliseconds since the Unix epoch) that `scope` can be taken
/// back to.
pub async fn bookmark_at(bucket: &Bucket, scope: &CellScope, time_ms: u64) -> Result<Bookmark, PastError> {
    let timeline = Timeline::read(bucket, scope).await?;
    Ok(timeline.find(Target::Time(time_ms))?.point.bookmark())
}

/// What a transaction must write to turn the database `now` into `then`: the size in pages, and every page that differs. Both are
/// whole pages. The history goes on from there, so that taking a cell back can itself be taken back.
///
/// Errors: [`ApplyError::Length`].
pub fn changed_pages(now: &[u8], then: &[u8]) -> Result<(u32, Vec<Page>), ApplyError> {
    for image in [now, then] {
        if !image.len().is_multiple_of(PAGE_SIZE) || u32::try_from(image.len() / PAGE_SIZE).is_err() {
            return Err(ApplyError::Length(image.len()));
        }
    }
    let mut before = now.chunks_exact(PAGE_SIZE);
    let pages = (1..)
        .zip(then.chunks_exact(PAGE_SIZE))
        .filter(|(pgno, page)| before.next() != Some(*page) && *pgno != LOCK_PAGE)
        .map(|(pgno, page)| Page { pgno, data: page.into() })
        .collect();
    Ok(((then.len() / PAGE_SIZE) as u32, pages))
}
