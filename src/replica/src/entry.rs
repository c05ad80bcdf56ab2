//! The objects of a session's log: entries, each a batch of transactions of many cells, and the seal that ends the log.
//!
//! ```text
//! "celldlog"  version u8 = 1  kind u8 (1 entry, 2 seal)  session (u8 length, text)  number u64
//! entry:  count u32, then per transaction: class (u8 length, text)  ID (u8 length, text)  epoch u64  alarm  length u32  LTX file
//! alarm:  u8 (0 unchanged, 1 cleared, 2 set), then when set: time i64
//! seal:   by (u8 length, text)
//! checksum u64: CRC-64/NVME of all before it
//! ```
//!
//! All numbers are big-endian. The session and the number are inside, so an object that was copied to a wrong key is noticed,
//! and a writer that finds an object under its key can tell whether it is its own.

use std::fmt;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use celld_ids::{CellScope, Epoch, InvalidId, SessionId};
use celld_ltx::Encoder;
use crc_fast::{CrcAlgorithm, checksum};

use crate::merged::Logged;

const MAGIC: &[u8; 8] = b"celldlog";
const VERSION: u8 = 1;
const KIND_ENTRY: u8 = 1;
const KIND_SEAL: u8 = 2;

/// Bytes from which [`Kind::peek`] tells what a log object is.
pub(crate) const HEAD: u64 = 10;

/// The place of an object in its session's log. The first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct EntryNo(pub u64);

impl EntryNo {
    /// The place after this one.
    #[must_use]
    pub fn next(self) -> EntryNo {
        EntryNo(self.0.saturating_add(1))
    }
}

impl fmt::Display for EntryNo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// What stands at one place of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum LogObject {
    /// Transactions.
    Entry(Entry),
    /// The end: nothing at or after this place was ever acknowledged.
    Seal(Seal),
}

/// A batch of transactions in the order in which they were committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Whose log it belongs to.
    pub session: SessionId,
    /// Its place there.
    pub number: EntryNo,
    /// At least one.
    pub transactions: Vec<EntryTx>,
}

/// What a transaction does to its cell's alarm. It is in the log beside the transaction, so that whoever takes the log over knows
/// of the alarm without opening the database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum AlarmChange {
    /// Nothing.
    #[default]
    Unchanged,
    /// There is none from now on.
    Cleared,
    /// It is set to this time, in milliseconds since the Unix epoch.
    Set(i64),
}

/// One transaction of one cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryTx {
    /// The cell.
    pub scope: CellScope,
    /// Under which ownership it was committed.
    pub epoch: Epoch,
    /// What it does to the cell's alarm.
    pub alarm: AlarmChange,
    /// The changed pages, as the bytes of an LTX file. Not decoded: the entry's checksum already covers it.
    pub ltx: Bytes,
}

/// The end of a log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Seal {
    /// Whose log it ends.
    pub session: SessionId,
    /// Where.
    pub number: EntryNo,
    /// Which session put it there.
    pub by: SessionId,
}

/// Why bytes are not a log object.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryError {
    /// Another kind of object, or one of a later celld.
    #[error("not a log object of version {VERSION}")]
    Foreign,
    /// The bytes are not what was written.
    #[error("the checksum does not match")]
    Checksum,
    /// The bytes end inside of a field, or go on after the last.
    #[error("the fields do not fill the object")]
    Length,
    /// An entry without transactions: the writer never makes one.
    #[error("the entry is empty")]
    Empty,
    /// A change of the alarm that this celld does not know.
    #[error("unknown kind of alarm change")]
    Alarm,
    /// A name that no session or cell can have.
    #[error(transparent)]
    Name(#[from] InvalidId),
}

/// What kind of object the first [`HEAD`] bytes announce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Entry,
    Seal,
}

impl Kind {
    pub(crate) fn peek(head: &[u8]) -> Result<Kind, EntryError> {
        match head.strip_prefix(MAGIC) {
            Some([VERSION, KIND_ENTRY, ..]) => Ok(Kind::Entry),
            Some([VERSION, KIND_SEAL, ..]) => Ok(Kind::Seal),
            _ => Err(EntryError::Foreign),
        }
    }
}

/// The bytes of an entry. Compresses every page: call it off the event loops when there are many.
pub(crate) fn encode_entry(session: &SessionId, number: EntryNo, transactions: &[Logged]) -> Bytes {
    let mut out = start(KIND_ENTRY, session, number);
    out.put_u32(transactions.len() as u32);
    let mut encoder = Encoder::new();
    let mut ltx = Vec::new();
    for Logged { scope, epoch, alarm, file } in transactions {
        ltx.clear();
        encoder.encode(file, &mut ltx);
        put_text(&mut out, scope.class());
        put_text(&mut out, scope.id());
        out.put_u64(epoch.0);
        put_alarm(&mut out, *alarm);
        out.put_u32(ltx.len() as u32);
        out.put_slice(&ltx);
    }
    finish(out)
}

impl Seal {
    /// The bytes of the seal.
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = start(KIND_SEAL, &self.session, self.number);
        put_text(&mut out, self.by.as_str());
        finish(out)
    }
}

fn start(kind: u8, session: &SessionId, number: EntryNo) -> BytesMut {
    let mut out = BytesMut::with_capacity(256);
    out.put_slice(MAGIC);
    out.put_u8(VERSION);
    out.put_u8(kind);
    put_text(&mut out, session.as_str());
    out.put_u64(number.0);
    out
}

/// Every identifier has at most 128 ASCII characters, so its length fits.
fn put_text(out: &mut BytesMut, text: &str) {
    out.put_u8(text.len() as u8);
    out.put_slice(text.as_bytes());
}

fn put_alarm(out: &mut BytesMut, alarm: AlarmChange) {
    match alarm {
        AlarmChange::Unchanged => out.put_u8(0),
        AlarmChange::Cleared => out.put_u8(1),
        AlarmChange::Set(time) => {
            out.put_u8(2);
            out.put_i64(time);
        }
    }
}

fn finish(mut out: BytesMut) -> Bytes {
    let sum = checksum(CrcAlgorithm::Crc64Nvme, &out);
    out.put_u64(sum);
    out.freeze()
}

impl LogObject {
    /// Decodes one whole object. Never panics, and allocates no more than the bytes justify; the LTX files share `bytes`.
    pub fn decode(bytes: &Bytes) -> Result<LogObject, EntryError> {
        let kind = Kind::peek(bytes)?;
        let end = bytes.len().checked_sub(8).ok_or(EntryError::Length)?;
        let stated = bytes.slice(end..).try_get_u64().map_err(|_| EntryError::Length)?;
        if checksum(CrcAlgorithm::Crc64Nvme, &bytes[..end]) != stated {
            return Err(EntryError::Checksum);
        }
        let body = bytes.slice(..end);
        let mut rest = Fields(body);
        rest.skip(HEAD as usize)?;
        let session = SessionId::new(&rest.text()?)?;
        let number = EntryNo(rest.u64()?);
        let object = match kind {
            Kind::Seal => LogObject::Seal(Seal { session, number, by: SessionId::new(&rest.text()?)? }),
            Kind::Entry => {
                let count = rest.u32()?;
                // Not trusted for an allocation: the vector grows as transactions are found.
                let mut transactions = Vec::new();
                for _ in 0..count {
                    let (class, id) = (rest.text()?, rest.text()?);
                    let scope = CellScope::new(class, id)?;
                    let epoch = Epoch(rest.u64()?);
                    let alarm = rest.alarm()?;
                    let len = rest.u32()? as usize;
                    transactions.push(EntryTx { scope, epoch, alarm, ltx: rest.take(len)? });
                }
                if transactions.is_empty() {
                    return Err(EntryError::Empty);
                }
                LogObject::Entry(Entry { session, number, transactions })
            }
        };
        if rest.0.is_empty() { Ok(object) } else { Err(EntryError::Length) }
    }

    /// `true` when the object says that it stands at this place.
    pub(crate) fn stands_at(&self, session: &SessionId, number: EntryNo) -> bool {
        match self {
            LogObject::Entry(entry) => entry.session == *session && entry.number == number,
            LogObject::Seal(seal) => seal.session == *session && seal.number == number,
        }
    }
}

/// What is left to read.
struct Fields(Bytes);

impl Fields {
    fn take(&mut self, len: usize) -> Result<Bytes, EntryError> {
        if len > self.0.len() {
            return Err(EntryError::Length);
        }
        Ok(self.0.split_to(len))
    }

    fn skip(&mut self, len: usize) -> Result<(), EntryError> {
        self.take(len).map(drop)
    }

    fn u32(&mut self) -> Result<u32, EntryError> {
        self.0.try_get_u32().map_err(|_| EntryError::Length)
    }

    fn u64(&mut self) -> Result<u64, EntryError> {
        self.0.try_get_u64().map_err(|_| EntryError::Length)
    }

    fn alarm(&mut self) -> Result<AlarmChange, EntryError> {
        match self.0.try_get_u8().map_err(|_| EntryError::Length)? {
            0 => Ok(AlarmChange::Unchanged),
            1 => Ok(AlarmChange::Cleared),
            2 => Ok(AlarmChange::Set(self.0.try_get_i64().map_err(|_| EntryError::Length)?)),
            _ => Err(EntryError::Alarm),
        }
    }

    fn text(&mut self) -> Result<String, EntryError> {
        let len = self.0.try_get_u8().map_err(|_| EntryError::Length)?;
        let bytes = self.take(len.into())?;
        String::from_utf8(bytes.to_vec()).map_err(|_| EntryError::Length)
    }
}

#[cfg(test)]
mod tests {
    use celld_ltx::{File, PAGE_SIZE, Page, Txid};
    use proptest::prelude::*;

    use super::*;

    fn file(txid: u64, fill: u8) -> File {
        File::transaction(Txid(txid), 1, vec![Page { pgno: 1, data: vec![fill; PAGE_SIZE].into() }], 0)
            .unwrap()
    }

    fn alarm() -> impl Strategy<Value = AlarmChange> {
        prop_oneof![
            Just(AlarmChange::Unchanged),
            Just(AlarmChange::Cleared),
            any::<i64>().prop_map(AlarmChange::Set)
        ]
    }

    fn object() -> impl Strategy<Value = (Bytes, LogObject)> {
        let scope = ("[A-Za-z$_]{1,20}", "[a-f0-9]{1,64}")
            .prop_filter_map("not a scope", |(class, id)| CellScope::new(class, id).ok());
        let tx = (scope, any::<u64>(), 2..99u64, any::<u8>(), alarm());
        let session = "[a-z0-9.]{3,40}".prop_filter_map("not a session", |text| SessionId::new(&text).ok());
        (session.clone(), any::<u64>(), prop::collection::vec(tx, 0..6), session).prop_map(
            |(session, number, txs, by)| {
                let number = EntryNo(number);
                if txs.is_empty() {
                    let seal = Seal { session, number, by };
                    return (seal.encode(), LogObject::Seal(seal));
                }
                let files: Vec<File> = txs.iter().map(|tx| file(tx.2, tx.3)).collect();
                let out: Vec<Logged> = txs
                    .into_iter()
                    .zip(files)
                    .map(|(tx, file)| Logged { scope: tx.0, epoch: Epoch(tx.1), alarm: tx.4, file })
                    .collect();
                let bytes = encode_entry(&session, number, &out);
                let transactions = out
                    .iter()
                    .map(|tx| EntryTx {
                        scope: tx.scope.clone(),
                        epoch: tx.epoch,
                        alarm: tx.alarm,
                        ltx: celld_ltx::encode(&tx.file).into(),
                    })
                    .collect();
                (bytes, LogObject::Entry(Entry { session, number, transactions }))
            },
        )
    }

    proptest! {
        #[test]
        fn what_is_encoded_decodes_to_the_same((bytes, object) in object()) {
            prop_assert_eq!(LogObject::decode(&bytes).unwrap(), object);
        }

        #[test]
        fn a_changed_byte_is_refused((bytes, _) in object(), flip in 1..=255u8) {
            for at in 0..bytes.len() {
                let mut bad = bytes.to_vec();
                bad[at] ^= flip;
                prop_assert!(LogObject::decode(&bad.into()).is_err(), "byte {}", at);
            }
            for len in 0..bytes.len() {
                prop_assert!(LogObject::decode(&bytes.slice(..len)).is_err(), "cut at {}", len);
            }
        }

        /// With a sound checksum behind them, so that the fields themselves are reached.
        #[test]
        fn arbitrary_fields_never_panic(kind in 1..=2u8, fields in prop::collection::vec(any::<u8>(), 0..300)) {
            let mut out = BytesMut::new();
            out.put_slice(MAGIC);
            out.put_slice(&[VERSION, kind]);
            out.put_slice(&fields);
            let _ = LogObject::decode(&finish(out));
            let _ = LogObject::decode(&Bytes::from(fields));
        }
    }
}
