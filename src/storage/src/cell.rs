//! The database of one cell: its life, its transaction, its savepoints.

use std::sync::Arc;

use crate::authorizer::Author;
use crate::backing::{Backing, Image, ImagePath};
use crate::connection::{Connection, Usual};
use crate::error::StorageError;
use crate::kv::KvTable;
use crate::limits::Limits;
use crate::sql::Cursors;
use crate::store::{CommittedTx, Store};

/// The database of one cell.
///
/// The connection opens at the first use and closes with [`CellDb::close_idle`]; closed, a small cell costs its
/// compressed image and about a hundred bytes. All writes since the last [`CellDb::commit`] form one transaction.
/// One thread at a time; the value may move between threads.
pub struct CellDb {
    state: State,
    path: Option<ImagePath>,
    limits: Arc<Limits>,
    next_cursor: u32,
    refuse_commits: bool,
}

enum State {
    Closed(Backing),
    Open(Box<Open>),
    /// The image could not be kept in step with what was committed.
    Lost,
}

/// What an open cell has beyond its image. Field order: cursors hold statements and go before the connection.
pub(crate) struct Open {
    pub(crate) cursors: Cursors,
    pub(crate) kv_table: KvTable,
    /// Open savepoints; the innermost has this number.
    savepoints: u32,
    /// Something was written since the transaction began; if SQLite rolls it back, that is lost.
    has_writes: bool,
    /// Why SQLite rolled back a transaction that had writes.
    lost_transaction: Option<String>,
    pub(crate) connection: Connection,
}

/// A point in the open transaction to go back to. Savepoints nest; ending one ends those inside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Savepoint(u32);

impl Savepoint {
    /// How deep it is nested, from 1; with [`Savepoint::at`] for callers that keep a number.
    pub fn depth(self) -> u32 {
        self.0
    }

    /// The savepoint of a depth. One that is not open is refused where it is used.
    pub fn at(depth: u32) -> Self {
        Self(depth)
    }
}

impl CellDb {
    /// A database with this content. `path` is where the image moves when it outgrows memory; without it, it stays
    /// in memory at any size.
    pub fn new(image: Image, path: Option<ImagePath>, limits: Arc<Limits>) -> Result<Self, StorageError> {
        let mut backing = Backing::new(image)?;
        backing.close();
        Ok(Self { state: State::Closed(backing), path, limits, next_cursor: 1, refuse_commits: false })
    }

    /// True while a SQLite connection is open.
    pub fn is_open(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// True when nothing was ever committed.
    pub fn is_empty(&self) -> bool {
        match &self.state {
            State::Closed(backing) => backing.size() == 0,
            State::Open(open) => open.connection.store_ref().backing().size() == 0,
            State::Lost => false,
        }
    }

    /// Bytes of memory this cell holds now, about.
    pub fn memory(&self) -> usize {
        let owned = match &self.state {
            State::Closed(backing) => backing.heap(),
            State::Lost => 0,
            State::Open(open) => {
                let store = open.connection.store_ref();
                size_of::<Open>()
                    + size_of::<Store>()
                    + store.backing().heap()
                    + store.overlay_pages() * celld_ltx::PAGE_SIZE
                    + open.connection.sqlite_bytes()
            }
        };
        size_of::<Self>() + owned + self.path.as_ref().map_or(0, |path| path.name.len())
    }

    /// Closes the connection if no transaction is open, and says whether it is closed now. Open cursors end: reading
    /// on from one is [`StorageError::CursorClosed`].
    pub fn close_idle(&mut self) -> bool {
        if let State::Open(open) = &mut self.state {
            let lost = open.lost_transaction.is_some() || open.connection.store().rolled_back;
            if lost || open.in_transaction() || open.connection.store_ref().masked() {
                return false;
            }
            self.close();
        }
        true
    }

    /// A copy of the last committed state.
    pub fn image(&self) -> Result<Vec<u8>, StorageError> {
        match &self.state {
            State::Closed(backing) => backing.copy(),
            State::Open(open) => open.connection.store_ref().backing().copy(),
            State::Lost => Err(StorageError::ImageLost),
        }
    }

    /// Ends this database and hands out its committed image; uncommitted writes are dropped.
    pub fn into_image(mut self) -> Result<Image, StorageError> {
        self.close();
        match self.state {
            State::Lost => Err(StorageError::ImageLost),
            State::Closed(Backing::File { path, .. }) => Ok(Image::File(path.into())),
            State::Closed(Backing::Paged(image)) => Ok(Image::Paged(image)),
            State::Closed(backing) => Ok(match backing.copy()? {
                bytes if bytes.is_empty() => Image::Empty,
                bytes => Image::Memory(bytes),
            }),
            // `close` leaves no open connection.
            State::Open(_) => Err(StorageError::ImageLost),
        }
    }

    /// While on, every commit fails with [`StorageError::CommitRefused`] and its transaction is rolled back.
    pub fn refuse_commits(&mut self, refuse: bool) {
        self.refuse_commits = refuse;
        if let State::Open(open) = &mut self.state {
            open.connection.store().refuse_commits = refuse;
        }
    }

    /// True when writes wait for [`CellDb::commit`].
    pub fn in_transaction(&self) -> bool {
        matches!(&self.state, State::Open(open) if open.in_transaction() || open.lost_transaction.is_some())
    }

    /// Ends the turn: commits everything written since the last commit and returns it, or None if there was nothing
    /// or a savepoint is open (an asynchronous transaction spans several turns).
    ///
    /// After an error nothing of the turn is in the database, and [`StorageError::is_fatal`] holds: the Worker believes
    /// in writes that do not exist.
    pub fn commit(&mut self) -> Result<Option<CommittedTx>, StorageError> {
        let State::Open(open) = &mut self.state else { return Ok(None) };
        open.notice_rollback();
        if let Some(reason) = open.lost_transaction.take() {
            self.rollback()?;
            return Err(StorageError::RolledBack(reason));
        }
        if open.savepoints > 0 || open.connection.is_autocommit() {
            return Ok(None);
        }
        let entered = open.connection.enter();
        open.connection.set_author(Author::Celld);
        let committed = open.connection.run_usual(Usual::Commit);
        drop(entered);
        if let Err(error) = committed {
            let refused = open.connection.store_ref().refuse_commits;
            self.rollback()?;
            return Err(if refused {
                StorageError::CommitRefused
            } else {
                StorageError::RolledBack(error.to_string())
            });
        }
        open.has_writes = false;
        let store = open.connection.store();
        let transaction = store.take_committed();
        if store.broken() {
            if let Some(error) = store.take_failure() {
                tracing::error!(%error, "cannot write a cell's local image; the cell restores from durable history");
            }
            self.state = State::Lost;
        } else if store.size() > self.limits.memory_image as u64
            && let Some(path) = &self.path
            && let Err(error) = store.backing_mut().move_to_file(path)
        {
            // Not tried again before the cell is next opened: the cell works from memory meanwhile.
            tracing::warn!(%error, "a cell's image stays in memory");
            self.path = None;
        }
        Ok(transaction)
    }

    /// Drops everything written since the last commit. Open cursors end.
    pub fn rollback(&mut self) -> Result<(), StorageError> {
        let State::Open(open) = &mut self.state else { return Ok(()) };
        open.cursors.clear(&mut open.connection);
        open.savepoints = 0;
        open.has_writes = false;
        open.lost_transaction = None;
        open.kv_table = KvTable::Unknown;
        let mut result = Ok(());
        if !open.connection.is_autocommit() {
            let entered = open.connection.enter();
            open.connection.set_author(Author::Celld);
            result = open.connection.run("ROLLBACK");
            drop(entered);
        }
        open.connection.store().rolled_back = false;
        if result.is_err() || open.connection.store_ref().masked() {
            // A new connection starts from the committed pages in any case.
            open.connection.store().unmask();
            self.close();
            return Ok(());
        }
        result
    }

    /// Opens a savepoint in the turn's transaction.
    pub fn savepoint(&mut self) -> Result<Savepoint, StorageError> {
        let open = self.open()?;
        open.begin()?;
        let depth = open.savepoints + 1;
        open.run(&format!("SAVEPOINT _cf_{depth}"))?;
        open.savepoints = depth;
        Ok(Savepoint(depth))
    }

    /// Keeps what was written since the savepoint, and ends it.
    pub fn release(&mut self, savepoint: Savepoint) -> Result<(), StorageError> {
        let open = self.in_savepoint(savepoint)?;
        open.run(&format!("RELEASE _cf_{}", savepoint.0))?;
        open.savepoints = savepoint.0 - 1;
        Ok(())
    }

    /// Drops what was written since the savepoint, and ends it.
    pub fn rollback_to(&mut self, savepoint: Savepoint) -> Result<(), StorageError> {
        let open = self.in_savepoint(savepoint)?;
        open.kv_table = KvTable::Unknown;
        open.run(&format!("ROLLBACK TO _cf_{}", savepoint.0))?;
        open.run(&format!("RELEASE _cf_{}", savepoint.0))?;
        open.savepoints = savepoint.0 - 1;
        Ok(())
    }

    /// Writes `pages` over the committed image and gives it `commit` pages.
    pub(crate) fn replace_pages(
        &mut self,
        commit: u32,
        pages: &[celld_ltx::Page],
    ) -> Result<(), StorageError> {
        self.close();
        let mut backing = match std::mem::replace(&mut self.state, State::Lost) {
            State::Closed(backing) => backing,
            State::Open(_) | State::Lost => return Err(StorageError::ImageLost),
        };
        backing.open()?;
        let written = backing
            .resize(u64::from(commit) * celld_ltx::PAGE_SIZE as u64)
            .and_then(|()| pages.iter().try_for_each(|page| backing.write_page(page.pgno, &page.data)));
        if let Err(error) = written {
            tracing::error!(%error, "cannot write a cell's local image; the cell restores from durable history");
            return Err(StorageError::ImageLost);
        }
        backing.close();
        self.state = State::Closed(backing);
        Ok(())
    }

    /// Size of the database in bytes, with what this turn has written.
    pub fn database_size(&mut self) -> Result<u64, StorageError> {
        let open = self.open()?;
        let _entered = open.connection.enter();
        open.connection.set_author(Author::Celld);
        let mut statement = open.connection.prepare_cached("PRAGMA page_count")?;
        let pages = match statement.step() {
            Ok(_) => match statement.column(0) {
                crate::value::Value::Integer(pages) => pages as u64,
                _ => 0,
            },
            Err(code) => return Err(open.connection.error(code)),
        };
        open.connection.recycle(statement);
        Ok(pages * celld_ltx::PAGE_SIZE as u64)
    }

    /// Deletes everything, user tables included, as part of the turn's transaction. Cursors end.
    pub fn delete_all(&mut self) -> Result<(), StorageError> {
        let open = self.open()?;
        if open.savepoints > 0 {
            return Err(StorageError::usage("Cannot call deleteAll() within a transaction"));
        }
        // A connection on an empty database replaces this one; what the turn wrote before is deleted as well.
        let Some(mut store) = self.disconnect() else { return Err(StorageError::ImageLost) };
        store.mask();
        self.connect_store(store)?;
        let open = self.open()?;
        // Writes page 1, so that the transaction exists and the database has a page in every replica.
        open.begin()?;
        open.run("PRAGMA user_version=0")?;
        open.has_writes = true;
        Ok(())
    }

    /// The open cell, opening it if necessary.
    pub(crate) fn open(&mut self) -> Result<&mut Open, StorageError> {
        if !matches!(self.state, State::Open(_)) {
            self.connect()?;
        }
        match &mut self.state {
            State::Open(open) => Ok(open),
            State::Closed(_) | State::Lost => Err(StorageError::ImageLost),
        }
    }

    /// The open cell, and the number for its next cursor.
    pub(crate) fn open_for_cursor(&mut self) -> Result<(&mut Open, &mut u32), StorageError> {
        self.open()?;
        match &mut self.state {
            State::Open(open) => Ok((open, &mut self.next_cursor)),
            State::Closed(_) | State::Lost => Err(StorageError::ImageLost),
        }
    }

    /// The open cell, or None: for what makes no sense on a closed one.
    pub(crate) fn opened(&mut self) -> Option<&mut Open> {
        match &mut self.state {
            State::Open(open) => Some(open),
            State::Closed(_) | State::Lost => None,
        }
    }

    pub(crate) fn opened_ref(&self) -> Option<&Open> {
        match &self.state {
            State::Open(open) => Some(open),
            State::Closed(_) | State::Lost => None,
        }
    }

    fn connect(&mut self) -> Result<(), StorageError> {
        let mut backing = match std::mem::replace(&mut self.state, State::Lost) {
            State::Closed(backing) => backing,
            other => {
                self.state = other;
                return Err(StorageError::ImageLost);
            }
        };
        if let Err(error) = backing.open() {
            self.state = State::Closed(backing);
            return Err(error);
        }
        self.connect_store(Store::new(backing, self.limits.uncommitted_pages, self.limits.database_pages))
    }

    fn connect_store(&mut self, mut store: Store) -> Result<(), StorageError> {
        store.refuse_commits = self.refuse_commits;
        match Connection::open(store, &self.limits) {
            Ok(connection) => {
                self.state = State::Open(Box::new(Open {
                    cursors: Cursors::default(),
                    kv_table: KvTable::Unknown,
                    savepoints: 0,
                    has_writes: false,
                    lost_transaction: None,
                    connection,
                }));
                Ok(())
            }
            Err((error, store)) => {
                let mut backing = store.into_backing();
                backing.close();
                self.state = State::Closed(backing);
                Err(error)
            }
        }
    }

    /// Closes the connection; uncommitted writes are dropped.
    fn close(&mut self) {
        let Some(store) = self.disconnect() else { return };
        if store.broken() {
            return;
        }
        let mut backing = store.into_backing();
        backing.close();
        self.state = State::Closed(backing);
    }

    /// Ends the connection and leaves the state to the caller; None if none was open.
    fn disconnect(&mut self) -> Option<Store> {
        let open = match std::mem::replace(&mut self.state, State::Lost) {
            State::Open(open) => open,
            other => {
                self.state = other;
                return None;
            }
        };
        let Open { mut cursors, mut connection, .. } = *open;
        cursors.clear(&mut connection);
        Some(connection.close())
    }

    fn in_savepoint(&mut self, savepoint: Savepoint) -> Result<&mut Open, StorageError> {
        let Some(open) = self.opened() else { return Err(StorageError::ImageLost) };
        open.notice_rollback();
        if let Some(reason) = &open.lost_transaction {
            return Err(StorageError::RolledBack(reason.clone()));
        }
        if savepoint.0 == 0 || savepoint.0 > open.savepoints {
            return Err(StorageError::usage("the transaction has already ended"));
        }
        Ok(open)
    }
}

impl Open {
    pub(crate) fn in_transaction(&self) -> bool {
        !self.connection.is_autocommit()
    }

    /// Makes sure that a transaction is open. Reads need none.
    pub(crate) fn begin(&mut self) -> Result<(), StorageError> {
        self.notice_rollback();
        if let Some(reason) = &self.lost_transaction {
            return Err(StorageError::RolledBack(reason.clone()));
        }
        if self.connection.is_autocommit() {
            let _entered = self.connection.enter();
            self.connection.set_author(Author::Celld);
            self.connection.run_usual(Usual::Begin)?;
        }
        Ok(())
    }

    /// Records that the open transaction now contains something.
    pub(crate) fn wrote(&mut self) {
        self.has_writes = true;
    }

    /// A statement failed: if SQLite rolled back the transaction and the turn had written before, that is remembered
    /// for the commit. Returns the error.
    pub(crate) fn failed(&mut self, code: i32) -> StorageError {
        let error = self.connection.error(code);
        self.notice(|| error.to_string());
        error
    }

    fn notice_rollback(&mut self) {
        self.notice(|| "by SQLite".to_owned());
    }

    fn notice(&mut self, reason: impl FnOnce() -> String) {
        if !std::mem::take(&mut self.connection.store().rolled_back) {
            return;
        }
        self.kv_table = KvTable::Unknown;
        if self.has_writes || self.savepoints > 0 {
            self.lost_transaction.get_or_insert_with(reason);
        }
        self.has_writes = false;
        self.savepoints = 0;
    }

    /// Runs a statement of this crate's.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), StorageError> {
        let _entered = self.connection.enter();
        self.connection.set_author(Author::Celld);
        self.connection.run(sql)
    }
}
