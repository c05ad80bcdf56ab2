//! Several Workers in one deployment: the first project serves the requests, bindings reach the others.

use std::path::Path;
use std::process::Command;

use celld_tests::{Dev, Project, celld, eventually, post, s3_store};
use rustix::process::Signal;

const APP: &str = r#"
export default {
  async fetch(request, env) {
    switch (new URL(request.url).pathname) {
      case "/name": return new Response(env.NAME);
      case "/rpc": return new Response(await env.ADMIN.greet("you"));
      case "/back": return new Response(await env.ADMIN.back());
      case "/object": return Response.json(await env.SESSION.getByName("s").add());
      default: return env.AUTH.fetch(request);
    }
  },
};
"#;

const APP_CONFIG: &str = r#"{
  "name": "app", "main": "src/index.js", "compatibility_date": "2026-01-01",
  "vars": { "NAME": "app" },
  "services": [
    { "binding": "AUTH", "service": "auth" },
    { "binding": "ADMIN", "service": "auth", "entrypoint": "Admin", "props": { "role": "editor" } }
  ],
  "durable_objects": { "bindings": [{ "name": "SESSION", "class_name": "Session", "script_name": "auth" }] }
}"#;

const AUTH: &str = r#"
import { DurableObject, WorkerEntrypoint } from "cloudflare:workers";
import { word } from "./word.js";

export class Session extends DurableObject {
  async add() {
    const n = ((await this.ctx.storage.get("n")) ?? 0) + 1;
    await this.ctx.storage.put("n", n);
    return { n, name: this.env.NAME };
  }
}

export class Admin extends WorkerEntrypoint {
  greet(who) {
    return `${word} ${who}, ${this.ctx.props.role} of ${this.env.NAME}`;
  }
  async back() {
    return `back from ${await (await this.env.APP.fetch("http://app/name")).text()}`;
  }
}

export default {
  async fetch(request, env) {
    return new Response(`${word} from ${env.NAME}: ${request.method} ${new URL(request.url).pathname}`);
  },
};
"#;

const AUTH_CONFIG: &str = r#"{
  "name": "auth", "main": "src/index.js", "compatibility_date": "2026-01-01",
  "vars": { "NAME": "auth" },
  "services": [{ "binding": "APP", "service": "app" }],
  "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Session"] }]
}"#;

fn app() -> Project {
    Project::new(&[("wrangler.jsonc", APP_CONFIG), ("src/index.js", APP)])
}

fn auth() -> Project {
    Project::new(&[
        ("wrangler.jsonc", AUTH_CONFIG),
        ("src/index.js", AUTH),
        ("src/word.js", "export const word = 'hello';"),
    ])
}

fn dev(app: &Project, auth: &Project) -> Dev {
    Dev::ready(app.path(), &[&text(auth.path())])
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// The error of a `celld dev` that ends by itself.
fn refused(arguments: &[&str]) -> String {
    let output = celld().args(["dev", "--port", "0"]).args(arguments).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(1), "{error}");
    error
}

#[test]
fn bindings_reach_the_other_worker() {
    let (app, auth) = (app(), auth());
    auth.write(".dev.vars", "NAME=auth in development\n");
    let mut dev = dev(&app, &auth);
    assert_eq!(dev.get("/name").body, "app");
    assert_eq!(dev.get("/a").body, "hello from auth in development: GET /a");
    assert_eq!(dev.get("/rpc").body, "hello you, editor of auth in development");
    assert_eq!(dev.get("/back").body, "back from app");
    for n in 1..=3 {
        let expected = serde_json::json!({ "n": n, "name": "auth in development" });
        assert_eq!(dev.get("/object").json(), expected);
    }
    assert!(app.file(".celld/dev").is_dir() && !auth.file(".celld").exists());
    assert!(dev.stop().success());
    // The state is that of the first project.
    let mut dev = self::dev(&app, &auth);
    assert_eq!(dev.get("/object").json()["n"], 4);
}

/// A Worker that waits for another one, which waits for nothing.
#[test]
fn a_call_that_the_other_worker_will_not_answer_fails() {
    let caller = Project::new(&[
        (
            "wrangler.jsonc",
            r#"{ "name": "caller", "main": "src/index.js", "compatibility_date": "2026-01-01",
                 "services": [{ "binding": "OTHER", "service": "other" }] }"#,
        ),
        (
            "src/index.js",
            r#"export default {
              async fetch(request, env) {
                try {
                  switch (new URL(request.url).pathname) {
                    case "/fetch": return await env.OTHER.fetch(request);
                    case "/rpc": return new Response(await env.OTHER.forever());
                    case "/slow": return new Response(await env.OTHER.slow(() => scheduler.wait(300).then(() => "slow")));
                  }
                } catch (error) {
                  return new Response(`caught ${error.message}`);
                }
              },
            };"#,
        ),
    ]);
    let other = Project::new(&[
        (
            "wrangler.jsonc",
            r#"{ "name": "other", "main": "src/index.js", "compatibility_date": "2026-01-01" }"#,
        ),
        (
            "src/index.js",
            r#"import { WorkerEntrypoint } from "cloudflare:workers";
            export default class extends WorkerEntrypoint {
              fetch() { return new Promise(() => {}); }
              forever() { return new Promise(() => {}); }
              slow(back) { return back(); }
            }"#,
        ),
    ]);
    let mut dev = Dev::ready(caller.path(), &[&text(other.path())]);
    for _ in 0..2 {
        for path in ["/fetch", "/rpc"] {
            let body = dev.get(path).body;
            assert!(body.starts_with("caught The Workers runtime canceled this request"), "{path}: {body}");
        }
        assert_eq!(dev.get("/slow").body, "slow");
    }
}

#[test]
fn a_change_of_any_project_is_adopted_in_place() {
    let (app, auth) = (app(), auth());
    let mut dev = dev(&app, &auth);
    let node = dev.node();
    assert_eq!(dev.get("/a").body, "hello from auth: GET /a");
    assert_eq!(dev.get("/object").json()["n"], 1);
    auth.write("src/word.js", "export const word = 'welcome';");
    dev.becomes("/a", "welcome from auth: GET /a");
    assert_eq!(dev.get("/rpc").body, "welcome you, editor of auth");
    auth.write("wrangler.jsonc", &AUTH_CONFIG.replace(r#""NAME": "auth""#, r#""NAME": "keys""#));
    dev.becomes("/a", "welcome from keys: GET /a");
    app.replace("src/index.js", "new Response(env.NAME)", "new Response(`the ${env.NAME}`)");
    dev.becomes("/name", "the app");
    assert_eq!(dev.get("/back").body, "back from the app");
    // Cells of the other Worker get its new code when nothing runs in them.
    eventually("the cell has the new code", || (dev.get("/object").json()["name"] == "keys").then_some(()));
    assert!(dev.get("/object").json()["n"].as_u64() > Some(2));
    assert_eq!(dev.node(), node, "the same process serves all of them");
}

#[test]
fn broken_code_names_its_project_and_the_previous_version_goes_on() {
    let (app, auth) = (app(), auth());
    let mut dev = dev(&app, &auth);
    auth.write("src/word.js", "export const word = ;");
    dev.says(&format!("{}/wrangler.jsonc: the build failed", text(auth.path())));
    dev.says("src/word.js:1:");
    assert_eq!(dev.get("/a").body, "hello from auth: GET /a");
    // A build of the first one alone does not make the other one whole.
    app.replace("src/index.js", "new Response(env.NAME)", "new Response('changed')");
    auth.write("src/word.js", "throw new Error('while loading');");
    dev.says("while loading");
    assert_eq!(dev.get("/name").body, "app");
    auth.write("src/word.js", "export const word = 'again';");
    dev.becomes("/a", "again from auth: GET /a");
    assert_eq!(dev.get("/name").body, "changed");
}

#[test]
fn a_project_inside_of_another_one_and_a_file_of_both() {
    let app = Project::new(&[
        ("wrangler.jsonc", APP_CONFIG),
        ("src/index.js", &APP.replace("env.NAME)", "`${shared} ${env.NAME}`)")),
        ("workers/auth/wrangler.jsonc", AUTH_CONFIG),
        ("workers/auth/src/index.js", AUTH),
        ("workers/auth/src/word.js", "export const word = 'hello';"),
    ]);
    app.replace(
        "src/index.js",
        "export default",
        "import { word as shared } from '../workers/auth/src/word.js';\nexport default",
    );
    let mut dev = Dev::ready(app.path(), &[&text(&app.file("workers/auth"))]);
    assert_eq!(dev.get("/name").body, "hello app");
    app.write("workers/auth/src/word.js", "export const word = 'welcome';");
    dev.becomes("/name", "welcome app");
    assert_eq!(dev.get("/a").body, "welcome from auth: GET /a");
}

#[test]
fn only_the_project_that_has_changed_is_built() {
    let elsewhere = tempfile::tempdir().unwrap();
    let runs = elsewhere.path().join("runs");
    let command = format!("echo run >> {}; mkdir -p dist; cp src/*.js dist", text(&runs));
    let build = format!(r#""build": {{ "command": "{command}" }}, "main": "dist/index.js""#);
    // The build command writes into the directory of both projects.
    let app = Project::new(&[
        ("wrangler.jsonc", APP_CONFIG),
        ("src/index.js", APP),
        ("workers/auth/wrangler.jsonc", &AUTH_CONFIG.replace(r#""main": "src/index.js""#, &build)),
        ("workers/auth/src/index.js", AUTH),
        ("workers/auth/src/word.js", "export const word = 'hello';"),
    ]);
    let runs = || std::fs::read_to_string(&runs).unwrap().lines().count();
    let mut dev = Dev::ready(app.path(), &[&text(&app.file("workers/auth"))]);
    assert_eq!(dev.get("/a").body, "hello from auth: GET /a");
    app.replace("src/index.js", "new Response(env.NAME)", "new Response('changed')");
    dev.becomes("/name", "changed");
    // Nothing more may happen, so there is nothing to wait for but time; a build takes a tenth of this.
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(runs(), 1);
    app.write("workers/auth/src/word.js", "export const word = 'welcome';");
    dev.becomes("/a", "welcome from auth: GET /a");
    std::thread::sleep(std::time::Duration::from_millis(500));
    assert_eq!(runs(), 2);
}

#[test]
fn what_does_not_belong_together_is_refused() {
    let (app, auth) = (app(), auth());
    let (app, auth) = (text(app.path()), text(auth.path()));
    let error = refused(&[&app, "--no-watch"]);
    let missing = format!(
        "{app}/wrangler.jsonc:5:37: services[0].service: no Worker of this deployment is named \"auth\"; \
         add its project, as in `celld dev {app} ../auth`"
    );
    assert!(error.contains(&missing), "{error}");
    // No change of a file can mend this, so it ends although it watches.
    let error = refused(&[&app, &auth, &format!("{auth}/wrangler.jsonc")]);
    assert!(error.contains(&format!("{auth}/wrangler.jsonc is named twice")), "{error}");
    let error = refused(&[&app, &format!("{auth}/gone")]);
    assert!(error.contains(&format!("{auth}/gone does not exist")), "{error}");
}

#[test]
fn a_deployment_of_several_workers_is_served_by_a_node() {
    let Some(store) = s3_store("workers") else { return };
    let (app, auth) = (app(), auth());
    let with = |arguments: &[&str]| {
        let mut command: Command = celld();
        command.envs(store.iter().map(|(name, value)| (name, value))).args(arguments);
        command
    };
    let output = with(&["deploy", &text(app.path()), &text(auth.path())]).output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    assert!(said.contains("deployed app to s3://") && said.contains("with auth: 2 modules"), "{said}");

    for (round, name) in ["auth", "the node's"].into_iter().enumerate() {
        let work = tempfile::tempdir().unwrap();
        let mut command = with(&["--listen", "127.0.0.1:0", "--internal-listen", "127.0.0.1:0"]);
        command.env("CELLD_WATCH", work.path()).env("CELLD_NODE", "test");
        if round > 0 {
            // The operator's variables are those of all Workers.
            command.env("CELLD_VAR_NAME", name);
        }
        let mut node = Dev::spawn(command);
        assert_eq!(post(node.address(), "/a", "").unwrap().body, format!("hello from {name}: POST /a"));
        assert_eq!(node.get("/name").body, if round > 0 { name } else { "app" });
        assert_eq!(node.get("/rpc").body, format!("hello you, editor of {name}"));
        for n in 1..=3 {
            let expected = serde_json::json!({ "n": 3 * round + n, "name": name });
            assert_eq!(node.get("/object").json(), expected);
        }
        node.signal(Signal::KILL);
        node.ended();
    }
}
