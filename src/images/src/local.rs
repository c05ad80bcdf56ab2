//! Which local image files may be trusted: those that a clean stop has vouched for, and that are still what it saw.
//!
//! A node that stops cleanly has nothing left to prove: everything its cells committed is in the log, and their files hold exactly
//! that. It writes a *marker* that names each file with the cell, the session and epoch that wrote it, the last transaction, the size
//! and a checksum of the whole file. The next process takes the marker away before it serves anything, so one stop is trusted once:
//! after a crash there is none, and all files are removed.
//!
//! The file alone is not enough. Another node may have served the cell meanwhile, so the file counts only while the owner record
//! still named that session and epoch, and while the history in the bucket ends at that very transaction
//! ([`LocalImages::take`]). Any doubt means: restore from the bucket.
//!
//! The checksum is over the whole file (CRC-64/NVME, about 10 GB/s) and not kept up to date during the session, which would cost
//! every commit. That bounds the size of a file worth keeping: reading 256 MiB back takes a fraction of a second, and a larger cell
//! is there sooner when it is paged in. Larger files are not vouched for.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use celld_ids::{CellScope, Epoch, SessionId};
use celld_ltx::{PAGE_SIZE, Txid};
use crc_fast::{CrcAlgorithm, Digest, checksum};
use serde::{Deserialize, Serialize};

/// The name of the marker, beside the directory of the images.
pub const MARKER: &str = "clean-stop";

/// What the marker's first line begins with; the rest of it is the checksum of everything after it.
const HEAD: &str = "celld clean stop 1 ";

/// The largest file that a clean stop vouches for.
const LARGEST: u64 = 256 << 20;

/// One cell at a clean stop. Everything it has committed is durable, and its file holds exactly that.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CleanCell {
    /// The cell.
    pub scope: CellScope,
    /// Under which ownership it was served.
    pub epoch: Epoch,
    /// Its last transaction.
    pub txid: Txid,
    /// Its image file.
    pub file: PathBuf,
}

/// What a clean stop says about one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vouched {
    class: String,
    id: String,
    session: SessionId,
    epoch: Epoch,
    txid: u64,
    /// The file's name in the directory of the images.
    file: String,
    size: u64,
    crc: u64,
}

/// What became of the files at a clean stop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CleanStop {
    /// Files that the next process may use.
    pub kept: usize,
    /// Files that it restores from the bucket: too large, unreadable, or there was no time.
    pub left_out: usize,
}

/// The files that the last clean stop vouched for and nobody has used yet.
#[derive(Debug, Default)]
pub(crate) struct LocalImages {
    cells: HashMap<CellScope, Vouched>,
}

impl LocalImages {
    /// Takes away the marker beside `dir`, creates `dir` when it is not there, and removes every file in it that the marker does not
    /// name. From here on a crash leaves nothing that anybody trusts.
    pub(crate) fn open(dir: &Path) -> io::Result<LocalImages> {
        std::fs::create_dir_all(dir)?;
        let cells = consume(&marker_of(dir))?;
        for entry in std::fs::read_dir(dir)? {
            let path = entry?.path();
            let name = path.file_name().and_then(|name| name.to_str());
            if !cells.values().any(|cell| Some(cell.file.as_str()) == name) {
                remove(&path)?;
            }
        }
        Ok(LocalImages { cells })
    }

    /// Hands over the file of `scope`, if the session that owned the cell last was the one that stopped, in the same epoch, and the
    /// cell's history ends at the same transaction. Whatever the answer, the file is not asked for again.
    pub(crate) fn take(
        &mut self,
        scope: &CellScope,
        owner: Option<(&SessionId, Epoch)>,
        txid: Txid,
    ) -> Option<Candidate> {
        let cell = self.cells.remove(scope)?;
        let same = owner == Some((&cell.session, cell.epoch)) && Txid(cell.txid) == txid;
        if !same {
            tracing::info!(cell = %scope, "the local image is not the cell's last state; it is restored from the bucket");
        }
        same.then_some(Candidate { cell })
    }

    /// Vouches for the files of `cells`, served by `session`, and again for those that were not used since the last clean stop. Stops
    /// adding files at `deadline`. The files are on disk before the marker is.
    pub(crate) fn vouch(
        self,
        dir: &Path,
        session: &SessionId,
        cells: Vec<CleanCell>,
        deadline: Instant,
    ) -> io::Result<CleanStop> {
        let mut stop = CleanStop::default();
        let mut vouched: Vec<Vouched> = Vec::with_capacity(cells.len() + self.cells.len());
        for cell in cells {
            let seen = if Instant::now() < deadline { examine(dir, session, &cell) } else { Ok(None) };
            match seen {
                Ok(Some(cell)) => vouched.push(cell),
                Ok(None) => stop.left_out += 1,
                Err(error) => {
                    tracing::warn!(cell = %cell.scope, %error, "the cell's local image is not kept");
                    stop.left_out += 1;
                }
            }
        }
        vouched.extend(self.cells.into_values());
        stop.kept = vouched.len();
        if !vouched.is_empty() {
            // One call for all files: thousands of them would take as many waits for the disk.
            rustix::fs::syncfs(File::open(dir)?)?;
            write_marker(&marker_of(dir), &vouched)?;
        }
        Ok(stop)
    }
}

/// A file that may be a cell's last state, if its content is still what it was.
#[derive(Debug)]
pub(crate) struct Candidate {
    cell: Vouched,
}

impl Candidate {
    /// Reads the file in `dir` and compares; the path when it is unchanged. A file that is not is removed. Blocks.
    pub(crate) fn verify(self, dir: &Path) -> Option<PathBuf> {
        let path = dir.join(&self.cell.file);
        let problem = match fingerprint(&path) {
            Ok(found) if found == (self.cell.size, self.cell.crc) => return Some(path),
            Ok((size, _)) if size != self.cell.size => format!("{size} bytes instead of {}", self.cell.size),
            Ok(_) => "its checksum does not match".to_owned(),
            Err(error) => error.to_string(),
        };
        tracing::warn!(path = %path.display(), problem, "a local image has changed since the node stopped; it is not used");
        let _ = remove(&path);
        None
    }
}

fn marker_of(dir: &Path) -> PathBuf {
    dir.with_file_name(MARKER)
}

/// Reads the marker and removes it, durably. A marker that is damaged in any way vouches for nothing.
fn consume(marker: &Path) -> io::Result<HashMap<CellScope, Vouched>> {
    let text = match std::fs::read_to_string(marker) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(HashMap::new()),
        Err(error) if error.kind() == io::ErrorKind::InvalidData => String::new(),
        Err(error) => return Err(error),
    };
    std::fs::remove_file(marker)?;
    sync_dir(marker)?;
    let Some(cells) = parse(&text) else {
        tracing::warn!(path = %marker.display(), "the marker of the last clean stop is damaged; local images are not used");
        return Ok(HashMap::new());
    };
    Ok(cells
        .into_iter()
        .filter(|cell| is_plain(&cell.file))
        .filter_map(|cell| Some((CellScope::new(cell.class.as_str(), cell.id.as_str()).ok()?, cell)))
        .collect())
}

fn parse(text: &str) -> Option<Vec<Vouched>> {
    let (head, body) = text.split_once('\n')?;
    let stated = u64::from_str_radix(head.strip_prefix(HEAD)?, 16).ok()?;
    if checksum(CrcAlgorithm::Crc64Nvme, body.as_bytes()) != stated {
        return None;
    }
    serde_json::from_str(body).ok()
}

/// The marker leads to files of its own directory only.
fn is_plain(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\0'])
}

fn write_marker(marker: &Path, cells: &[Vouched]) -> io::Result<()> {
    let body = serde_json::to_string(cells)?;
    let crc = checksum(CrcAlgorithm::Crc64Nvme, body.as_bytes());
    let staged = marker.with_extension("new");
    let mut file = File::create(&staged)?;
    file.write_all(format!("{HEAD}{crc:016x}\n{body}").as_bytes())?;
    file.sync_all()?;
    std::fs::rename(&staged, marker)?;
    sync_dir(marker)
}

/// Makes a change of names beside `path` durable.
fn sync_dir(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

fn remove(path: &Path) -> io::Result<()> {
    let removed = if path.is_dir() { std::fs::remove_dir_all(path) } else { std::fs::remove_file(path) };
    match removed {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// What the marker says about the file of `cell`; None when it is not worth keeping.
fn examine(dir: &Path, session: &SessionId, cell: &CleanCell) -> io::Result<Option<Vouched>> {
    let name = cell.file.file_name().and_then(|name| name.to_str());
    let Some(name) = name.filter(|name| dir.join(name) == cell.file) else {
        return Err(io::Error::other(format!("{} is not in {}", cell.file.display(), dir.display())));
    };
    let size = std::fs::metadata(&cell.file)?.len();
    if size > LARGEST || size == 0 || size % PAGE_SIZE as u64 != 0 {
        return Ok(None);
    }
    let (size, crc) = fingerprint(&cell.file)?;
    Ok(Some(Vouched {
        class: cell.scope.class().to_owned(),
        id: cell.scope.id().to_owned(),
        session: session.clone(),
        epoch: cell.epoch,
        txid: cell.txid.0,
        file: name.to_owned(),
        size,
        crc,
    }))
}

/// Size and checksum of a file.
fn fingerprint(path: &Path) -> io::Result<(u64, u64)> {
    let mut file = File::open(path)?;
    let mut digest = Digest::new(CrcAlgorithm::Crc64Nvme);
    let mut buffer = vec![0; 256 << 10];
    let mut size = 0;
    loop {
        match file.read(&mut buffer)? {
            0 => return Ok((size, digest.finalize())),
            n => {
                digest.update(&buffer[..n]);
                size += n as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    struct Stop {
        _root: tempfile::TempDir,
        dir: PathBuf,
        session: SessionId,
    }

    fn scope(id: &str) -> CellScope {
        CellScope::new("Room", id).unwrap()
    }

    /// A node that served two cells and stopped cleanly.
    fn stopped() -> Stop {
        let root = tempfile::tempdir().unwrap();
        let dir = root.path().join("cells");
        let session = SessionId::new("n.1").unwrap();
        let local = LocalImages::open(&dir).unwrap();
        let cells = ["a", "b"].map(|id| {
            let file = dir.join(format!("Room-{id}.db"));
            std::fs::write(&file, vec![id.as_bytes()[0]; 3 * PAGE_SIZE]).unwrap();
            CleanCell { scope: scope(id), epoch: Epoch(4), txid: Txid(17), file }
        });
        let deadline = Instant::now() + Duration::from_secs(60);
        let stop = local.vouch(&dir, &session, cells.to_vec(), deadline).unwrap();
        assert_eq!(stop, CleanStop { kept: 2, left_out: 0 });
        Stop { _root: root, dir, session }
    }

    impl Stop {
        /// What the next process gets for a cell, when the bucket says this about it.
        fn next(&self, id: &str, session: &str, epoch: u64, txid: u64) -> Option<PathBuf> {
            let session = SessionId::new(session).unwrap();
            let mut local = LocalImages::open(&self.dir).unwrap();
            local.take(&scope(id), Some((&session, Epoch(epoch))), Txid(txid))?.verify(&self.dir)
        }

        fn files(&self) -> usize {
            std::fs::read_dir(&self.dir).unwrap().count()
        }
    }

    #[test]
    fn a_clean_stop_is_trusted_once() {
        let stop = stopped();
        let path = stop.dir.join("Room-a.db");
        assert_eq!(stop.next("a", "n.1", 4, 17), Some(path.clone()));
        assert_eq!(stop.files(), 2);
        // The process that used it crashed: there is no marker any more, and nothing is left.
        assert_eq!(stop.next("a", "n.1", 4, 17), None);
        assert_eq!(stop.files(), 0);
    }

    #[test]
    fn any_doubt_means_no() {
        assert_eq!(stopped().next("a", "n.2", 4, 17), None, "another session");
        assert_eq!(stopped().next("a", "n.1", 5, 17), None, "another epoch");
        assert_eq!(stopped().next("a", "n.1", 4, 18), None, "the history leads further");
        assert_eq!(stopped().next("a", "n.1", 4, 16), None, "the history ends earlier");
        assert_eq!(stopped().next("c", "n.1", 4, 17), None, "another cell");
        let stop = stopped();
        let mut local = LocalImages::open(&stop.dir).unwrap();
        assert!(local.take(&scope("a"), None, Txid(17)).is_none(), "nobody owned it");
    }

    #[test]
    fn a_file_that_changed_is_not_used() {
        for change in 0..4 {
            let stop = stopped();
            let path = stop.dir.join("Room-a.db");
            let mut bytes = std::fs::read(&path).unwrap();
            match change {
                0 => bytes[5000] ^= 1,
                1 => bytes.truncate(2 * PAGE_SIZE),
                2 => bytes.extend([0; PAGE_SIZE]),
                _ => {}
            }
            std::fs::write(&path, &bytes).unwrap();
            if change == 3 {
                std::fs::remove_file(&path).unwrap();
            }
            assert_eq!(stop.next("a", "n.1", 4, 17), None, "change {change}");
            assert!(!path.exists());
        }
    }

    #[test]
    fn a_damaged_marker_vouches_for_nothing() {
        let stop = stopped();
        let marker = marker_of(&stop.dir);
        let good = std::fs::read(&marker).unwrap();
        for at in (0..good.len()).step_by(7) {
            let mut bytes = good.clone();
            bytes[at] ^= 0x10;
            std::fs::write(&marker, bytes).unwrap();
            assert!(consume(&marker).unwrap().is_empty(), "byte {at}");
            assert!(!marker.exists());
            std::fs::write(&marker, &good[..at]).unwrap();
            assert!(consume(&marker).unwrap().is_empty(), "{at} bytes");
        }
    }

    #[test]
    fn what_was_not_used_stays_for_another_clean_stop() {
        let stop = stopped();
        let mut local = LocalImages::open(&stop.dir).unwrap();
        let session = stop.session.clone();
        assert!(local.take(&scope("a"), Some((&session, Epoch(4))), Txid(17)).is_some());
        // Only `a` was served, up to another transaction.
        let cell = CleanCell {
            scope: scope("a"),
            epoch: Epoch(5),
            txid: Txid(20),
            file: stop.dir.join("Room-a.db"),
        };
        let second = SessionId::new("n.2").unwrap();
        let far = Instant::now() + Duration::from_secs(60);
        assert_eq!(local.vouch(&stop.dir, &second, vec![cell], far).unwrap().kept, 2);
        let marker = std::fs::read(marker_of(&stop.dir)).unwrap();
        assert!(stop.next("b", "n.1", 4, 17).is_some());
        std::fs::write(marker_of(&stop.dir), marker).unwrap();
        assert!(stop.next("a", "n.2", 5, 20).is_some());
    }

    #[test]
    fn what_takes_too_long_or_lies_elsewhere_is_left_out() {
        let stop = stopped();
        let file = stop.dir.join("Room-a.db");
        let cell = CleanCell { scope: scope("a"), epoch: Epoch(5), txid: Txid(20), file };
        let local = LocalImages::open(&stop.dir).unwrap();
        let elsewhere = CleanCell { file: stop.dir.join("../Room-a.db"), ..cell.clone() };
        let far = Instant::now() + Duration::from_secs(60);
        let done = local.vouch(&stop.dir, &stop.session, vec![elsewhere], far).unwrap();
        // Those of the stop before are still there.
        assert_eq!(done, CleanStop { kept: 2, left_out: 1 });
        let done =
            LocalImages::default().vouch(&stop.dir, &stop.session, vec![cell], Instant::now()).unwrap();
        assert_eq!(done, CleanStop { kept: 0, left_out: 1 });
    }
}
