//! Reading history objects side by side, in windows, and merging them page by page: the way from many objects to one, or to a
//! database file, that needs neither in memory.

use std::collections::VecDeque;

use bytes::{Buf, Bytes, BytesMut};
use celld_bucket::Bucket;
use celld_ids::CellScope;
use celld_ltx::{Checksum, Decoded, Decoder, HEADER_SIZE, Header, Merge, Page};
use futures::{FutureExt, StreamExt, TryStreamExt, stream};
use tokio::task::JoinHandle;

use crate::history::HistoryObject;
use crate::keys;
use crate::record::patiently;
use crate::restore::{MAX_PAGES, RestoreError};

/// Bytes of all windows together, of which half are being read ahead.
const WINDOWS: u64 = 32 << 20;

/// Bounds of one window: enough for one request to be worth it, and for thousands of inputs to fit.
const SMALLEST: u64 = 16 << 10;
const LARGEST: u64 = 2 << 20;

/// First windows fetched at once.
const OPENING: usize = 16;

/// Pages after which other tasks of the thread get their turn: well below a millisecond.
const BREATH: u32 = 64;

/// One of the files to merge.
#[derive(Debug, Clone)]
pub(crate) enum Source {
    /// An object of the cell's history.
    Object(HistoryObject),
    /// A transaction from the log, whose checksum has been verified with its entry.
    Bytes(Bytes),
}

/// The merged pages of several files that follow each other.
pub(crate) struct MergedPages {
    merge: Merge,
    inputs: Vec<Input>,
    given: u32,
}

impl MergedPages {
    /// Begins to read `sources`, in the order of their transactions. Memory: 32 MiB, and more only for more than a thousand.
    pub(crate) async fn open(
        bucket: &Bucket,
        scope: &CellScope,
        sources: &[Source],
    ) -> Result<MergedPages, RestoreError> {
        let window = (WINDOWS / 2 / (sources.len() as u64).max(1)).clamp(SMALLEST, LARGEST);
        let opened = stream::iter(sources.to_vec()).map(|source| {
            let (bucket, scope) = (bucket.clone(), scope.clone());
            async move { Input::open(bucket, &scope, source, window).await }.boxed()
        });
        let opened: Vec<(Header, Input)> = opened.buffered(OPENING).try_collect().await?;
        let headers: Vec<Header> = opened.iter().map(|(header, _)| *header).collect();
        let merge =
            Merge::new(&headers).map_err(|problem| RestoreError::Merge { scope: scope.clone(), problem })?;
        let pages = merge.header().commit;
        if pages > MAX_PAGES {
            let problem = celld_ltx::ApplyError::TooLarge { pages };
            let key = opened.last().map(|(_, input)| input.key.clone()).unwrap_or_default();
            return Err(RestoreError::Apply { key, problem });
        }
        let inputs = opened.into_iter().map(|(_, input)| input).collect();
        Ok(MergedPages { merge, inputs, given: 0 })
    }

    /// The header of the merged file.
    pub(crate) fn header(&self) -> &Header {
        self.merge.header()
    }

    /// The next page. `None` after the last, when every input has been read to its end and was sound.
    pub(crate) async fn next(&mut self) -> Result<Option<Page>, RestoreError> {
        self.given = self.given.wrapping_add(1);
        if self.given.is_multiple_of(BREATH) {
            tokio::task::yield_now().await;
        }
        loop {
            if let Some(page) = self.merge.next_page() {
                return Ok(Some(page));
            }
            let Some(input) = self.merge.wants() else { return Ok(None) };
            match self.inputs[input].next().await? {
                Decoded::Page(page) => self.merge.give(page),
                Decoded::End { post_apply } => self.merge.give_end(post_apply),
                Decoded::Header(_) | Decoded::Need(_) => {
                    let key = self.inputs[input].key.clone();
                    return Err(RestoreError::Damaged {
                        key,
                        problem: celld_ltx::DecodeError::IndexMismatch,
                    });
                }
            }
        }
    }

    /// Ends the merge; `sum` is the checksum of a database of the merged pages. Returns the checksum of the database afterwards,
    /// unless the merged file goes without.
    pub(crate) fn finish(self, scope: &CellScope, sum: Checksum) -> Result<Option<Checksum>, RestoreError> {
        self.merge.finish(sum).map_err(|problem| RestoreError::Merge { scope: scope.clone(), problem })
    }
}

/// A file that is being read and decoded.
struct Input {
    key: String,
    decoder: Decoder,
    /// Bytes that the decoder has not used.
    buffer: BytesMut,
    windows: Windows,
}

impl Input {
    async fn open(
        bucket: Bucket,
        scope: &CellScope,
        source: Source,
        window: u64,
    ) -> Result<(Header, Input), RestoreError> {
        let (key, len, windows) = match &source {
            Source::Object(object) => {
                let key = keys::history(scope, &object.name);
                (key.clone(), object.size, Windows::of(bucket, key, object.size, window))
            }
            Source::Bytes(bytes) => {
                let windows = Windows { ready: VecDeque::from([bytes.clone()]), ..Windows::default() };
                ("a transaction in the log".to_owned(), bytes.len() as u64, windows)
            }
        };
        let mut input = Input { key, decoder: Decoder::new(len), buffer: BytesMut::new(), windows };
        let header = match input.next().await? {
            Decoded::Header(header) => header,
            _ => {
                let problem = celld_ltx::HeaderError::Short(HEADER_SIZE).into();
                return Err(RestoreError::Damaged { key: input.key.clone(), problem });
            }
        };
        if let Source::Object(HistoryObject { name, .. }) = source {
            let (min, max) = (header.min_txid, header.max_txid);
            if (min, max) != (name.min, name.max) {
                return Err(RestoreError::Misnamed { key: input.key.clone(), min, max });
            }
        }
        Ok((header, input))
    }

    async fn next(&mut self) -> Result<Decoded, RestoreError> {
        loop {
            let damaged = |problem| RestoreError::Damaged { key: self.key.clone(), problem };
            let (decoded, used) = self.decoder.step(&self.buffer).map_err(damaged)?;
            self.buffer.advance(used);
            let Decoded::Need(bytes) = decoded else { return Ok(decoded) };
            while self.buffer.len() < bytes {
                match self.windows.next().await? {
                    Some(window) => self.buffer.extend_from_slice(&window),
                    None => {
                        let problem = celld_ltx::DecodeError::Short(self.buffer.len() as u64);
                        return Err(RestoreError::Damaged { key: self.key.clone(), problem });
                    }
                }
            }
        }
    }
}

/// The bytes of an object in pieces, the next one always on its way.
#[derive(Default)]
struct Windows {
    ready: VecDeque<Bytes>,
    object: Option<(Bucket, String)>,
    /// What has not been asked for: from where, to the end.
    at: u64,
    len: u64,
    window: u64,
    ahead: Option<Ahead>,
}

struct Ahead(JoinHandle<Result<Bytes, RestoreError>>);

impl Drop for Ahead {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Windows {
    fn of(bucket: Bucket, key: String, len: u64, window: u64) -> Windows {
        let mut windows = Windows { object: Some((bucket, key)), len, window, ..Windows::default() };
        windows.ask();
        windows
    }

    /// Asks for the next window.
    fn ask(&mut self) {
        let Some((bucket, key)) = &self.object else { return };
        let range = self.at..(self.at + self.window).min(self.len);
        if range.is_empty() {
            return;
        }
        self.at = range.end;
        let (bucket, key) = (bucket.clone(), key.clone());
        self.ahead = Some(Ahead(tokio::spawn(async move {
            let read = patiently(|| bucket.get_range(&key, range.clone())).await?;
            read.ok_or(RestoreError::Missing { key })
        })));
    }

    async fn next(&mut self) -> Result<Option<Bytes>, RestoreError> {
        if let Some(bytes) = self.ready.pop_front() {
            return Ok(Some(bytes));
        }
        let Some(mut ahead) = self.ahead.take() else { return Ok(None) };
        let bytes = (&mut ahead.0).await.map_err(|_| RestoreError::Stopped)??;
        self.ask();
        Ok(Some(bytes))
    }
}
