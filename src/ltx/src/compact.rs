//! Merging consecutive files into one that has the same effect.

use std::collections::BTreeMap;

use crate::file::{database_checksum, fill_holes};
use crate::{Checksum, File, Header, InvalidFile, LOCK_PAGE, Page, Txid};

/// Why files cannot be merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CompactError {
    /// No file at all.
    #[error("there is nothing to compact")]
    Nothing,
    /// A file leaves out transactions after the one before it, or ends before it.
    #[error("transactions {min} cannot follow transaction {after}")]
    Gap {
        /// Last transaction of the file before.
        after: Txid,
        /// First transaction of the file.
        min: Txid,
    },
    /// The database checksums of two neighbours do not meet.
    #[error("transaction {0} was made for a database with another checksum")]
    Checksum(Txid),
    /// The merged file would not be valid.
    #[error(transparent)]
    Invalid(#[from] InvalidFile),
}

/// Merges `files`, which must follow each other without a hole: applying the result is applying all of them in order. They may
/// overlap, as long as each starts and ends no earlier than the one before it.
///
/// The result carries database checksums when it is a snapshot, or when every input carries them.
pub fn compact(files: &[File]) -> Result<File, CompactError> {
    let (Some(first), Some(last)) = (files.first(), files.last()) else {
        return Err(CompactError::Nothing);
    };
    for pair in files.windows(2) {
        check_neighbours(&pair[0], &pair[1])?;
    }
    let snapshot = first.header().is_snapshot();
    let commit = last.header().commit;

    let mut newest: BTreeMap<u32, Page> = BTreeMap::new();
    // The smallest the database has been: beyond it, nothing from before these files survives.
    let mut floor = if snapshot { 0 } else { u32::MAX };
    for file in files {
        let size = file.header().commit;
        floor = floor.min(size);
        // A truncated page does not come back when the database grows again.
        newest.split_off(&size.saturating_add(1));
        newest.extend(file.pages().iter().map(|page| (page.pgno, page.clone())));
    }

    let pages = if snapshot {
        fill_holes(newest.into_values().collect(), commit)
    } else {
        // Grown over a truncation and never written since: zeros, whatever an older image holds there.
        for pgno in floor.saturating_add(1)..=commit {
            if pgno != LOCK_PAGE {
                newest.entry(pgno).or_insert_with(|| Page::zero(pgno));
            }
        }
        newest.into_values().collect()
    };

    let (pre_apply, post_apply) = if snapshot {
        (Some(Checksum::NONE), Some(database_checksum(&pages)))
    } else if files.iter().all(|file| file.post_apply().is_some()) {
        (first.header().pre_apply, last.post_apply())
    } else {
        (None, None)
    };
    let header = Header {
        min_txid: first.header().min_txid,
        max_txid: last.header().max_txid,
        commit,
        timestamp_ms: last.header().timestamp_ms,
        pre_apply,
    };
    Ok(File::new(header, pages, post_apply)?)
}

fn check_neighbours(before: &File, after: &File) -> Result<(), CompactError> {
    let (max, min) = (before.header().max_txid, after.header().min_txid);
    if min > max.next() || min < before.header().min_txid || after.header().max_txid < max {
        return Err(CompactError::Gap { after: max, min });
    }
    match (before.post_apply(), after.header().pre_apply) {
        (Some(post), Some(pre)) if min == max.next() && post != pre => Err(CompactError::Checksum(min)),
        _ => Ok(()),
    }
}
