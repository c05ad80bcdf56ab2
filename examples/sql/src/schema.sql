CREATE TABLE IF NOT EXISTS entries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  author TEXT NOT NULL,
  message TEXT NOT NULL,
  written_at INTEGER NOT NULL
);

CREATE INDEX IF NOT EXISTS entries_by_author ON entries (author);
