//! Sealing the logs of dead sessions, each once, however many cells are waiting for it.

use std::collections::HashMap;

use celld_bucket::Bucket;
use celld_ids::SessionId;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio::sync::OnceCell;

/// The sessions whose logs this process has sealed and folded, or is about to.
pub(crate) struct Seals {
    bucket: Bucket,
    by: SessionId,
    sessions: Mutex<HashMap<SessionId, Arc<OnceCell<()>>>>,
}

impl Seals {
    pub fn new(bucket: Bucket, by: SessionId) -> Seals {
        Seals { bucket, by, sessions: Mutex::default() }
    }

    /// Returns once the log of `session` is sealed and everything in it is in its cells' history. A failure is forgotten, so
    /// that the next cell tries again.
    pub async fn seal(&self, session: &SessionId) -> Result<(), String> {
        let once = self.sessions.lock().entry(session.clone()).or_default().clone();
        let sealed = once.get_or_try_init(|| async {
            tracing::info!(%session, "sealing the log of a session that is over");
            match celld_replica::seal_session(&self.bucket, session, &self.by).await {
                Ok(_) => Ok(()),
                // It never wrote anything: its record is made before its first entry.
                Err(celld_replica::SealError::NoSession(_)) => Ok(()),
                Err(error) => Err(error.to_string()),
            }
        });
        sealed.await.copied()
    }
}
