//! The disk below the bucket is full: nothing that was not written is acknowledged, the disk is named, and the application goes on by
//! itself once there is room.

use std::fs;

use celld_tests::{Dev, Mount, Project, eventually, get, request};

const WORKER: &str = r#"
import { DurableObject } from "cloudflare:workers";

export class Rows extends DurableObject {
  constructor(ctx, env) {
    super(ctx, env);
    ctx.storage.sql.exec("CREATE TABLE IF NOT EXISTS rows(payload BLOB)");
  }
  fetch(request) {
    const { sql } = this.ctx.storage;
    if (request.method === "PUT") sql.exec("INSERT INTO rows VALUES (randomblob(20000))");
    return Response.json(sql.exec("SELECT count(*) AS rows FROM rows").one());
  }
}

export default {
  fetch(request, env) {
    return env.ROWS.getByName("a").fetch(request);
  },
};
"#;

const CONFIG: &str = r#"{
  "name": "full", "main": "src/index.js", "compatibility_date": "2026-01-01",
  "durable_objects": { "bindings": [{ "name": "ROWS", "class_name": "Rows" }] },
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Rows"] }]
}"#;

#[test]
fn a_full_disk_acknowledges_nothing_and_is_survived() {
    let project = Project::new(&[("wrangler.jsonc", CONFIG), ("src/index.js", WORKER)]);
    let bucket = project.file(".celld/dev/bucket");
    fs::create_dir_all(&bucket).expect("a directory can be made");
    let Some(disk) = Mount::new(&bucket, "3m") else { return };
    let mut dev = Dev::start(project.path(), &[]);
    let address = dev.address();
    let write = || request(address, "PUT", "/", "").ok().filter(|answer| answer.status == 200);

    let mut acknowledged = 0;
    while let Some(answer) = write() {
        acknowledged += 1;
        assert_eq!(answer.json()["rows"], acknowledged);
        assert!(acknowledged < 1000, "3 MB cannot hold this");
    }
    assert!(acknowledged > 10, "only {acknowledged} writes before the first error: {}", dev.log());
    dev.says("No space left on device");
    // Still full: whatever is answered is no acknowledgement.
    assert!(write().is_none(), "{}", dev.log());

    disk.resize("32m");
    let rows = eventually("the application is back", || {
        get(dev.address(), "/").ok().filter(|answer| answer.status == 200)
    });
    let rows = rows.json()["rows"].as_u64().expect("a number");
    // The write that failed, and the one after it, may have happened or not.
    assert!((acknowledged..=acknowledged + 2).contains(&rows), "{acknowledged} acknowledged, {rows} there");
    let next = request(dev.address(), "PUT", "/", "").expect("an answer");
    assert_eq!((next.status, &next.json()["rows"]), (200, &(rows + 1).into()));
    assert!(dev.stop().success(), "{}", dev.log());
}
