//! The last word of the harness: every cell, put together from the bucket alone, is a sound SQLite database.

use std::path::Path;

use celld_bucket::Bucket;
use celld_ids::CellScope;
use celld_replica::{Target, restore_to_file};

/// Restores every cell of `class` in the directory bucket `bucket` and runs SQLite's own check over each. The number of cells.
pub(super) fn check(bucket: &Path, class: &str) -> Result<usize, String> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().enable_all().build().map_err(|e| e.to_string())?;
    runtime.block_on(async {
        let bucket = Bucket::local(bucket).map_err(|e| e.to_string())?;
        let ids = bucket.list_dirs(&format!("cells/{class}")).await.map_err(|e| e.to_string())?;
        let files = tempfile::tempdir().map_err(|e| e.to_string())?;
        let mut checked = 0;
        for id in ids {
            let id = id.trim_end_matches('/').rsplit('/').next().unwrap_or_default().to_owned();
            let scope = CellScope::new(class, id).map_err(|e| e.to_string())?;
            let file = files.path().join(format!("{checked}.sqlite"));
            restore_to_file(&bucket, &scope, Target::Last, &file, false)
                .await
                .map_err(|e| format!("{scope} cannot be restored: {e}"))?;
            let verdict = rusqlite::Connection::open(&file)
                .and_then(|db| db.query_row("PRAGMA integrity_check", [], |row| row.get::<_, String>(0)))
                .map_err(|e| format!("{scope} is no database: {e}"))?;
            if verdict != "ok" {
                return Err(format!("{scope} is damaged: {verdict}"));
            }
            checked += 1;
        }
        Ok(checked)
    })
}
