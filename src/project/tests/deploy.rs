//! A deployment travels through a bucket unchanged, or is refused.

use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use bytes::Bytes;
use celld_bucket::Bucket;
use celld_project::{
    Built, BuiltWorker, Bundle, CURRENT_KEY, Module, ModuleKind, Project, Purpose, current, deploy,
    deploy_at, load, load_current, prune,
};

fn module(name: &str, kind: ModuleKind, text: &str) -> Module {
    Module { name: name.to_owned(), kind, bytes: Arc::from(text.as_bytes()) }
}

fn bundle(code: &str) -> Bundle {
    Bundle {
        main: "index.js".to_owned(),
        modules: vec![
            module("index.js", ModuleKind::Esm, code),
            module("page.txt", ModuleKind::Text, "text"),
            module("index.js.map", ModuleKind::SourceMap, "{}"),
        ],
        exports: None,
        inputs: Vec::new(),
        warnings: Vec::new(),
    }
}

fn project() -> Project {
    named("app")
}

fn named(name: &str) -> Project {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("index.ts"), "").unwrap();
    let config = r#"{ "name": "NAME", "main": "index.ts", "compatibility_date": "2026-01-15",
        "compatibility_flags": ["nodejs_compat"], "vars": { "A": { "b": 1 } },
        "durable_objects": { "bindings": [{ "name": "ROOM", "class_name": "Room" }] },
        "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Room"] }] }"#;
    std::fs::write(directory.path().join("wrangler.jsonc"), config.replace("NAME", name)).unwrap();
    Project::load(directory.path(), None, Purpose::Deploy).unwrap()
}

/// The project with this code in its main module.
fn built(code: &str) -> Built {
    Built { primary: BuiltWorker { project: project(), bundle: bundle(code) }, others: Vec::new() }
}

#[tokio::test]
async fn what_is_deployed_is_what_is_loaded() {
    let bucket = Bucket::in_memory();
    assert!(load_current(&bucket).await.unwrap().is_none());

    let first = deploy(&bucket, &built("one")).await.unwrap();
    let loaded = load_current(&bucket).await.unwrap().unwrap();
    assert_eq!(loaded.manifest.id, first.id);
    assert_eq!(loaded.modules, bundle("one").modules);
    assert_eq!(loaded.manifest.worker.script, "app");
    assert_eq!(loaded.manifest.worker.durable_objects[0].class, "Room");
    assert_eq!(loaded.manifest.worker.vars["A"], serde_json::json!({ "b": 1 }));
    assert_eq!(loaded.manifest.worker.migrations[0].new_classes, ["Room"]);

    let second = deploy(&bucket, &built("two")).await.unwrap();
    let pointer = current(&bucket).await.unwrap().unwrap();
    assert_eq!((pointer.id, pointer.previous), (second.id, Some(first.id.clone())));
    assert_eq!(&*load(&bucket, &first.id).await.unwrap().modules[0].bytes, b"one");
}

#[tokio::test]
async fn a_changed_or_missing_module_is_named_and_deploying_again_repairs_it() {
    let bucket = Bucket::in_memory();
    deploy(&bucket, &built("one")).await.unwrap();
    let manifest = load_current(&bucket).await.unwrap().unwrap().manifest;
    let key = &manifest.worker.modules[0].key;

    bucket.put(key, Bytes::from_static(b"evil")).await.unwrap();
    let error = load_current(&bucket).await.unwrap_err().to_string();
    assert!(error.contains("the module index.js was changed after it was deployed"), "{error}");

    bucket.delete(key).await.unwrap();
    let error = load_current(&bucket).await.unwrap_err().to_string();
    assert!(error.contains("the module index.js is missing"), "{error}");

    deploy(&bucket, &built("one")).await.unwrap();
    assert!(load_current(&bucket).await.is_ok());
}

#[tokio::test]
async fn a_legacy_digest_is_accepted() {
    let bucket = Bucket::in_memory();
    let id = deploy(&bucket, &built("one")).await.unwrap().id;
    let mut manifest = load(&bucket, &id).await.unwrap().manifest;
    manifest.worker.modules.iter_mut().for_each(|module| module.sha256.truncate(16));
    bucket.put(&format!("deploy/manifests/{id}.json"), manifest.to_json().into()).await.unwrap();
    assert_eq!(load(&bucket, &id).await.unwrap().modules.len(), 3);
}

#[tokio::test]
async fn a_damaged_pointer_is_reported_and_replaced_by_the_next_deployment() {
    let bucket = Bucket::in_memory();
    bucket.put(CURRENT_KEY, Bytes::from_static(b"garbage")).await.unwrap();
    let error = load_current(&bucket).await.unwrap_err().to_string();
    assert!(error.starts_with("deploy/current.json in ") && error.ends_with("): deploy again"), "{error}");

    let id = deploy(&bucket, &built("one")).await.unwrap().id;
    assert_eq!(load_current(&bucket).await.unwrap().unwrap().manifest.id, id);
}

#[tokio::test]
async fn of_concurrent_deployments_one_is_current_and_all_are_complete() {
    let bucket = Bucket::in_memory();
    let codes: Vec<Built> = (0..6).map(|number| built(&format!("code {number}"))).collect();
    let deployments = codes.iter().map(|built| {
        let bucket = &bucket;
        async move { deploy(bucket, built).await.unwrap().id }
    });
    let ids = futures::future::join_all(deployments).await;
    let current = current(&bucket).await.unwrap().unwrap();
    assert!(ids.contains(&current.id));
    for id in &ids {
        assert_eq!(load(&bucket, id).await.unwrap().modules.len(), 3);
    }
}

#[tokio::test]
async fn old_deployments_go_with_what_only_they_had() {
    let bucket = Bucket::in_memory();
    let mut ids = Vec::new();
    for n in 0..6_u64 {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000 + n);
        // The first and the last have the same code.
        let code = format!("export default {}", n % 5);
        ids.push(deploy_at(&bucket, &built(&code), now).await.unwrap().id);
    }
    assert_eq!(prune(&bucket, 3).await.unwrap(), 3);
    assert_eq!(prune(&bucket, 3).await.unwrap(), 0);
    for (n, id) in ids.iter().enumerate() {
        assert_eq!(load(&bucket, id).await.is_ok(), n >= 3, "deployment {n}");
    }
    // The current one and the one before it stay in any case.
    assert_eq!(prune(&bucket, 0).await.unwrap(), 1);
    load_current(&bucket).await.unwrap().unwrap();
    load(&bucket, &ids[4]).await.unwrap();
}

#[tokio::test]
async fn every_worker_has_its_modules() {
    let bucket = Bucket::in_memory();
    let mut built = built("one");
    for (name, code) in [("second", "two"), ("third", "one")] {
        built.others.push(BuiltWorker { project: named(name), bundle: bundle(code) });
    }
    let id = deploy(&bucket, &built).await.unwrap().id;
    let loaded = load_current(&bucket).await.unwrap().unwrap();
    let scripts: Vec<&str> = loaded.manifest.iter().map(|worker| worker.script.as_str()).collect();
    assert_eq!(scripts, ["app", "second", "third"]);
    assert_eq!(loaded.modules, bundle("one").modules);
    assert_eq!(loaded.others, [bundle("two").modules, bundle("one").modules]);

    // Its module stays when other deployments go, and is verified as any.
    for n in 0..3 {
        deploy_at(&bucket, &built, UNIX_EPOCH + Duration::from_secs(n)).await.unwrap();
    }
    deploy_at(&bucket, &built, UNIX_EPOCH + Duration::from_secs(1_700_000_000)).await.unwrap();
    assert_eq!(prune(&bucket, 1).await.unwrap(), 2);
    assert_eq!(load(&bucket, &id).await.unwrap().others, loaded.others);
    let key = &loaded.manifest.workers[0].modules[0].key;
    bucket.put(key, Bytes::from_static(b"evil")).await.unwrap();
    let error = load(&bucket, &id).await.unwrap_err().to_string();
    assert!(error.contains("the module index.js was changed after it was deployed"), "{error}");
}

/// The futures may run on any thread of a runtime.
#[test]
fn futures_are_send() {
    fn send<F: Future + Send>(_: F) {}
    let (bucket, project, built) = (Bucket::in_memory(), project(), built("one"));
    send(deploy(&bucket, &built));
    send(load_current(&bucket));
    send(celld_project::bundle(&project, &Default::default()));
}
