//! `celld dev` on real projects: what a developer sees and what is kept.

use std::fs;

use celld_tests::{Dev, Events, Project, celld, eventually, get};
use rustix::process::{Signal, kill_process, test_kill_process};

fn answering(text: &str) -> String {
    format!("export default {{ fetch() {{ return new Response({text:?}); }} }};\n")
}

#[test]
fn every_example_is_served() {
    for (example, path) in
        [("hello", "/"), ("counter", "/a"), ("sql", "/"), ("chat", "/"), ("hono", "/api/notes")]
    {
        let project = Project::example(example);
        let mut dev = Dev::ready(project.path(), &[]);
        let response = dev.get(path);
        assert_eq!(response.status, 200, "{example}: {}\n{}", response.body, dev.log());
        assert!(dev.stop().success(), "{example}");
    }
}

#[test]
fn a_saved_change_is_adopted_in_place() {
    let project = Project::text("one");
    let mut dev = Dev::ready(project.path(), &[]);
    let node = dev.node();
    assert_eq!(dev.get("/").body, "one");
    project.write("src/index.js", &answering("two"));
    dev.becomes("/", "two");
    // A file that did not exist, in a directory that did not exist.
    project.write("src/lib/text.js", "export const text = 'three';");
    project.write(
        "src/index.js",
        "import { text } from './lib/text.js';\nexport default { fetch: () => new Response(text) };",
    );
    dev.becomes("/", "three");
    project.write("src/lib/text.js", "export const text = 'four';");
    dev.becomes("/", "four");
    assert_eq!(dev.node(), node, "the same process serves all of them");
}

#[test]
fn a_change_of_the_configuration_and_of_dev_vars_is_adopted() {
    let project =
        Project::worker("export default { fetch: (request, env) => new Response(`${env.A} ${env.B}`) };");
    let config = |a: &str| {
        format!(
            r#"{{ "name": "t", "main": "src/index.js", "compatibility_date": "2026-01-01", "vars": {{ "A": "{a}", "B": "b" }} }}"#
        )
    };
    project.write("wrangler.jsonc", &config("a1"));
    let mut dev = Dev::ready(project.path(), &[]);
    assert_eq!(dev.get("/").body, "a1 b");
    project.write("wrangler.jsonc", &config("a2"));
    dev.becomes("/", "a2 b");
    project.write(".dev.vars", "B=secret\n");
    dev.becomes("/", "a2 secret");
}

#[test]
fn broken_code_keeps_the_previous_version_serving_until_it_is_fixed() {
    let project = Project::text("good");
    let mut dev = Dev::ready(project.path(), &[]);
    project.write("src/index.js", "export default {\n  fetch( { return }\n");
    let place = dev.says("src/index.js:3:");
    assert!(place.contains("src/index.js:3:"), "{place}");
    assert_eq!(dev.get("/").body, "good");
    project.write("src/index.js", "throw new Error('while loading');\n");
    dev.says("while loading");
    assert_eq!(dev.get("/").body, "good");
    project.write("src/index.js", &answering("better"));
    dev.becomes("/", "better");
}

/// `celld dev > dev.log` in the project: every message is a change.
#[test]
fn a_log_in_the_project_does_not_feed_itself() {
    let project = Project::text("one");
    let mut dev = Dev::ready(project.path(), &[]);
    project.write("src/index.js", "throw new Error('while loading');\n");
    dev.says("while loading");
    let times = || dev.log().matches("while loading").count();
    let before = times();
    for i in 0..5 {
        project.write("dev.log", &format!("message {i}\n"));
        std::thread::sleep(std::time::Duration::from_millis(150));
    }
    assert_eq!(times(), before, "{}", dev.log());
    // A change of the code is answered, also if the error is the same.
    project.write("src/index.js", "// changed\nthrow new Error('while loading');\n");
    eventually("the second error is told", || (times() > before).then_some(()));
    project.write("src/index.js", &answering("two"));
    dev.becomes("/", "two");
}

#[test]
fn ignored_files_start_no_build() {
    let project = Project::text("one");
    let mut dev = Dev::ready(project.path(), &["--watch-ignore", "src/**", "--watch-ignore", "*.log"]);
    project.write("src/index.js", &answering("two"));
    project.write("node_modules/x/index.js", "changed");
    fs::read(project.file("wrangler.jsonc")).unwrap();
    // Nothing may happen, so there is nothing to wait for but time; a build takes a tenth of this.
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(dev.get("/").body, "one");
    project.write("README.md", "a file that is not ignored builds everything");
    dev.becomes("/", "two");
}

#[test]
fn without_watching_a_change_is_not_built() {
    let project = Project::text("one");
    let mut dev = Dev::ready(project.path(), &["--no-watch"]);
    project.write("src/index.js", &answering("two"));
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(dev.get("/").body, "one");
    assert!(dev.stop().success());
}

#[test]
fn cells_keep_their_state_until_clean() {
    let project = Project::example("counter");
    let mut dev = Dev::ready(project.path(), &[]);
    for expected in 1..=3 {
        assert_eq!(dev.post("/n/increment").json()["value"], expected);
    }
    // In place, over a change of the code.
    project.replace("src/index.ts", "Not found", "Nothing here");
    eventually("the change is served", || (dev.get("/a/b/c").body == "Nothing here\n").then_some(()));
    assert_eq!(dev.get("/n").json()["value"], 3);
    // Over a crash of the node, a crash of the supervisor, and the loss of the local cache.
    kill_process(dev.node(), Signal::KILL).unwrap();
    eventually("the node is back", || get(dev.address(), "/n").ok().filter(|answer| answer.status == 200));
    assert_eq!(dev.get("/n").json()["value"], 3);
    dev.signal(Signal::KILL);
    dev.ended();
    fs::remove_dir_all(project.file(".celld/dev/work")).unwrap();
    let mut dev = Dev::ready(project.path(), &[]);
    assert_eq!(dev.post("/n/increment").json()["value"], 4);
    assert!(dev.stop().success());

    fs::write(project.file(".celld/kept"), "").unwrap();
    let mut dev = Dev::ready(project.path(), &["--clean"]);
    dev.says(".celld/dev");
    assert_eq!(dev.get("/n").json()["value"], 0);
    assert!(project.file(".celld/kept").exists());
}

#[test]
fn nothing_is_left_running() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        let project = Project::text("one");
        let mut dev = Dev::ready(project.path(), &[]);
        let node = dev.node();
        dev.signal(signal);
        let status = dev.ended();
        assert_eq!(status.success(), signal != Signal::KILL, "{signal:?}: {status}");
        eventually("the node process is gone", || test_kill_process(node).err());
    }
}

#[test]
fn only_html_pages_reload_themselves() {
    let project = Project::worker(
        r#"export default {
          fetch(request) {
            const html = new URL(request.url).pathname === "/page";
            return new Response("<p>one</p>", { headers: { "content-type": html ? "text/html" : "text/plain" } });
          },
        };"#,
    );
    let mut dev = Dev::ready(project.path(), &[]);
    let page = dev.get("/page");
    assert!(
        page.body.starts_with("<p>one</p>") && page.body.contains("/.well-known/celld/live.js"),
        "{}",
        page.body
    );
    assert_eq!(dev.get("/text").body, "<p>one</p>");
    assert!(dev.get("/.well-known/celld/live.js").header("content-type").unwrap().contains("javascript"));

    let mut events = Events::open(dev.address(), "/.well-known/celld/live").unwrap();
    let rendered = events.next_data().unwrap().unwrap();
    assert!(page.body.contains(&format!("data-deployment=\"{rendered}\"")), "{}", page.body);
    project.replace("src/index.js", "one", "two");
    assert_ne!(events.next_data().unwrap().unwrap(), rendered);
    // An open page does not hold up the stop.
    assert!(dev.stop().success());

    let mut dev = Dev::ready(project.path(), &["--no-live-reload"]);
    assert_eq!(dev.get("/page").body, "<p>two</p>");
}

#[test]
fn the_console_of_the_worker_is_shown_and_the_log_of_the_node_on_request() {
    let project = Project::worker(
        "export default { fetch() { console.log('hello', { a: 1 }); return new Response(''); } };",
    );
    let mut quiet = Dev::ready(project.path(), &[]);
    quiet.get("/");
    let line = quiet.says("hello");
    assert!(line.contains("src/index.js:1:"), "{line}");
    assert!(!line.contains('\x1b'), "NO_COLOR: {line:?}");
    assert!(!quiet.log().contains("node info"), "{}", quiet.log());
    quiet.stop();
    let loud = Dev::ready(project.path(), &["--logs"]);
    loud.says("node info");
    drop(loud);

    let mut command = celld();
    command.env_remove("NO_COLOR").env("FORCE_COLOR", "1");
    command.arg("dev").arg(project.path()).args(["--port", "0"]);
    let colourful = Dev::spawn(command);
    // The label of the announcement goes to stdout; an error goes to stderr.
    project.write("src/index.js", "broken here");
    assert!(colourful.says("error").contains("\x1b["), "FORCE_COLOR");
}

#[test]
fn a_configuration_file_names_its_project() {
    let project = Project::text("by file");
    let mut dev = Dev::ready(&project.file("wrangler.jsonc"), &[]);
    assert_eq!(dev.get("/").body, "by file");
    assert!(project.file(".celld/dev").is_dir());
}
