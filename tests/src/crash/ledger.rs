//! The clients, and what they know: every acknowledged increment of every cell.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, Scope};
use std::time::{Duration, Instant};

use super::Random;
use crate::{Dev, PATIENCE, Response, get, request};

/// Half of them count in a value, half in rows.
const CELLS: usize = 50;
const CLIENTS: usize = 4;
/// Cells that are checked at once.
const CHECKERS: usize = 10;

/// What the clients know.
pub(super) struct Ledger {
    cells: Vec<Cell>,
    /// The proof that an acknowledged increment was lost.
    lost: Mutex<Option<String>>,
}

/// What the clients know of one cell.
struct Cell {
    path: String,
    sent: AtomicU64,
    /// The numbers that were answered, each of which is one increment.
    acknowledged: Mutex<HashSet<u64>>,
}

/// The threads that send increments to wherever they are aimed.
pub(super) struct Clients<'a> {
    shared: &'a Aim,
}

/// Where the application is served; `None` while it is not.
#[derive(Default)]
struct Aim {
    address: Mutex<Option<SocketAddr>>,
    over: AtomicBool,
}

impl<'a> Clients<'a> {
    pub fn start<'scope>(
        scope: &'scope Scope<'scope, '_>,
        ledger: &'scope Ledger,
        random: &'scope Random,
    ) -> Clients<'a> {
        // A few words for the rest of the process's life, so that the threads and the handle need no common owner.
        let shared: &'static Aim = Box::leak(Box::default());
        for _ in 0..CLIENTS {
            scope.spawn(move || ledger.run(shared, random));
        }
        Clients { shared }
    }

    pub fn aim(&self, address: Option<SocketAddr>) {
        *self.shared.address.lock().expect("no panic under the lock") = address;
    }
}

impl Drop for Clients<'_> {
    fn drop(&mut self) {
        self.shared.over.store(true, Ordering::Relaxed);
    }
}

impl Ledger {
    pub fn new() -> Ledger {
        let cell = |i: usize| Cell {
            path: format!("/{}-{i}", if i.is_multiple_of(2) { "kv" } else { "rows" }),
            sent: AtomicU64::new(0),
            acknowledged: Mutex::default(),
        };
        Ledger { cells: (0..CELLS).map(cell).collect(), lost: Mutex::default() }
    }

    pub fn acknowledged(&self) -> u64 {
        self.cells.iter().map(Cell::acknowledged).sum()
    }

    pub fn sent(&self) -> u64 {
        self.cells.iter().map(|cell| cell.sent.load(Ordering::Relaxed)).sum()
    }

    /// Waits for `count` more acknowledgements.
    pub fn wait(&self, count: u64, dev: &Dev) -> Result<(), String> {
        let wanted = self.acknowledged() + count;
        let deadline = Instant::now() + PATIENCE;
        while self.acknowledged() < wanted {
            self.nothing_lost()?;
            if Instant::now() > deadline {
                return Err(format!("the application acknowledges nothing:\n{}", dev.log()));
            }
            thread::sleep(Duration::from_millis(1));
        }
        Ok(())
    }

    fn nothing_lost(&self) -> Result<(), String> {
        self.lost.lock().expect("no panic under the lock").clone().map_or(Ok(()), Err)
    }

    /// One client: one increment after the other.
    fn run(&self, aim: &Aim, random: &Random) {
        while !aim.over.load(Ordering::Relaxed) {
            let address = *aim.address.lock().expect("no panic under the lock");
            let Some(address) = address else {
                thread::sleep(Duration::from_millis(2));
                continue;
            };
            // Half of the load is on two cells, whose history grows long enough to be merged.
            let at = if random.below(2) == 0 { random.below(2) } else { random.below(CELLS as u64) };
            let cell = &self.cells[at as usize];
            cell.sent.fetch_add(1, Ordering::Relaxed);
            match request(address, "PUT", &cell.path, "") {
                Ok(answer) if answer.status == 200 => {
                    if !cell.acknowledge(&answer) {
                        let lost =
                            format!("{} has answered the same number twice: {}", cell.path, answer.body);
                        *self.lost.lock().expect("no panic under the lock") = Some(lost);
                        return;
                    }
                }
                // Refused, cut off, or nobody there: it may have happened or not.
                _ => thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Compares every cell with what the clients know of it.
    pub fn check(&self, dev: &mut Dev) -> Result<(), String> {
        self.check_unless(dev, |_| false)
    }

    /// The same, given up when `over` says so.
    pub fn check_unless(&self, dev: &mut Dev, over: impl Fn(&Dev) -> bool + Sync) -> Result<(), String> {
        self.nothing_lost()?;
        let address = dev.address();
        let (dev, over) = (&*dev, &over);
        // A cell that wakes mostly waits for the bucket.
        thread::scope(|scope| {
            let checks: Vec<_> = self
                .cells
                .chunks(CELLS.div_ceil(CHECKERS))
                .map(|cells| {
                    scope.spawn(move || cells.iter().try_for_each(|cell| cell.read(address, dev, over)))
                })
                .collect();
            checks.into_iter().try_for_each(|check| check.join().expect("no panic while checking"))
        })
    }
}

impl Cell {
    /// Reads the cell until it answers, and checks what it says.
    fn read(
        &self,
        address: SocketAddr,
        dev: &Dev,
        over: &(impl Fn(&Dev) -> bool + Sync),
    ) -> Result<(), String> {
        let deadline = Instant::now() + PATIENCE;
        let answer = loop {
            match get(address, &self.path) {
                Ok(answer) if answer.status == 200 => break answer,
                _ if over(dev) => return Ok(()),
                answer if Instant::now() > deadline => {
                    return Err(format!("{} cannot be read: {answer:?}\n{}", self.path, dev.log()));
                }
                _ => thread::sleep(Duration::from_millis(5)),
            }
        };
        self.check(&answer).map_err(|problem| format!("{problem}\n{}", dev.log()))
    }

    fn acknowledged(&self) -> u64 {
        self.acknowledged.lock().expect("no panic under the lock").len() as u64
    }

    /// `false` when another increment was acknowledged with the same number.
    fn acknowledge(&self, answer: &Response) -> bool {
        let value = answer.json()["value"].as_u64().unwrap_or_default();
        self.acknowledged.lock().expect("no panic under the lock").insert(value)
    }

    fn check(&self, answer: &Response) -> Result<(), String> {
        let value = answer.json()["value"].as_u64().unwrap_or_default();
        let highest = self.acknowledged.lock().expect("no panic under the lock").iter().max().copied();
        let (acknowledged, sent) = (self.acknowledged(), self.sent.load(Ordering::Relaxed));
        let is_whole = answer.json()["check"] == "ok";
        if is_whole && value >= acknowledged.max(highest.unwrap_or(0)) && value <= sent {
            return Ok(());
        }
        Err(format!(
            "{} is at {}: {acknowledged} acknowledged up to {highest:?}, {sent} sent",
            self.path, answer.body
        ))
    }
}
