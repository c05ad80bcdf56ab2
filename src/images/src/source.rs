//! A blocking page source over the bucket, for SQLite's thread.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use celld_ltx::Page;
use celld_replica::{PagedError, RemoteImage};
use celld_storage::{PageError, PageSource};
use tokio::runtime::Handle;

/// The first pause after a failure that may pass; each further one is twice as long.
const PAUSE: Duration = Duration::from_millis(20);

/// Reads pages for a thread that waits, on a runtime that does not.
pub(crate) struct BucketSource {
    pub(crate) image: RemoteImage,
    /// The runtime of the bucket's connections.
    pub(crate) io: Handle,
    /// The longest that one read may take.
    pub(crate) deadline: Duration,
}

impl PageSource for BucketSource {
    fn read(&self, first: u32, last: u32) -> Result<Vec<Page>, PageError> {
        let deadline = Instant::now() + self.deadline;
        let (answer, answered) = mpsc::sync_channel(1);
        let image = self.image.clone();
        self.io.spawn(async move {
            let pages: Vec<u32> = (first..=last).collect();
            // Nobody listens any more once the deadline has passed.
            let _ = answer.send(read_until(&image, &pages, deadline).await);
        });
        match answered.recv_timeout(self.deadline) {
            Ok(Ok(pages)) => Ok(pages),
            Ok(Err(error)) => Err(PageError::new(error.to_string())),
            Err(mpsc::RecvTimeoutError::Timeout) => {
                let limit = self.deadline.as_millis();
                Err(PageError::new(format!("the bucket did not answer within {limit} ms")))
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => Err(PageError::new("the process is stopping")),
        }
    }

    fn memory(&self) -> usize {
        self.image.memory()
    }
}

/// Tries again what may pass, until the deadline.
async fn read_until(image: &RemoteImage, pages: &[u32], deadline: Instant) -> Result<Vec<Page>, PagedError> {
    let mut pause = PAUSE;
    loop {
        match image.read(pages).await {
            Err(error) if error.is_transient() && Instant::now() + pause < deadline => {
                tracing::debug!(%error, "a page is read again");
                tokio::time::sleep(pause).await;
                pause *= 2;
            }
            result => return result,
        }
    }
}
