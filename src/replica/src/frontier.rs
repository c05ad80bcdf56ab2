//! How far a log is durable, and who waits for that.
//!
//! A step of the frontier wakes those it reaches, and nobody else: with a step every millisecond, a wake-up for nothing costs more than
//! much of what is useful.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use futures::FutureExt;
use parking_lot::Mutex;
use tokio::sync::futures::Notified;
use tokio::sync::{Notify, oneshot, watch};

use crate::log::{LogError, Position};

type Proof = Result<(), Arc<LogError>>;

#[derive(Default)]
pub(crate) struct Frontier {
    durable: AtomicU64,
    waiters: Mutex<BTreeMap<Position, Vec<oneshot::Sender<Proof>>>>,
    /// Set once and for good when the log can make nothing more durable. What lies beyond `durable` has an unknown fate.
    failed: watch::Sender<Option<Arc<LogError>>>,
    /// Told about each step, and about the failure.
    step: Notify,
}

impl Frontier {
    /// Everything up to here is durable.
    pub fn durable(&self) -> Position {
        Position(self.durable.load(Ordering::Acquire))
    }

    /// Everything up to `position` is durable now.
    pub fn advance(&self, position: Position) {
        self.durable.store(position.0, Ordering::Release);
        let reached = {
            let mut waiters = self.waiters.lock();
            let beyond = waiters.split_off(&Position(position.0.saturating_add(1)));
            std::mem::replace(&mut *waiters, beyond)
        };
        self.step.notify_waiters();
        for waiter in reached.into_values().flatten() {
            // Whoever waited may have gone.
            let _ = waiter.send(Ok(()));
        }
    }

    /// Nothing more becomes durable. The first error stays.
    pub fn fail(&self, error: LogError) {
        let error = Arc::new(error);
        let lost = {
            // Under the lock, so that nobody begins to wait who is not told.
            let mut waiters = self.waiters.lock();
            let first = self.failed.send_if_modified(|failed| {
                let first = failed.is_none();
                failed.get_or_insert_with(|| error.clone());
                first
            });
            if !first {
                return;
            }
            std::mem::take(&mut *waiters)
        };
        self.step.notify_waiters();
        for waiter in lost.into_values().flatten() {
            let _ = waiter.send(Err(error.clone()));
        }
    }

    pub fn failed(&self) -> Option<Arc<LogError>> {
        self.failed.borrow().clone()
    }

    /// Follows the failure.
    pub fn failure(&self) -> watch::Receiver<Option<Arc<LogError>>> {
        self.failed.subscribe()
    }

    /// The next step, or the failure, from the moment of this call.
    pub fn step(&self) -> Notified<'_> {
        self.step.notified()
    }

    /// Waits for a position.
    pub fn wait(&self, position: Position) -> Waiting {
        if position <= self.durable() {
            return Waiting(State::Over(Some(Ok(()))));
        }
        let (waiter, proof) = oneshot::channel();
        let mut waiters = self.waiters.lock();
        // It may have got there since the first look: a step is made before it takes the lock.
        if position <= self.durable() {
            return Waiting(State::Over(Some(Ok(()))));
        }
        if let Some(error) = self.failed() {
            return Waiting(State::Over(Some(Err(error))));
        }
        waiters.entry(position).or_default().push(waiter);
        Waiting(State::For(proof))
    }
}

/// Waits until a transaction is durable. It does not keep the log alive.
#[derive(Debug)]
pub struct Waiting(State);

#[derive(Debug)]
enum State {
    /// Nothing to wait for; `None` when it has been told.
    Over(Option<Proof>),
    For(oneshot::Receiver<Proof>),
}

impl Future for Waiting {
    type Output = Proof;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Proof> {
        let closed = || Err(Arc::new(LogError::Closed));
        match &mut self.get_mut().0 {
            State::Over(proof) => Poll::Ready(proof.take().unwrap_or_else(closed)),
            State::For(proof) => proof.poll_unpin(cx).map(|proof| proof.unwrap_or_else(|_| closed())),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_step_wakes_those_it_reaches_and_the_failure_the_rest() {
        let frontier = Frontier::default();
        assert!(frontier.wait(Position(0)).await.is_ok());
        let mut waiting: Vec<Waiting> = (1..=4).map(|n| frontier.wait(Position(n))).collect();
        let mut failure = frontier.failure();
        frontier.advance(Position(2));
        assert_eq!(frontier.durable(), Position(2));
        for (n, waiting) in (1..).zip(&mut waiting) {
            assert_eq!(waiting.now_or_never().is_some(), n <= 2, "{n}");
        }
        assert!(frontier.wait(Position(2)).await.is_ok());
        assert!(!failure.has_changed().unwrap());
        frontier.fail(LogError::Claimed);
        frontier.fail(LogError::Closed);
        for waiting in waiting.drain(2..) {
            assert!(matches!(&*waiting.await.unwrap_err(), LogError::Claimed));
        }
        failure.changed().await.unwrap();
        assert!(matches!(frontier.failed().as_deref(), Some(LogError::Claimed)));
        assert!(matches!(&*frontier.wait(Position(3)).await.unwrap_err(), LogError::Claimed));
        assert!(frontier.wait(Position(1)).await.is_ok(), "what was durable stays so");
    }

    #[tokio::test]
    async fn whoever_waits_for_a_log_that_is_gone_is_told() {
        let frontier = Frontier::default();
        let waiting = frontier.wait(Position(1));
        drop(frontier);
        assert!(matches!(&*waiting.await.unwrap_err(), LogError::Closed));
    }
}
