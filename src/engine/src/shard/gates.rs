//! What the output gates of an isolate's cells hold back.
//!
//! JavaScript keeps what is held and how it goes on (`throughGate` in `js/events/cell.js`), under a number. Here is which position of the
//! log each number waits for. One step of the frontier lets go of all that it reaches in one turn, and costs one wake-up.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::task::{Context, Poll};

use futures::future::BoxFuture;

use super::cells::Resident;
use crate::host::{CommitLog, LogFailed, Position};

/// What an isolate holds back.
#[derive(Default)]
pub(crate) struct Gates {
    /// Numbers that nothing is held under.
    free: RefCell<Vec<u32>>,
    /// How many numbers there are.
    numbers: Cell<u32>,
    /// Held back by writes that no transaction of the log contains yet.
    uncommitted: RefCell<Vec<Uncommitted>>,
    /// By position; what waits for the same one in the order in which it came.
    held: RefCell<VecDeque<(Position, u32)>>,
    /// What will never be let go, and why.
    lost: RefCell<VecDeque<(u32, String)>>,
    /// Resolves when the first of `held` can go.
    wait: RefCell<Option<Wait>>,
}

/// The position that is waited for.
type Wait = (Position, BoxFuture<'static, Result<(), LogFailed>>);

struct Uncommitted {
    handle: u32,
    resident: Rc<Resident>,
    number: u32,
}

impl Gates {
    /// Nothing is held back.
    pub fn is_empty(&self) -> bool {
        self.uncommitted.borrow().is_empty() && self.held.borrow().is_empty() && self.lost.borrow().is_empty()
    }

    /// Holds something back until the end of the turn, when it is known what it waits for.
    pub fn hold(&self, handle: u32, resident: Rc<Resident>) -> u32 {
        let number = self.take_number();
        self.uncommitted.borrow_mut().push(Uncommitted { handle, resident, number });
        number
    }

    /// The turn has committed; `failure` says why the storage of a cell has failed.
    pub fn committed(&self, failure: impl Fn(u32) -> Option<String>) {
        let mut uncommitted = self.uncommitted.borrow_mut();
        for Uncommitted { handle, resident, number } in uncommitted.drain(..) {
            if let Some(failure) = failure(handle) {
                self.lost.borrow_mut().push_back((number, failure));
                continue;
            }
            let position = resident.gate.get();
            let mut held = self.held.borrow_mut();
            // Almost always at the end: a cell that has not written in this turn may wait for an older transaction.
            let at = match held.back() {
                Some((last, _)) if *last > position => held.partition_point(|(other, _)| *other <= position),
                _ => held.len(),
            };
            held.insert(at, (position, number));
        }
    }

    /// Whether [`next_released`](Self::next_released) has an answer.
    pub fn can_release(&self, durable: Position) -> bool {
        self.held.borrow().front().is_some_and(|(position, _)| *position <= durable)
    }

    /// The next number that can go.
    pub fn next_released(&self, durable: Position) -> Option<u32> {
        let mut held = self.held.borrow_mut();
        let number = held.front().filter(|(position, _)| *position <= durable)?.1;
        held.pop_front();
        self.free.borrow_mut().push(number);
        Some(number)
    }

    /// The next number that will never go, and why.
    pub fn next_lost(&self) -> Option<(u32, String)> {
        let lost = self.lost.borrow_mut().pop_front()?;
        self.free.borrow_mut().push(lost.0);
        Some(lost)
    }

    /// Has the task of `cx` woken when something can go or is lost. Ready: it is already so.
    pub fn poll(&self, log: &dyn CommitLog, cx: &mut Context<'_>) -> Poll<()> {
        if !self.lost.borrow().is_empty() {
            return Poll::Ready(());
        }
        let first = self.held.borrow().front().map(|(position, _)| *position);
        let mut wait = self.wait.borrow_mut();
        let Some(first) = first else {
            *wait = None;
            return Poll::Pending;
        };
        if wait.as_ref().is_none_or(|(position, _)| *position != first) {
            *wait = Some((first, log.wait(first)));
        }
        let Some((_, reached)) = &mut *wait else { return Poll::Pending };
        let Poll::Ready(reached) = reached.as_mut().poll(cx) else { return Poll::Pending };
        *wait = None;
        if let Err(failed) = reached {
            // What the log has proven before can still go.
            let mut held = self.held.borrow_mut();
            let durable = held.partition_point(|(position, _)| *position <= log.durable());
            let lost = held.drain(durable..).map(|(_, number)| (number, failed.to_string()));
            self.lost.borrow_mut().extend(lost);
        }
        Poll::Ready(())
    }

    fn take_number(&self) -> u32 {
        self.free.borrow_mut().pop().unwrap_or_else(|| {
            let number = self.numbers.get();
            self.numbers.set(number + 1);
            number
        })
    }
}
