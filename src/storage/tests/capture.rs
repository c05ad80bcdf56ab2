//! The property the session log rests on: a replica that only sees committed transactions holds, after every commit,
//! exactly the bytes of the cell's image.
//!
//! Random SQL with rollbacks, savepoints, failures half-way, spilled page caches, budgets that are exceeded, FTS5, a
//! closing connection and `deleteAll`, all from one seed. `CELLD_CAPTURE_SEEDS=400` runs longer than the default.
//!
//! The check itself was checked: it fails within the first seeds when the rollback hook leaves the overlay alone, when
//! `SQLITE_FCNTL_SYNC` is taken for the commit, when a truncation is ignored, and when pages go to the image at once.

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
                if let Err(error) = step_of(random, &mut db) {
                    totals.failures += 1;
                    totals.budget_hits += u64::from(error.to_string().contains("FULL"));
                }
            }
        }
    }
    replica.check_integrity(&format!("seed {seed}, end"));
    totals
}

/// One statement, which may fail.
fn step_of(random: &mut StdRng, db: &mut CellDb) -> Result<(), StorageError> {
    let key = |random: &mut StdRng| format!("k{}", random.random_range(0..400));
    let blob = |random: &mut StdRng| {
        let len = match random.random_range(0..100) {
            0..70 => random.random_range(0..200),
            70..95 => random.random_range(200..3000),
            _ => random.random_range(3000..30_000),
        };
        let mut bytes = vec![0; len];
        random.fill(&mut bytes[..]);
        bytes
    };
    // Blobs of many rows come from a hash of the row, so that a seed repeats.
    const ROWS: &str = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ?)";
    const FILL: &str = "unhex(printf('%0*x', 1400, (i * 2654435761 + ?) % 4294967296))";
    let number = |random: &mut StdRng, below: u32| Value::Integer(i64::from(random.random_range(1..below)));
    let mut exec = |sql: &str, bindings: &[Value<'_>]| db.exec(sql, bindings).map(drop);
    match random.random_range(0..100) {
        0..6 => exec("CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, v BLOB)", &[]),
        6..9 => exec("CREATE VIRTUAL TABLE IF NOT EXISTS f USING fts5(body)", &[]),
        9..30 => {
            let (key, blob) = (key(random), blob(random));
            exec(
                "INSERT OR REPLACE INTO t(k, v) VALUES(?, ?)",
                &[Value::Text(key.as_bytes()), Value::Blob(&blob)],
            )
        }
        30..38 => {
            let (key, blob) = (key(random), blob(random));
            exec("UPDATE t SET v = ? WHERE k = ?", &[Value::Blob(&blob), Value::Text(key.as_bytes())])
        }
        38..44 => {
            let key = key(random);
            exec(
                "DELETE FROM t WHERE k >= ? AND id % ? = 0",
                &[Value::Text(key.as_bytes()), number(random, 9)],
            )
        }
        44..50 => {
            let sql = format!(
                "INSERT OR IGNORE INTO t(k, v) {ROWS} SELECT 'k' || (i * 7919 % 4000), {FILL} FROM n"
            );
            exec(&sql.replacen('?', &random.random_range(1..300).to_string(), 1), &[number(random, 99_999)])
        }
        // Fails at its third row, which undoes the first two.
        50..54 => exec("INSERT INTO t(k, v) VALUES('x1', 1), ('x2', 1), ('x1', 2)", &[]),
        // Fails with its first row in place.
        54 => exec("INSERT OR FAIL INTO t(k) VALUES('q1'), ('q2'), ('q1')", &[]),
        // Rolls back the whole turn.
        55 => exec("UPDATE OR ROLLBACK t SET k = 'k1' WHERE id % 7 = 1", &[]),
        56..62 => {
            let text = format!("{} {} w{}", key(random), key(random), random.random_range(0..50));
            exec("INSERT INTO f VALUES(?)", &[Value::Text(text.as_bytes())])
        }
        62 => exec("DELETE FROM f WHERE rowid % 3 = 0", &[]),
        63 => exec("INSERT INTO f(f) VALUES('optimize')", &[]),
        64..66 => exec("CREATE TABLE IF NOT EXISTS x AS SELECT * FROM t", &[]),
        66..68 => exec("DROP TABLE IF EXISTS x", &[]),
        68 => exec("CREATE INDEX IF NOT EXISTS xi ON t(v)", &[]),
        69 => exec("DROP INDEX IF EXISTS xi", &[]),
        70 => exec("UPDATE t SET v = zeroblob(length(v))", &[]),
        71 => exec("DELETE FROM t WHERE id % 10 <> 0", &[]),
        72..74 => exec("SELECT count(*) FROM (SELECT * FROM t ORDER BY v)", &[]),
        // Left open on purpose: cursors live through commits and rollbacks.
        74..76 => exec("SELECT * FROM t", &[]),
        76..78 => exec("INSERT INTO t(k) VALUES('r' || random()) RETURNING id", &[]),
        78..92 => {
            let (key, blob) = (key(random), blob(random));
            db.kv_put(&key, &blob)
        }
        92..97 => {
            let key = key(random);
            db.kv_delete(&key).map(drop)
        }
        // Refused inside the turn's transaction, and it must stay without effect.
        97 => exec("VACUUM", &[]),
        _ => db.set_alarm(random.random::<bool>().then_some(1)),
    }
}
