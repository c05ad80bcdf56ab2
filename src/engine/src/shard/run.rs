//! The thread of a shard: its command queue, its mailbox, its connections, and the isolates that serve, drain and start.

use std::cell::RefCell;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

use celld_ids::{CellScope, Epoch};
use celld_ltx::Txid;
use celld_storage::Image;
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::alarms::AlarmRuns;
use super::calls::{Call, CallTarget, Mail, Router, RpcCall};
use super::cells::{Place, Resident, Residents};
use super::events::{ErrorDescription, Event, Reply, RpcReply};
use super::http::{Connections, serve_connection};
use super::isolate::{BuildError, ScriptIsolate};
use super::watch::Watch;
use super::workers::Workers;
use super::{OpenConnections, ShardOptions, ShardState};
use crate::deployment::Deployment;
use crate::host::Host;
use crate::platform::modules::Modules;
use crate::socket::Lines;
use crate::socket::parked::SocketEvent;

/// How often idle cells, draining isolates and forced moves are looked at.
const HOUSEKEEPING: Duration = Duration::from_millis(100);
/// A cell's database connection is closed after this time without work.
const CLOSE_CONNECTION_AFTER: Duration = Duration::from_secs(1);

/// What the process asks of a shard.
pub(crate) enum Command {
    /// A public connection to serve.
    Connection(std::net::TcpStream),
    /// Build the isolates of the deployment beside those that serve.
    Prepare(Arc<Deployment>, Arc<[Arc<Modules>]>, oneshot::Sender<Result<(), BuildError>>),
    /// Build the isolates of the deployment and serve it: this shard takes the place of one that was lost.
    Serve(Arc<Deployment>, Arc<[Arc<Modules>]>),
    /// Serve new events from what was prepared last.
    Switch(oneshot::Sender<()>),
    /// Forget what was prepared last.
    Discard,
    /// Report the counters.
    Census(oneshot::Sender<Census>),
    /// Finish requests, close connections, park every cell, end the thread.
    Stop(oneshot::Sender<Vec<StoppedCell>>),
}

/// A cell whose image file is complete when its shard has stopped.
#[derive(Debug, Clone)]
pub struct StoppedCell {
    /// The cell.
    pub scope: CellScope,
    /// The epoch it was served under.
    pub epoch: Epoch,
    /// Its last transaction, which is in the log.
    pub txid: Txid,
    /// The file.
    pub file: PathBuf,
}

/// The counters of a shard.
#[derive(Debug, Clone, Default)]
pub struct Census {
    /// Cells that this shard holds, with an instance or without.
    pub owned_cells: usize,
    /// Cells that have an instance.
    pub resident_cells: usize,
    /// Public connections.
    pub connections: usize,
    /// Events without an answer.
    pub events: usize,
    /// Deployments that are replaced but not finished.
    pub draining: Vec<String>,
    /// Cells whose instance still runs a replaced deployment.
    pub moving_cells: usize,
}

/// What a shard starts with.
pub(crate) struct Start {
    pub index: usize,
    /// How many shards of the process were lost before this one started.
    pub life: u64,
    pub options: Arc<ShardOptions>,
    pub host: Arc<dyn Host>,
    pub router: Router,
    pub load: Arc<AtomicUsize>,
    pub watch: Arc<Watch>,
    pub lost: CancellationToken,
    pub alarm_runs: Arc<AlarmRuns>,
    pub open: Arc<OpenConnections>,
    pub lines: Lines,
    pub commands: mpsc::UnboundedReceiver<Command>,
    pub mailbox: mpsc::Receiver<Mail>,
}

/// One shard, on its own thread.
pub(crate) struct Shard {
    state: Rc<ShardState>,
    serving: RefCell<Option<Rc<Workers>>>,
    prepared: RefCell<Option<Rc<Workers>>>,
    draining: RefCell<Vec<(Rc<ScriptIsolate>, Instant)>>,
    connections: Connections,
    stopping: CancellationToken,
}

impl Shard {
    /// The body of the shard's thread; returns after [`Command::Stop`].
    pub async fn run(start: Start) {
        let Start { index, life, options, host, router, load, watch, lost, alarm_runs, open, lines, .. } =
            start;
        let (mut commands, mut mailbox) = (start.commands, start.mailbox);
        let log = host.log();
        let (socket_events, said) = mpsc::unbounded_channel();
        let (rewinds, rewinds_asked) = mpsc::unbounded_channel();
        let limits = celld_storage::Limits { interrupt: Some(watch.interrupt()), ..Default::default() };
        let shard = Rc::new(Shard {
            state: Rc::new(ShardState {
                index,
                options,
                watch,
                limits: Arc::new(limits),
                host,
                log,
                router,
                residents: Residents::default(),
                alarms: Default::default(),
                alarm_runs,
                rewinds,
                load,
                lost,
                open,
                lines,
                wanted: RefCell::default(),
                wanted_signal: tokio::sync::Notify::new(),
                socket_events,
                idle: RefCell::default(),
                // No isolate has the number of one that was lost: stubs may still name it.
                serial: std::cell::Cell::new(life << 32),
            }),
            serving: RefCell::new(None),
            prepared: RefCell::new(None),
            draining: RefCell::default(),
            connections: Connections { tracker: TaskTracker::new(), closing: CancellationToken::new() },
            stopping: CancellationToken::new(),
        });
        tokio::task::spawn_local(shard.clone().keep_house());
        tokio::task::spawn_local(shard.clone().fire_alarms());
        tokio::task::spawn_local(shard.state.clone().rewind_cells(rewinds_asked));
        tokio::task::spawn_local(shard.clone().move_wanted());
        tokio::task::spawn_local(shard.clone().deliver_sockets(said));
        loop {
            tokio::select! {
                biased;
                command = commands.recv() => match command {
                    Some(Command::Stop(done)) => {
                        let cells = shard.stop(&mut mailbox).await;
                        let _ = done.send(cells);
                        return;
                    }
                    Some(command) => shard.clone().command(command),
                    None => return,
                },
                mail = mailbox.recv() => {
                    if let Some(mail) = mail {
                        shard.open(mail);
                    }
                }
            }
        }
    }

    fn command(self: Rc<Self>, command: Command) {
        match command {
            Command::Connection(stream) => {
                let shard = self.clone();
                self.connections.tracker.spawn_local(serve_connection(shard, stream));
            }
            Command::Prepare(deployment, modules, done) => {
                tokio::task::spawn_local(async move {
                    let built = Workers::build(&self.state, &deployment, &modules).await;
                    let _ = done.send(built.map(|workers| {
                        if let Some(stale) = self.prepared.borrow_mut().replace(workers) {
                            stale.iter().for_each(|isolate| isolate.close());
                        }
                    }));
                });
            }
            Command::Serve(deployment, modules) => {
                tokio::task::spawn_local(async move {
                    match Workers::build(&self.state, &deployment, &modules).await {
                        // A newer deployment may have been adopted meanwhile.
                        Ok(workers) if self.serving().is_some() => {
                            workers.iter().for_each(|isolate| isolate.close());
                        }
                        Ok(workers) => self.serve(workers),
                        Err(error) => {
                            tracing::error!(shard = self.state.index, %error, "a new shard cannot serve")
                        }
                    }
                });
            }
            Command::Switch(done) => {
                self.switch();
                let _ = done.send(());
            }
            Command::Discard => {
                if let Some(workers) = self.prepared.borrow_mut().take() {
                    workers.iter().for_each(|isolate| isolate.close());
                }
            }
            Command::Census(reply) => {
                let _ = reply.send(self.census());
            }
            Command::Stop(_) => {}
        }
    }

    /// New events go to what was prepared.
    fn switch(&self) {
        if let Some(next) = self.prepared.borrow_mut().take() {
            self.serve(next);
        }
    }

    /// New events go to `next`; isolates that are not among them finish what they do, and their cells move when they are idle.
    pub(super) fn serve(&self, next: Rc<Workers>) {
        let Some(old) = self.serving.borrow_mut().replace(next.clone()) else { return };
        for old in old.iter().filter(|old| next.by_serial(old.state.serial).is_none()) {
            old.state.retiring.set(true);
            for resident in self.state.residents.hosted_by(old.state.serial) {
                self.state.want(&resident);
            }
            self.draining.borrow_mut().push((old.clone(), Instant::now()));
        }
    }

    /// The isolates that serve.
    pub fn serving(&self) -> Option<Rc<Workers>> {
        self.serving.borrow().clone()
    }

    /// The isolate for the events of a cell: where it is busy, or that of the Worker which defines its class in the deployment that
    /// serves.
    pub(super) fn isolate_of(&self, scope: &CellScope) -> Option<Rc<ScriptIsolate>> {
        let busy = self.busy_host(scope);
        busy.or_else(|| self.serving.borrow().as_ref()?.of_class(scope.class()).cloned())
    }

    pub fn state(&self) -> &Rc<ShardState> {
        &self.state
    }

    pub fn connections(&self) -> &Connections {
        &self.connections
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.is_cancelled()
    }

    /// Brings a cell here and says, once it is durable, which alarm it has.
    fn wake(&self, scope: CellScope, reply: oneshot::Sender<Result<Option<i64>, ErrorDescription>>) {
        let state = self.state.clone();
        tokio::task::spawn_local(async move {
            let woken = wake(&state, &scope).await;
            // Whoever asked may have stopped waiting; the alarm is armed all the same.
            let _ = reply.send(woken);
        });
    }

    fn open(&self, mail: Mail) {
        match mail {
            Mail::Cell(call) => self.call(call),
            Mail::Entry { script, entrypoint, props, target } => {
                let serving = self.serving();
                match serving.as_ref().and_then(|workers| workers.of_script(&script)) {
                    Some(isolate) => enter(isolate, &entrypoint, props, target),
                    None => {
                        let why = format!("The deployment has no Worker {script} any more.");
                        target.refuse(ErrorDescription::new(why));
                    }
                }
            }
            Mail::Export { isolate, target, call: RpcCall { path, args, reply } } => {
                match self.isolate(isolate) {
                    Some(isolate) => {
                        let id = rpc_event(&isolate, reply);
                        isolate.deliver_export(id, target, &path, args);
                    }
                    None => {
                        let gone = ErrorDescription::new("The destination of this RPC stub is gone.");
                        drop(reply.send(Err(gone.into())));
                    }
                }
            }
            Mail::Holders { isolate, target, change } => {
                if let Some(isolate) = self.isolate(isolate) {
                    isolate.count_export(target, change);
                }
            }
        }
    }

    /// Runs a call from elsewhere in the isolate that serves the cell.
    fn call(&self, call: Call) {
        let Call { scope, name, target } = call;
        let target = match target {
            CallTarget::Wake { reply } => return self.wake(scope, reply),
            target => target,
        };
        let Some(isolate) = self.isolate_of(&scope) else {
            let why = match self.serving() {
                Some(_) => format!("The deployment has no Durable Object class {}.", scope.class()),
                None => "The node serves no deployment.".to_owned(),
            };
            target.refuse(ErrorDescription::new(why));
            return;
        };
        match target {
            CallTarget::Fetch { method, url, headers, body, reply } => {
                let has_body = !body.is_empty();
                let event = Event { headers, body: has_body.then_some(body), reply: Reply::Fetch(reply) };
                let id = isolate.state.events.borrow_mut().insert(event);
                isolate.deliver_fetch(
                    id,
                    scope.class(),
                    scope.id(),
                    name.as_deref(),
                    &method,
                    &url,
                    has_body,
                );
            }
            // Answered above.
            CallTarget::Wake { .. } => {}
            CallTarget::Rpc(RpcCall { path, args, reply }) => {
                let id = rpc_event(&isolate, reply);
                isolate.deliver_rpc(id, scope.class(), scope.id(), name.as_deref(), &path, args);
            }
        }
    }

    /// The isolate that a cell is busy in: until it comes to rest its events go there, also when a newer deployment serves.
    pub fn busy_host(&self, scope: &CellScope) -> Option<Rc<ScriptIsolate>> {
        let resident = self.state.residents.get(scope).filter(|resident| resident.active.get())?;
        self.isolate(resident.host()?)
    }

    /// The isolate with this serial number.
    fn isolate(&self, serial: u64) -> Option<Rc<ScriptIsolate>> {
        let serving = self.serving.borrow();
        let draining = self.draining.borrow();
        let mut all = serving
            .iter()
            .flat_map(|workers| workers.iter())
            .chain(draining.iter().map(|(isolate, _)| isolate));
        all.find(|isolate| isolate.state.serial == serial).cloned()
    }

    fn evict(&self, resident: &Resident, reason: Option<&str>) {
        if let Some(isolate) = resident.host().and_then(|serial| self.isolate(serial)) {
            isolate.evict(resident, reason);
        }
    }

    /// Takes wanted residents out of their isolates at a safe point: nothing runs in them and all they wrote is durable.
    async fn move_wanted(self: Rc<Self>) {
        loop {
            self.state.wanted_signal.notified().await;
            let wanted = std::mem::take(&mut *self.state.wanted.borrow_mut());
            for resident in wanted {
                if !resident.active.get() && resident.position.get() <= self.state.log.durable() {
                    self.evict(&resident, None);
                }
            }
        }
    }

    /// Hands what parked sockets say to their cells, in the isolate that serves.
    async fn deliver_sockets(self: Rc<Self>, mut events: mpsc::UnboundedReceiver<SocketEvent>) {
        while let Some(SocketEvent { resident, socket, said, begun }) = events.recv().await {
            // Without a class to wake, dropping `begun` tells the socket.
            let serving = self.serving();
            let class = resident.scope.class();
            let Some(isolate) = serving.as_ref().and_then(|workers| workers.of_class(class)) else {
                continue;
            };
            let event = Event { headers: Default::default(), body: None, reply: Reply::Socket(begun) };
            let id = isolate.state.events.borrow_mut().insert(event);
            isolate.deliver_socket(id, &resident, socket, said);
        }
    }

    async fn keep_house(self: Rc<Self>) {
        let mut tick = tokio::time::interval(HOUSEKEEPING);
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        let mut closed = Vec::new();
        let mut looked = Instant::now();
        while !self.stopping.is_cancelled() {
            tick.tick().await;
            let now = Instant::now();
            self.retire(now);
            self.look_at_memory(now, &mut looked);
            self.close_idle_connections(now, &mut closed);
            let Some(limit) = self.state.options.idle_evict else {
                closed.clear();
                continue;
            };
            closed.retain(|resident: &Rc<Resident>| match resident.idle_for(now) {
                // Whatever it does now, it comes back here through the idle queue.
                None => false,
                Some(idle) if idle < limit || resident.position.get() > self.state.log.durable() => true,
                Some(_) => {
                    self.evict(resident, None);
                    false
                }
            });
        }
    }

    /// Closes the SQLite connections of cells that have been idle for a while, and moves them on to `closed`.
    fn close_idle_connections(&self, now: Instant, closed: &mut Vec<Rc<Resident>>) {
        for resident in self.state.take_idle() {
            match resident.idle_for(now) {
                None => {}
                Some(idle) if idle < CLOSE_CONNECTION_AFTER => self.state.keep_idle(resident),
                Some(_) => {
                    self.close_connection(&resident);
                    closed.push(resident);
                }
            }
        }
    }

    fn close_connection(&self, resident: &Resident) {
        let place = resident.host().and_then(|serial| self.isolate(serial));
        if let (Some(isolate), Place::Hosted { handle, .. }) = (place, &*resident.place.borrow()) {
            isolate.close_idle_connection(*handle);
        }
    }

    /// Forces the cells of isolates that are past their time, and drops isolates that have nothing left to do.
    fn retire(&self, now: Instant) {
        let draining = self.draining.borrow().clone();
        for (isolate, since) in draining {
            let hosted = self.state.residents.hosted_by(isolate.state.serial);
            let late = now.duration_since(since) >= self.state.options.deploy_max_age;
            for resident in &hosted {
                if late {
                    isolate.evict(
                        resident,
                        Some("The Durable Object's code was updated; the event was cancelled."),
                    );
                } else {
                    self.state.want(resident);
                }
            }
            let finished =
                hosted.is_empty() && isolate.live_events() == 0 && isolate.state.events.borrow().len() == 0;
            // A stateless event has as long as a cell.
            if finished || (late && hosted.is_empty()) {
                isolate.close();
                self.draining.borrow_mut().retain(|(other, _)| !Rc::ptr_eq(other, &isolate));
            }
        }
    }

    fn census(&self) -> Census {
        let residents = self.state.residents.all();
        let serving = self.serving();
        let serves = |serial| serving.as_ref().is_some_and(|workers| workers.by_serial(serial).is_some());
        let draining = self.draining.borrow();
        let events = |isolate: &Rc<ScriptIsolate>| isolate.state.events.borrow().len();
        Census {
            owned_cells: self.state.residents.len(),
            resident_cells: residents.iter().filter(|r| r.host().is_some()).count(),
            connections: self.connections.tracker.len(),
            events: serving.iter().flat_map(|workers| workers.iter()).map(events).sum::<usize>()
                + draining.iter().map(|(isolate, _)| events(isolate)).sum::<usize>(),
            draining: draining.iter().map(|(isolate, _)| isolate.deployment.id.clone()).collect(),
            moving_cells: residents.iter().filter(|r| r.host().is_some_and(|host| !serves(host))).count(),
        }
    }

    /// Lets requests finish, then closes everything. What was written is committed; whether it is durable is the log's business.
    async fn stop(&self, mailbox: &mut mpsc::Receiver<Mail>) -> Vec<StoppedCell> {
        self.connections.closing.cancel();
        self.connections.tracker.close();
        let drained = self.connections.tracker.wait();
        tokio::pin!(drained);
        loop {
            tokio::select! {
                () = &mut drained => break,
                // A request that finishes may still call cells of this shard.
                mail = mailbox.recv() => match mail {
                    Some(mail) => self.open(mail),
                    None => break,
                },
            }
        }
        self.stopping.cancel();
        mailbox.close();
        while let Ok(mail) = mailbox.try_recv() {
            mail.refuse(ErrorDescription::new("The node is shutting down."));
        }
        for resident in self.state.residents.all() {
            self.evict(&resident, Some("The node is shutting down."));
        }
        let draining = std::mem::take(&mut *self.draining.borrow_mut());
        draining.iter().for_each(|(isolate, _)| isolate.close());
        if let Some(workers) = self.serving.borrow_mut().take() {
            workers.iter().for_each(|isolate| isolate.close());
        }
        self.state.residents.all().iter().filter_map(|resident| stopped_cell(resident)).collect()
    }
}

/// Takes the database of a parked cell; what has no file is forgotten.
fn stopped_cell(resident: &Resident) -> Option<StoppedCell> {
    let place = std::mem::replace(&mut *resident.place.borrow_mut(), Place::Activating);
    let Place::Parked(db) = place else { return None };
    let Ok(Image::File(file)) = db.into_image() else { return None };
    let (epoch, txid) = (resident.epoch.get(), resident.txid.get());
    Some(StoppedCell { scope: resident.scope.clone(), epoch, txid, file })
}

/// Calls an entrypoint.
fn enter(isolate: &ScriptIsolate, entrypoint: &str, props: Vec<u8>, target: CallTarget) {
    match target {
        CallTarget::Fetch { method, url, headers, body, reply } => {
            let has_body = !body.is_empty();
            let event = Event { headers, body: has_body.then_some(body), reply: Reply::Fetch(reply) };
            let id = isolate.state.events.borrow_mut().insert(event);
            isolate.deliver_entry_fetch(id, entrypoint, props, &method, &url, has_body);
        }
        CallTarget::Rpc(RpcCall { path, args, reply }) => {
            let id = rpc_event(isolate, reply);
            isolate.deliver_entry_rpc(id, entrypoint, props, &path, args);
        }
        target @ CallTarget::Wake { .. } => target.refuse(ErrorDescription::new("Only a cell has alarms.")),
    }
}

/// Notes an RPC call whose answer goes to `reply`.
fn rpc_event(isolate: &ScriptIsolate, reply: oneshot::Sender<RpcReply>) -> u32 {
    let event = Event { headers: Default::default(), body: None, reply: Reply::Rpc(reply) };
    isolate.state.events.borrow_mut().insert(event)
}

async fn wake(state: &Rc<ShardState>, scope: &CellScope) -> Result<Option<i64>, ErrorDescription> {
    let (resident, is_new) = state.residents.get_or_start(scope);
    if is_new {
        state.activate(&resident);
    }
    loop {
        let changed = resident.changed.notified();
        tokio::pin!(changed);
        changed.as_mut().enable();
        let failure = match &*resident.place.borrow() {
            Place::Activating => None,
            Place::Failed(error) => Some(error.to_string()),
            Place::Parked(_) | Place::Hosted { .. } => break,
        };
        if let Some(failure) = failure {
            // The next event tries again, as after a failed call.
            state.forget(scope);
            return Err(ErrorDescription::new(failure));
        }
        changed.await;
    }
    let alarm = resident.alarm.time.get();
    let durable = state.log.wait(resident.position.get()).await;
    durable.map_err(|error| ErrorDescription::new(error.to_string()))?;
    Ok(alarm)
}
