//! The engine's world: ownership and restore of cells, the session log, the console.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use celld_bucket::Bucket;
use celld_engine::host::{ActivateError, Activation, CommitLog, ConsoleLine, Host, RewindError};
use celld_fleet::{Lease, Owner};
use celld_ids::{CellScope, Epoch, NodeId, SessionId};
use celld_images::Images;
use celld_ltx::Txid;
use celld_replica::{SessionLog, bookmark_of};
use celld_storage::{CommittedTx, Image};
use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use crate::console::ConsoleOutput;
use crate::durable::DurableLog;
use crate::lease::now_ms;
use crate::seals::Seals;

/// How often a claim is decided anew because somebody else changed the record meanwhile.
const CLAIM_ATTEMPTS: u32 = 8;

/// What this process is to the engine.
pub(crate) struct NodeHost {
    bucket: Bucket,
    node: NodeId,
    session: SessionId,
    durable: Arc<DurableLog>,
    seals: Arc<Seals>,
    images: Arc<Images>,
    /// Activations that may be at the bucket at a time.
    activations: Semaphore,
    deadline: Duration,
    restoring: AtomicUsize,
    console: Arc<dyn ConsoleOutput>,
    io: Handle,
    /// `Host` hands out futures that outlive the borrow.
    this: std::sync::Weak<NodeHost>,
}

/// What [`NodeHost::new`] needs.
pub(crate) struct HostParts {
    pub bucket: Bucket,
    pub node: NodeId,
    pub seals: Arc<Seals>,
    pub images: Arc<Images>,
    pub log: SessionLog,
    pub gate: bool,
    pub max_activations: usize,
    pub deadline: Duration,
    pub console: Arc<dyn ConsoleOutput>,
}

impl NodeHost {
    /// Must be called on the I/O runtime.
    pub fn new(parts: HostParts) -> Arc<NodeHost> {
        let HostParts { bucket, node, seals, images, log, gate, max_activations, deadline, console } = parts;
        Arc::new_cyclic(|this| NodeHost {
            seals,
            images,
            bucket,
            node,
            session: log.session().clone(),
            durable: DurableLog::new(log, gate),
            activations: Semaphore::new(max_activations),
            deadline,
            restoring: AtomicUsize::new(0),
            console,
            io: Handle::current(),
            this: this.clone(),
        })
    }

    pub fn bucket(&self) -> &Bucket {
        &self.bucket
    }

    pub fn node(&self) -> &NodeId {
        &self.node
    }

    pub fn session(&self) -> &SessionId {
        &self.session
    }

    pub fn log(&self) -> &SessionLog {
        self.durable.log()
    }

    pub fn restoring(&self) -> usize {
        self.restoring.load(Ordering::Relaxed)
    }

    pub fn appended(&self) -> u64 {
        self.log().appended().0
    }

    pub fn durable_position(&self) -> u64 {
        self.log().durable().0
    }

    pub fn backlog_bytes(&self) -> u64 {
        self.log().backlog_bytes()
    }

    pub fn failure(&self) -> Option<String> {
        self.durable.failure()
    }

    async fn bring(self: Arc<Self>, scope: CellScope) -> Result<Activation, ActivateError> {
        self.restoring.fetch_add(1, Ordering::Relaxed);
        let brought = self.bring_one(&scope).await;
        self.restoring.fetch_sub(1, Ordering::Relaxed);
        brought
    }

    async fn bring_one(&self, scope: &CellScope) -> Result<Activation, ActivateError> {
        let failed = |cause: String| ActivateError::Failed { scope: scope.clone(), cause };
        let _permit = self.activations.acquire().await.map_err(|e| failed(e.to_string()))?;
        let claimed = tokio::time::timeout(self.deadline, self.claim(scope));
        let (epoch, before) = claimed.await.map_err(|_| {
            failed(format!("its owner record could not be claimed within {} ms", self.deadline.as_millis()))
        })??;
        if before == Before::Nobody {
            // A history without an owner record is a damaged bucket, not a new cell.
            let history =
                celld_replica::list_history(&self.bucket, scope).await.map_err(|e| failed(e.to_string()))?;
            if !history.is_empty() {
                return Err(failed(format!(
                    "it has a history of {} objects but no owner record",
                    history.len()
                )));
            }
            return Ok(Activation { epoch, txid: celld_ltx::Txid(0), image: Image::Empty });
        }
        if before == Before::Us {
            // What this session wrote for it may still be in the log alone.
            self.log().fold().await.map_err(|e| failed(e.to_string()))?;
        }
        let owner = match &before {
            Before::Another(Some(owner)) => Some((&owner.session, owner.epoch)),
            _ => None,
        };
        let brought = self.images.activate(scope, owner).await.map_err(|e| failed(e.to_string()))?;
        self.log().found_history(scope, epoch, brought.objects);
        Ok(Activation { epoch, txid: brought.txid, image: brought.image })
    }

    /// Makes this session the owner of `scope`. Returns the epoch, and who had the cell before.
    async fn claim(&self, scope: &CellScope) -> Result<(Epoch, Before), ActivateError> {
        let failed = |cause: String| ActivateError::Failed { scope: scope.clone(), cause };
        let mut found =
            celld_replica::read_owner(&self.bucket, scope).await.map_err(|e| failed(e.to_string()))?;
        for _ in 0..CLAIM_ATTEMPTS {
            let owner = found.as_ref().and_then(|found| {
                let session = found.record.session.clone()?;
                Some(Owner { session, epoch: found.record.epoch })
            });
            let lease = match &owner {
                Some(owner) if owner.session != self.session => {
                    self.lease_of(&owner.session).await.map_err(failed)?
                }
                _ => None,
            };
            match celld_fleet::claim(&self.session, &self.node, owner.as_ref(), lease.as_ref(), now_ms()) {
                celld_fleet::Claim::Keep { epoch } => return Ok((epoch, Before::Us)),
                celld_fleet::Claim::Leave { node } => {
                    return Err(ActivateError::Elsewhere { scope: scope.clone(), owner: node.to_string() });
                }
                celld_fleet::Claim::Take { seal: None } => {}
                celld_fleet::Claim::Take { seal: Some(session) } => {
                    self.seals.seal(&session).await.map_err(failed)?
                }
            }
            let claimed = celld_replica::claim(&self.bucket, scope, found.as_ref(), &self.session).await;
            match claimed.map_err(|e| failed(e.to_string()))? {
                celld_replica::Claim::Won(owned) => {
                    let before = if found.is_none() { Before::Nobody } else { Before::Another(owner) };
                    return Ok((owned.record.epoch, before));
                }
                celld_replica::Claim::Lost(now) => found = now,
            }
        }
        Err(failed("other sessions keep changing its owner record".into()))
    }

    /// The lease of the node that `session` belongs to, if the node has one.
    async fn lease_of(&self, session: &SessionId) -> Result<Option<Lease>, String> {
        let Some(node) = session.node() else { return Ok(None) };
        let lease = celld_replica::read_lease(&self.bucket, &node).await.map_err(|e| e.to_string())?;
        Ok(lease.map(|found| Lease {
            node,
            session: found.record.session,
            expires_ms: found.record.expires_ms,
        }))
    }
}

/// Who owned a cell when it was claimed.
#[derive(Debug, PartialEq, Eq)]
enum Before {
    /// It has never had an owner, so it has no history.
    Nobody,
    /// Another session, whose log is in the cell's history by now; None when the last owner gave the cell up.
    Another(Option<Owner>),
    /// This session.
    Us,
}

impl NodeHost {
    /// Runs `start` on the I/O threads, which the bucket's connections belong to.
    fn on_io<T, E, F>(
        &self,
        start: impl FnOnce(Arc<NodeHost>) -> F,
        failed: impl FnOnce(String) -> E + Send + 'static,
    ) -> BoxFuture<'static, Result<T, E>>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        let Some(host) = self.this.upgrade() else {
            return std::future::ready(Err(failed("the node is stopping".into()))).boxed();
        };
        let task = self.io.spawn(start(host));
        async move { task.await.unwrap_or_else(|e| Err(failed(e.to_string()))) }.boxed()
    }
}

impl Host for NodeHost {
    fn activate(&self, scope: CellScope) -> BoxFuture<'static, Result<Activation, ActivateError>> {
        let cell = scope.clone();
        self.on_io(move |host| host.bring(cell), move |cause| ActivateError::Failed { scope, cause })
    }

    fn bookmark(&self, scope: &CellScope, epoch: Epoch, txid: Txid) -> String {
        self.log().keep_point(scope, txid);
        bookmark_of(epoch, txid).to_string()
    }

    fn bookmark_at(&self, scope: CellScope, time_ms: u64) -> BoxFuture<'static, Result<String, String>> {
        self.on_io(move |host| host.find_bookmark(scope, time_ms), |e| e)
    }

    fn check_bookmark(&self, scope: CellScope, bookmark: String) -> BoxFuture<'static, Result<(), String>> {
        self.on_io(move |host| host.try_bookmark(scope, bookmark), |e| e)
    }

    fn rewind(
        &self,
        scope: CellScope,
        bookmark: String,
        image: Vec<u8>,
    ) -> BoxFuture<'static, Result<CommittedTx, RewindError>> {
        self.on_io(move |host| host.take_back(scope, bookmark, image), RewindError::Now)
    }

    fn log(&self) -> Arc<dyn CommitLog> {
        self.durable.clone()
    }

    fn console(&self, line: ConsoleLine) {
        self.console.line(line);
    }
}
