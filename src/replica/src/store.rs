//! Writing objects of a cell's history. Every large one is preceded by the checksums of its pages.

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, Upload};
use celld_ids::{CellScope, Epoch};
use celld_ltx::{Checksum, Header, InvalidFile, StreamEncoder};

use crate::compact::CompactionError;
use crate::fold::FoldError;
use crate::keys::{self, HistoryName, Level};
use crate::pages::{MergedPages, Source};
use crate::record::patiently;
use crate::restore::RestoreError;
use crate::sums::{MIN_OBJECT_BYTES, PageSums, SumsBuilder, sums_key};

/// Encoded bytes that are handed to the upload at once.
const PIECE: usize = 1 << 20;

/// Merges `sources`, which follow each other, into one object of the history, in bounded memory.
///
/// Nothing appears in the bucket unless every source was read to its end and its checksum was right.
pub(crate) async fn write_merged(
    bucket: &Bucket,
    scope: &CellScope,
    epoch: Epoch,
    level: Level,
    sources: &[Source],
) -> Result<(), CompactionError> {
    let mut pages = MergedPages::open(bucket, scope, sources).await?;
    let header = *pages.header();
    let mut object = ObjectWriter::begin(bucket, scope, epoch, level, header).await?;
    while let Some(page) = pages.next().await? {
        object.page(page.pgno, &page.data).await?;
    }
    let post_apply = pages.finish(scope, object.database_checksum())?;
    object.finish(post_apply).await
}

/// An object of a cell's history on its way to the bucket. Nothing appears before [`ObjectWriter::finish`].
pub(crate) struct ObjectWriter<'a> {
    bucket: &'a Bucket,
    scope: &'a CellScope,
    name: HistoryName,
    upload: Upload,
    encoder: StreamEncoder,
    sums: SumsBuilder,
    out: Vec<u8>,
}

impl<'a> ObjectWriter<'a> {
    pub(crate) async fn begin(
        bucket: &'a Bucket,
        scope: &'a CellScope,
        epoch: Epoch,
        level: Level,
        header: Header,
    ) -> Result<ObjectWriter<'a>, CompactionError> {
        let name = HistoryName::of(epoch, level, &header);
        let mut out = Vec::with_capacity(PIECE + 2 * celld_ltx::PAGE_SIZE);
        let encoder = StreamEncoder::start(header, &mut out).map_err(|problem| invalid(scope, problem))?;
        let upload = bucket.upload(&keys::history(scope, &name)).await?;
        Ok(ObjectWriter { bucket, scope, name, upload, encoder, sums: SumsBuilder::new(&header), out })
    }

    pub(crate) async fn page(&mut self, pgno: u32, data: &[u8]) -> Result<(), CompactionError> {
        let page = self.encoder.page(pgno, data, &mut self.out);
        let sum = page.map_err(|problem| invalid(self.scope, problem))?;
        self.sums.push(pgno, sum);
        if self.out.len() >= PIECE {
            self.upload.write(Bytes::copy_from_slice(&self.out)).await?;
            self.out.clear();
        }
        Ok(())
    }

    /// The checksum of a database that consists of the pages so far.
    pub(crate) fn database_checksum(&self) -> Checksum {
        self.encoder.database_checksum()
    }

    pub(crate) async fn finish(mut self, post_apply: Option<Checksum>) -> Result<(), CompactionError> {
        let size = self.encoder.finish(post_apply, &mut self.out);
        let size = size.map_err(|problem| invalid(self.scope, problem))?;
        self.upload.write(self.out.into()).await?;
        if size >= MIN_OBJECT_BYTES {
            write_sums(self.bucket, self.scope, &self.name, &self.sums.finish(size)).await?;
        }
        self.upload.finish().await?;
        Ok(())
    }
}

fn invalid(scope: &CellScope, problem: InvalidFile) -> CompactionError {
    RestoreError::Merge { scope: scope.clone(), problem: problem.into() }.into()
}

/// Writes one object whose bytes are in memory.
pub(crate) async fn write_object(
    bucket: &Bucket,
    scope: &CellScope,
    name: &HistoryName,
    bytes: Bytes,
) -> Result<(), FoldError> {
    let key = keys::history(scope, name);
    if bytes.len() as u64 >= MIN_OBJECT_BYTES {
        let file = bytes.clone();
        let sums = tokio::task::spawn_blocking(move || {
            celld_ltx::decode(&file).map(|decoded| PageSums::of(&decoded, file.len() as u64))
        });
        let sums = sums.await.map_err(|_| FoldError::Stopped)?;
        let sums =
            sums.map_err(|error| FoldError::Damaged { key: key.clone(), problem: error.to_string() })?;
        write_sums(bucket, scope, name, &sums).await?;
    }
    patiently(|| bucket.put(&key, bytes.clone())).await?;
    Ok(())
}

async fn write_sums(
    bucket: &Bucket,
    scope: &CellScope,
    name: &HistoryName,
    sums: &PageSums,
) -> Result<(), BucketError> {
    let (key, bytes) = (sums_key(scope, name), sums.encode());
    patiently(|| bucket.put(&key, bytes.clone())).await.map(drop)
}
