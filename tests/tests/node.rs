//! A production node on a bucket in a store: deploy, serve, crash, serve again. `CELLD_TEST_S3` is the address of an S3 store that has
//! the bucket `celld-test` (see `src/bucket/tests/s3.rs`), `AZURITE_BLOB_STORAGE_URL` that of Azurite with a container of that name
//! (`tests/azurite.mjs` makes it), and `CELLD_TEST_GCS` a bucket of Google or of an emulator (see `src/bucket/tests/gcs.rs`); without
//! the variables the tests pass and say so.

use std::process::Command;

use celld_tests::{Dev, Project, Proxy, celld, eventually, post, s3_store};
use rustix::process::Signal;

/// Settings for each kind of store that there is a server of.
fn stores(prefix: &str) -> Vec<Vec<(&'static str, String)>> {
    let azure = match std::env::var("AZURITE_BLOB_STORAGE_URL") {
        Ok(url) => Some(vec![
            ("AZURITE_BLOB_STORAGE_URL", url),
            ("AZURE_STORAGE_USE_EMULATOR", "true".into()),
            ("CELLD_BUCKET", format!("az://celld-test/{prefix}-{}", std::process::id())),
        ]),
        Err(_) => {
            eprintln!(
                "SKIPPED: AZURITE_BLOB_STORAGE_URL is not set, so there is no Azure store to test with"
            );
            None
        }
    };
    // Google's own variables reach the program as they are.
    let google = match std::env::var("CELLD_TEST_GCS") {
        Ok(url) => Some(vec![("CELLD_BUCKET", format!("{url}/{prefix}-{}", std::process::id()))]),
        Err(_) => {
            eprintln!("SKIPPED: CELLD_TEST_GCS is not set, so there is no Google store to test with");
            None
        }
    };
    s3_store(prefix).into_iter().chain(azure).chain(google).collect()
}

fn with(store: &[(&'static str, String)], arguments: &[&str]) -> Command {
    let mut command = celld();
    command.envs(store.iter().map(|(name, value)| (name, value))).args(arguments);
    command
}

/// A node with a work directory that no other node has seen.
fn node(store: &[(&'static str, String)], work: &tempfile::TempDir) -> Dev {
    let mut command = with(store, &["--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"]);
    command.env("CELLD_WATCH", work.path()).env("CELLD_NODE", "test");
    let mut node = Dev::spawn(command);
    node.address();
    node
}

fn deploy(store: &[(&'static str, String)], project: &Project) {
    let output = with(store, &["deploy"]).arg(project.path()).output().expect("celld starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn a_node_that_was_killed_is_continued_by_one_with_an_empty_disk() {
    for store in stores("killed") {
        let diagnosed = with(&store, &["diagnose"]).output().expect("celld starts");
        assert!(diagnosed.status.success(), "{}", String::from_utf8_lossy(&diagnosed.stdout));
        let project = Project::example("counter");
        deploy(&store, &project);
        for round in 0..3 {
            let work = tempfile::tempdir().expect("a directory can be made");
            let mut node = node(&store, &work);
            for n in 1..=5 {
                let answer = post(node.address(), "/a/increment", "").expect("an answer");
                assert_eq!(answer.json()["value"], round * 5 + n);
            }
            node.signal(Signal::KILL);
            node.ended();
        }
    }
}

#[test]
fn two_nodes_of_one_name_do_not_both_serve() {
    for store in stores("twice") {
        deploy(&store, &Project::example("counter"));
        let work = [tempfile::tempdir(), tempfile::tempdir()].map(|d| d.expect("a directory can be made"));
        let mut first = node(&store, &work[0]);
        assert_eq!(post(first.address(), "/a/increment", "").expect("an answer").json()["value"], 1);
        let mut second = node(&store, &work[1]);
        assert_eq!(post(second.address(), "/a/increment", "").expect("an answer").json()["value"], 2);
        // The first learns of it when it writes next or renews its lease, and ends without having acknowledged anything more.
        let late = post(first.address(), "/a/increment", "");
        assert!(
            late.is_err() || late.is_ok_and(|answer| answer.status >= 500),
            "the first node acknowledged a write"
        );
        assert_eq!(first.ended().code(), Some(3));
        assert!(first.log().contains("SELF-FENCE:"), "{}", first.log());
        assert_eq!(post(second.address(), "/a/increment", "").expect("an answer").json()["value"], 3);
    }
}

#[test]
fn a_running_node_adopts_what_is_deployed() {
    let Some(store) = s3_store("adopts") else { return };
    let project = Project::text("one");
    deploy(&store, &project);
    let work = tempfile::tempdir().expect("a directory can be made");
    let mut settings = store.clone();
    settings.push(("CELLD_DEPLOY_POLL_S", "1".into()));
    let mut node = node(&settings, &work);
    assert_eq!(node.get("/").body, "one");
    project.write("src/index.js", "export default { fetch() { return new Response('two'); } };");
    deploy(&store, &project);
    node.becomes("/", "two");
    assert!(node.stop().success());
}

#[test]
fn diagnose_names_the_store_and_every_node() {
    let Some(store) = s3_store("diagnose") else { return };
    let diagnose = || {
        let output = with(&store, &["diagnose"]).output().expect("celld starts");
        (String::from_utf8_lossy(&output.stdout).into_owned(), output.status.success())
    };
    let (report, is_sound) = diagnose();
    assert!(is_sound && report.ends_with(": qualified\n"), "{report}");

    deploy(&store, &Project::example("hello"));
    let work = tempfile::tempdir().expect("a directory can be made");
    let mut node = node(&store, &work);
    let (report, is_sound) = diagnose();
    assert!(is_sound && report.contains("node test: healthy at 127.0.0.1:"), "{report}");
    node.signal(Signal::KILL);
    node.ended();
    let (report, is_sound) = diagnose();
    assert!(!is_sound && report.contains("node test: live, but not reached at"), "{report}");
}

#[test]
fn of_two_nodes_by_mistake_one_serves_a_cell_and_the_other_says_who_does() {
    for store in stores("mistake") {
        deploy(&store, &Project::example("counter"));
        let start = |name: &str| {
            let work = tempfile::tempdir().expect("a directory can be made");
            let mut command = with(&store, &["--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"]);
            command.env("CELLD_WATCH", work.path()).env("CELLD_NODE", name).env("CELLD_TTL_MS", "1500");
            let mut node = Dev::spawn(command);
            node.address();
            (node, work)
        };
        let increment = |node: &mut Dev, cell: &str| post(node.address(), &format!("/{cell}/increment"), "");
        let ((mut a, _work_a), (mut b, _work_b)) = (start("a"), start("b"));

        // Each cell belongs to the node that it was asked for first.
        for n in 1..=3 {
            assert_eq!(increment(&mut a, "x").expect("an answer").json()["value"], n);
            assert_eq!(increment(&mut b, "y").expect("an answer").json()["value"], n);
        }
        assert_eq!(increment(&mut b, "x").expect("an answer").status, 500);
        b.says("is served by node a");
        assert_eq!(increment(&mut a, "y").expect("an answer").status, 500);
        a.says("is served by node b");
        assert_eq!(increment(&mut a, "x").expect("an answer").json()["value"], 4);

        // Once its owner is gone for good, the other node takes a cell over, with everything that was acknowledged.
        a.signal(Signal::KILL);
        a.ended();
        let taken = eventually("the takeover", || {
            let answer = increment(&mut b, "x").expect("an answer");
            (answer.status == 200).then(|| answer.json())
        });
        assert_eq!(taken["value"], 5);
        assert_eq!(increment(&mut b, "y").expect("an answer").json()["value"], 4);
        assert!(b.stop().success(), "{}", b.log());
    }
}

/// What a node asks of the store about one cell.
fn about_cell(requests: &[String]) -> Vec<&String> {
    requests
        .iter()
        .filter(|request| {
            request.contains("/cells/") || request.contains("cells%2F") || request.contains("/nodes/")
        })
        .collect()
}

#[test]
fn an_activation_costs_few_round_trips_and_a_cell_can_be_written_to_a_file() {
    let Some(mut store) = s3_store("trips") else { return };
    deploy(&store, &Project::example("counter"));
    let endpoint = store.iter_mut().find(|(name, _)| *name == "S3_ENDPOINT").expect("an endpoint");
    let proxy = Proxy::new(endpoint.1.trim_start_matches("http://"));
    endpoint.1 = proxy.url();
    let start = || {
        let work = tempfile::tempdir().expect("a directory can be made");
        let mut command = with(&store, &["--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"]);
        // A long lease, so that no renewal comes in between.
        command.env("CELLD_WATCH", work.path()).env("CELLD_NODE", "trips").env("CELLD_TTL_MS", "600000");
        let mut node = Dev::spawn(command);
        node.address();
        // It looks for alarms and for sessions that are over when it starts.
        std::thread::sleep(std::time::Duration::from_millis(500));
        proxy.take();
        (node, work)
    };

    // A new cell: its owner record is read and created, and nothing may lie where its history will.
    let (mut node, _work) = start();
    assert_eq!(post(node.address(), "/x/increment", "").expect("an answer").json()["value"], 1);
    let requests = proxy.take();
    let asked = about_cell(&requests);
    assert!(asked.len() <= 3, "{asked:#?}");
    assert_eq!(post(node.address(), "/x/increment", "").expect("an answer").json()["value"], 2);
    let writes = proxy.take();
    assert_eq!(about_cell(&writes), Vec::<&String>::new(), "{writes:#?}");
    node.signal(Signal::KILL);
    node.ended();

    // One that another session had: owner record, lease, claim; then its history is listed and read.
    let (mut node, _work) = start();
    assert_eq!(post(node.address(), "/x/increment", "").expect("an answer").json()["value"], 3);
    let requests = proxy.take();
    let before_restore: Vec<_> = about_cell(&requests)
        .into_iter()
        .take_while(|request| !request.contains("list-type") && !request.contains("/ltx/"))
        .collect();
    assert!(before_restore.len() <= 3, "{before_restore:#?}");
    assert!(node.stop().success(), "{}", node.log());

    // The cell's past is there for an operator, too.
    let listed = with(&store, &["cell", "list", "Counter"]).output().expect("celld starts");
    let scope = String::from_utf8(listed.stdout).expect("text").trim().to_owned();
    let history = with(&store, &["cell", "history", &scope]).output().expect("celld starts");
    assert!(history.status.success(), "{}", String::from_utf8_lossy(&history.stderr));
    let file = tempfile::tempdir().expect("a directory can be made");
    let file = file.path().join("x.sqlite");
    let restore = |more: &[&str]| {
        let mut command = with(&store, &["cell", "restore", &scope, "--last", "--output"]);
        command.arg(&file).args(more).output().expect("celld starts")
    };
    let restored = restore(&[]);
    assert!(restored.status.success(), "{}", String::from_utf8_lossy(&restored.stderr));
    assert!(std::fs::read(&file).expect("a file").starts_with(b"SQLite format 3\0"));
    assert!(!restore(&[]).status.success(), "an existing file is not overwritten");
    assert!(restore(&["--force"]).status.success());
}
