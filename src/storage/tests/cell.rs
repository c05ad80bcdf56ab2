//! A cell's database through its public surface.

use std::ops::ControlFlow;
use std::sync::Arc;

use celld_storage::{CellDb, CommittedTx, Image, ImagePath, Limits, ListOptions, StorageError, Value};

fn cell() -> CellDb {
    CellDb::new(Image::Empty, None, Arc::default()).unwrap()
}

fn with_image(image: Vec<u8>) -> CellDb {
    CellDb::new(Image::Memory(image), None, Arc::default()).unwrap()
}

/// All rows of a query, values as text.
fn query(db: &mut CellDb, sql: &str, bindings: &[Value<'_>]) -> Result<Vec<Vec<String>>, StorageError> {
    let mut cursor = db.exec(sql, bindings)?.cursor;
    let mut rows = Vec::new();
    while let Some(id) = cursor {
        let next = db.next_row(id, |row| (0..row.len()).map(|at| show(row.get(at))).collect())?;
        rows.push(next.value);
        cursor = next.more.then_some(id);
    }
    Ok(rows)
}

fn show(value: Value<'_>) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Integer(value) => value.to_string(),
        Value::Real(value) => format!("{value:?}"),
        Value::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        Value::Blob(bytes) => format!("{bytes:?}"),
    }
}

fn keys(db: &mut CellDb, options: ListOptions<'_>) -> Vec<String> {
    let mut keys = Vec::new();
    db.kv_list(&options, |key, _| {
        keys.push(String::from_utf8_lossy(key).into_owned());
        ControlFlow::Continue(())
    })
    .unwrap();
    keys
}

fn get(db: &mut CellDb, key: &str) -> Option<Vec<u8>> {
    db.kv_get(key, |value| value.map(<[u8]>::to_vec)).unwrap()
}

fn message(result: Result<Vec<Vec<String>>, StorageError>) -> String {
    result.unwrap_err().to_string()
}

/// What a replica that only sees committed transactions holds.
fn apply(image: &mut Vec<u8>, tx: &CommittedTx) {
    image.resize(tx.commit as usize * 4096, 0);
    for page in &tx.pages {
        let from = (page.pgno as usize - 1) * 4096;
        image[from..from + 4096].copy_from_slice(&page.data);
    }
}

#[test]
fn reading_an_empty_cell_opens_nothing() {
    let mut db = cell();
    assert_eq!(get(&mut db, "a"), None);
    assert!(!db.kv_delete("a").unwrap());
    assert_eq!(keys(&mut db, ListOptions::default()), [""; 0]);
    assert_eq!(db.get_alarm().unwrap(), None);
    assert!(!db.is_open());
    assert!(db.commit().unwrap().is_none());
}

#[test]
fn the_writes_of_a_turn_are_one_transaction() {
    let mut db = cell();
    db.kv_put("a", b"1").unwrap();
    query(&mut db, "CREATE TABLE t(x)", &[]).unwrap();
    query(&mut db, "INSERT INTO t VALUES (?)", &[Value::Real(1.5)]).unwrap();
    db.set_alarm(Some(12345)).unwrap();
    let tx = db.commit().unwrap().unwrap();
    assert!(db.commit().unwrap().is_none());
    let mut replica = Vec::new();
    apply(&mut replica, &tx);
    assert_eq!(replica, db.image().unwrap());
    let mut copy = with_image(replica);
    assert_eq!(get(&mut copy, "a").unwrap(), b"1");
    assert_eq!(query(&mut copy, "SELECT x FROM t", &[]).unwrap(), [["1.5"]]);
    assert_eq!(copy.get_alarm().unwrap(), Some(12345));
}

#[test]
fn rollback_and_savepoints() {
    let mut db = cell();
    db.kv_put("a", b"1").unwrap();
    db.commit().unwrap();
    db.kv_put("a", b"2").unwrap();
    let outer = db.savepoint().unwrap();
    db.kv_put("b", b"1").unwrap();
    let inner = db.savepoint().unwrap();
    db.kv_put("c", b"1").unwrap();
    // A savepoint that is open keeps the transaction open: an asynchronous transaction spans turns.
    assert!(db.commit().unwrap().is_none());
    db.rollback_to(inner).unwrap();
    assert!(db.release(inner).is_err());
    db.release(outer).unwrap();
    assert_eq!(keys(&mut db, ListOptions::default()), ["a", "b"]);
    db.rollback().unwrap();
    assert_eq!(get(&mut db, "a").unwrap(), b"1");
    assert_eq!(keys(&mut db, ListOptions::default()), ["a"]);
    assert!(db.commit().unwrap().is_none());
}

#[test]
fn list_bounds() {
    let mut db = cell();
    for key in ["a", "a1", "a2", "b", "b1", "é", "\u{10ffff}x"] {
        db.kv_put(key, b"").unwrap();
    }
    let all = ["a", "a1", "a2", "b", "b1", "é", "\u{10ffff}x"];
    let none = ListOptions::default();
    assert_eq!(keys(&mut db, none), all);
    assert_eq!(keys(&mut db, ListOptions { prefix: Some("a"), ..none }), ["a", "a1", "a2"]);
    assert_eq!(keys(&mut db, ListOptions { prefix: Some("\u{10ffff}"), ..none }), ["\u{10ffff}x"]);
    assert_eq!(keys(&mut db, ListOptions { start: Some("a1"), end: Some("b"), ..none }), ["a1", "a2"]);
    assert_eq!(keys(&mut db, ListOptions { start_after: Some("a1"), limit: Some(2), ..none }), ["a2", "b"]);
    assert_eq!(keys(&mut db, ListOptions { prefix: Some("a"), start_after: Some("a1"), ..none }), ["a2"]);
    assert_eq!(keys(&mut db, ListOptions { prefix: Some("b"), start: Some("a"), ..none }), ["b", "b1"]);
    assert_eq!(keys(&mut db, ListOptions { prefix: Some("a"), end: Some("a2"), ..none }), ["a", "a1"]);
    assert_eq!(
        keys(&mut db, ListOptions { reverse: true, limit: Some(3), end: Some("b1"), ..none }),
        ["b", "a2", "a1"]
    );
    assert_eq!(keys(&mut db, ListOptions { start: Some("z"), end: Some("a"), ..none }), [""; 0]);
}

#[test]
fn several_cursors_stay_open_over_a_commit_and_end_with_the_connection() {
    let mut db = cell();
    query(&mut db, "CREATE TABLE t(x); INSERT INTO t VALUES (1), (2), (3)", &[]).unwrap();
    let first = db.exec("SELECT x FROM t", &[]).unwrap().cursor.unwrap();
    let second = db.exec("SELECT x FROM t", &[]).unwrap().cursor.unwrap();
    let read = |db: &mut CellDb, id| db.next_row(id, |row| show(row.get(0)));
    assert_eq!(read(&mut db, first).unwrap().value, "1");
    assert!(db.commit().unwrap().is_some());
    assert_eq!(read(&mut db, second).unwrap().value, "1");
    assert_eq!(read(&mut db, first).unwrap().value, "2");
    let last = read(&mut db, first).unwrap();
    assert_eq!((last.value.as_str(), last.more), ("3", false));
    assert!(matches!(read(&mut db, first), Err(StorageError::CursorClosed)));
    assert_eq!(db.open_cursors(), 1);
    assert!(db.close_idle());
    assert!(matches!(read(&mut db, second), Err(StorageError::CursorClosed)));
    // Rows of a statement that writes are kept apart, so they never stand in the way of a commit.
    let returning = db.exec("INSERT INTO t VALUES (4), (5) RETURNING x", &[]).unwrap();
    assert_eq!((returning.columns, returning.counts.written), (vec!["x".to_owned()], 2));
    assert!(db.commit().unwrap().is_some());
    assert_eq!(read(&mut db, returning.cursor.unwrap()).unwrap().value, "4");
}

#[test]
fn errors_read_as_in_workerd() {
    let mut db = cell();
    db.kv_put("a", b"1").unwrap();
    let mut error = |sql: &str, bindings: &[Value<'_>]| message(query(&mut db, sql, bindings));
    assert_eq!(error("SELECT * FROM nope", &[]), "no such table: nope: SQLITE_ERROR");
    assert_eq!(error("SELEC 1", &[]), "near \"SELEC\": syntax error at offset 0: SQLITE_ERROR");
    assert_eq!(error("SELECT 1; SELEC", &[]), "near \"SELEC\": syntax error at offset 0: SQLITE_ERROR");
    assert_eq!(error(" -- nothing", &[]), "SQL code did not contain a statement.");
    assert_eq!(error("SELECT ?", &[]), "Wrong number of parameter bindings for SQL query.");
    assert_eq!(error("SELECT 1", &[Value::Null]), "Wrong number of parameter bindings for SQL query.");
    assert!(
        error("SELECT ?; SELECT 1", &[])
            .starts_with("When executing multiple SQL statements in a single call")
    );
    for sql in ["BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT x", "RELEASE x"] {
        assert!(error(sql, &[]).starts_with("To execute a transaction, please use"), "{sql}");
    }
    assert_eq!(error("SELECT * FROM _cf_KV", &[]), "access to _cf_KV.key is prohibited: SQLITE_AUTH");
    for sql in [
        "ATTACH ':memory:' AS x",
        "DETACH x",
        "PRAGMA journal_mode=WAL",
        "PRAGMA page_size=8192",
        "PRAGMA table_info('_cf_KV')",
        "SELECT * FROM pragma_database_list",
        "INSERT INTO _cf_KV VALUES('a', 1)",
        "DROP TABLE _cf_KV",
        "CREATE TABLE _CF_x(a)",
        "CREATE TEMP TABLE x(a)",
        "CREATE VIRTUAL TABLE x USING dbstat",
    ] {
        assert_eq!(error(sql, &[]), "not authorized: SQLITE_AUTH", "{sql}");
    }
    assert_eq!(error("VACUUM", &[]), "cannot VACUUM from within a transaction: SQLITE_ERROR");
    let mut ok = |sql: &str| query(&mut db, sql, &[]).unwrap();
    ok("CREATE TABLE u(id INTEGER PRIMARY KEY, k TEXT UNIQUE)");
    assert_eq!(ok("SELECT \"dqs\" AS x"), [["dqs"]]);
    ok("CREATE VIRTUAL TABLE f USING fts5(x); INSERT INTO f VALUES ('hello')");
    assert_eq!(ok("SELECT x FROM f('hello')"), [["hello"]]);
    ok("CREATE VIRTUAL TABLE r USING rtree(id, a, b); INSERT INTO r VALUES (1, 2, 3)");
    ok("ALTER TABLE u ADD COLUMN z");
    ok("INSERT INTO u(k) VALUES ('a')");
    let mut error = |sql: &str| message(query(&mut db, sql, &[]));
    assert_eq!(error("ALTER TABLE u RENAME TO _cf_u"), "not authorized: SQLITE_AUTH");
    assert_eq!(
        error("INSERT INTO u(k) VALUES ('a')"),
        "UNIQUE constraint failed: u.k: SQLITE_CONSTRAINT (extended: SQLITE_CONSTRAINT_UNIQUE)"
    );
    assert!(db.commit().unwrap().is_some());
}

#[test]
fn a_refused_commit_leaves_nothing() {
    let mut db = cell();
    db.kv_put("a", b"1").unwrap();
    db.commit().unwrap();
    let before = db.image().unwrap();
    db.refuse_commits(true);
    db.kv_put("a", b"2").unwrap();
    assert!(matches!(db.commit(), Err(StorageError::CommitRefused)));
    assert_eq!(db.image().unwrap(), before);
    db.refuse_commits(false);
    assert_eq!(get(&mut db, "a").unwrap(), b"1");
    db.kv_put("a", b"3").unwrap();
    assert!(db.commit().unwrap().is_some());
}

#[test]
fn the_budget_of_uncommitted_pages() {
    let limits = Limits { uncommitted_pages: 40, cache_kib: 40, ..Limits::default() };
    let mut db = CellDb::new(Image::Empty, None, Arc::new(limits)).unwrap();
    query(&mut db, "CREATE TABLE t(x)", &[]).unwrap();
    db.commit().unwrap();
    let big = "INSERT INTO t SELECT randomblob(3000) FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n \
               WHERE i<100) SELECT i FROM n)";
    // Alone, the statement fails and nothing is lost.
    assert_eq!(message(query(&mut db, big, &[])), "database or disk is full: SQLITE_FULL");
    db.commit().unwrap();
    // After another write of the same turn the turn is lost, and the commit says so.
    query(&mut db, "INSERT INTO t VALUES (1)", &[]).unwrap();
    let failed = query(&mut db, big, &[]).is_err();
    let committed = db.commit();
    assert!(failed && (committed.is_ok() || committed.unwrap_err().is_fatal()));
    query(&mut db, "INSERT INTO t VALUES (2)", &[]).unwrap();
    assert!(db.commit().unwrap().is_some());
    assert_eq!(query(&mut db, "PRAGMA quick_check", &[]).unwrap(), [["ok"]]);
}

#[test]
fn memory_beyond_the_budget_fails_the_statement_only() {
    let limits = Limits { sqlite_bytes: 4 << 20, ..Limits::default() };
    let mut db = CellDb::new(Image::Empty, None, Arc::new(limits)).unwrap();
    db.kv_put("a", b"1").unwrap();
    db.commit().unwrap();
    let sort = "SELECT count(*) FROM (SELECT randomblob(200) AS r FROM (WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL \
                SELECT i+1 FROM n WHERE i<200000) SELECT i FROM n) ORDER BY r LIMIT -1 OFFSET 1)";
    assert_eq!(message(query(&mut db, sort, &[])), "out of memory: SQLITE_NOMEM");
    assert_eq!(get(&mut db, "a").unwrap(), b"1");
    db.kv_put("a", b"2").unwrap();
    assert!(db.commit().unwrap().is_some());
}

#[test]
fn a_deferred_violation_loses_the_turn() {
    let mut db = cell();
    query(
        &mut db,
        "CREATE TABLE p(id PRIMARY KEY); CREATE TABLE c(p REFERENCES p(id) DEFERRABLE INITIALLY DEFERRED)",
        &[],
    )
    .unwrap();
    db.commit().unwrap();
    query(&mut db, "INSERT INTO c VALUES (9)", &[]).unwrap();
    let error = db.commit().unwrap_err();
    assert!(error.is_fatal() && error.to_string().contains("FOREIGN KEY"), "{error}");
    assert_eq!(query(&mut db, "SELECT count(*) FROM c", &[]).unwrap(), [["0"]]);
}

#[test]
fn failures_belong_to_one_alarm() {
    let mut db = cell();
    db.set_alarm(Some(100)).unwrap();
    assert_eq!(db.alarm_failures(100).unwrap(), 0);
    db.set_alarm_failures(100, 3).unwrap();
    let mut replica = Vec::new();
    apply(&mut replica, &db.commit().unwrap().unwrap());
    assert!(db.close_idle());
    assert_eq!((db.alarm_failures(100).unwrap(), db.alarm_failures(101).unwrap()), (3, 0));
    db.set_alarm_failures(101, 1).unwrap();
    assert_eq!((db.alarm_failures(100).unwrap(), db.alarm_failures(101).unwrap()), (0, 1));
}

#[test]
fn delete_all_is_part_of_the_turn() {
    let mut db = cell();
    query(&mut db, "CREATE TABLE t(x); INSERT INTO t VALUES (randomblob(30000))", &[]).unwrap();
    db.kv_put("a", b"1").unwrap();
    let mut replica = Vec::new();
    apply(&mut replica, &db.commit().unwrap().unwrap());
    db.delete_all().unwrap();
    assert_eq!(get(&mut db, "a"), None);
    db.kv_put("b", b"1").unwrap();
    db.rollback().unwrap();
    assert_eq!(get(&mut db, "a").unwrap(), b"1");
    assert_eq!(db.image().unwrap(), replica);
    db.kv_put("c", b"1").unwrap();
    db.delete_all().unwrap();
    db.set_alarm(Some(7)).unwrap();
    apply(&mut replica, &db.commit().unwrap().unwrap());
    assert_eq!(db.image().unwrap(), replica);
    assert_eq!(query(&mut db, "SELECT name FROM sqlite_schema", &[]).unwrap(), [["_cf_METADATA"]]);
    assert!(db.close_idle());
    assert_eq!(db.get_alarm().unwrap(), Some(7));
    assert_eq!(keys(&mut db, ListOptions::default()), [""; 0]);
}

#[test]
fn a_growing_image_moves_to_a_file_and_back_into_a_cell() {
    let dir = tempfile::tempdir().unwrap();
    let path = ImagePath { dir: dir.path().into(), name: "cell".into() };
    let mut db = CellDb::new(Image::Empty, Some(path), Arc::default()).unwrap();
    db.kv_put("a", &[1; 1000]).unwrap();
    db.commit().unwrap();
    assert!(!dir.path().join("cell").exists());
    db.kv_put("b", &[2; 100_000]).unwrap();
    db.commit().unwrap();
    assert!(dir.path().join("cell").exists());
    db.kv_put("c", &[3; 10]).unwrap();
    db.commit().unwrap();
    assert!(db.close_idle() && db.memory() < 500);
    assert_eq!(get(&mut db, "b").unwrap(), [2; 100_000]);
    let Image::File(file) = db.into_image().unwrap() else { panic!("not a file") };
    let mut again = CellDb::new(Image::File(file), None, Arc::default()).unwrap();
    assert_eq!(get(&mut again, "c").unwrap(), [3; 10]);
}

#[test]
fn an_idle_cell_is_small() {
    let mut db = cell();
    for at in 0..50 {
        db.kv_put(&format!("key{at}"), format!("{{\"count\":{at}}}").as_bytes()).unwrap();
    }
    db.commit().unwrap();
    let open = db.memory();
    assert!(db.close_idle());
    assert!(
        size_of::<CellDb>() <= 128 && db.memory() < 2000,
        "{} {} {open}",
        size_of::<CellDb>(),
        db.memory()
    );
}

#[test]
fn a_pragma_of_the_transaction_lasts_as_long_as_the_transaction() {
    let mut db = cell();
    let mut run = |sql: &str| query(&mut db, sql, &[]);
    run("CREATE TABLE p(id PRIMARY KEY); CREATE TABLE c(p REFERENCES p(id))").unwrap();
    run("PRAGMA foreign_keys=OFF").unwrap();
    assert_eq!(run("PRAGMA foreign_keys").unwrap(), [["1"]]);
    assert!(run("INSERT INTO c VALUES (1)").is_err());
    run("PRAGMA defer_foreign_keys=ON").unwrap();
    run("INSERT INTO c VALUES (1); INSERT INTO p VALUES (1)").unwrap();
    assert!(db.commit().unwrap().is_some());
    assert!(query(&mut db, "INSERT INTO c VALUES (2)", &[]).is_err());
}

#[test]
fn what_workerd_allows() {
    let mut db = cell();
    db.kv_put("a", b"1").unwrap();
    for sql in [
        "CREATE TABLE w(x, y)",
        "CREATE INDEX wx ON w(x)",
        "INSERT INTO w VALUES (1, 2)",
        "ANALYZE",
        "REINDEX",
        "PRAGMA optimize",
        "PRAGMA quick_check",
        "PRAGMA table_list",
        "PRAGMA table_info(w)",
        "PRAGMA index_list(w)",
        "PRAGMA foreign_key_check",
        "PRAGMA case_sensitive_like=ON",
        "SELECT * FROM pragma_table_info('w')",
        "SELECT name, sql FROM sqlite_master",
        "EXPLAIN QUERY PLAN SELECT * FROM w",
        "SELECT * FROM json_each('[1, 2]')",
        "SELECT json_extract('[1]', '$[0]'), sqrt(4), unixepoch('2020-01-01'), random(), last_insert_rowid()",
        "SELECT row_number() OVER () FROM w",
        "ALTER TABLE w RENAME COLUMN y TO z",
        "ALTER TABLE w DROP COLUMN z",
        "ALTER TABLE w RENAME TO v",
        "CREATE VIRTUAL TABLE f USING fts5(x, content='v', content_rowid='rowid')",
        "CREATE TRIGGER vi AFTER INSERT ON v BEGIN INSERT INTO f(rowid, x) VALUES (new.rowid, new.x); END",
        "INSERT INTO v VALUES ('hello')",
        "SELECT highlight(f, 0, '<', '>'), bm25(f) FROM f('hello')",
        "CREATE VIRTUAL TABLE fv USING fts5vocab('f', 'row')",
        "CREATE VIEW secret AS SELECT * FROM _cf_KV",
    ] {
        if let Err(error) = query(&mut db, sql, &[]) {
            panic!("{sql}: {error}");
        }
    }
    assert!(message(query(&mut db, "SELECT * FROM secret", &[])).contains("prohibited"));
    for schema in ["sqlite_temp_master", "sqlite_temp_schema", "sqlite_master"] {
        let update = format!("UPDATE {schema} SET sql = 'CREATE TABLE x(a)'");
        assert!(query(&mut db, &update, &[]).is_err(), "{schema}");
    }
    // A statement of ours must not be found by the same text of a Worker.
    for sql in ["SELECT value FROM _cf_KV WHERE key = ?1", "COMMIT", "DELETE FROM _cf_KV"] {
        assert!(query(&mut db, sql, &[]).is_err(), "{sql}");
    }
    assert!(db.commit().unwrap().is_some());
    assert!(query(&mut db, "COMMIT", &[]).is_err());
}

#[test]
fn a_cell_is_taken_back_and_goes_on_from_there() {
    let mut cell = CellDb::new(Image::Empty, None, Default::default()).unwrap();
    cell.kv_put("a", b"1").unwrap();
    cell.commit().unwrap().unwrap();
    let then = cell.image().unwrap();
    for n in 0..200 {
        cell.kv_put(&format!("k{n}"), &[n as u8; 500]).unwrap();
    }
    cell.set_rewind(Some("mark")).unwrap();
    cell.commit().unwrap().unwrap();
    cell.kv_put("uncommitted", b"1").unwrap();
    assert_eq!(cell.rewind().unwrap().as_deref(), Some("mark"));

    // Everything of that time, and only as many pages as it had.
    let pages = then.chunks(celld_ltx::PAGE_SIZE).zip(1..);
    let pages = pages.map(|(data, pgno)| celld_ltx::Page { pgno, data: data.into() }).collect();
    let commit = (then.len() / celld_ltx::PAGE_SIZE) as u32;
    cell.replace(&celld_storage::CommittedTx { commit, pages }).unwrap();
    assert_eq!(cell.image().unwrap(), then);
    assert_eq!(cell.rewind().unwrap(), None);
    let value = |cell: &mut CellDb, key: &str| cell.kv_get(key, |value| value.map(<[u8]>::to_vec)).unwrap();
    assert_eq!(value(&mut cell, "a"), Some(b"1".to_vec()));
    assert_eq!(value(&mut cell, "k7"), None);
    cell.kv_put("b", b"2").unwrap();
    assert!(cell.commit().unwrap().is_some());
    assert_eq!(value(&mut cell, "b"), Some(b"2".to_vec()));
}
