//! Mistakes and mishaps: one clear message that names the thing, no hang, no loss, and recovery when the cause is fixed.

use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Output;

use celld_tests::{Dev, Project, celld, executable};

const CONFIG: &str = r#"{ "name": "test", "main": "src/index.js", "compatibility_date": "2026-01-01" }"#;
const GOOD: &str = "export default { fetch() { return new Response('good'); } };";

/// The error of a `celld dev` that ends by itself.
fn refused(project: &Path, arguments: &[&str]) -> String {
    let output = celld().arg("dev").arg(project).args(["--port", "0"]).args(arguments).output().unwrap();
    error_of(&output)
}

fn error_of(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(!output.status.success(), "{text}");
    assert!(!text.contains("panicked"), "{text}");
    text
}

#[test]
fn a_project_that_is_broken_from_the_start_is_served_once_it_is_fixed() {
    let class = r#"{ "name": "test", "main": "src/index.js", "compatibility_date": "2026-01-01",
        "durable_objects": { "bindings": [{ "name": "ROOM", "class_name": "Room" }] },
        "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Room"] }] }"#;
    let cases = [
        ("a syntax error", CONFIG, "export default {\n fetch( { }", "src/index.js:2:"),
        ("a missing import", CONFIG, "import './gone.js';", "./gone.js"),
        ("a module that throws", CONFIG, "throw new Error('at the start');", "at the start"),
        ("a class that is not exported", class, GOOD, "Room"),
        ("an unknown key", r#"{ "name": "test", "main": "src/index.js", "mian": 1 }"#, GOOD, "mian"),
        ("a configuration that is no JSON", "{ \"name\": ", GOOD, "wrangler.jsonc"),
        ("a missing entry point", &CONFIG.replace("index", "other"), GOOD, "src/other.js"),
    ];
    for (what, config, source, named) in cases {
        let project = Project::new(&[("wrangler.jsonc", config), ("src/index.js", source)]);
        let mut dev = Dev::start(project.path(), &[]);
        let line = dev.says(named);
        assert!(!line.contains("panicked"), "{what}: {line}");
        project.write("src/index.js", GOOD);
        project.write("wrangler.jsonc", CONFIG);
        assert_eq!(dev.get("/").body, "good", "{what}: {}", dev.log());
        // Without watching, the same is the command's own error.
        project.write("src/index.js", source);
        project.write("wrangler.jsonc", config);
        assert!(dev.stop().success());
        let error = refused(project.path(), &["--no-watch"]);
        assert!(error.contains(named), "{what}: {error}");
    }
}

#[test]
fn a_handler_that_fails_fails_its_request_only() {
    let project = Project::worker(
        r#"export default {
          fetch(request) {
            switch (new URL(request.url).pathname) {
              case "/nothing": return undefined;
              case "/throws": throw new Error("thrown on purpose");
              case "/rejects": return Promise.reject(new Error("rejected on purpose"));
              default: return new Response("fine");
            }
          },
        };"#,
    );
    let mut dev = Dev::ready(project.path(), &[]);
    for (path, named) in
        [("/nothing", "Response"), ("/throws", "thrown on purpose"), ("/rejects", "rejected on purpose")]
    {
        assert_eq!(dev.get(path).status, 500, "{path}");
        dev.says(named);
        assert_eq!(dev.get("/").body, "fine");
    }
    assert!(dev.log().contains("src/index.js:5:"), "the stack points into the source: {}", dev.log());
}

#[test]
fn a_port_in_use_is_named() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let project = Project::text("x");
    let output = celld().arg("dev").arg(project.path()).args(["--port", &port]).output().unwrap();
    let error = error_of(&output);
    assert!(error.contains(&port) && error.contains("in use"), "{error}");
}

#[test]
fn the_second_celld_dev_on_a_project_is_refused_and_the_first_goes_on() {
    let project = Project::text("first");
    let mut first = Dev::ready(project.path(), &[]);
    let error = refused(project.path(), &["--clean"]);
    assert!(error.contains(&first.pid().as_raw_nonzero().to_string()), "{error}");
    assert_eq!(first.get("/").body, "first");
}

#[test]
fn a_path_that_names_nothing_is_named() {
    let project = Project::new(&[]);
    let gone = project.file("gone");
    assert!(refused(&gone, &[]).contains(gone.to_str().unwrap()));
    assert!(refused(project.path(), &["--no-watch"]).contains("wrangler.jsonc"));
}

#[test]
fn a_read_only_project_directory_is_named() {
    let project = Project::text("x");
    // Root may write everywhere, so the command runs as somebody else, who needs an executable within reach.
    let root = rustix::process::geteuid().is_root();
    let mut command = celld();
    let bin = tempfile::tempdir().unwrap();
    if root {
        let copy = bin.path().join("celld");
        fs::copy(executable(), &copy).unwrap();
        fs::set_permissions(bin.path(), fs::Permissions::from_mode(0o755)).unwrap();
        command = std::process::Command::new(copy);
        command.env("NO_COLOR", "1").uid(65534).gid(65534);
    }
    fs::set_permissions(project.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let output = command.arg("dev").arg(project.path()).args(["--port", "0"]).output().unwrap();
    fs::set_permissions(project.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let error = error_of(&output);
    assert!(error.contains(".celld/dev") && error.contains("denied"), "{error}");
}

#[test]
fn a_damaged_state_is_named_and_clean_repairs_it() {
    let damages: [fn(&Path); 3] = [
        |state| {
            fs::remove_dir_all(state).unwrap();
            fs::write(state, "a file").unwrap();
        },
        |state| fs::write(state.join("bucket/celld-bucket"), "garbage").unwrap(),
        |state| {
            fs::remove_dir_all(state.join("bucket")).unwrap();
            fs::write(state.join("bucket"), "a file").unwrap();
        },
    ];
    for damage in damages {
        let project = Project::text("repaired");
        assert!(Dev::ready(project.path(), &[]).stop().success());
        damage(&project.file(".celld/dev"));
        let error = refused(project.path(), &[]);
        assert!(error.contains(".celld/dev") && error.contains("--clean"), "{error}");
        assert_eq!(Dev::ready(project.path(), &["--clean"]).get("/").body, "repaired");
    }
}

#[test]
fn a_damaged_pointer_is_replaced_by_the_next_deployment() {
    let project = Project::text("replaced");
    assert!(Dev::ready(project.path(), &[]).stop().success());
    let pointer = project.file(".celld/dev/bucket/objects/deploy/current.json@");
    fs::write(&pointer, "garbage").unwrap();
    assert_eq!(Dev::ready(project.path(), &[]).get("/").body, "replaced");
}

#[test]
fn a_missing_esbuild_is_explained_and_found_when_it_is_installed() {
    let project = Project::text("built");
    let home = tempfile::tempdir().unwrap();
    let link = home.path().join("esbuild");
    let mut command = celld();
    command.arg("dev").arg(project.path()).args(["--port", "0"]).env("CELLD_ESBUILD", &link);
    let mut dev = Dev::spawn(command);
    dev.says("CELLD_ESBUILD");
    let installed = std::env::var_os("CELLD_ESBUILD").expect("CELLD_ESBUILD names an esbuild for the tests");
    std::os::unix::fs::symlink(installed, &link).unwrap();
    assert_eq!(dev.get("/").body, "built");
}
