//! Alarms of cells that no shard holds: read from the wake entries of the bucket, so that they fire after a restart.
//!
//! A cell that is brought here arms its own alarm; this task only sees to it that a cell whose alarm is due soon is brought here,
//! and that entries which have outlived their alarms go.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use celld_bucket::Bucket;
use celld_engine::Engine;
use celld_engine::shard::calls::{Call, CallTarget, reply};
use celld_ids::{CellScope, SessionId};
use celld_replica::{Wake, due_wakes, read_leases, remove_wake};
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;

use crate::lease::now_ms;
use crate::seals::Seals;

/// How often the wake entries are read.
const INTERVAL: Duration = Duration::from_secs(30);

/// Alarms that are due within this time are armed: more than the interval, so that none is late.
const HORIZON_MS: i64 = 60_000;

/// A session counts as crashed when its lease ended this long ago. Sealing is for good, and nobody waits for it here: a clock that is a
/// little ahead must not end a healthy node.
const GRACE_MS: u64 = 30_000;

/// Entries in one round. The rest has its turn when these are gone.
const MAX_WAKES: usize = 1000;

/// A cell that cannot be woken is tried again after this many rounds at most.
const MAX_PAUSE: u32 = 20;

/// Wakes the cells whose alarms nobody else would fire.
pub(crate) struct Waker {
    pub bucket: Bucket,
    pub engine: Arc<Engine>,
    pub seals: Arc<Seals>,
    pub session: SessionId,
    /// Cells that could not be woken: rounds to wait, and how often it failed.
    pub failing: HashMap<CellScope, (u32, u32)>,
}

impl Waker {
    /// Runs until `stop`.
    pub async fn run(mut self, stop: CancellationToken) {
        loop {
            self.round().await;
            tokio::select! {
                () = tokio::time::sleep(INTERVAL) => {}
                () = stop.cancelled() => return,
            }
        }
    }

    async fn round(&mut self) {
        self.seal_the_dead().await;
        let until = i64::try_from(now_ms()).unwrap_or(i64::MAX).saturating_add(HORIZON_MS);
        let wakes = match due_wakes(&self.bucket, until, MAX_WAKES).await {
            Ok(wakes) => wakes,
            Err(error) => {
                tracing::warn!(%error, "cannot read the wake entries; alarms of cells that are not resident may be late");
                return;
            }
        };
        self.failing.retain(|scope, _| wakes.iter().any(|wake| wake.scope == *scope));
        for wake in wakes {
            self.wake(wake).await;
        }
    }

    /// Alarms of a session that has crashed may still be in its log alone.
    async fn seal_the_dead(&self) {
        let leases = match read_leases(&self.bucket).await {
            Ok(leases) => leases,
            Err(error) => {
                tracing::warn!(%error, "cannot read the leases");
                return;
            }
        };
        let now = now_ms();
        for lease in leases {
            let record = lease.record;
            // A lease that was given up ended with a log that was closed.
            let is_over = record.expires_ms > 0 && record.expires_ms.saturating_add(GRACE_MS) < now;
            if record.session == self.session || !is_over {
                continue;
            }
            if let Err(error) = self.seals.seal(&record.session).await {
                tracing::warn!(session = %record.session, error, "cannot seal the log of a session that is over");
            }
        }
    }

    async fn wake(&mut self, wake: Wake) {
        if let Some((pause, _)) = self.failing.get_mut(&wake.scope)
            && *pause > 0
        {
            *pause -= 1;
            return;
        }
        let (to, alarm) = oneshot::channel();
        let target = CallTarget::Wake { reply: to };
        let lost = self.engine.call(Call { scope: wake.scope.clone(), name: None, target });
        match reply(alarm, &lost).await {
            Some(Ok(alarm)) => {
                self.failing.remove(&wake.scope);
                // The cell is ours and its alarm durable: this entry belongs to one that it had before.
                if alarm != Some(wake.due_ms)
                    && let Err(error) = remove_wake(&self.bucket, &wake).await
                {
                    tracing::debug!(cell = %wake.scope, %error, "a wake entry that is out of date stays for now");
                }
            }
            Some(Err(error)) => {
                let (pause, failures) = self.failing.entry(wake.scope.clone()).or_default();
                *failures += 1;
                *pause = (1 << (*failures).min(8)).min(MAX_PAUSE);
                tracing::warn!(cell = %wake.scope, error = error.message, "cannot wake a cell for its alarm");
            }
            // The node is stopping, or the next round tries again.
            None => {}
        }
    }
}
