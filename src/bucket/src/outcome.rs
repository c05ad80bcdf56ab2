//! What a bucket answers.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;

use crate::BucketError;

/// The version of one object: opaque, made by the store, and different after every write. It is the condition of
/// [`Bucket::update`](crate::Bucket::update) and means nothing for another key or another bucket.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Version {
    /// The entity tag (S3, Azure), or the nonce of the write (directory, memory).
    pub(crate) e_tag: Option<Arc<str>>,
    /// The generation (Google).
    pub(crate) generation: Option<Arc<str>>,
}

impl Version {
    pub(crate) fn from_tag(tag: &str) -> Version {
        Version { e_tag: Some(tag.into()), generation: None }
    }
}

impl fmt::Debug for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.generation.as_deref().or(self.e_tag.as_deref());
        write!(f, "Version({})", text.unwrap_or("none"))
    }
}

/// A whole object.
#[derive(Debug, Clone)]
pub struct Object {
    /// The content.
    pub bytes: Bytes,
    /// The version that holds this content.
    pub version: Version,
}

/// The end of an object.
#[derive(Debug, Clone)]
pub struct Suffix {
    /// The last bytes: as many as were asked for, or the whole object when it is shorter.
    pub bytes: Bytes,
    /// The size of the whole object in bytes.
    pub size: u64,
}

/// One line of a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// The whole key, relative to the bucket's prefix.
    pub key: String,
    /// The object's size in bytes.
    pub size: u64,
}

/// How a conditional write ended.
#[derive(Debug, Clone)]
#[must_use = "a conditional write that nobody looks at proves nothing"]
pub enum WriteOutcome {
    /// It was applied and is durable; the object now has this version.
    Done(Version),
    /// The condition did not hold: the object exists (create), or is absent or has another version (update). Not applied.
    Refused,
    /// Nobody knows: it was sent and no answer came. It may have been applied, and it may *still* be applied later.
    /// Only reading resolves this.
    Unknown(BucketError),
    /// Certainly not applied, now or later: access denied, disk full, never sent.
    Failed(BucketError),
}

impl WriteOutcome {
    /// The new version when the write is done.
    pub fn done(self) -> Option<Version> {
        match self {
            WriteOutcome::Done(version) => Some(version),
            _ => None,
        }
    }

    /// `true` for [`WriteOutcome::Done`].
    pub fn is_done(&self) -> bool {
        matches!(self, WriteOutcome::Done(_))
    }

    /// `true` for [`WriteOutcome::Refused`].
    pub fn is_refused(&self) -> bool {
        matches!(self, WriteOutcome::Refused)
    }

    /// `true` for [`WriteOutcome::Unknown`].
    pub fn is_unknown(&self) -> bool {
        matches!(self, WriteOutcome::Unknown(_))
    }
}
