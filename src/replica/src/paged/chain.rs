//! A cell's history as a chain of objects, and what a reader of single pages has to know about each.

use std::collections::HashMap;
use std::ops::Range;

use bytes::Bytes;
use celld_bucket::Bucket;
use celld_ids::{CellScope, Epoch};
use celld_ltx::{Checksum, File, Header, Index, Page, Tail, Txid, decode_frame};

use super::PagedError;
use super::map::{MAX_OBJECT_BYTES, MAX_OBJECTS, PageMap};
use crate::history::{HistoryObject, plan};
use crate::keys::{self, HistoryName};
use crate::record::patiently;
use crate::restore::RestoreError;
use crate::sums::{self, MIN_OBJECT_BYTES, PageSums, sums_key};

/// Objects in one answer of the store.
const LISTED: usize = 1000;

/// Bytes at the start of a large object that are read with its header: they hold its first pages, and in a snapshot that is page 1
/// with the schema.
const HEAD: u64 = 64 << 10;

/// Larger files are decoded on a blocking thread.
const OFFLOAD_BYTES: usize = 256 << 10;

/// The objects whose application, in order, gives a cell's last durable state.
#[derive(Debug, Clone)]
pub struct Chain {
    pub(crate) scope: CellScope,
    pub(crate) links: Vec<Link>,
}

/// One object of a chain.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) object: HistoryObject,
    /// The size of the companion with its page checksums, if it has one.
    sums: Option<u64>,
}

/// What is in one object. `pages` and `sums` run in parallel.
#[derive(Debug)]
pub(crate) struct Contents {
    pub(crate) key: String,
    pub(crate) header: Header,
    pub(crate) pages: Vec<(u32, Range<u64>)>,
    pub(crate) sums: Vec<Checksum>,
    /// Those pages that came along, ascending.
    pub(crate) at_hand: Vec<Page>,
}

impl Chain {
    /// Lists the history of `scope` and chooses the way through it. One round trip for each thousand objects.
    pub async fn read(bucket: &Bucket, scope: &CellScope) -> Result<Chain, RestoreError> {
        let (mut objects, mut companions) = (Vec::new(), HashMap::new());
        let dir = keys::history_dir(scope);
        let mut after: Option<String> = None;
        loop {
            let listed = patiently(|| bucket.list(&dir, after.as_deref(), LISTED)).await?;
            let more = listed.len() == LISTED;
            after = listed.last().map(|last| last.key.clone());
            for listed in listed {
                if let Some(name) = keys::parse_history(scope, &listed.key) {
                    objects.push(HistoryObject { name, size: listed.size });
                } else if let Some(name) = parse_sums(scope, &listed.key) {
                    companions.insert(name, listed.size);
                }
            }
            if !more {
                break;
            }
        }
        let links = plan(scope, &objects)?
            .into_iter()
            .map(|object| Link { sums: companions.get(&object.name).copied(), object })
            .collect();
        Ok(Chain { scope: scope.clone(), links })
    }

    /// The last transaction; zero for a cell without history.
    pub fn txid(&self) -> Txid {
        self.links.last().map_or(Txid::ZERO, |link| link.object.name.max)
    }

    /// The epoch that the last transaction was written under; `None` without history.
    pub fn epoch(&self) -> Option<Epoch> {
        self.links.last().map(|link| link.object.name.epoch)
    }

    /// Bytes of all objects: what a clone reads.
    pub fn bytes(&self) -> u64 {
        self.links.iter().map(|link| link.object.size).sum()
    }

    /// How many objects the chain has.
    pub fn len(&self) -> usize {
        self.links.len()
    }

    /// `true` for a cell without history.
    pub fn is_empty(&self) -> bool {
        self.links.is_empty()
    }

    /// Whether its pages can be read one by one: every large object has its page checksums.
    pub fn is_pageable(&self) -> bool {
        let fits =
            |link: &Link| !link.is_large() || (link.sums.is_some() && link.object.size <= MAX_OBJECT_BYTES);
        !self.is_empty() && self.len() <= MAX_OBJECTS && self.links.iter().all(fits)
    }
}

fn parse_sums(scope: &CellScope, key: &str) -> Option<HistoryName> {
    keys::parse_history(scope, &format!("{}.ltx", key.strip_suffix(".sums")?))
}

impl Link {
    /// Large objects are read in parts.
    pub(crate) fn is_large(&self) -> bool {
        self.object.size >= MIN_OBJECT_BYTES
    }

    /// Large, and every part can be verified.
    pub(crate) fn is_divisible(&self) -> bool {
        self.is_large() && self.sums.is_some()
    }

    /// Finds out what the object holds: a small one is read whole, of a large one the two ends and its page checksums, all at once.
    pub(crate) async fn contents(&self, bucket: &Bucket, scope: &CellScope) -> Result<Contents, PagedError> {
        let key = keys::history(scope, &self.object.name);
        match self.sums {
            _ if !self.is_large() => self.whole(bucket, key).await,
            Some(len) => self.ends(bucket, scope, key, len).await,
            None => Err(PagedError::NoSums { key }),
        }
    }

    async fn whole(&self, bucket: &Bucket, key: String) -> Result<Contents, PagedError> {
        let (bytes, file) = fetch_whole(bucket, &key, &self.object.name).await?;
        let pages = match Index::parse(&bytes, bytes.len() as u64) {
            Ok(Tail::Index(index)) => index.entries().to_vec(),
            // Sound, because the file was decoded.
            Ok(Tail::Need(_)) => Vec::new(),
            Err(problem) => return Err(PagedError::Index { key, problem }),
        };
        let at_hand = file.pages().to_vec();
        let sums = at_hand.iter().map(|page| Checksum::of_page(page.pgno, &page.data)).collect();
        Ok(Contents { key, header: *file.header(), pages, sums, at_hand })
    }

    async fn ends(
        &self,
        bucket: &Bucket,
        scope: &CellScope,
        key: String,
        sums_len: u64,
    ) -> Result<Contents, PagedError> {
        let size = self.object.size;
        let beside = sums_key(scope, &self.object.name);
        let foreign = sums::SumsError::Length;
        let count = sums::pages_of_len(sums_len)
            .ok_or_else(|| PagedError::Sums { key: beside.clone(), problem: foreign })?;
        let head_len = HEAD.min(size);
        let tail_len = longest_tail(count).min(size);
        let head = async {
            let bytes = patiently(|| bucket.get_range(&key, 0..head_len)).await?;
            bytes.ok_or_else(|| missing(&key))
        };
        let tail = async {
            let bytes = patiently(|| bucket.get_range(&key, size - tail_len..size)).await?;
            bytes.ok_or_else(|| missing(&key))
        };
        let sums = async {
            let found = patiently(|| bucket.get(&beside)).await?;
            found.map(|found| found.bytes).ok_or_else(|| missing(&beside))
        };
        let (head, tail, sums) = futures::try_join!(head, tail, sums)?;

        let header = Header::parse(&head).map_err(|problem| damaged(&key, problem.into()))?;
        check_name(&key, &self.object.name, &header)?;
        let index = |tail: &Bytes| {
            Index::parse(tail, size).map_err(|problem| PagedError::Index { key: key.clone(), problem })
        };
        let index = match index(&tail)? {
            Tail::Index(index) => index,
            // Longer than that many pages can make it: one of the two is damaged, and the sums were found in order.
            Tail::Need(_) => {
                return Err(PagedError::Sums { key: beside, problem: sums::SumsError::Other });
            }
        };
        let pages = index.entries().to_vec();
        let sums = PageSums::decode(&sums)
            .and_then(|sums| sums.check(&header, pages.iter().map(|(pgno, _)| *pgno), size))
            .map_err(|problem| PagedError::Sums { key: beside, problem })?;
        if !PageMap::fits(&pages) {
            return Err(PagedError::NoSums { key });
        }
        let mut at_hand = Vec::new();
        for ((pgno, frame), sum) in pages.iter().zip(&sums) {
            if frame.end > head_len {
                break;
            }
            let bytes = &head[frame.start as usize..frame.end as usize];
            at_hand.push(verify_frame(bytes, *pgno, *sum).map_err(|problem| page(&key, *pgno, problem))?);
        }
        Ok(Contents { key, header, pages, sums, at_hand })
    }
}

/// The end of an object with `pages` pages is never longer: in the index a page takes at most 4 bytes for its number, 6 for its
/// place and 2 for its size.
fn longest_tail(pages: u64) -> u64 {
    const FIXED: u64 = 64;
    pages.saturating_mul(12).saturating_add(FIXED)
}

/// Decodes one frame and verifies that it is page `pgno` with the checksum `sum`. The error says what is wrong.
pub(crate) fn verify_frame(bytes: &[u8], pgno: u32, sum: Checksum) -> Result<Page, String> {
    let page = decode_frame(bytes).map_err(|problem| problem.to_string())?;
    if page.pgno != pgno {
        return Err(format!("page {} stands in its place", page.pgno));
    }
    let found = Checksum::of_page(pgno, &page.data);
    if found != sum {
        return Err(format!("it has the checksum {found}, it was written with {sum}"));
    }
    Ok(page)
}

/// Reads a whole object and verifies all of it.
pub(crate) async fn fetch_whole(
    bucket: &Bucket,
    key: &str,
    name: &HistoryName,
) -> Result<(Bytes, File), PagedError> {
    let Some(found) = patiently(|| bucket.get(key)).await? else { return Err(missing(key)) };
    let bytes = found.bytes;
    let decoded = if bytes.len() < OFFLOAD_BYTES {
        celld_ltx::decode(&bytes)
    } else {
        let bytes = bytes.clone();
        let decoded = tokio::task::spawn_blocking(move || celld_ltx::decode(&bytes)).await;
        decoded.map_err(|_| RestoreError::Stopped)?
    };
    let file = decoded.map_err(|problem| damaged(key, problem))?;
    check_name(key, name, file.header())?;
    Ok((bytes, file))
}

fn check_name(key: &str, name: &HistoryName, header: &Header) -> Result<(), PagedError> {
    let (min, max) = (header.min_txid, header.max_txid);
    if (min, max) == (name.min, name.max) {
        return Ok(());
    }
    Err(RestoreError::Misnamed { key: key.to_owned(), min, max }.into())
}

pub(crate) fn missing(key: &str) -> PagedError {
    RestoreError::Missing { key: key.to_owned() }.into()
}

fn damaged(key: &str, problem: celld_ltx::DecodeError) -> PagedError {
    RestoreError::Damaged { key: key.to_owned(), problem }.into()
}

pub(crate) fn page(key: &str, pgno: u32, problem: String) -> PagedError {
    PagedError::Page { key: key.to_owned(), pgno, problem }
}
