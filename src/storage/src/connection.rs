//! An open SQLite connection on a cell's store.
#![allow(unsafe_code)]

use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::ffi;

use crate::authorizer::{Author, Authorizer, mentions_reserved};
use crate::backing::{Backing, ReadError};
use crate::error::{StorageError, TRANSACTION_STATEMENT};
use crate::limits::{Limits, MAX_LENGTH};
use crate::memory::{self, Budget};
use crate::statement::{Statement, Step};
use crate::store::Store;
use crate::vfs;

/// Longest SQL text whose compiled statement is kept.
const MAX_CACHED_SQL: usize = 4096;

/// The statements of this crate's that most turns run. A connection finds its own without comparing texts.
#[derive(Clone, Copy)]
pub(crate) enum Usual {
    Begin,
    Commit,
    KvGet,
    KvPut,
}

impl Usual {
    const COUNT: usize = 4;

    fn sql(self) -> &'static str {
        match self {
            Usual::Begin => "BEGIN",
            Usual::Commit => "COMMIT",
            Usual::KvGet => crate::kv::GET,
            Usual::KvPut => crate::kv::PUT,
        }
    }
}

/// One connection, its store, and statements kept for reuse.
///
/// The store, the budget and the authorizer's state have stable addresses (SQLite's callbacks refer to them) and are
/// freed after the connection. Callbacks run only inside calls to SQLite, during which no reference to the store from
/// this side is alive.
pub(crate) struct Connection {
    /// None only while dropping.
    db: Option<NonNull<ffi::sqlite3>>,
    store: NonNull<Store>,
    budget: NonNull<Budget>,
    authorizer: Box<Authorizer>,
    /// Least recently used first.
    cache: Vec<Statement>,
    cache_len: usize,
    /// By [`Usual`].
    usual: [Option<Statement>; Usual::COUNT],
}

// SAFETY: the connection and everything it points to is owned by this value alone. SQLite is built with
// SQLITE_THREADSAFE=1 (asserted at start) and the connection is used by one thread at a time (`&mut`), which
// SQLITE_OPEN_NOMUTEX permits.
unsafe impl Send for Connection {}

impl Connection {
    /// Opens the database of `store`. On failure the store comes back.
    pub(crate) fn open(store: Store, limits: &Limits) -> Result<Self, (StorageError, Box<Store>)> {
        let store = NonNull::from(Box::leak(Box::new(store)));
        let budget = NonNull::from(Box::leak(Box::new(Budget::new(limits.sqlite_bytes))));
        vfs::prepare_open(store.as_ptr());
        // SAFETY: the budget is freed in `drop`, after the guard.
        let entered = unsafe { memory::enter(budget) };
        let flags = ffi::SQLITE_OPEN_READWRITE
            | ffi::SQLITE_OPEN_CREATE
            | ffi::SQLITE_OPEN_NOMUTEX
            | ffi::SQLITE_OPEN_EXRESCODE;
        let mut db = null_mut();
        // SAFETY: NUL-terminated names; `db` receives a handle, which must be closed even after most failures.
        let code = unsafe { ffi::sqlite3_open_v2(c"cell".as_ptr(), &raw mut db, flags, vfs::NAME.as_ptr()) };
        let Some(db) = NonNull::new(db) else {
            drop(entered);
            // SAFETY: both were leaked above, and no connection refers to them.
            let (store, _) = unsafe { (Box::from_raw(store.as_ptr()), Box::from_raw(budget.as_ptr())) };
            return Err((StorageError::Sqlite { message: "out of memory".to_owned(), code }, store));
        };
        let authorizer = Box::new(Authorizer::new());
        let mut this = Self {
            db: Some(db),
            store,
            budget,
            authorizer,
            cache: Vec::new(),
            cache_len: limits.cached_statements,
            usual: Default::default(),
        };
        let configured = if code == ffi::SQLITE_OK { this.configure(limits) } else { Err(this.error(code)) };
        drop(entered);
        match configured {
            Ok(()) => Ok(this),
            Err(error) => Err((error, Box::new(this.close()))),
        }
    }

    fn raw(&self) -> *mut ffi::sqlite3 {
        self.db.map_or(null_mut(), NonNull::as_ptr)
    }

    fn configure(&mut self, limits: &Limits) -> Result<(), StorageError> {
        let db = self.raw();
        // SAFETY: the handle is open. The callbacks' context pointers are the store and the authorizer, which live
        // until after the connection is closed; the flag of the progress handler is kept by `Limits`, see below.
        unsafe {
            ffi::sqlite3_rollback_hook(db, Some(on_rollback), self.store.as_ptr().cast());
            ffi::sqlite3_commit_hook(db, Some(on_commit), self.store.as_ptr().cast());
            ffi::sqlite3_set_authorizer(db, Some(authorize), (&raw const *self.authorizer).cast_mut().cast());
            // Double-quoted strings are on in workerd; SQLite's build default here is off.
            for (option, value) in [
                (ffi::SQLITE_DBCONFIG_DEFENSIVE, 1),
                (ffi::SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
                (ffi::SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0),
                (ffi::SQLITE_DBCONFIG_DQS_DML, 1),
                (ffi::SQLITE_DBCONFIG_DQS_DDL, 1),
            ] {
                ffi::sqlite3_db_config(db, option, value as c_int, null_mut::<c_int>());
            }
            for (limit, value) in [
                (ffi::SQLITE_LIMIT_LENGTH, MAX_LENGTH),
                (ffi::SQLITE_LIMIT_SQL_LENGTH, 100_000),
                (ffi::SQLITE_LIMIT_COLUMN, 100),
                (ffi::SQLITE_LIMIT_EXPR_DEPTH, 100),
                (ffi::SQLITE_LIMIT_COMPOUND_SELECT, 5),
                (ffi::SQLITE_LIMIT_VDBE_OP, 25_000),
                (ffi::SQLITE_LIMIT_ATTACHED, 0),
                (ffi::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50),
                (ffi::SQLITE_LIMIT_VARIABLE_NUMBER, 100),
                (ffi::SQLITE_LIMIT_TRIGGER_DEPTH, 10),
                (ffi::SQLITE_LIMIT_WORKER_THREADS, 0),
            ] {
                ffi::sqlite3_limit(db, limit, value);
            }
            if let Some(interrupt) = &limits.interrupt {
                let flag: *const AtomicBool = &**interrupt;
                ffi::sqlite3_progress_handler(db, 1000, Some(on_progress), flag.cast_mut().cast());
            }
        }
        // Everything else that the VFS needs is a default of this build (see `options`).
        self.run("PRAGMA journal_mode=MEMORY")?;
        self.run(&format!("PRAGMA cache_size=-{}", limits.cache_kib))?;
        // Not needed again before the next open.
        self.cache.clear();
        Ok(())
    }

    /// Charges this cell for the SQLite memory used until the result is dropped.
    pub(crate) fn enter(&self) -> memory::Entered {
        // SAFETY: the budget is freed in `drop`; no caller keeps a guard beyond the life of the connection.
        unsafe { memory::enter(self.budget) }
    }

    /// The store, for as long as no call into SQLite is made.
    pub(crate) fn store(&mut self) -> &mut Store {
        // SAFETY: the store is owned by this value and outside of SQLite's calls nobody else touches it.
        unsafe { self.store.as_mut() }
    }

    pub(crate) fn store_ref(&self) -> &Store {
        // SAFETY: as in `store`.
        unsafe { self.store.as_ref() }
    }

    /// Bytes SQLite holds for this connection.
    pub(crate) fn sqlite_bytes(&self) -> usize {
        // SAFETY: owned by this value.
        unsafe { self.budget.as_ref() }.used()
    }

    /// Says on whose behalf statements are compiled and run from here on.
    pub(crate) fn set_author(&self, author: Author) {
        self.authorizer.author.set(author);
    }

    /// False while a transaction is open.
    pub(crate) fn is_autocommit(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { ffi::sqlite3_get_autocommit(self.raw()) != 0 }
    }

    /// Rows inserted, updated or deleted since the connection opened.
    pub(crate) fn total_changes(&self) -> i64 {
        // SAFETY: the handle is open.
        unsafe { ffi::sqlite3_total_changes64(self.raw()) }
    }

    /// Compiles the first statement of `sql`. Returns it (none for white space and comments) and the text after it.
    pub(crate) fn prepare<'a>(&mut self, sql: &'a str) -> Result<(Option<Statement>, &'a str), StorageError> {
        self.authorizer.denied_transaction.set(false);
        self.authorizer.is_pragma.set(false);
        if self.authorizer.author.get() == Author::User {
            self.authorizer.names_reserved.set(mentions_reserved(sql.as_bytes()));
        }
        let mut raw = null_mut();
        let mut tail: *const c_char = std::ptr::null();
        // SAFETY: the handle is open; the text is given with its length; both outputs are writable.
        let code = unsafe {
            ffi::sqlite3_prepare_v3(
                self.raw(),
                sql.as_ptr().cast(),
                sql.len().min(c_int::MAX as usize) as c_int,
                0,
                &raw mut raw,
                &raw mut tail,
            )
        };
        if code != ffi::SQLITE_OK {
            if self.authorizer.denied_transaction.get() {
                return Err(StorageError::usage(TRANSACTION_STATEMENT));
            }
            return Err(self.error(code));
        }
        // The tail points into the text; SQLite splits only at characters of ASCII.
        let consumed = (tail as usize).saturating_sub(sql.as_ptr() as usize).min(sql.len());
        let rest = sql.get(consumed..).unwrap_or("");
        // SAFETY: a fresh statement, owned from here on.
        let statement = NonNull::new(raw).map(|raw| unsafe {
            Statement::from_raw(raw, self.authorizer.author.get(), self.authorizer.is_pragma.get())
        });
        Ok((statement, rest))
    }

    /// A statement for `sql`, which must be one statement: from the cache, or compiled.
    pub(crate) fn prepare_cached(&mut self, sql: &str) -> Result<Statement, StorageError> {
        if let Some(statement) = self.take_cached(sql) {
            return Ok(statement);
        }
        match self.prepare(sql)? {
            (Some(statement), _) => Ok(statement),
            (None, _) => Err(StorageError::usage("SQL code did not contain a statement.")),
        }
    }

    /// Takes the compiled statement of exactly this text and the current author out of the cache.
    pub(crate) fn take_cached(&mut self, sql: &str) -> Option<Statement> {
        let author = self.authorizer.author.get();
        let at = self.cache.iter().rposition(|statement| statement.is(sql, author))?;
        Some(self.cache.remove(at))
    }

    /// Resets a statement and keeps it for the next use of the same text.
    pub(crate) fn recycle(&mut self, mut statement: Statement) {
        statement.reset();
        if self.cache_len == 0 || statement.sql_len() > MAX_CACHED_SQL {
            return;
        }
        statement.clear_bindings();
        if self.cache.len() >= self.cache_len {
            self.cache.remove(0);
        }
        self.cache.push(statement);
    }

    /// One of this crate's own statements; the author is celld.
    pub(crate) fn take_usual(&mut self, which: Usual) -> Result<Statement, StorageError> {
        match self.usual[which as usize].take() {
            Some(statement) => Ok(statement),
            None => self.prepare_cached(which.sql()),
        }
    }

    /// Resets what [`take_usual`](Self::take_usual) gave, takes its bindings away, and keeps it.
    pub(crate) fn keep_usual(&mut self, which: Usual, mut statement: Statement) {
        statement.reset();
        if self.cache_len > 0 {
            statement.clear_bindings();
            self.usual[which as usize] = Some(statement);
        }
    }

    /// As [`run`](Self::run), for one of this crate's own statements without rows.
    pub(crate) fn run_usual(&mut self, which: Usual) -> Result<(), StorageError> {
        let mut statement = self.take_usual(which)?;
        let result = statement.step().map(drop).map_err(|code| self.error(code));
        self.keep_usual(which, statement);
        result
    }

    /// Runs one statement that has no parameters and whose rows do not matter.
    pub(crate) fn run(&mut self, sql: &str) -> Result<(), StorageError> {
        let mut statement = self.prepare_cached(sql)?;
        loop {
            match statement.step() {
                Ok(Step::Row) => {}
                Ok(Step::Done) => break,
                Err(code) => {
                    let error = self.error(code);
                    self.recycle(statement);
                    return Err(error);
                }
            }
        }
        self.recycle(statement);
        Ok(())
    }

    /// The error SQLite reported last on this connection.
    pub(crate) fn error(&self, code: i32) -> StorageError {
        if code & 0xff == ffi::SQLITE_IOERR
            && let Some(ReadError::Page { pgno, error }) = self.store_ref().read_failure()
        {
            return StorageError::page(*pgno, error);
        }
        // SAFETY: the handle is open; the message is NUL-terminated and copied at once.
        let (mut message, offset) = unsafe {
            let message = CStr::from_ptr(ffi::sqlite3_errmsg(self.raw())).to_string_lossy().into_owned();
            (message, ffi::sqlite3_error_offset(self.raw()))
        };
        if offset >= 0 {
            message.push_str(&format!(" at offset {offset}"));
        }
        StorageError::Sqlite { message, code }
    }

    /// Closes the connection; what was not committed is gone. The caller has dropped all statements but the cached.
    pub(crate) fn close(mut self) -> Store {
        self.shut();
        std::mem::replace(self.store(), Store::new(Backing::Memory(Vec::new()), 0, 0))
    }

    fn shut(&mut self) {
        let Some(db) = self.db.take() else { return };
        let _entered = self.enter();
        self.cache.clear();
        self.usual = Default::default();
        // SAFETY: the handle is open and closed once. No statement is alive: the cache is empty, and the owner drops
        // its cursors first.
        unsafe { ffi::sqlite3_close(db.as_ptr()) };
    }
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.shut();
        // SAFETY: both were leaked in `open`; the connection whose callbacks referred to them is closed.
        unsafe {
            drop(Box::from_raw(self.store.as_ptr()));
            drop(Box::from_raw(self.budget.as_ptr()));
        }
    }
}

unsafe extern "C" fn on_rollback(store: *mut c_void) {
    // SAFETY: the context set in `configure`.
    let store = unsafe { &mut *store.cast::<Store>() };
    store.rolled_back = true;
    store.rollback();
}

unsafe extern "C" fn on_commit(store: *mut c_void) -> c_int {
    // SAFETY: the context set in `configure`.
    let store = unsafe { &*store.cast::<Store>() };
    c_int::from(store.refuse_commits)
}

unsafe extern "C" fn on_progress(interrupt: *mut c_void) -> c_int {
    // SAFETY: the flag is owned by the cell's `Limits`, which outlive its connection.
    let interrupt = unsafe { &*interrupt.cast::<AtomicBool>() };
    c_int::from(interrupt.load(Ordering::Relaxed))
}

unsafe extern "C" fn authorize(
    context: *mut c_void,
    action: c_int,
    first: *const c_char,
    second: *const c_char,
    database: *const c_char,
    _trigger: *const c_char,
) -> c_int {
    // SAFETY: the context set in `configure`; the strings are null or NUL-terminated and live through the call.
    let allowed = unsafe {
        let text = |text: *const c_char| if text.is_null() { None } else { Some(CStr::from_ptr(text)) };
        let authorizer = &*context.cast::<Authorizer>();
        authorizer.allows(action, text(first), text(second), text(database))
    };
    if allowed { ffi::SQLITE_OK } else { ffi::SQLITE_DENY }
}
