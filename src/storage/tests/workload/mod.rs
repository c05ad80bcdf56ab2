//! Random statements for property tests: tables, indexes, FTS5, large values, failures half-way, key-value operations.

use celld_storage::{CellDb, StorageError, Value};
use rand::Rng;
use rand::rngs::StdRng;

/// One statement, which may fail. The same state of `random` and the same content give the same effect.
pub fn step(random: &mut StdRng, db: &mut CellDb) -> Result<(), StorageError> {
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
        76..78 => {
            let key = number(random, u32::MAX);
            exec("INSERT INTO t(k) VALUES('r' || ?) RETURNING id", &[key])
        }
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
