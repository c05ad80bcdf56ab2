import { cells } from "./cell.js";
import { caught, suite } from "./suite.js";
import recorded from "./recorded.js";

const { test, handler } = suite(recorded);
export default handler;
const { Cell, inside } = cells(test);
export { Cell };

const query =
  (...all) =>
  ({ storage: { sql } }) =>
    sql.exec(...all).toArray();
const table = (sql) => {
  sql.exec("CREATE TABLE t (id INTEGER PRIMARY KEY, name TEXT)");
  sql.exec("INSERT INTO t (name) VALUES ('a'), ('b'), ('c')");
};
const withTable =
  (act) =>
  ({ storage: { sql } }) => {
    table(sql);
    return act(sql);
  };

inside("select", query("SELECT 1 AS a, 'x' AS b, NULL AS c, 1.5 AS d"), [{ a: 1, b: "x", c: null, d: 1.5 }]);
inside("bindings", query("SELECT ? AS a, ? AS b, ? AS c, ? AS d", 1, "é", null, 2.5), [{ a: 1, b: "é", c: null, d: 2.5 }]);
inside("bindings: numbered", query("SELECT ?2 AS a, ?1 AS b", 1, 2), [{ a: 2, b: 1 }]);
inside(
  "bindings: bytes",
  async ({ storage: { sql } }) => {
    const { a, t } = sql.exec("SELECT ? AS a, typeof(?1) AS t", new Uint8Array([1, 2])).one();
    return [a, t];
  },
  [new Uint8Array([1, 2]).buffer, "blob"],
);
inside("bindings: an ArrayBuffer", ({ storage: { sql } }) => sql.exec("SELECT hex(?) AS a", new Uint8Array([255]).buffer).one(), {
  a: "FF",
});
inside("bindings: true", query("SELECT ? AS a", true));
inside("bindings: undefined", query("SELECT ? AS a", undefined));
inside("bindings: a BigInt", query("SELECT ? AS a", 5n));
inside("bindings: an object", query("SELECT ? AS a", {}));
inside("bindings: a Date", query("SELECT ? AS a", new Date(0)));
inside("bindings: a whole number is a REAL or an INTEGER", query("SELECT typeof(?) AS a, typeof(?) AS b", 1, 1.5));
inside("bindings: NaN", query("SELECT ? AS a", NaN));
inside("bindings: too few", query("SELECT ? AS a, ? AS b", 1));
inside("bindings: too many", query("SELECT ? AS a", 1, 2));
inside("bindings: in several statements", query("SELECT 1; SELECT ? AS a", 5));
inside("a large integer", query("SELECT 9007199254740993 AS a"));
inside("a blob", ({ storage: { sql } }) => sql.exec("SELECT x'0102' AS a").one().a, new Uint8Array([1, 2]).buffer);
inside("a NUL in a text", query("SELECT ? AS a", "a\0b"));
inside("an empty query", query(""));
inside("a comment", query("-- nothing"));
inside("several statements: the last one's rows", query("SELECT 1 AS a; SELECT 2 AS b"), [{ b: 2 }]);
inside("a trailing semicolon", query("SELECT 1 AS a; "), [{ a: 1 }]);
inside(
  "cursor: one",
  withTable((sql) => sql.exec("SELECT name FROM t WHERE id = 2").one()),
  { name: "b" },
);
inside(
  "cursor: one of none",
  withTable((sql) => sql.exec("SELECT name FROM t WHERE id = 9").one()),
);
inside(
  "cursor: one of many",
  withTable((sql) => sql.exec("SELECT name FROM t").one()),
);
inside(
  "cursor: next",
  withTable((sql) => {
    const cursor = sql.exec("SELECT id FROM t LIMIT 1");
    return [cursor.next(), cursor.next(), cursor.next()];
  }),
);
inside(
  "cursor: iteration",
  withTable((sql) => [...sql.exec("SELECT id FROM t")]),
  [{ id: 1 }, { id: 2 }, { id: 3 }],
);
inside(
  "cursor: raw",
  withTable((sql) => [...sql.exec("SELECT id, name FROM t").raw()]),
  [
    [1, "a"],
    [2, "b"],
    [3, "c"],
  ],
);
inside(
  "cursor: raw().toArray",
  withTable((sql) => sql.exec("SELECT id FROM t").raw().toArray()),
  [[1], [2], [3]],
);
inside(
  "cursor: columnNames",
  withTable((sql) => sql.exec("SELECT id, name AS n, 1 + 1 FROM t").columnNames),
  ["id", "n", "1 + 1"],
);
inside(
  "cursor: columnNames of an INSERT",
  withTable((sql) => sql.exec("INSERT INTO t (name) VALUES ('d')").columnNames),
  [],
);
inside(
  "cursor: rowsRead",
  withTable((sql) => {
    const cursor = sql.exec("SELECT * FROM t");
    cursor.toArray();
    return cursor.rowsRead;
  }),
  3,
);
inside(
  "cursor: rowsRead before it is read",
  withTable((sql) => sql.exec("SELECT * FROM t").rowsRead),
);
inside(
  "cursor: rowsWritten",
  withTable((sql) => sql.exec("INSERT INTO t (name) VALUES ('d'), ('e')").rowsWritten),
  2,
);
inside("cursor: rowsWritten with an index", ({ storage: { sql } }) => {
  sql.exec("CREATE TABLE t (a); CREATE INDEX i ON t (a)");
  return sql.exec("INSERT INTO t VALUES (1)").rowsWritten;
});
inside(
  "cursor: rowsWritten of DELETE",
  withTable((sql) => sql.exec("DELETE FROM t").rowsWritten),
);
inside(
  "cursor: rowsWritten of UPDATE",
  withTable((sql) => sql.exec("UPDATE t SET name = 'x' WHERE id > 1").rowsWritten),
);
inside("cursor: two columns of one name", query("SELECT 1 AS a, 2 AS a"));
inside("cursor: raw of two columns of one name", ({ storage: { sql } }) => [...sql.exec("SELECT 1 AS a, 2 AS a").raw()], [[1, 2]]);
inside(
  "cursor: toArray twice",
  withTable((sql) => {
    const cursor = sql.exec("SELECT id FROM t");
    return [cursor.toArray().length, cursor.toArray().length];
  }),
  [3, 0],
);
inside(
  "cursor: one row, then the rest",
  withTable((sql) => {
    const cursor = sql.exec("SELECT id FROM t");
    return [cursor.next().value, cursor.toArray()];
  }),
  [{ id: 1 }, [{ id: 2 }, { id: 3 }]],
);
inside(
  "cursor: writes while it is open",
  withTable((sql) => {
    const seen = [];
    for (const { id } of sql.exec("SELECT id FROM t")) {
      seen.push(id);
      if (id === 1) sql.exec("DELETE FROM t WHERE id = 3");
    }
    return seen;
  }),
);
inside(
  "cursor: the same query twice at a time",
  withTable((sql) => {
    const first = sql.exec("SELECT id FROM t");
    first.next();
    const second = sql.exec("SELECT id FROM t");
    return [caughtNext(first), second.toArray().length];
  }),
);
function caughtNext(cursor) {
  try {
    return cursor.next();
  } catch (error) {
    return `${error.name}: ${error.message}`;
  }
}
inside(
  "cursor: tag",
  withTable((sql) => Object.prototype.toString.call(sql.exec("SELECT 1"))),
);
inside(
  "a write is done without reading the cursor",
  withTable((sql) => {
    sql.exec("INSERT INTO t (name) VALUES ('z')");
    return sql.exec("SELECT count(*) AS n FROM t").one();
  }),
  { n: 4 },
);
inside(
  "RETURNING",
  withTable((sql) => sql.exec("INSERT INTO t (name) VALUES ('d') RETURNING id, name").one()),
  { id: 4, name: "d" },
);
inside(
  "databaseSize",
  ({ storage: { sql } }) => {
    const before = sql.databaseSize;
    table(sql);
    return [typeof before, sql.databaseSize > before, sql.databaseSize % 4096];
  },
  ["number", true, 0],
);

for (const [name, text] of Object.entries({
  "syntax error": "SELEC 1",
  "no such table": "SELECT * FROM nope",
  "no such column": "SELECT nope FROM t",
  "no such function": "SELECT nope()",
  "NOT NULL": "INSERT INTO n VALUES (NULL)",
  unique: "INSERT INTO t (id) VALUES (1)",
  check: "INSERT INTO c VALUES (-1)",
  "foreign key": "INSERT INTO f VALUES (99)",
  incomplete: "SELECT (",
  "type mismatch": "INSERT INTO t (id) VALUES ('x')",
  "division by zero is null": "SELECT 1/0 AS a",
  "table exists": "CREATE TABLE t (x)",
})) {
  inside(`error: ${name}`, ({ storage: { sql } }) => {
    table(sql);
    sql.exec("CREATE TABLE n (x NOT NULL); CREATE TABLE c (x CHECK (x > 0)); CREATE TABLE f (x REFERENCES t(id))");
    return sql.exec(text).toArray();
  });
}
for (const text of [
  "BEGIN",
  "COMMIT",
  "ROLLBACK",
  "SAVEPOINT a",
  "RELEASE a",
  "ATTACH 'x' AS y",
  "DETACH y",
  "VACUUM",
  "VACUUM INTO 'x'",
  "PRAGMA foreign_keys",
  "PRAGMA foreign_keys = OFF",
  "PRAGMA journal_mode",
  "PRAGMA page_size",
  "PRAGMA user_version",
  "PRAGMA user_version = 5",
  "PRAGMA table_info(t)",
  "PRAGMA table_list",
  "PRAGMA table_xinfo(t)",
  "PRAGMA index_list(t)",
  "PRAGMA foreign_key_check",
  "PRAGMA foreign_key_list(t)",
  "PRAGMA quick_check",
  "PRAGMA integrity_check",
  "PRAGMA optimize",
  "PRAGMA defer_foreign_keys = ON",
  "PRAGMA case_sensitive_like = ON",
  "PRAGMA ignore_check_constraints = ON",
  "PRAGMA legacy_alter_table = ON",
  "PRAGMA recursive_triggers = ON",
  "PRAGMA reverse_unordered_selects = ON",
  "PRAGMA function_list",
  "PRAGMA compile_options",
  "PRAGMA database_list",
  "PRAGMA cache_size",
  "PRAGMA writable_schema = ON",
  "PRAGMA max_page_count",
  "CREATE TEMP TABLE x (y)",
  "CREATE TABLE _cf_x (y)",
  "SELECT * FROM _cf_KV",
  "DROP TABLE _cf_KV",
  "CREATE TABLE sqlite_x (y)",
  "ALTER TABLE t RENAME TO _cf_t",
  "CREATE VIRTUAL TABLE x USING fts5(a)",
  "CREATE VIRTUAL TABLE x USING fts5vocab('y', 'row')",
  "CREATE VIRTUAL TABLE x USING rtree(a, b, c)",
  "CREATE VIRTUAL TABLE x USING fts4(a)",
  "CREATE VIRTUAL TABLE x USING nope(a)",
  "EXPLAIN SELECT 1",
  "EXPLAIN QUERY PLAN SELECT * FROM t",
  "ANALYZE",
  "REINDEX",
  "CREATE VIEW v AS SELECT 1",
  "CREATE TRIGGER g AFTER INSERT ON t BEGIN SELECT 1; END",
  "SELECT sqlite_version()",
  "SELECT load_extension('x')",
  "SELECT randomblob(2) IS NOT NULL AS a",
  "SELECT sqlite_source_id()",
  "SELECT readfile('/etc/passwd')",
  "SELECT last_insert_rowid() AS a",
  "SELECT changes() AS a",
  "SELECT total_changes() > 0 AS a",
  "SELECT sqlite_compileoption_used('X') AS a",
  "SELECT fts3_tokenizer('x')",
]) {
  inside(`statement: ${text}`, ({ storage: { sql } }) => {
    table(sql);
    const rows = sql.exec(text).toArray();
    return rows.length > 5 ? "many rows" : rows;
  });
}
for (const text of [
  "json('{\"a\": 1}')",
  "json_extract('{\"a\":[1,2]}', '$.a[1]')",
  "'{\"a\":5}' ->> 'a'",
  "json_group_array(1)",
  "jsonb('[1]') IS NOT NULL",
  "sqrt(2)",
  "pow(2, 3)",
  "ln(1)",
  "ceil(1.2)",
  "pi()",
  "upper('é')",
  "lower('ABC')",
  "length('é')",
  "hex('a')",
  "unhex('41')",
  "substr('abc', 2)",
  "instr('abc', 'c')",
  "replace('aa', 'a', 'b')",
  "printf('%05d', 5)",
  "format('%s', 'x')",
  "concat('a', 1)",
  "concat_ws('-', 'a', 'b')",
  "string_agg('a', ',')",
  "date(0, 'unixepoch')",
  "strftime('%Y', 0, 'unixepoch')",
  "unixepoch('1970-01-02')",
  "timediff('2024-01-02', '2024-01-01')",
  "iif(1, 'a', 'b')",
  "nullif(1, 1)",
  "coalesce(NULL, 2)",
  "glob('a*', 'ab')",
  "'ab' LIKE 'A%'",
  "'a' REGEXP 'a'",
  "'a' MATCH 'a'",
  "typeof(1)",
  "unicode('a')",
  "char(97)",
  "quote('a''b')",
  "round(1.5)",
  "abs(-1)",
  "max(1, 2)",
  "min(1, 2)",
  "sign(-3)",
  "zeroblob(2)",
  "octet_length('é')",
  "soundex('a')",
  "median(1)",
  "percentile(1, 50)",
  "row_number() OVER ()",
  "'a' COLLATE NOCASE = 'A'",
  "1 IN (1, 2)",
  "x'00' < x'01'",
  "9223372036854775807 + 1",
  "5 / 2",
  "5 % 3",
  "5 << 2",
  "~1",
  "'5' + 1",
  "1 = 1.0",
  "'1' = 1",
])
  inside(`expression: ${text}`, ({ storage: { sql } }) => Object.values(sql.exec(`SELECT ${text}`).one())[0]);
inside(
  "fts5",
  ({ storage: { sql } }) => {
    sql.exec("CREATE VIRTUAL TABLE d USING fts5(body)");
    sql.exec("INSERT INTO d VALUES ('hello world'), ('other')");
    return sql.exec("SELECT body FROM d WHERE d MATCH 'hello'").toArray();
  },
  [{ body: "hello world" }],
);
inside(
  "generated columns, upsert, CTE",
  ({ storage: { sql } }) => {
    sql.exec("CREATE TABLE g (a INTEGER PRIMARY KEY, b AS (a * 2))");
    sql.exec("INSERT INTO g (a) VALUES (1) ON CONFLICT (a) DO NOTHING");
    sql.exec("INSERT INTO g (a) VALUES (1) ON CONFLICT (a) DO NOTHING");
    return sql
      .exec("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i, (SELECT b FROM g) AS b FROM n")
      .toArray();
  },
  [
    { i: 1, b: 2 },
    { i: 2, b: 2 },
    { i: 3, b: 2 },
  ],
);
inside(
  "foreign keys are enforced",
  ({ storage: { sql } }) => {
    sql.exec(
      "CREATE TABLE p (id PRIMARY KEY); CREATE TABLE c (p REFERENCES p(id) ON DELETE CASCADE); INSERT INTO p VALUES (1); INSERT INTO c VALUES (1); DELETE FROM p",
    );
    return sql.exec("SELECT count(*) AS n FROM c").one();
  },
  { n: 0 },
);
inside("STRICT and WITHOUT ROWID", ({ storage: { sql } }) => {
  sql.exec("CREATE TABLE s (a INTEGER PRIMARY KEY, b TEXT) STRICT, WITHOUT ROWID");
  return caught(() => sql.exec("INSERT INTO s VALUES ('x', 1)"));
});
inside("ingest", ({ storage: { sql } }) => {
  const rest = sql.ingest("CREATE TABLE t (x); INSERT INTO t VALUES (1); INSERT INTO t VAL");
  return [rest, sql.exec("SELECT x FROM t").toArray()];
});
inside("ingest: the counts", ({ storage: { sql } }) => sql.ingest("CREATE TABLE t (x); INSERT INTO t VALUES (1);"));
inside("prepare", ({ storage: { sql } }) => typeof sql.prepare);
inside("exec without a query", ({ storage: { sql } }) => sql.exec());
inside("exec of a number", ({ storage: { sql } }) => sql.exec(5));
inside("a value of 3 MB", ({ storage: { sql } }) => {
  sql.exec("CREATE TABLE t (x)");
  return sql.exec("INSERT INTO t VALUES (?)", "x".repeat(3_000_000)).rowsWritten;
});
inside("a query of 200 kB", query(`SELECT '${"x".repeat(200_000)}' AS a`));
inside("101 bindings", query(`SELECT ${Array(101).fill("?").join()}`, ...Array(101).fill(1)));
inside("2000 columns", query(`SELECT ${Array(2001).fill("1").join()}`));
inside(
  "101 columns",
  ({ storage: { sql } }) => sql.exec(`CREATE TABLE w (${Array.from({ length: 101 }, (_, i) => `c${i}`).join()})`).columnNames,
);
inside("a LIKE pattern of 60 bytes", query("SELECT 'a' LIKE ? AS a", "%".repeat(60)));
inside("6 UNIONs", query(Array(7).fill("SELECT 1 AS a").join(" UNION ALL ")));
inside("a deep expression", query(`SELECT ${"(".repeat(200)}1${")".repeat(200)} AS a`));
inside("33 arguments of a function", query(`SELECT max(${Array(40).fill("1").join()}) AS a`));
inside("setting the KV table's rows is refused", async ({ storage }) => {
  await storage.put("a", 1);
  return caught(() => storage.sql.exec("INSERT INTO _cf_KV VALUES ('b', 1)"));
});
inside("names of the tables", async ({ storage }) => {
  await storage.put("a", 1);
  return storage.sql.exec("SELECT name FROM sqlite_master").toArray();
});
