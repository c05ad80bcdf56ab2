//! A shard: one OS thread that owns connections, the isolates of the deployment's script, and the cells whose scopes hash to it.
//!
//! Invariant: nothing of a shard is touched by another thread; work arrives through its command queue and its mailbox.

mod alarms;
pub mod body;
pub mod calls;
mod cells;
mod commit;
mod connections;
mod deliver;
pub mod events;
mod extension;
mod gates;
pub mod http;
pub mod ids;
mod install;
pub(crate) mod isolate;
mod made;
mod memory;
mod ops;
mod rewind;
mod rpc;
mod run;
mod values;
pub(crate) mod watch;
mod workers;

use std::cell::{Cell, RefCell};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use celld_ids::CellScope;
use celld_storage::{CellDb, ImagePath};
use tokio_util::sync::CancellationToken;

pub(crate) use alarms::AlarmRuns;
pub(crate) use cells::Resident;
pub use extension::celld_events;
pub use isolate::BuildError;
pub(crate) use isolate::IsolateState;
pub use run::{Census, StoppedCell};
pub(crate) use run::{Command, Shard, Start};

use crate::host::{ActivateError, CommitLog, Host};
use crate::platform::snapshot::Snapshots;
use crate::socket::Lines;
use crate::socket::parked::SocketEvent;
use calls::Router;
use cells::{Place, Residents};
pub(crate) use connections::OpenConnections;

/// What all shards of a process have in common.
#[derive(Clone)]
pub struct ShardOptions {
    /// How many shards there are.
    pub shards: usize,
    /// What isolates start from.
    pub snapshots: Snapshots,
    /// `fetch` events that may be in one cell at a time.
    pub max_cell_requests: u32,
    /// Bytes that the body of a public request may have.
    pub max_request_body: u64,
    /// How long a resident cell may keep the code of a replaced deployment before it is forced to move.
    pub deploy_max_age: Duration,
    /// How much processor time an event may use before it is ended.
    pub cpu_limit: Duration,
    /// An idle cell leaves memory after this time; `None`: it stays.
    pub idle_evict: Option<Duration>,
    /// The directory for the images of large cells; it exists, and nobody else uses it.
    pub images: Arc<Path>,
    /// Addresses that user code may not reach.
    pub deny_net: Vec<String>,
    /// The responses that Workers have put into caches.
    pub cache: Arc<crate::CacheStore>,
    /// What the public listener answers itself, before user code.
    pub intercept: Option<Arc<dyn http::Intercept>>,
}

/// What the ops and tasks of one shard share.
pub(crate) struct ShardState {
    pub index: usize,
    pub options: Arc<ShardOptions>,
    /// What the watchdog sees of this shard.
    pub watch: Arc<watch::Watch>,
    /// Limits of each cell's database.
    pub limits: Arc<celld_storage::Limits>,
    pub host: Arc<dyn Host>,
    pub log: Arc<dyn CommitLog>,
    pub router: Router,
    pub residents: Residents,
    pub alarms: alarms::Alarms,
    /// Those of all shards.
    pub alarm_runs: Arc<AlarmRuns>,
    /// Cells that are to be taken back to a bookmark.
    pub rewinds: tokio::sync::mpsc::UnboundedSender<(Rc<Resident>, Box<CellDb>)>,
    /// Public requests that are being answered, seen by the acceptor.
    pub load: Arc<AtomicUsize>,
    /// Cancelled when this thread is lost; for those who wait for it.
    pub lost: CancellationToken,
    /// The connections and sockets that have to be closed then.
    pub open: Arc<OpenConnections>,
    pub lines: Lines,
    /// Residents that another isolate waits for, or that must leave a retiring one.
    wanted: RefCell<Vec<Rc<Resident>>>,
    wanted_signal: tokio::sync::Notify,
    /// What parked sockets have to say to their cells.
    pub socket_events: tokio::sync::mpsc::UnboundedSender<SocketEvent>,
    /// Cells that became idle lately.
    idle: RefCell<Vec<Rc<Resident>>>,
    serial: Cell<u64>,
}

impl ShardState {
    pub fn next_serial(&self) -> u64 {
        self.serial.set(self.serial.get() + 1);
        self.serial.get()
    }

    /// Starts to bring a cell here; the resident's `place` says how it went.
    pub fn activate(self: &Rc<Self>, resident: &Rc<Resident>) {
        let (shard, resident) = (self.clone(), resident.clone());
        tokio::task::spawn_local(async move {
            match shard.host.activate(resident.scope.clone()).await {
                Ok(activation) => {
                    resident.epoch.set(activation.epoch);
                    resident.txid.set(activation.txid);
                    // Where the image goes when it outgrows memory.
                    let (dir, name) = (shard.options.images.clone(), resident.scope.file_name());
                    let path = Some(ImagePath { dir, name: name.into() });
                    let opened = CellDb::new(activation.image, path, shard.limits.clone());
                    let opened = opened.and_then(|mut db| {
                        let alarm = shard.find_alarm(&resident, &mut db)?;
                        resident.rewinds.set(db.rewind()?.is_some());
                        db.close_idle();
                        Ok((db, alarm))
                    });
                    match opened {
                        Ok((db, (alarm, failures))) => {
                            shard.alarms.found(&resident, alarm, failures);
                            resident.set_place(Place::Parked(Box::new(db)));
                        }
                        Err(error) => resident.set_place(Place::Failed(ActivateError::Failed {
                            scope: resident.scope.clone(),
                            cause: error.to_string(),
                        })),
                    }
                }
                Err(error) => resident.set_place(Place::Failed(error)),
            }
        });
    }

    /// Nothing of the resident runs any more.
    pub fn note_idle(&self, resident: &Rc<Resident>) {
        resident.active.set(false);
        resident.idle_since.set(std::time::Instant::now());
        if !resident.in_idle_queue.replace(true) {
            self.idle.borrow_mut().push(resident.clone());
        }
    }

    /// Empties the queue of cells that became idle lately.
    fn take_idle(&self) -> Vec<Rc<Resident>> {
        let idle = std::mem::take(&mut *self.idle.borrow_mut());
        idle.iter().for_each(|resident| resident.in_idle_queue.set(false));
        idle
    }

    /// Puts a cell back that has not been idle for long.
    fn keep_idle(&self, resident: Rc<Resident>) {
        if !resident.in_idle_queue.replace(true) {
            self.idle.borrow_mut().push(resident);
        }
    }

    /// Forgets a cell, and its alarm with it: the next event brings it here anew.
    pub fn forget(&self, scope: &CellScope) {
        if let Some(resident) = self.residents.remove(scope) {
            self.alarms.set(&resident, None);
        }
    }

    /// Asks for the resident to be taken out of its isolate as soon as nothing runs in it.
    pub fn want(&self, resident: &Rc<Resident>) {
        self.wanted.borrow_mut().push(resident.clone());
        self.wanted_signal.notify_one();
    }
}
