//! Where things lie in the bucket. Numbers have a fixed width, so that the order of keys is the order of numbers.

use celld_ids::{CellScope, Epoch, NodeId, SessionId};
use celld_ltx::{Header, Txid};

use crate::entry::EntryNo;

/// How often a cell's history has been merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Level {
    /// Folded from the log.
    L0,
    /// Merged from L0.
    L1,
    /// A snapshot.
    L9,
}

impl Level {
    fn name(self) -> &'static str {
        match self {
            Level::L0 => "L0",
            Level::L1 => "L1",
            Level::L9 => "L9",
        }
    }

    fn parse(name: &str) -> Option<Level> {
        [Level::L0, Level::L1, Level::L9].into_iter().find(|level| level.name() == name)
    }
}

/// The name of one object of a cell's history: everything about it that its key tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct HistoryName {
    /// Under which ownership it was written.
    pub epoch: Epoch,
    /// How it came to be.
    pub level: Level,
    /// First transaction in it.
    pub min: Txid,
    /// Last transaction in it.
    pub max: Txid,
    /// When the last transaction was committed, in milliseconds since the Unix epoch; zero when nobody knows. It is part of the
    /// key so that a listing alone tells which object leads to which moment.
    pub timestamp_ms: u64,
}

impl HistoryName {
    /// The name of the object with this header.
    pub(crate) fn of(epoch: Epoch, level: Level, header: &Header) -> HistoryName {
        let timestamp_ms = u64::try_from(header.timestamp_ms).unwrap_or(0);
        HistoryName { epoch, level, min: header.min_txid, max: header.max_txid, timestamp_ms }
    }

    /// `true` when everything in `other` is in this object too.
    pub(crate) fn covers(&self, other: &HistoryName) -> bool {
        self.min <= other.min && other.max <= self.max
    }
}

pub(crate) fn session(session: &SessionId) -> String {
    format!("sessions/{session}.json")
}

pub(crate) fn log_dir(session: &SessionId) -> String {
    format!("log/{session}")
}

pub(crate) fn log(session: &SessionId, number: EntryNo) -> String {
    format!("log/{session}/{number}")
}

/// The number of a log object from its key.
pub(crate) fn parse_log(session: &SessionId, key: &str) -> Option<EntryNo> {
    let name = key.strip_prefix(&log_dir(session))?.strip_prefix('/')?;
    parse_hex(name).map(EntryNo)
}

pub(crate) fn owner(scope: &CellScope) -> String {
    format!("cells/{}/{}/owner.json", scope.class(), scope.id())
}

pub(crate) fn node(node: &NodeId) -> String {
    format!("nodes/{node}.json")
}

/// Where the alarms lie, in the order of their times.
pub(crate) const WAKES: &str = "wakes";

/// Negative times do not occur: an alarm is set to a time after 1970.
pub(crate) fn wake(due_ms: i64, scope: &CellScope, epoch: Epoch) -> String {
    format!("{WAKES}/{:016x}/{}/{}/{:016x}", due_ms.max(0), scope.class(), scope.id(), epoch.0)
}

/// Due time, cell and epoch of a wake entry from its key; `None` for a key that celld does not write.
pub(crate) fn parse_wake(key: &str) -> Option<(i64, CellScope, Epoch)> {
    let rest = key.strip_prefix(WAKES)?.strip_prefix('/')?;
    let mut parts = rest.split('/');
    let (due, class, id, epoch) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
    let scope = CellScope::new(class, id).ok()?;
    let due = i64::try_from(parse_hex(due)?).ok()?;
    parts.next().is_none().then_some((due, scope, Epoch(parse_hex(epoch)?)))
}

pub(crate) fn history_dir(scope: &CellScope) -> String {
    format!("cells/{}/{}/ltx", scope.class(), scope.id())
}

pub(crate) fn history(scope: &CellScope, name: &HistoryName) -> String {
    let HistoryName { epoch, level, min, max, timestamp_ms } = name;
    let dir = format!("{}/e{:016x}/{}", history_dir(scope), epoch.0, level.name());
    match timestamp_ms {
        0 => format!("{dir}/{min}-{max}.ltx"),
        at => format!("{dir}/{min}-{max}-{at:016x}.ltx"),
    }
}

/// The name of a history object from its key; `None` for a key that celld does not write.
pub(crate) fn parse_history(scope: &CellScope, key: &str) -> Option<HistoryName> {
    let rest = key.strip_prefix(&history_dir(scope))?.strip_prefix("/e")?;
    let (epoch, rest) = rest.split_once('/')?;
    let (level, file) = rest.split_once('/')?;
    let (min, rest) = file.strip_suffix(".ltx")?.split_once('-')?;
    let (max, timestamp_ms) = match rest.split_once('-') {
        None => (rest, 0),
        // Only one spelling: an unknown time is left out.
        Some((max, at)) => (max, parse_hex(at).filter(|at| *at != 0)?),
    };
    Some(HistoryName {
        epoch: Epoch(parse_hex(epoch)?),
        level: Level::parse(level)?,
        min: Txid(parse_hex(min)?),
        max: Txid(parse_hex(max)?),
        timestamp_ms,
    })
}

/// The name of the history object that has these page checksums beside it.
pub(crate) fn parse_sums(scope: &CellScope, key: &str) -> Option<HistoryName> {
    parse_history(scope, &format!("{}.ltx", key.strip_suffix(".sums")?))
}

fn parse_hex(text: &str) -> Option<u64> {
    let exact = text.len() == 16 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    exact.then(|| u64::from_str_radix(text, 16).ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_back_from_their_keys() {
        let scope = CellScope::new("Room", "abc").unwrap();
        let timestamp_ms = 0x199_0000_0000;
        let name =
            HistoryName { epoch: Epoch(3), level: Level::L1, min: Txid(10), max: Txid(0xfff), timestamp_ms };
        let key = history(&scope, &name);
        assert_eq!(
            key,
            "cells/Room/abc/ltx/e0000000000000003/L1/000000000000000a-0000000000000fff-0000019900000000.ltx"
        );
        assert_eq!(parse_history(&scope, &key), Some(name));
        let name = HistoryName { timestamp_ms: 0, ..name };
        let key = history(&scope, &name);
        assert_eq!(key, "cells/Room/abc/ltx/e0000000000000003/L1/000000000000000a-0000000000000fff.ltx");
        assert_eq!(parse_history(&scope, &key), Some(name));
        let zero = key.replace(".ltx", "-0000000000000000.ltx");
        assert_eq!(parse_history(&scope, &zero), None);
        assert_eq!(parse_history(&scope, "cells/Room/abc/ltx/e3/L1/a-f.ltx"), None);

        let key = wake(1_700_000_000_000, &scope, Epoch(7));
        assert_eq!(parse_wake(&key), Some((1_700_000_000_000, scope.clone(), Epoch(7))));
        assert_eq!(parse_wake(&format!("{key}/more")), None);

        let id = SessionId::new("n.1").unwrap();
        assert_eq!(parse_log(&id, &log(&id, EntryNo(77))), Some(EntryNo(77)));
        assert_eq!(parse_log(&id, "log/n.10/0000000000000001"), None);
    }
}
