//! What goes wrong with a bucket: each variant says what was tried, on what, and why it did not work.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

/// What was tried and on what, for the message: `create deploy/current.json in s3://b/p`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct At {
    /// The verb: `read`, `create`, `update`, `write`, `delete`, `list`.
    pub verb: &'static str,
    /// The key or the prefix; empty for the bucket itself.
    pub key: Arc<str>,
    /// The bucket as the user writes it, or the directory.
    pub bucket: Arc<str>,
}

impl fmt::Display for At {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            write!(f, "cannot {} {}", self.verb, self.bucket)
        } else {
            write!(f, "cannot {} {} in {}", self.verb, self.key, self.bucket)
        }
    }
}

/// Why a bucket could not do what it was asked.
#[derive(Debug, Clone, thiserror::Error)]
#[non_exhaustive]
pub enum BucketError {
    /// The key or prefix can be no key of any store. A mistake of the caller: nothing was sent.
    #[error("{at}: the key {problem}")]
    InvalidKey {
        /// What was tried.
        at: At,
        /// What is wrong with the key.
        problem: &'static str,
    },
    /// The credentials do not permit this.
    #[error("{at}: access denied ({detail})")]
    Denied {
        /// What was tried.
        at: At,
        /// What the store said.
        detail: String,
    },
    /// There is no such bucket or container.
    #[error("{at}: there is no such bucket ({detail})")]
    NoBucket {
        /// What was tried.
        at: At,
        /// What the store said.
        detail: String,
    },
    /// The store asks us to slow down (429, 503).
    #[error("{at}: the store asks to slow down ({detail})")]
    Throttled {
        /// What was tried.
        at: At,
        /// What the store said.
        detail: String,
    },
    /// No answer, or one that says the store itself is in trouble (5xx, connection refused or lost, time-out).
    #[error("{at}: no usable answer from the store ({detail})")]
    Unavailable {
        /// What was tried.
        at: At,
        /// What happened.
        detail: String,
    },
    /// The range lies outside of the object, or the store sent other bytes than the ones asked for.
    #[error("{at}: asked for bytes {start}..{end}, {problem}")]
    Range {
        /// What was tried.
        at: At,
        /// First byte asked for.
        start: u64,
        /// One past the last byte asked for.
        end: u64,
        /// What came instead.
        problem: String,
    },
    /// The object is not what was written: cut short, overwritten from outside, or never written by celld.
    #[error("{at}: {path} is damaged: {problem}", path = path.display())]
    Damaged {
        /// What was tried.
        at: At,
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The operating system refused: a read-only directory, a full disk, too many open files.
    #[error("{at}: {path}: {source}", path = path.display())]
    Io {
        /// What was tried.
        at: At,
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        #[source]
        source: Arc<std::io::Error>,
    },
    /// The directory is not a bucket of celld.
    #[error("{path} is no bucket: {problem}", path = path.display())]
    NotABucket {
        /// The directory.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
    /// The disk failed to make earlier writes durable; nothing that this process does with the bucket can be trusted now.
    #[error("{at}: the disk failed earlier ({detail}); restart when it works")]
    Failing {
        /// What was tried.
        at: At,
        /// The first failure.
        detail: String,
    },
    /// Anything else that a store answers; not worth a retry.
    #[error("{at}: {detail}")]
    Other {
        /// What was tried.
        at: At,
        /// What happened.
        detail: String,
    },
}

impl BucketError {
    /// `true` when the same call may work later without anybody changing anything.
    pub fn is_transient(&self) -> bool {
        matches!(self, BucketError::Throttled { .. } | BucketError::Unavailable { .. })
    }

    /// `true` when the cause can go away while somebody waits for it: what is transient, and what an operator can repair under
    /// a running process (a full or read-only disk, credentials that are being changed).
    pub fn may_pass(&self) -> bool {
        self.is_transient() || matches!(self, BucketError::Io { .. } | BucketError::Denied { .. })
    }
}
