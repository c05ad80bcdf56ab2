//! The node's lease: taken at the start, renewed at a third of its lifetime. A node that cannot renew it in time stops serving.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use celld_bucket::Bucket;
use celld_ids::{NodeId, SessionId};
use celld_replica::{Lease, LeaseRecord, RecordError, Versioned, read_lease, write_lease};
use tokio_util::sync::CancellationToken;

/// Milliseconds since the Unix epoch.
pub(crate) fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    u64::try_from(now).unwrap_or(u64::MAX)
}

/// Why the node does not have its lease.
#[derive(Debug, Clone, thiserror::Error)]
pub enum LeaseError {
    /// The bucket.
    #[error("cannot write the lease of node {node}: {cause}")]
    Record {
        /// The node.
        node: NodeId,
        /// What the store says.
        cause: String,
    },
    /// Another process runs under the same name.
    #[error("another process has taken the lease of node {node} (session {session})")]
    Taken {
        /// The node.
        node: NodeId,
        /// The other process's session.
        session: String,
    },
    /// It could not be renewed in time.
    #[error("the lease of node {node} has ended: it could not be renewed within {ttl_ms} ms ({cause})")]
    Expired {
        /// The node.
        node: NodeId,
        /// Its lifetime.
        ttl_ms: u128,
        /// What the last attempt said.
        cause: String,
    },
}

/// The lease of this process.
pub(crate) struct NodeLease {
    bucket: Bucket,
    held: Versioned<LeaseRecord>,
    /// When it ends on this machine's monotonic clock, counted from before the write.
    ends: Instant,
    ttl: Duration,
}

/// What a node says about itself in its lease.
pub(crate) struct Announcement {
    pub node: NodeId,
    pub session: SessionId,
    pub internal: Option<String>,
    pub ttl: Duration,
}

impl NodeLease {
    /// The session that held the lease of `node` before, if it had one.
    pub async fn predecessor(bucket: &Bucket, node: &NodeId) -> Result<Option<SessionId>, RecordError> {
        Ok(read_lease(bucket, node).await?.map(|found| found.record.session))
    }

    /// Takes the lease, whoever had it: a process of the same name is this node's earlier life.
    pub async fn take(bucket: &Bucket, about: Announcement) -> Result<NodeLease, LeaseError> {
        let Announcement { node, session, internal, ttl } = about;
        let failed = |cause: String| LeaseError::Record { node: node.clone(), cause };
        let mut last = String::from("the record keeps changing");
        for _ in 0..5 {
            let seen = read_lease(bucket, &node).await.map_err(|e| failed(e.to_string()))?;
            let start = Instant::now();
            let record = LeaseRecord {
                node: node.clone(),
                session: session.clone(),
                expires_ms: now_ms() + ttl.as_millis() as u64,
                renewal: 0,
                internal: internal.clone(),
                load: serde_json::Map::new(),
            };
            match write_lease(bucket, seen.as_ref(), record).await.map_err(|e| failed(e.to_string()))? {
                Lease::Held(held) => {
                    return Ok(NodeLease { bucket: bucket.clone(), held, ends: start + ttl, ttl });
                }
                Lease::Lost(_) => {}
                Lease::Unknown(error) => last = error.to_string(),
            }
        }
        Err(failed(last))
    }

    /// Renews until `stop`, then gives the lease up. Returns early with the reason why the lease is lost.
    pub async fn keep(mut self, stop: CancellationToken) -> Result<(), LeaseError> {
        let mut pause = self.ttl / 3;
        loop {
            tokio::select! {
                () = tokio::time::sleep(pause) => {}
                () = stop.cancelled() => {
                    self.give_up().await;
                    return Ok(());
                }
            }
            let start = Instant::now();
            let mut next = self.held.record.clone();
            next.renewal += 1;
            next.expires_ms = now_ms() + self.ttl.as_millis() as u64;
            let left = self.ends.saturating_duration_since(start);
            let written = tokio::time::timeout(left, write_lease(&self.bucket, Some(&self.held), next)).await;
            let cause = match written {
                Ok(Ok(Lease::Held(held))) => {
                    self.held = held;
                    self.ends = start + self.ttl;
                    pause = self.ttl / 3;
                    continue;
                }
                Ok(Ok(Lease::Lost(Some(other)))) if other.record.session == self.held.record.session => {
                    // A renewal of ours that seemed lost.
                    self.held = other;
                    continue;
                }
                Ok(Ok(Lease::Lost(other))) => {
                    let session = other.map_or("none".to_owned(), |other| other.record.session.to_string());
                    return Err(LeaseError::Taken { node: self.held.record.node.clone(), session });
                }
                Ok(Ok(Lease::Unknown(error))) => error.to_string(),
                Ok(Err(error)) => error.to_string(),
                Err(_) => "no answer from the store".to_owned(),
            };
            tracing::warn!(%cause, "cannot renew the lease");
            if Instant::now() >= self.ends {
                let node = self.held.record.node.clone();
                return Err(LeaseError::Expired { node, ttl_ms: self.ttl.as_millis(), cause });
            }
            pause = (self.ttl / 12).min(self.ends.saturating_duration_since(Instant::now()));
        }
    }

    /// Ends the lease now, so that nobody has to wait for it.
    async fn give_up(&mut self) {
        let mut record = self.held.record.clone();
        record.renewal += 1;
        record.expires_ms = 0;
        if let Err(error) = write_lease(&self.bucket, Some(&self.held), record).await {
            tracing::warn!(%error, "cannot give the lease up; it ends by itself");
        }
    }
}
