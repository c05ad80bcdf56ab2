//! Point-in-time recovery for the engine: bookmarks of a cell, and the transaction that takes it back to one.

use std::sync::Arc;

use celld_engine::host::RewindError;
use celld_ids::CellScope;
use celld_replica::{Bookmark, PastError, Target, Timeline, bookmark_at, changed_pages, restore_at};
use celld_storage::CommittedTx;

use crate::host::NodeHost;

/// Databases of more bytes are not taken back inside of a node, which would hold both states in memory.
const MAX_IMAGE: usize = 1 << 30;

impl NodeHost {
    /// What was committed up to now must be in the bucket before its past is read.
    async fn settle(&self) -> Result<(), String> {
        self.log().wait(self.log().appended()).await.map_err(|e| e.to_string())
    }

    pub(crate) async fn find_bookmark(
        self: Arc<Self>,
        scope: CellScope,
        time_ms: u64,
    ) -> Result<String, String> {
        self.settle().await?;
        let found = bookmark_at(self.bucket(), &scope, time_ms).await;
        found.map(|bookmark| bookmark.to_string()).map_err(|e| e.to_string())
    }

    pub(crate) async fn try_bookmark(self: Arc<Self>, scope: CellScope, text: String) -> Result<(), String> {
        let bookmark: Bookmark = text.parse().map_err(|e| format!("{text:?} is no bookmark: {e}"))?;
        self.settle().await?;
        let timeline = Timeline::read(self.bucket(), &scope).await.map_err(|e| e.to_string())?;
        let moment = timeline.find(Target::Bookmark(bookmark)).map_err(|e| e.to_string())?;
        if moment.exact {
            return Ok(());
        }
        Err(format!(
            "transaction {} of {scope} was merged with later ones; the one before it that is kept has the bookmark {}",
            bookmark.txid.0,
            moment.point.bookmark()
        ))
    }

    pub(crate) async fn take_back(
        self: Arc<Self>,
        scope: CellScope,
        text: String,
        image: Vec<u8>,
    ) -> Result<CommittedTx, RewindError> {
        let bookmark: Bookmark = text.parse().map_err(|e| RewindError::Never(format!("no bookmark: {e}")))?;
        if image.len() > MAX_IMAGE {
            return Err(RewindError::Never(format!(
                "its database has {} bytes, more than the {MAX_IMAGE} that a node takes back; `celld cell restore` writes it to a file",
                image.len()
            )));
        }
        self.settle().await.map_err(RewindError::Now)?;
        let restored =
            restore_at(self.bucket(), &scope, Target::Bookmark(bookmark)).await.map_err(|error| {
                let is_final = matches!(
                    error,
                    PastError::Empty { .. }
                        | PastError::TooEarly { .. }
                        | PastError::NotYet { .. }
                        | PastError::OtherEpoch { .. }
                );
                if is_final {
                    RewindError::Never(error.to_string())
                } else {
                    RewindError::Now(error.to_string())
                }
            })?;
        let changed = tokio::task::spawn_blocking(move || changed_pages(&image, &restored.image));
        let changed = changed.await.map_err(|e| RewindError::Now(e.to_string()))?;
        let (commit, pages) = changed.map_err(|e| RewindError::Never(e.to_string()))?;
        Ok(CommittedTx { commit, pages })
    }
}
