//! A paged cell behaves as one whose image is all here, whatever is missing, whatever fails and whoever fills it meanwhile.
//!
//! The check itself was checked: it fails when a fetched page overwrites a committed one (`PagedImage::fill` without its test for
//! "still missing"), when a truncation leaves the pages behind it missing, when a failed read leaves the overlay of the
//! transaction in place, and when a failed fetch is answered with zeros.

mod workload;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use celld_ltx::Page;
use celld_storage::{
    CellDb, CommittedTx, Image, Limits, PageError, PageSource, PagedImage, StorageError, Value,
};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};

const PAGE: usize = 4096;

/// Pages of an image in memory, with failures and slowness.
struct Source {
    image: Arc<Vec<u8>>,
    /// One call in so many fails; zero: none.
    fails: u64,
    calls: Arc<AtomicU64>,
    failed: Arc<AtomicU32>,
    seed: u64,
}

impl Source {
    fn new(image: &Arc<Vec<u8>>) -> Self {
        Self { image: image.clone(), fails: 0, calls: Arc::default(), failed: Arc::default(), seed: 0 }
    }

    fn page(image: &[u8], pgno: u32) -> Page {
        Page { pgno, data: image[(pgno as usize - 1) * PAGE..][..PAGE].into() }
    }
}

impl PageSource for Source {
    fn read(&self, first: u32, last: u32) -> Result<Vec<Page>, PageError> {
        let call = self.calls.fetch_add(1, Ordering::Relaxed);
        let mut random = StdRng::seed_from_u64(self.seed ^ call);
        if self.fails > 0 && random.random_range(0..self.fails) == 0 {
            self.failed.fetch_add(1, Ordering::Relaxed);
            return Err(PageError::new("no answer from the store"));
        }
        // A source gives what comes along, not always all.
        let last = if random.random() { last } else { first + (last - first) / 2 };
        let last = last.min((self.image.len() / PAGE) as u32);
        Ok((first..=last).map(|pgno| Self::page(&self.image, pgno)).collect())
    }
}

fn paged(dir: &tempfile::TempDir, image: &Arc<Vec<u8>>, source: Source) -> Arc<PagedImage> {
    PagedImage::create(dir.path().join("cell"), (image.len() / PAGE) as u32, Box::new(source)).unwrap()
}

/// Applies what was captured to a copy of the image.
fn apply(image: &mut Vec<u8>, tx: &CommittedTx) {
    image.resize(tx.commit as usize * PAGE, 0);
    for page in &tx.pages {
        image[(page.pgno as usize - 1) * PAGE..][..PAGE].copy_from_slice(&page.data);
    }
}

/// A database with some content, perhaps one that gives back its free pages at each commit.
fn base(seed: u64, auto_vacuum: bool) -> Vec<u8> {
    let mut image = Image::Empty;
    if auto_vacuum {
        let file = tempfile::NamedTempFile::new().unwrap();
        let db = rusqlite::Connection::open(file.path()).unwrap();
        db.execute_batch("PRAGMA page_size = 4096; PRAGMA auto_vacuum = FULL; CREATE TABLE first(x)")
            .unwrap();
        drop(db);
        image = Image::Memory(std::fs::read(file.path()).unwrap());
    }
    let mut db = CellDb::new(image, None, Arc::default()).unwrap();
    let random = &mut StdRng::seed_from_u64(seed);
    for sql in [
        "CREATE TABLE t(id INTEGER PRIMARY KEY, k TEXT UNIQUE, v BLOB)",
        "CREATE VIRTUAL TABLE f USING fts5(body)",
        "CREATE INDEX xi ON t(v)",
    ] {
        db.exec(sql, &[]).unwrap();
    }
    for _ in 0..250 {
        // Some of them fail; that is their purpose.
        let _ = workload::step(random, &mut db);
        if random.random_range(0..4) == 0 {
            let _ = db.commit();
        }
    }
    let _ = db.commit();
    db.image().unwrap()
}

/// Everything that SQL can see.
fn dump(db: &mut CellDb) -> Result<Vec<String>, StorageError> {
    let mut rows = Vec::new();
    let tables = query(
        db,
        "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE '\\_cf%' ESCAPE '\\'",
    )?;
    for table in tables {
        rows.push(format!("-- {table}"));
        // FTS5's own table holds its text under a rowid, its shadow tables are in the list too.
        rows.extend(query(db, &format!("SELECT * FROM \"{}\"", table.trim_matches('\'')))?);
    }
    db.kv_list(&Default::default(), |key, value| {
        rows.push(format!("{key:?} {value:?}"));
        std::ops::ControlFlow::Continue(())
    })?;
    Ok(rows)
}

fn query(db: &mut CellDb, sql: &str) -> Result<Vec<String>, StorageError> {
    let mut cursor = db.exec(sql, &[])?.cursor;
    let mut rows = Vec::new();
    while let Some(id) = cursor {
        let next = db.next_row(id, |row| {
            (0..row.len())
                .map(|at| match row.get(at) {
                    Value::Text(text) => String::from_utf8_lossy(text).into_owned(),
                    other => format!("{other:?}"),
                })
                .collect::<Vec<_>>()
                .join("|")
        })?;
        rows.push(next.value);
        cursor = next.more.then_some(id);
    }
    Ok(rows)
}

#[test]
fn a_paged_cell_is_like_any_other() {
    let seeds = std::env::var("CELLD_PAGED_SEEDS").ok().and_then(|seeds| seeds.parse().ok()).unwrap_or(40);
    let mut totals = Totals::default();
    for seed in 0..seeds {
        run(seed, &mut totals);
    }
    println!("{totals:?}");
    assert!(totals.failures > seeds && totals.lost_turns > 0 && totals.commits > 10 * seeds);
    assert!(totals.completed > 0 && totals.truncations > 0 && totals.fetched > 10 * seeds);
}

#[derive(Debug, Default)]
struct Totals {
    commits: u64,
    failures: u64,
    lost_turns: u64,
    truncations: u64,
    completed: u64,
    fetched: u64,
}

fn run(seed: u64, totals: &mut Totals) {
    let random = &mut StdRng::seed_from_u64(seed ^ 0xbeef);
    let dir = tempfile::tempdir().unwrap();
    let image = Arc::new(base(seed, seed % 2 == 1));
    let fails = [0, 6, 20][seed as usize % 3];
    let source = Source { fails, seed, ..Source::new(&image) };
    let (calls, failed) = (source.calls.clone(), source.failed.clone());
    let paged = paged(&dir, &image, source);
    let stop = Arc::new(AtomicBool::new(false));
    // Every other pair of seeds has somebody who fills the file meanwhile.
    let hydration = (seed % 4 < 2).then(|| hydrate(seed, &paged, &image, &stop));

    let limits = Arc::new(Limits { cache_kib: [40, 256][seed as usize % 2], ..Limits::default() });
    let mut here = CellDb::new(Image::Memory(image.to_vec()), None, limits.clone()).unwrap();
    let mut there = CellDb::new(Image::Paged(paged.clone()), None, limits).unwrap();
    let mut replica = image.to_vec();
    for step in 0..120 {
        let context = format!("seed {seed}, step {step}");
        let statement = random.random();
        let outcome = match random.random_range(0..40) {
            0 => {
                _ = there.close_idle();
                _ = here.close_idle();
                continue;
            }
            1 if seed % 8 == 3 => (there.delete_all(), here.delete_all()),
            _ => (
                workload::step(&mut StdRng::seed_from_u64(statement), &mut there),
                workload::step(&mut StdRng::seed_from_u64(statement), &mut here),
            ),
        };
        let mut drop_turn = false;
        match outcome {
            (Ok(()), Ok(())) => {}
            (Err(StorageError::Page { .. }), _) => {
                totals.failures += 1;
                drop_turn = true;
            }
            (Err(a), Err(b)) => assert_eq!(a.to_string(), b.to_string(), "{context}"),
            (a, b) => panic!("{context}: paged {a:?}, whole {b:?}"),
        }
        if drop_turn || random.random_range(0..5) == 0 {
            // A turn that lost its writes to a failed read says so at its commit; a caller may also give the turn up.
            let committed = if drop_turn && random.random() {
                there.rollback().unwrap();
                Ok(None)
            } else {
                there.commit()
            };
            match committed {
                Ok(Some(tx)) => {
                    totals.commits += 1;
                    totals.truncations += u64::from((tx.commit as usize) < replica.len() / PAGE);
                    apply(&mut replica, &tx);
                    here.commit()
                        .unwrap()
                        .unwrap_or_else(|| panic!("{context}: only the paged cell commits"));
                }
                Ok(None) if drop_turn => here.rollback().unwrap(),
                Ok(None) => {
                    assert!(here.commit().unwrap().is_none(), "{context}: only the whole cell commits")
                }
                Err(error) if error.to_string().contains("cannot be read") => {
                    assert!(error.is_fatal(), "{context}: {error}");
                    totals.lost_turns += 1;
                    here.rollback().unwrap();
                }
                Err(error) => {
                    assert_eq!(error.to_string(), here.commit().unwrap_err().to_string(), "{context}");
                }
            }
        }
    }
    there.rollback().unwrap();
    here.rollback().unwrap();
    let shown = loop {
        match dump(&mut there) {
            Ok(shown) => break shown,
            Err(StorageError::Page { .. }) => there.rollback().unwrap(),
            Err(error) => panic!("seed {seed}: {error}"),
        }
    };
    assert!(shown == dump(&mut here).unwrap(), "seed {seed}: the content differs");
    stop.store(true, Ordering::Relaxed);
    if let Some(hydration) = hydration {
        hydration.join().unwrap();
    }
    there.close_idle();
    totals.completed += u64::from(paged.is_complete());
    let whole = loop {
        match there.image() {
            Ok(whole) => break whole,
            Err(StorageError::Page { .. }) => {}
            Err(error) => panic!("seed {seed}: {error}"),
        }
    };
    assert_eq!(whole.len(), replica.len(), "seed {seed}");
    for pgno in 0..whole.len() / PAGE {
        assert!(
            whole[pgno * PAGE..][..PAGE] == replica[pgno * PAGE..][..PAGE],
            "seed {seed}: page {}",
            pgno + 1
        );
    }
    // SQLite's own FTS5 can break its index with statements that fail half-way (seed 15, also on a plain `:memory:` database): what
    // counts is that both are the same.
    let check = |image| {
        let mut db = CellDb::new(Image::Memory(image), None, Arc::default()).unwrap();
        let found = if db.is_empty() { Vec::new() } else { query(&mut db, "PRAGMA quick_check").unwrap() };
        found.into_iter().filter(|line| !line.contains("FTS5")).collect::<Vec<_>>()
    };
    let checked = check(replica);
    assert_eq!(checked, check(here.image().unwrap()), "seed {seed}");
    assert!(checked.is_empty() || checked == ["ok"], "seed {seed}: {checked:?}");
    totals.fetched += calls.load(Ordering::Relaxed) - u64::from(failed.load(Ordering::Relaxed));
}

/// Fills the file from all sides, always with the pages that the image had at the start.
fn hydrate(
    seed: u64,
    paged: &Arc<PagedImage>,
    image: &Arc<Vec<u8>>,
    stop: &Arc<AtomicBool>,
) -> std::thread::JoinHandle<()> {
    let (paged, image, stop) = (paged.clone(), image.clone(), stop.clone());
    let mut random = StdRng::seed_from_u64(seed);
    std::thread::spawn(move || {
        while !stop.load(Ordering::Relaxed) && !paged.is_complete() {
            let from = random.random_range(1..=image.len() / PAGE) as u32;
            let missing = paged.missing(from, random.random_range(1..8));
            let pages: Vec<_> = missing.iter().map(|pgno| Source::page(&image, *pgno)).collect();
            // Time for the cell to commit one of them.
            std::thread::sleep(Duration::from_micros(random.random_range(0..300)));
            paged.fill(&pages).unwrap();
        }
    })
}

#[test]
fn the_size_is_known_at_once_and_nothing_is_fetched_before_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let image = Arc::new(base(1, false));
    let source = Source::new(&image);
    let calls = source.calls.clone();
    let paged = paged(&dir, &image, source);
    let mut db = CellDb::new(Image::Paged(paged.clone()), None, Arc::default()).unwrap();
    assert!(!db.is_empty());
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    assert_eq!(db.database_size().unwrap(), image.len() as u64);
    assert!(paged.missing_pages() > paged.pages() / 2);
    assert!(db.memory() < 200_000);
}

#[test]
fn a_scan_reads_ahead() {
    let dir = tempfile::tempdir().unwrap();
    let mut db = CellDb::new(Image::Empty, None, Arc::default()).unwrap();
    db.exec("CREATE TABLE t(x)", &[]).unwrap();
    let fill = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 2000)
        INSERT INTO t SELECT zeroblob(3000) FROM n";
    db.exec(fill, &[]).unwrap();
    db.commit().unwrap();
    let image = Arc::new(db.image().unwrap());
    // A source that gives everything it is asked for.
    struct All(Source);
    impl PageSource for All {
        fn read(&self, first: u32, last: u32) -> Result<Vec<Page>, PageError> {
            self.0.calls.fetch_add(1, Ordering::Relaxed);
            Ok((first..=last).map(|pgno| Source::page(&self.0.image, pgno)).collect())
        }
    }
    let source = Source::new(&image);
    let calls = source.calls.clone();
    let pages = (image.len() / PAGE) as u32;
    let paged = PagedImage::create(dir.path().join("cell"), pages, Box::new(All(source))).unwrap();
    let mut db = CellDb::new(Image::Paged(paged.clone()), None, Arc::default()).unwrap();
    assert_eq!(
        query(&mut db, "SELECT count(*), sum(length(x)) FROM t").unwrap(),
        ["Integer(2000)|Integer(6000000)"]
    );
    assert!(pages > 2000);
    assert!(calls.load(Ordering::Relaxed) < 50, "{calls:?} reads for {pages} pages");
    // All of it was read, so the cell has an ordinary file from now on.
    assert_eq!(paged.missing_pages(), 0);
    assert!(db.close_idle());
    assert!(matches!(db.into_image().unwrap(), Image::File(path) if path == paged.path()));
}

#[test]
fn a_page_that_cannot_be_read_fails_the_statement_and_names_the_cause() {
    struct Broken;
    impl PageSource for Broken {
        fn read(&self, _first: u32, _last: u32) -> Result<Vec<Page>, PageError> {
            Err(PageError::new("cells/A/a/ltx/x.ltx is damaged"))
        }
    }
    let dir = tempfile::tempdir().unwrap();
    let image = Arc::new(base(2, false));
    let pages = (image.len() / PAGE) as u32;
    let paged = PagedImage::create(dir.path().join("cell"), pages, Box::new(Broken)).unwrap();
    let mut db = CellDb::new(Image::Paged(paged.clone()), None, Arc::default()).unwrap();
    let error = db.exec("SELECT * FROM t", &[]).unwrap_err();
    assert_eq!(
        error.to_string(),
        "page 1 of the cell's database cannot be read: cells/A/a/ltx/x.ltx is damaged"
    );
    assert!(!error.is_fatal());
    paged.fill(&[Source::page(&image, 1)]).unwrap();
    let error = db.exec("SELECT sum(length(v)) FROM t", &[]).unwrap_err();
    assert!(error.to_string().contains("is damaged"), "{error}");

    // The rest comes; nothing has to be reset.
    let rest: Vec<_> = paged.missing(1, usize::MAX).iter().map(|pgno| Source::page(&image, *pgno)).collect();
    paged.fill(&rest).unwrap();
    assert_eq!(query(&mut db, "PRAGMA quick_check").unwrap(), ["ok"]);
}
