//! Merging consecutive files into one that has the same effect.

use crate::file::database_checksum;
use crate::{Checksum, File, Header, InvalidFile, Merge, Txid};

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
    let headers: Vec<Header> = files.iter().map(|file| *file.header()).collect();
    let mut merge = Merge::new(&headers)?;
    let mut inputs: Vec<_> = files.iter().map(|file| file.pages().iter()).collect();
    let mut pages = Vec::new();
    loop {
        if let Some(page) = merge.next_page() {
            pages.push(page);
        } else if let Some(input) = merge.wants() {
            match inputs[input].next() {
                Some(page) => merge.give(page.clone()),
                None => merge.give_end(files[input].post_apply()),
            }
        } else {
            break;
        }
    }
    let header = *merge.header();
    let sum = if header.is_snapshot() { database_checksum(&pages) } else { Checksum::EMPTY };
    let post_apply = merge.finish(sum)?;
    Ok(File::new(header, pages, post_apply)?)
}
