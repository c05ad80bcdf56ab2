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
                // It never wrote anything, because its record is made before its first entry; unless somebody removed the record.
                Err(celld_replica::SealError::NoSession(_)) => self.check_empty(session).await,
                Err(error) => Err(error.to_string()),
            }
        });
        sealed.await.copied()
    }

    async fn check_empty(&self, session: &SessionId) -> Result<(), String> {
        let prefix = format!("log/{session}");
        let entries = self.bucket.list(&prefix, None, 1).await.map_err(|e| e.to_string())?;
        match entries.first() {
            None => Ok(()),
            Some(entry) => Err(format!(
                "{} stands in the bucket, but the record of session {session} is missing",
                entry.key
            )),
        }
    }
}
