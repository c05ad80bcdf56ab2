//! The property the session log rests on: a replica that only sees committed transactions holds, after every commit,
//! exactly the bytes of the cell's image.
//!
//! Random SQL with rollbacks, savepoints, failures half-way, spilled page caches, budgets that are exceeded, FTS5, a
//! closing connection and `deleteAll`, all from one seed. `CELLD_CAPTURE_SEEDS=400` runs longer than the default.
//!
//! The check itself was checked: it fails within the first seeds when the rollback hook leaves the overlay alone, when
//! `SQLITE_FCNTL_SYNC` is taken for the commit, when a truncation is ignored, and when pages go to the image at once.

mod workload;

use std::sync::Arc;

use celld_storage::{CellDb, CommittedTx, Image, ImagePath, Limits, Savepoint, StorageError, Value};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const PAGE: usize = 4096;
const STEPS: usize = 300;

#[test]
fn replicas_equal_the_image_after_every_commit() {
    let seeds = std::env::var("CELLD_CAPTURE_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(240);
    let totals = (0..seeds).map(run).fold(Totals::default(), Totals::plus);
    println!("{totals:?}");
    // A workload that stopped exercising what it is for would pass unnoticed.
    assert!(totals.transactions > 20 * seeds && totals.pages > 10 * totals.transactions);
    assert!(
        totals.rollbacks > seeds && totals.failures > seeds && totals.largest > 50 && totals.budget_hits > 0
    );
}

/// Some 20 MB in few large transactions: a tree with several interior levels, overflow chains, an index that comes and goes,
/// thousands of free pages, a rollback of most of the database.
#[test]
fn a_large_database_is_captured_too() {
    let dir = tempfile::tempdir().unwrap();
    let path = ImagePath { dir: dir.path().into(), name: "cell".into() };
    let mut db = CellDb::new(Image::Empty, Some(path), Arc::default()).unwrap();
    let mut replica = Replica::default();
    let random = &mut StdRng::seed_from_u64(7);
    let mut commit = |db: &mut CellDb, what: &str| {
        let tx = db.commit().unwrap().unwrap_or_else(|| panic!("{what}: nothing committed"));
        replica.apply(&tx);
        replica.check(db, what);
        tx.pages.len()
    };
    db.exec("CREATE TABLE big(id INTEGER PRIMARY KEY, k TEXT, v BLOB)", &[]).unwrap();
    commit(&mut db, "create");
    for round in 0..8 {
        for row in 0..600 {
            let mut blob = vec![0; if row % 50 == 0 { 40_000 } else { random.random_range(100..6000) }];
            random.fill(&mut blob[..]);
            let key = format!("{:x}", random.random::<u64>());
            let insert = "INSERT INTO big(k, v) VALUES(?, ?)";
            db.exec(insert, &[Value::Text(key.as_bytes()), Value::Blob(&blob)]).unwrap();
        }
        assert!(commit(&mut db, "insert") > 500, "round {round}");
    }
    for sql in [
        "CREATE INDEX big_k ON big(k)",
        "DELETE FROM big WHERE id % 3 <> 0",
        "UPDATE big SET v = v || v WHERE id % 5 = 0",
        "INSERT INTO big(k, v) SELECT k, v FROM big",
        "DROP INDEX big_k",
    ] {
        db.exec(sql, &[]).unwrap();
        commit(&mut db, sql);
        db.exec("DELETE FROM big WHERE id % 2 = 0", &[]).unwrap();
        db.rollback().unwrap();
    }
    assert!(db.exec("VACUUM", &[]).is_err());
    db.exec("DELETE FROM big", &[]).unwrap();
    commit(&mut db, "delete");
    db.delete_all().unwrap();
    assert!(commit(&mut db, "deleteAll") < 10);
    replica.check_integrity("end");
}

#[derive(Debug, Default, Clone, Copy)]
struct Totals {
    transactions: u64,
    pages: u64,
    largest: u64,
    rollbacks: u64,
    failures: u64,
    budget_hits: u64,
}

impl Totals {
    fn plus(self, other: Self) -> Self {
        Self {
            transactions: self.transactions + other.transactions,
            pages: self.pages + other.pages,
            largest: self.largest.max(other.largest),
            rollbacks: self.rollbacks + other.rollbacks,
            failures: self.failures + other.failures,
            budget_hits: self.budget_hits + other.budget_hits,
        }
    }
}

/// A copy of the database made of committed transactions alone.
#[derive(Default)]
struct Replica(Vec<u8>);

impl Replica {
    fn apply(&mut self, tx: &CommittedTx) {
        self.0.resize(tx.commit as usize * PAGE, 0);
        let mut last = 0;
        for page in &tx.pages {
            assert!(page.pgno > last && page.pgno <= tx.commit, "pages ascend and end with the database");
            last = page.pgno;
            let from = (page.pgno as usize - 1) * PAGE;
            self.0[from..from + PAGE].copy_from_slice(&page.data);
        }
    }

    fn check(&self, db: &CellDb, context: &str) {
        let image = db.image().unwrap();
        assert_eq!(image.len(), self.0.len(), "{context}: size");
        let differing: Vec<_> = (0..image.len() / PAGE)
            .filter(|page| image[page * PAGE..][..PAGE] != self.0[page * PAGE..][..PAGE])
            .map(|page| page + 1)
            .collect();
        assert!(differing.is_empty(), "{context}: pages {differing:?} differ");
        if !image.is_empty() {
            let pages = u32::from_be_bytes(image[28..32].try_into().unwrap());
            assert_eq!(pages as usize * PAGE, image.len(), "{context}: the header's size");
        }
    }

    fn check_integrity(&self, context: &str) {
        let mut db = CellDb::new(Image::Memory(self.0.clone()), None, Arc::default()).unwrap();
        assert_eq!(one(&mut db, "PRAGMA quick_check").unwrap(), "ok", "{context}");
    }
}

fn one(db: &mut CellDb, sql: &str) -> Result<String, StorageError> {
    let Some(cursor) = db.exec(sql, &[])?.cursor else { return Ok(String::new()) };
    let row = db.next_row(cursor, |row| match row.get(0) {
        Value::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        other => format!("{other:?}"),
    })?;
    db.close_cursor(cursor);
    Ok(row.value)
}

fn run(seed: u64) -> Totals {
    let random = &mut StdRng::seed_from_u64(seed);
    let dir = tempfile::tempdir().unwrap();
    let path = seed.is_multiple_of(2).then(|| ImagePath { dir: dir.path().into(), name: "cell".into() });
    let limits = Limits {
        // Small caches spill; small budgets are exceeded in every phase of a transaction.
        cache_kib: [40, 200, 8000][seed as usize % 3],
        uncommitted_pages: [usize::MAX, usize::MAX, 300, 60][seed as usize % 4],
        ..Limits::default()
    };
    let mut db = CellDb::new(Image::Empty, path, Arc::new(limits)).unwrap();
    let mut replica = Replica::default();
    let mut totals = Totals::default();
    let mut savepoints: Vec<Savepoint> = Vec::new();
    for step in 0..STEPS {
        let context = format!("seed {seed}, step {step}");
        if savepoints.is_empty() && random.random_range(0..4) == 0 {
            match db.commit() {
                Ok(Some(tx)) => {
                    totals.transactions += 1;
                    totals.pages += tx.pages.len() as u64;
                    totals.largest = totals.largest.max(tx.pages.len() as u64);
                    replica.apply(&tx);
                }
                Ok(None) => {}
                Err(error) => {
                    assert!(error.is_fatal(), "{context}: {error}");
                    totals.budget_hits += u64::from(error.to_string().contains("full"));
                }
            }
            replica.check(&db, &context);
            if random.random_range(0..10) == 0 {
                replica.check_integrity(&context);
            }
        }
        match random.random_range(0..100) {
            0..5 => {
                savepoints.clear();
                totals.rollbacks += u64::from(db.in_transaction());
                db.rollback().unwrap();
                replica.check(&db, &context);
            }
            5..12 => savepoints.extend(db.savepoint().ok()),
            12..20 => {
                if let Some(savepoint) = savepoints.pop() {
                    // A transaction that SQLite rolled back took its savepoints along.
                    let ended =
                        if random.random() { db.release(savepoint) } else { db.rollback_to(savepoint) };
                    if ended.is_err() {
                        savepoints.clear();
                    }
                }
            }
            20..22 => _ = db.close_idle(),
            22 => _ = db.delete_all(),
            _ => {
                if let Err(error) = workload::step(random, &mut db) {
                    totals.failures += 1;
                    totals.budget_hits += u64::from(error.to_string().contains("FULL"));
                }
            }
        }
    }
    replica.check_integrity(&format!("seed {seed}, end"));
    totals
}
