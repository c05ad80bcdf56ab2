//! Several projects in one deployment: what they may say about each other, and what every mistake says.

use std::path::{Path, PathBuf};

use celld_project::{ConfigError, Projects, Purpose};

/// Projects side by side in one directory.
struct Fixture(tempfile::TempDir);

impl Fixture {
    /// Each is a directory's name and what its configuration has beside `main` and the date.
    fn new(projects: &[(&str, &str)]) -> Fixture {
        let fixture = Fixture(tempfile::tempdir().unwrap());
        for (name, keys) in projects {
            let directory = fixture.path(name);
            std::fs::create_dir(&directory).unwrap();
            std::fs::write(directory.join("index.ts"), "export default {}").unwrap();
            let config =
                format!("{{ \"main\": \"index.ts\", \"compatibility_date\": \"2026-01-15\",\n{keys}\n}}");
            std::fs::write(directory.join("wrangler.jsonc"), config).unwrap();
        }
        fixture
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn load(&self, names: &[&str], env: Option<&str>, purpose: Purpose) -> Result<Projects, ConfigError> {
        let paths: Vec<PathBuf> = names.iter().map(|name| self.path(name)).collect();
        Projects::load(&paths[0], &paths[1..], env, purpose)
    }

    /// What is wrong with them, without the directory, which is different each time.
    fn mistakes(&self, names: &[&str]) -> String {
        let error = self.load(names, None, Purpose::Dev).expect_err("a mistake").to_string();
        error.replace(&format!("{}/", self.0.path().display()), "")
    }
}

const APP: &str = r#""name": "app",
"services": [
  { "binding": "SELF", "service": "app", "entrypoint": "Inner" },
  { "binding": "AUTH", "service": "auth", "entrypoint": "Admin", "props": { "a": 1 } }
],
"durable_objects": { "bindings": [
  { "name": "ROOM", "class_name": "Room", "script_name": "app" },
  { "name": "SESSION", "class_name": "Session", "script_name": "auth" },
  { "name": "USER", "class_name": "User", "script_name": "auth" }
] },
"migrations": [{ "tag": "v1", "new_sqlite_classes": ["Room"] }]"#;
const AUTH: &str = r#""name": "auth",
"durable_objects": { "bindings": [{ "name": "SESSION", "class_name": "Session" }] },
"migrations": [{ "tag": "v1", "new_sqlite_classes": ["Session", "User"] }]"#;

#[test]
fn workers_name_each_other() {
    let fixture = Fixture::new(&[("app", APP), ("auth", AUTH)]);
    let projects = fixture.load(&["app", "auth"], None, Purpose::Deploy).unwrap();
    let config = &projects.primary.config;
    let services: Vec<_> = config.services.iter().map(|binding| binding.service.as_deref()).collect();
    assert_eq!(services, [None, Some("auth")]);
    assert_eq!(config.services[1].entrypoint, "Admin");
    assert_eq!(config.services[1].props, serde_json::json!({ "a": 1 }));
    let scripts: Vec<_> = config.durable_objects.iter().map(|binding| binding.script.as_deref()).collect();
    assert_eq!(scripts, [None, Some("auth"), Some("auth")]);
    assert_eq!(projects.others[0].config.name, "auth");
    assert!(projects.iter().all(|project| project.notes.is_empty()), "no migration is missed");
    // Which of them is the primary one makes no difference to the names.
    fixture.load(&["auth", "app"], None, Purpose::Deploy).unwrap();
}

#[test]
fn a_worker_that_is_not_there_is_named_with_the_way_to_add_it() {
    let fixture = Fixture::new(&[("app", APP), ("auth", AUTH)]);
    let root = fixture.0.path().display();
    let mistakes = fixture.load(&["app"], None, Purpose::Deploy).unwrap_err().to_string();
    let line = |place: &str| {
        format!(
            "{root}/app/wrangler.jsonc:{place}: no Worker of this deployment is named \"auth\"; \
             add its project, as in `celld deploy {root}/app ../auth`"
        )
    };
    let expected = [
        line("5:35: services[1].service"),
        line("9:64: durable_objects.bindings[1].script_name"),
        line("10:58: durable_objects.bindings[2].script_name"),
    ];
    assert_eq!(mistakes, expected.join("\n"));

    let fixture = Fixture::new(&[
        ("app", r#""name": "app", "services": [{ "binding": "AUTH", "service": "auht" }]"#),
        ("auth", AUTH),
    ]);
    assert_eq!(
        fixture.mistakes(&["app", "auth"]),
        "app/wrangler.jsonc:2:61: services[0].service: no Worker of this deployment is named \"auht\"; \
         add its project, as in `celld dev app auth ../auht`, or did you mean \"auth\"?"
    );
}

#[test]
fn a_class_belongs_to_one_worker() {
    let missing = r#""name": "app", "durable_objects": { "bindings": [
{ "name": "USER", "class_name": "Usr", "script_name": "auth" }] }"#;
    let fixture = Fixture::new(&[("app", missing), ("auth", AUTH)]);
    assert_eq!(
        fixture.mistakes(&["app", "auth"]),
        "app/wrangler.jsonc:3:33: durable_objects.bindings[0].class_name: the Worker \"auth\" (auth/wrangler.jsonc) \
         does not define the class \"Usr\"; its migrations need {\"tag\": \"v1\", \"new_sqlite_classes\": [\"Usr\"]}"
    );

    let twice = r#""name": "app", "durable_objects": { "bindings": [{ "name": "S", "class_name": "Session" }] },
"migrations": [{ "tag": "v1", "new_sqlite_classes": ["Session"] }]"#;
    let fixture = Fixture::new(&[("auth", AUTH), ("app", twice)]);
    assert_eq!(
        fixture.mistakes(&["auth", "app"]),
        "app/wrangler.jsonc:2:79: durable_objects.bindings[0].class_name: auth/wrangler.jsonc defines a Durable Object \
         class \"Session\" too, and cells are named by their class: rename one of them, or bind that one with script_name"
    );
    let fixture = Fixture::new(&[
        ("auth", AUTH),
        ("app", r#""name": "app", "migrations": [{ "tag": "v1", "new_sqlite_classes": ["User"] }]"#),
    ]);
    assert!(fixture.mistakes(&["auth", "app"]).starts_with(
        "app/wrangler.jsonc:2:68: migrations[0].new_sqlite_classes: auth/wrangler.jsonc defines"
    ));
}

#[test]
fn each_project_and_each_name_once() {
    let fixture = Fixture::new(&[("app", AUTH), ("auth", r#""name": "auth""#), ("a", ""), ("b", "")]);
    assert_eq!(
        fixture.mistakes(&["app", "auth"]),
        "auth/wrangler.jsonc:2:9: name: the Worker of app/wrangler.jsonc is named \"auth\" too: \
         each Worker of a deployment needs a name of its own"
    );
    // In development a name may be missing.
    assert_eq!(
        fixture.mistakes(&["a", "b"]),
        "b/wrangler.jsonc:1:1: name: the Worker of a/wrangler.jsonc is named \"worker\" too: \
         each Worker of a deployment needs a name of its own"
    );
    assert_eq!(
        fixture.mistakes(&["app", "app/../app/wrangler.jsonc"]),
        "app/wrangler.jsonc is named twice, as app and as app/../app/wrangler.jsonc: \
         each project of a deployment is named once"
    );
}

#[test]
fn the_mistakes_of_all_projects_are_told_at_once() {
    let fixture = Fixture::new(&[("a", r#""name": 1"#), ("b", r#""mian": 1"#)]);
    assert_eq!(
        fixture.mistakes(&["a", "b"]),
        "a/wrangler.jsonc:2:9: name: expected a string, found a number\n\
         b/wrangler.jsonc:2:1: mian: unknown key; did you mean \"main\"?"
    );
    let gone = fixture.path("gone");
    let error =
        Projects::load(&fixture.path("a"), std::slice::from_ref(&gone), None, Purpose::Dev).unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot read {}: ", gone.display())), "{error}");
}

#[test]
fn an_environment_applies_to_all() {
    let service = |name: &str| {
        format!(
            r#""name": "app", "env": {{ "staging": {{ "services": [{{ "binding": "A", "service": "{name}" }}] }} }}"#
        )
    };
    let auth = r#""name": "auth", "env": { "staging": {} }"#;
    let fixture = Fixture::new(&[("app", &service("auth-staging")), ("auth", auth)]);
    let projects = fixture.load(&["app", "auth"], Some("staging"), Purpose::Deploy).unwrap();
    assert_eq!(projects.others[0].config.name, "auth-staging");

    let fixture = Fixture::new(&[("app", &service("auth")), ("auth", auth)]);
    let error = fixture.load(&["app", "auth"], Some("staging"), Purpose::Deploy).unwrap_err().to_string();
    assert!(error.ends_with("/auth ../auth`, or did you mean \"auth-staging\"?"), "{error}");

    let fixture = Fixture::new(&[("app", &service("x")), ("auth", r#""name": "auth""#)]);
    let error = fixture.load(&["app", "auth"], Some("staging"), Purpose::Deploy).unwrap_err().to_string();
    assert!(
        error.ends_with(
            "auth/wrangler.jsonc: there is no environment \"staging\"; the file defines no environments"
        ),
        "{error}"
    );
}

#[test]
fn paths_in_messages_are_short() {
    let fixture = Fixture::new(&[("app", r#""name": "app""#), ("auth", r#""name": "auth""#)]);
    let primary: &Path = &fixture.path("app");
    let projects = Projects::load(primary, &[primary.join("../auth")], None, Purpose::Dev).unwrap();
    assert_eq!(projects.others[0].root, fixture.path("auth").canonicalize().unwrap());
}
