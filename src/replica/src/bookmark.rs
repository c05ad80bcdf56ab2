//! Bookmarks: a transaction of a cell as text, in the form that the platform's storage API has.
//!
//! `tttttttt-tttttttt-00000000-eeeeeeeeeeeeeeeessssssssssssssss`: the transaction's number (64 bits), zero, the epoch that it was
//! committed under (64 bits), and a checksum of both (64 bits), all hexadecimal and in lower case. So bookmarks of one cell sort
//! as text in the order of their transactions, and a mistyped one is refused.

use std::fmt;
use std::str::FromStr;

use celld_ids::Epoch;
use celld_ltx::Txid;
use crc_fast::{CrcAlgorithm, checksum};

/// One transaction of a cell. [`Txid::ZERO`] stands for the empty cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Bookmark {
    /// The transaction.
    pub txid: Txid,
    /// Under which ownership it was committed.
    pub epoch: Epoch,
}

/// Why text is no bookmark.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidBookmark {
    /// It has not the form of one.
    #[error(
        "a bookmark has the form 00000000-00000000-00000000-00000000000000000000000000000000, in lower-case hexadecimal"
    )]
    Form,
    /// It has the form, and was not made by celld, or was changed since.
    #[error("the bookmark's checksum does not match: it is mistyped, or of another system")]
    Checksum,
}

/// The bookmark of transaction `txid`, which was committed under `epoch`.
pub fn bookmark_of(epoch: Epoch, txid: Txid) -> Bookmark {
    Bookmark { txid, epoch }
}

impl Bookmark {
    fn checksum(&self) -> u64 {
        let mut bytes = [0; 16];
        bytes[..8].copy_from_slice(&self.txid.0.to_be_bytes());
        bytes[8..].copy_from_slice(&self.epoch.0.to_be_bytes());
        checksum(CrcAlgorithm::Crc64Nvme, &bytes)
    }
}

impl fmt::Display for Bookmark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (high, low) = (self.txid.0 >> 32, self.txid.0 & 0xffff_ffff);
        write!(f, "{high:08x}-{low:08x}-{:08x}-{:016x}{:016x}", 0, self.epoch.0, self.checksum())
    }
}

impl FromStr for Bookmark {
    type Err = InvalidBookmark;

    fn from_str(text: &str) -> Result<Bookmark, InvalidBookmark> {
        let mut groups = text.split('-');
        let mut group = |len: usize| {
            let group = groups.next().filter(|group| group.len() == len).ok_or(InvalidBookmark::Form)?;
            if !group.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')) {
                return Err(InvalidBookmark::Form);
            }
            u128::from_str_radix(group, 16).map_err(|_| InvalidBookmark::Form)
        };
        let (high, low, zero, rest) = (group(8)?, group(8)?, group(8)?, group(32)?);
        if groups.next().is_some() {
            return Err(InvalidBookmark::Form);
        }
        // The groups have 32 and 128 bits: nothing is cut off.
        let txid = Txid((high << 32 | low) as u64);
        let bookmark = Bookmark { txid, epoch: Epoch((rest >> 64) as u64) };
        if zero != 0 || rest as u64 != bookmark.checksum() {
            return Err(InvalidBookmark::Checksum);
        }
        Ok(bookmark)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_reads_back_and_sorts_by_transaction(a: u64, b: u64, epoch: u64, other: u64) {
            let (a, b) = (bookmark_of(Epoch(epoch), Txid(a)), bookmark_of(Epoch(other), Txid(b)));
            prop_assert_eq!(a.to_string().parse(), Ok(a));
            prop_assert_eq!(a.to_string().len(), 59);
            if a.txid != b.txid {
                prop_assert_eq!(a.txid < b.txid, a.to_string() < b.to_string());
            }
        }

        #[test]
        fn a_changed_character_is_refused(txid: u64, epoch: u64, at in 0..59usize, by in "[0-9a-f-]") {
            let text = bookmark_of(Epoch(epoch), Txid(txid)).to_string();
            let mut changed = text.clone();
            changed.replace_range(at..=at, &by);
            prop_assume!(changed != text);
            prop_assert!(changed.parse::<Bookmark>().is_err());
        }

        #[test]
        fn any_text_is_refused_without_a_panic(text in ".{0,80}") {
            prop_assert!(text.parse::<Bookmark>().is_err());
        }
    }

    #[test]
    fn other_spellings_are_refused() {
        let good = bookmark_of(Epoch(3), Txid(0xabc)).to_string();
        assert_eq!(&good[..43], "00000000-00000abc-00000000-0000000000000003");
        for bad in [good.to_uppercase(), format!("{good} "), format!("{good}-"), good[1..].to_owned()] {
            assert_eq!(bad.parse::<Bookmark>(), Err(InvalidBookmark::Form), "{bad}");
        }
        // The form that the platform documents, made by somebody else.
        let foreign = "0000007b-0000b26e-00001538-0c3e87bb37b3db5cc52eedb93cd3b96b";
        assert_eq!(foreign.parse::<Bookmark>(), Err(InvalidBookmark::Checksum));
    }
}
