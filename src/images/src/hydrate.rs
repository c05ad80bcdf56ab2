//! Filling paged images in the background, one at a time and at a bounded rate, until they are ordinary files.

use std::sync::{Arc, Weak};
use std::time::Duration;

use celld_ids::CellScope;
use celld_ltx::PAGE_SIZE;
use celld_replica::RemoteImage;
use celld_storage::PagedImage;
use tokio::sync::Semaphore;
use tokio::time::Instant;

use crate::prefetch;

/// Pages fetched in one go: 1 MiB of them.
const STEP: usize = (1 << 20) / PAGE_SIZE;

/// The pause after a failure that may pass; it doubles up to the longest.
const PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The background filling of a node.
pub(crate) struct Hydration {
    /// One cell fills at a time.
    turn: Semaphore,
    /// Bytes of database per second.
    rate: u64,
}

impl Hydration {
    /// At `rate` bytes of database per second, at least 1.
    pub(crate) fn new(rate: u64) -> Arc<Self> {
        Arc::new(Self { turn: Semaphore::new(1), rate: rate.max(1) })
    }

    /// Fetches the interior pages of `image` at once and the rest when its turn comes. Ends when the image is complete or gone.
    pub(crate) async fn run(self: Arc<Self>, scope: CellScope, image: Weak<PagedImage>, remote: RemoteImage) {
        prefetch::interior_pages(&image, &remote).await;
        let Ok(_turn) = self.turn.acquire().await else { return };
        match self.fill(&image, &remote).await {
            Ok(true) => {
                tracing::info!(cell = %scope, pages = remote.pages(), "a paged cell's file is complete")
            }
            // The cell has left this process.
            Ok(false) => {}
            Err(problem) => {
                // Its reads name the same problem to whoever needs the page.
                tracing::error!(cell = %scope, %problem, "a paged cell's file cannot be filled");
            }
        }
    }

    async fn fill(&self, image: &Weak<PagedImage>, remote: &RemoteImage) -> Result<bool, String> {
        let mut next = Instant::now();
        let mut pause = PAUSE;
        let mut from = 1;
        loop {
            let missing = match image.upgrade() {
                None => return Ok(false),
                Some(image) if image.is_complete() => return Ok(true),
                Some(image) => image.missing(from, STEP),
            };
            let Some(last) = missing.last().copied() else {
                // What was missing behind us is still missing: it did not come.
                from = 1;
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(LONGEST_PAUSE);
                continue;
            };
            match remote.read(&missing).await {
                Ok(pages) => {
                    let Some(image) = image.upgrade() else { return Ok(false) };
                    let stored = tokio::task::spawn_blocking(move || image.fill(&pages)).await;
                    stored.map_err(|e| e.to_string())?.map_err(|e| e.to_string())?;
                    pause = PAUSE;
                    from = last.saturating_add(1);
                }
                Err(error) if error.is_transient() => {
                    tracing::debug!(%error, "pages are read again");
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(LONGEST_PAUSE);
                    continue;
                }
                Err(error) => return Err(error.to_string()),
            }
            // Time that a slow store took is not made up for: the rate bounds every second.
            let bytes = (missing.len() * PAGE_SIZE) as f64;
            next = (next + Duration::from_secs_f64(bytes / self.rate as f64)).max(Instant::now());
            tokio::time::sleep_until(next).await;
        }
    }
}
