//! Random histories of a session that folds, compared with what it was given: every size of its memory, every kind of database, a store
//! that fails, points that are kept, alarms, handovers away and back, crashes and clean stops.

use std::collections::BTreeMap;
use std::time::Duration;

use celld_bucket::{Bucket, Faults};
use celld_ids::{CellScope, Epoch};
use celld_ltx::{File, Image, PAGE_SIZE, Page, Txid};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tokio::time::{Instant, sleep};

use crate::entry::{AlarmChange, EntryNo};
use crate::log::{CellTx, LogOptions, Position, SessionLog};
use crate::proof::{Broken, options, session};
use crate::{Target, due_wakes, keys, record, restore, restore_at, seal_session};

const CELLS: usize = 4;

/// What a cell must be.
struct Cell {
    scope: CellScope,
    epoch: Epoch,
    image: Image,
    /// The database after each transaction.
    past: BTreeMap<u64, Vec<u8>>,
    alarm: Option<(i64, Epoch)>,
    kept: Vec<u64>,
    positions: Vec<(Position, u64)>,
}

impl Cell {
    fn new(number: usize) -> Cell {
        Cell {
            scope: CellScope::new("Room", format!("c{number}")).unwrap(),
            epoch: Epoch(1),
            image: Image::empty(),
            past: BTreeMap::from([(0, Vec::new())]),
            alarm: None,
            kept: Vec::new(),
            positions: Vec::new(),
        }
    }

    fn txid(&self) -> u64 {
        self.past.last_key_value().map_or(0, |(txid, _)| *txid)
    }

    /// The next transaction: the database grows, shrinks or stays, and some pages are written.
    fn step(&mut self, random: &mut StdRng, clock: &mut i64) -> CellTx {
        *clock += 1;
        let (txid, before) = (self.txid() + 1, self.image.pages());
        let stays = before > 0 && random.random_bool(0.6);
        let lowest = u32::from(random.random_bool(0.97));
        let commit = if stays { before } else { random.random_range(lowest..9) };
        let written: Vec<u32> = (1..=commit).filter(|_| random.random_bool(0.35)).collect();
        let page = |pgno| {
            let mut data = vec![random.random::<u8>(); PAGE_SIZE];
            data[..8].copy_from_slice(&txid.to_be_bytes());
            Page { pgno, data: data.into() }
        };
        let pages: Vec<Page> = written.into_iter().map(page).collect();
        let alarm = match random.random_range(0..6) {
            0 => AlarmChange::Set(*clock + 1_000_000),
            1 => AlarmChange::Cleared,
            _ => AlarmChange::Unchanged,
        };
        match alarm {
            AlarmChange::Set(time) => self.alarm = Some((time, self.epoch)),
            AlarmChange::Cleared => self.alarm = None,
            AlarmChange::Unchanged => {}
        }
        let file = File::transaction(Txid(txid), commit, pages.clone(), *clock).unwrap();
        self.image.apply(&file, 100).unwrap();
        self.past.insert(txid, self.image.bytes().to_vec());
        let (scope, epoch) = (self.scope.clone(), self.epoch);
        CellTx { scope, epoch, txid: Txid(txid), commit, pages, timestamp_ms: *clock, alarm }
    }
}

fn one_of(random: &mut StdRng, values: &[u64]) -> u64 {
    values[random.random_range(0..values.len())]
}

fn random_options(random: &mut StdRng) -> LogOptions {
    LogOptions {
        merge_bytes: one_of(random, &[0, 4096, 4 * 4096, 16 * 4096, 64 * 4096, 1 << 20]),
        keep_bytes: one_of(random, &[0, 4096, 16384, 1 << 20]),
        fold_entries: one_of(random, &[1, 3, 8, 100]) as usize,
        fold_bytes: one_of(random, &[1, 4096, 100_000, 1 << 20]),
        fold_interval: Duration::from_millis(one_of(random, &[1, 50, 1000, 100_000])),
        entry_bytes: one_of(random, &[1, 3 * 8192, 1 << 20]),
        durability_timeout: Duration::from_secs(600),
        compact_txids: one_of(random, &[5, 12, 100]),
        retention: Duration::from_secs(100_000),
        ..options(Broken::None)
    }
}

fn random_faults(random: &mut StdRng) -> Faults {
    if random.random_bool(0.3) {
        return Faults { seed: 1, latency: Duration::from_millis(1), ..Faults::default() };
    }
    Faults {
        seed: random.random(),
        latency: Duration::from_millis(2),
        jitter: Duration::from_millis(random.random_range(1..60)),
        lost_request: random.random_range(0.0..0.25),
        lost_response: random.random_range(0.0..0.1),
        late: 0.03,
        late_by: Duration::from_millis(random.random_range(1..2000)),
        throttled: random.random_range(0.0..0.2),
        ..Faults::default()
    }
}

/// Every cell is what it was left as, and its alarm has a wake entry.
async fn check_all(bucket: &Bucket, cells: &[Cell], what: &str) {
    for cell in cells {
        let restored = restore(bucket, &cell.scope).await.unwrap_or_else(|e| panic!("{what}: {e}"));
        assert_eq!(restored.txid.0, cell.txid(), "{what}");
        assert!(restored.image == cell.past[&cell.txid()], "{what}: wrong image");
    }
    let wakes = due_wakes(bucket, i64::MAX, 10_000).await.unwrap();
    for cell in cells {
        if let Some((time, epoch)) = cell.alarm {
            let is_it =
                |wake: &crate::Wake| (wake.due_ms, &wake.scope, wake.epoch) == (time, &cell.scope, epoch);
            assert!(wakes.iter().any(is_it), "{what}: no wake entry");
        }
    }
}

/// The entries that are acknowledged and not folded stand in the bucket.
async fn check_log(bucket: &Bucket, log: &SessionLog, what: &str) {
    let acknowledged = log.entries();
    let listed = bucket.list(&keys::log_dir(log.session()), None, 100_000).await.unwrap();
    let mark = record::read(bucket, log.session()).await.unwrap().unwrap().record.folded;
    assert!(mark <= log.entries(), "{what}: the mark is beyond what is acknowledged");
    for number in mark + 1..=acknowledged {
        let key = keys::log(log.session(), EntryNo(number));
        assert!(listed.iter().any(|listed| listed.key == key), "{what}: entry {number} is gone");
    }
}

/// Folds, again and again while the store fails. False if the session has failed.
async fn fold(log: &SessionLog, what: &str) -> bool {
    for _ in 0..200 {
        if log.fold().await.is_ok() {
            return true;
        }
        if log.failed().is_some() {
            return false;
        }
        sleep(Duration::from_millis(300)).await;
    }
    panic!("{what}: no fold succeeds");
}

async fn history(seed: u64) {
    let what = format!("seed {seed}");
    let random = &mut StdRng::seed_from_u64(seed);
    let bucket = Bucket::in_memory();
    let store = bucket.with_faults(random_faults(random));
    let options = random_options(random);
    let (merge_bytes, keep_bytes) = (options.merge_bytes, options.keep_bytes);
    let old = session("old.1");
    let Ok(log) = SessionLog::start(store.clone(), old.clone(), options).await else { return };
    let shared = log.shared_for_tests();
    let mut clock = 1000;
    let mut cells: Vec<Cell> = (0..CELLS).map(Cell::new).collect();
    for _ in 0..random.random_range(20..150) {
        let cell = random.random_range(0..CELLS);
        match random.random_range(0..100) {
            0..70 => {
                let burst = if random.random_bool(0.1) { 20 } else { 1 };
                for cell in (cell..cell + burst).map(|number| number % CELLS) {
                    let position = log.append(cells[cell].step(random, &mut clock));
                    let txid = cells[cell].txid();
                    cells[cell].positions.push((position, txid));
                }
            }
            70..78 if cells[cell].txid() > 0 => {
                let txid = cells[cell].txid();
                log.keep_point(&cells[cell].scope, Txid(txid));
                cells[cell].kept.push(txid);
            }
            78..83 => {
                if !fold(&log, &what).await {
                    return;
                }
                check_all(&bucket, &cells, &format!("{what}, after a fold")).await;
            }
            83..86 => cells[cell].epoch = Epoch(cells[cell].epoch.0 + 1),
            _ => sleep(Duration::from_millis(random.random_range(0..200))).await,
        }
        if log.failed().is_some() {
            return;
        }
        // A fold of entries that came late may hold more pages than that.
        let (pages, _, kept) = shared.pending.lock().held();
        assert!(pages <= merge_bytes && kept <= keep_bytes, "{what}: too much is held");
        check_log(&bucket, &log, &what).await;
    }
    let mut is_closed = false;
    if random.random_bool(0.5) {
        is_closed = fold(&log, &what).await && log.close().await.is_ok();
        assert!(!is_closed || shared.pending.lock().held() == (0, 0, 0), "{what}: something is still held");
    }
    let durable = log.durable();
    drop(log);
    let mut is_sealed = false;
    for _ in 0..500 {
        is_sealed = is_sealed || seal_session(&store, &old, &session("new.1")).await.is_ok();
    }
    assert!(is_sealed, "{what}: no seal");
    sleep(Duration::from_secs(60)).await;
    for cell in &cells {
        let restored = restore(&bucket, &cell.scope).await.unwrap_or_else(|e| panic!("{what}: {e}"));
        let durable = cell.positions.iter().filter(|(position, _)| *position <= durable);
        let acknowledged = durable.map(|(_, txid)| *txid).max().unwrap_or(0);
        assert!(restored.txid.0 >= acknowledged, "{what}: {acknowledged} is lost");
        assert!(restored.image == cell.past[&restored.txid.0], "{what}: wrong image in the end");
        if is_closed {
            for txid in &cell.kept {
                let at = restore_at(&bucket, &cell.scope, Target::Txid(Txid(*txid))).await;
                let at = at.unwrap_or_else(|e| panic!("{what}: kept point {txid}: {e}"));
                assert!(at.moment.exact && at.image == cell.past[txid], "{what}: kept point {txid}");
            }
        }
    }
    if is_closed {
        check_all(&bucket, &cells, &format!("{what}, closed")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn what_was_acknowledged_is_folded_as_it_was() {
    for seed in 0..400 {
        history(seed).await;
    }
}

/// Entries for which there was no room are an exception: what comes after them is merged again, also when it never stops coming.
#[tokio::test(start_paused = true)]
async fn merging_comes_back_under_load() {
    for gap in [10, 60, 400].map(Duration::from_millis) {
        let store = Faults { seed: 1, latency: Duration::from_millis(30), ..Faults::default() };
        let store = Bucket::in_memory().with_faults(store);
        let options = LogOptions { merge_bytes: 1 << 20, ..LogOptions::default() };
        let log = SessionLog::start(store, session("old.1"), options).await.unwrap();
        let (random, mut clock) = (&mut StdRng::seed_from_u64(1), 0);
        let mut cells: Vec<Cell> = (0..1000).map(Cell::new).collect();
        for cell in &mut cells {
            log.append(cell.step(random, &mut clock));
        }
        log.wait(log.appended()).await.unwrap();
        let shared = log.shared_for_tests();
        assert!(shared.pending.lock().is_full());
        let start = Instant::now();
        while shared.pending.lock().is_full() {
            assert!(start.elapsed() < Duration::from_secs(30), "{gap:?}");
            log.append(cells[0].step(random, &mut clock));
            sleep(gap).await;
        }
    }
}
