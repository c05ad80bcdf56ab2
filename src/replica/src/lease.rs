//! The lease of a node: `nodes/<node>.json`. It tells the fleet where a node is and until when it counts as alive.
//!
//! The lease is about availability only: a node whose clock is wrong is taken for dead too early or too late, but no data hangs
//! on it. That hangs on the seal.

use celld_bucket::{Bucket, WriteOutcome};
use celld_ids::{NodeId, SessionId};
use serde::{Deserialize, Serialize};

use crate::json::{self, RecordError, Versioned};
use crate::keys;
use crate::record::patiently;

/// The record of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LeaseRecord {
    /// The node.
    pub node: NodeId,
    /// The life of the node that holds the lease.
    pub session: SessionId,
    /// When the lease ends unless it is renewed, in milliseconds since the Unix epoch on the holder's clock. Zero: given up.
    pub expires_ms: u64,
    /// Counts the renewals, so that no two records of a session are equal.
    pub renewal: u64,
    /// `host:port` of the internal listener for the other nodes; `None` for a node that is not reachable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub internal: Option<String>,
    /// What the node says about itself: load, version. Not interpreted here; unknown fields of later versions survive.
    #[serde(default, skip_serializing_if = "serde_json::Map::is_empty")]
    pub load: serde_json::Map<String, serde_json::Value>,
}

impl LeaseRecord {
    /// `true` while the lease has not ended at `now_ms`.
    pub fn is_live(&self, now_ms: u64) -> bool {
        now_ms < self.expires_ms
    }
}

/// What became of an attempt to take or renew a lease.
#[derive(Debug, Clone)]
pub enum Lease {
    /// Ours, under this record.
    Held(Versioned<LeaseRecord>),
    /// Another session's, as far as the bucket says (`None`: removed).
    Lost(Option<Versioned<LeaseRecord>>),
    /// Nobody knows; the lease counts until the expiry that was last confirmed. Read with [`read_lease`] and try again.
    Unknown(celld_bucket::BucketError),
}

/// Reads the lease of `node`.
pub async fn read_lease(
    bucket: &Bucket,
    node: &NodeId,
) -> Result<Option<Versioned<LeaseRecord>>, RecordError> {
    json::read(bucket, &keys::node(node)).await
}

/// Reads the leases of all nodes that have ever had one, live or not. A damaged record is an error: it could be a live node's.
pub async fn read_leases(bucket: &Bucket) -> Result<Vec<Versioned<LeaseRecord>>, RecordError> {
    const PAGE: usize = 1000;
    let mut leases = Vec::new();
    let mut after: Option<String> = None;
    loop {
        let page = patiently(|| bucket.list("nodes", after.as_deref(), PAGE)).await?;
        for listed in page.iter().filter(|listed| listed.key.ends_with(".json")) {
            // Removed between the listing and the read: no lease.
            leases.extend(json::read(bucket, &listed.key).await?);
        }
        match page.last() {
            Some(listed) if page.len() == PAGE => after = Some(listed.key.clone()),
            _ => return Ok(leases),
        }
    }
}

/// Takes the lease with `record`, or renews it, provided that what stands there is still what was `seen`.
///
/// Whether a lease that was seen may be replaced (its own session's, one that is not live) is for the caller to decide. A
/// renewal must differ from the record it replaces: count [`LeaseRecord::renewal`] up.
pub async fn write_lease(
    bucket: &Bucket,
    seen: Option<&Versioned<LeaseRecord>>,
    record: LeaseRecord,
) -> Result<Lease, RecordError> {
    let key = keys::node(&record.node);
    let bytes = json::bytes(&key, &record)?;
    let outcome = match seen {
        None => bucket.create(&key, bytes).await,
        Some(seen) => bucket.update(&key, bytes, &seen.version).await,
    };
    let doubt = match outcome {
        WriteOutcome::Done(version) => return Ok(Lease::Held(Versioned { record, version })),
        WriteOutcome::Failed(error) => return Err(error.into()),
        WriteOutcome::Refused => None,
        WriteOutcome::Unknown(error) => Some(error),
    };
    let found = match (json::read_once::<LeaseRecord>(bucket, &key).await, doubt.clone()) {
        (Ok(found), _) => found,
        (Err(RecordError::Bucket(_)), Some(doubt)) => return Ok(Lease::Unknown(doubt)),
        (Err(error), _) => return Err(error),
    };
    let untouched = match (&found, seen) {
        (None, None) => true,
        (Some(found), Some(seen)) => found.version == seen.version,
        _ => false,
    };
    Ok(match (found, doubt) {
        (Some(found), _) if found.record == record => Lease::Held(found),
        (_, Some(doubt)) if untouched => Lease::Unknown(doubt),
        (found, _) => Lease::Lost(found),
    })
}
