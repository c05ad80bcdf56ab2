//! What the engine asks of the process around it: to bring a cell here, to order its transactions durably, to take log lines.
//! The node implements it over the bucket; tests implement it in memory.

use std::sync::Arc;

use celld_ids::{CellScope, Epoch};
use celld_ltx::Txid;
use celld_storage::{CommittedTx, Image};
use futures::future::BoxFuture;

/// The world outside the shards.
pub trait Host: Send + Sync + 'static {
    /// Makes this process the owner of `scope` and fetches its content. Called once per activation; the shard calls it again
    /// only after the cell left the shard.
    fn activate(&self, scope: CellScope) -> BoxFuture<'static, Result<Activation, ActivateError>>;

    /// The bookmark of the last transaction of `scope` that was appended: the cell can be taken back to exactly there.
    fn bookmark(&self, scope: &CellScope, epoch: Epoch, txid: Txid) -> String;

    /// The bookmark of the last transaction of `scope` not later than `time_ms` (milliseconds since the Unix epoch) that it can be
    /// taken back to.
    fn bookmark_at(&self, scope: CellScope, time_ms: u64) -> BoxFuture<'static, Result<String, String>>;

    /// Resolves when `scope` can be taken back to `bookmark`, or with the reason why not.
    fn check_bookmark(&self, scope: CellScope, bookmark: String) -> BoxFuture<'static, Result<(), String>>;

    /// What a transaction must write so that the database `image` of `scope` becomes the one of `bookmark`.
    fn rewind(
        &self,
        scope: CellScope,
        bookmark: String,
        image: Vec<u8>,
    ) -> BoxFuture<'static, Result<CommittedTx, RewindError>>;

    /// The log that orders and proves transactions.
    fn log(&self) -> Arc<dyn CommitLog>;

    /// One line of user output or of the engine's report about user code.
    fn console(&self, line: ConsoleLine);
}

/// A cell that this process owns from now on.
pub struct Activation {
    /// The epoch of the ownership.
    pub epoch: Epoch,
    /// The last transaction in `image`; zero for a cell without history.
    pub txid: Txid,
    /// The content of the cell's database.
    pub image: Image,
}

/// Why a cell cannot run here.
#[derive(Debug, Clone, thiserror::Error)]
pub enum ActivateError {
    /// Another live node owns the cell.
    #[error("cell {scope} is served by node {owner}")]
    Elsewhere {
        /// The cell.
        scope: CellScope,
        /// The owner's session.
        owner: String,
    },
    /// The bucket or the history did not allow it; the text names the object and the cause.
    #[error("cannot activate cell {scope}: {cause}")]
    Failed {
        /// The cell.
        scope: CellScope,
        /// What failed.
        cause: String,
    },
}

/// Why a cell was not taken back.
#[derive(Debug, Clone, thiserror::Error)]
pub enum RewindError {
    /// The bucket did not allow it now.
    #[error("{0}")]
    Now(String),
    /// It will never be possible.
    #[error("{0}")]
    Never(String),
}

/// What a transaction does to the alarm of its cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AlarmChange {
    /// Nothing.
    Unchanged,
    /// There is none from now on.
    Cleared,
    /// It is set to this time, in milliseconds since the Unix epoch.
    Set(i64),
}

/// A place in this process's order of transactions; durable positions form a prefix.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub struct Position(pub u64);

/// The ordered, durable log of this process.
pub trait CommitLog: Send + Sync + 'static {
    /// Gives the transaction its place, and what it does to the cell's alarm with it. Never blocks, never fails: a log that is
    /// broken simply never reports the place as durable.
    fn append(
        &self,
        scope: &CellScope,
        epoch: Epoch,
        txid: Txid,
        tx: CommittedTx,
        alarm: AlarmChange,
    ) -> Position;

    /// The highest position such that it and everything before it is durable.
    fn durable(&self) -> Position;

    /// `true` while cells commit faster than the log can prove: new events of cells are refused.
    fn is_congested(&self) -> bool;

    /// Resolves when `position` is durable, or with the reason why it never will be.
    fn wait(&self, position: Position) -> BoxFuture<'static, Result<(), LogFailed>>;
}

/// The log cannot prove any more writes; this process must stop serving.
#[derive(Debug, Clone, thiserror::Error)]
#[error("the write could not be made durable: {0}")]
pub struct LogFailed(pub Arc<str>);

/// How loud a console line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConsoleLevel {
    /// `console.debug`, `console.trace`.
    Debug,
    /// `console.log`, `console.info` and the rest.
    Info,
    /// `console.warn`.
    Warn,
    /// `console.error`, `console.assert`.
    Error,
    /// An exception that nobody caught.
    Uncaught,
}

/// One line (or block) of output.
#[derive(Debug, Clone)]
pub struct ConsoleLine {
    /// How loud it is.
    pub level: ConsoleLevel,
    /// The script that printed.
    pub script: String,
    /// The formatted text, without a final newline.
    pub text: String,
    /// Where in the user's source the call stands, if it is known.
    pub position: Option<SourcePosition>,
}

/// A place in the user's source files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcePosition {
    /// The file as the source map names it.
    pub file: String,
    /// 1-based line.
    pub line: u32,
    /// 1-based column.
    pub column: u32,
}
