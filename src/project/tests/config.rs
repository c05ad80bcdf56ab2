//! What a configuration means and what every kind of mistake in it says.

use std::path::Path;

use celld_project::{ConfigError, Project, Purpose, RuleKind};

/// A project directory with an entry point and the given configuration.
struct Fixture(tempfile::TempDir);

impl Fixture {
    fn new(file: &str, config: &str) -> Fixture {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join("index.ts"), "export default {}").unwrap();
        std::fs::write(directory.path().join(file), config).unwrap();
        Fixture(directory)
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn load(&self, env: Option<&str>, purpose: Purpose) -> Result<Project, ConfigError> {
        Project::load(self.path(), env, purpose)
    }

    /// The text without the directory, which is different each time.
    fn plain(&self, text: impl ToString) -> String {
        text.to_string().replace(&format!("{}/", self.path().display()), "")
    }
}

fn dev(config: &str) -> Project {
    Fixture::new("wrangler.jsonc", config).load(None, Purpose::Dev).unwrap()
}

/// The messages about a `wrangler.jsonc` that adds `keys` to a good configuration, one a line.
fn mistakes(keys: &str) -> String {
    let config = format!("{{\n\"main\": \"index.ts\", \"compatibility_date\": \"2026-01-15\",\n{keys}\n}}");
    let fixture = Fixture::new("wrangler.jsonc", &config);
    fixture.plain(fixture.load(None, Purpose::Dev).expect_err(keys))
}

const FULL_TOML: &str = r#"
name = "full"
main = "index.ts"
compatibility_date = 2026-01-15
compatibility_flags = ["nodejs_compat"]
minify = true
define = { VERSION = '"1"' }
alias = { "left-pad" = "./pad.ts" }

[vars]
TEXT = "text"
LIST = [1, 2.5, true]
[vars.NESTED]
deep = "value"

[[durable_objects.bindings]]
name = "ROOM"
class_name = "Room"

[[migrations]]
tag = "v1"
new_sqlite_classes = ["Room"]

[[rules]]
type = "Text"
globs = ["**/*.md"]
fallthrough = true

[build]
command = "make"
watch_dir = ["src", "lib"]
"#;

#[test]
fn toml_and_json_mean_the_same() {
    let json = r#"{
      // A comment, and a trailing comma below.
      "name": "full", "main": "index.ts", "compatibility_date": "2026-01-15",
      "compatibility_flags": ["nodejs_compat"], "minify": true,
      "define": { "VERSION": "\"1\"" }, "alias": { "left-pad": "./pad.ts" },
      "vars": { "TEXT": "text", "LIST": [1, 2.5, true], "NESTED": { "deep": "value" } },
      "durable_objects": { "bindings": [{ "name": "ROOM", "class_name": "Room" }] },
      "migrations": [{ "tag": "v1", "new_sqlite_classes": ["Room"] }],
      "rules": [{ "type": "Text", "globs": ["**/*.md"], "fallthrough": true }],
      "build": { "command": "make", "watch_dir": ["src", "lib"] },
    }"#;
    let toml = Fixture::new("wrangler.toml", FULL_TOML).load(None, Purpose::Deploy).unwrap();
    let json = Fixture::new("wrangler.jsonc", json).load(None, Purpose::Deploy).unwrap();
    let relative =
        |project: &Project| format!("{:#?}", project.config).replace(&project.root.display().to_string(), "");
    assert_eq!(relative(&toml), relative(&json));

    let config = &toml.config;
    assert_eq!(config.vars["LIST"], serde_json::json!([1, 2.5, true]));
    assert_eq!(config.durable_objects[0].class, "Room");
    assert_eq!(config.build.as_ref().unwrap().watch_dirs[1], toml.root.join("lib"));
    let extensions = config.rules.extensions();
    assert_eq!(extensions[0], (".md".to_owned(), RuleKind::Text));
    assert!(extensions.contains(&(".html".to_owned(), RuleKind::Text)), "fallthrough keeps the default rule");
    assert!(extensions.contains(&(".wasm".to_owned(), RuleKind::CompiledWasm)));
}

#[test]
fn every_mistake_is_reported_with_its_place() {
    let fixture = Fixture::new(
        "wrangler.jsonc",
        r#"{
  "name": "Bad Name",
  "main": "missing.ts",
  "compatability_date": "2026-01-15",
  "compatibility_date": "15.1.2026",
  "compatibility_flags": "nodejs_compat",
  "durable_objects": { "bindings": [{ "name": "A", "class": "A" }, { "name": "B", "class_name": "__B" }] },
  "minify": "yes",
  "xyzzy": {}
}"#,
    );
    let missing = fixture.path().join("missing.ts");
    let expected = format!(
        r#"wrangler.jsonc:2:11: name: "Bad Name" may have only lower-case letters, digits, - and _, and not begin with -
wrangler.jsonc:3:11: main: there is no file {}
wrangler.jsonc:4:3: compatability_date: unknown key; did you mean "compatibility_date"?
wrangler.jsonc:5:25: compatibility_date: "15.1.2026" is not a date in the form YYYY-MM-DD
wrangler.jsonc:6:26: compatibility_flags: expected an array, found a string
wrangler.jsonc:7:37: durable_objects.bindings[0]: "class_name" is missing
wrangler.jsonc:7:52: durable_objects.bindings[0].class: unknown key
wrangler.jsonc:7:97: durable_objects.bindings[1].class_name: class names that begin with __ are reserved
wrangler.jsonc:8:13: minify: expected true or false, found a string
wrangler.jsonc:9:3: xyzzy: unknown key"#,
        fixture.plain(missing.display())
    );
    assert_eq!(fixture.plain(fixture.load(None, Purpose::Dev).unwrap_err()), expected);
}

#[test]
fn what_is_not_supported_is_refused_by_name() {
    let cases = [
        (
            r#""kv_namespaces": [{ "binding": "KV" }]"#,
            "wrangler.jsonc:3:1: kv_namespaces: KV namespaces: not supported yet by this release of celld",
        ),
        (
            r#""triggers": { "crons": ["* * * * *"] }"#,
            "wrangler.jsonc:3:1: triggers: cron triggers: not supported yet by this release of celld",
        ),
        (
            r#""services": [{ "binding": "A", "service": "a", "environment": "staging" }]"#,
            "wrangler.jsonc:3:48: services[0].environment: a service elsewhere: not supported yet by this release of celld",
        ),
        (
            r#""migrations": [{ "tag": "v2", "renamed_classes": [{ "from": "A", "to": "B" }] }]"#,
            "wrangler.jsonc:3:31: migrations[0].renamed_classes: renaming a class: not supported yet by this release of celld",
        ),
        (
            r#""rules": [{ "type": "Text", "globs": ["texts/*"] }]"#,
            "wrangler.jsonc:3:38: rules[0].globs: \"texts/*\": only globs by file extension, such as \"**/*.txt\", are supported by this release of celld",
        ),
        (
            r#""find_additional_modules": true"#,
            "wrangler.jsonc:3:28: find_additional_modules: modules beside a bundle: not supported yet by this release of celld (no_bundle finds them)",
        ),
    ];
    for (keys, expected) in cases {
        assert_eq!(mistakes(keys), expected);
    }
    // A template's empty list asks for nothing.
    dev(r#"{ "main": "index.ts", "kv_namespaces": [], "triggers": { "crons": [] }, "ai": null }"#);
}

#[test]
fn other_mistakes() {
    let cases = [
        (
            r#""vars": { "A": "1" }, "durable_objects": { "bindings": [{ "name": "A", "class_name": "A" }] }"#,
            "wrangler.jsonc:3:67: durable_objects.bindings[0].name: vars has a variable \"A\" too",
        ),
        (
            r#""migrations": [{ "tag": "v1" }, { "tag": "v1" }]"#,
            "wrangler.jsonc:3:42: migrations[1].tag: another migration has the tag \"v1\"",
        ),
        (r#""name": 5"#, "wrangler.jsonc:3:9: name: expected a string, found a number"),
        (r#""main": "index.ts""#, "wrangler.jsonc:3:1: main: the key is set twice"),
        (r#""define": { "A": 1 }"#, "wrangler.jsonc:3:18: define.A: expected a string, found a number"),
        (r#""vars": { "A" 1 }"#, "wrangler.jsonc:3:15: not valid JSON: "),
    ];
    for (keys, expected) in cases {
        let message = mistakes(keys);
        assert!(message.starts_with(expected), "{message}\n{expected}");
    }
    let toml = Fixture::new("wrangler.toml", "main = \"index.ts\"\nname = \n");
    let message = toml.plain(toml.load(None, Purpose::Dev).unwrap_err());
    assert!(message.starts_with("wrangler.toml:2:") && message.contains(": not valid TOML: "), "{message}");

    let empty = tempfile::tempdir().unwrap();
    let message = Project::load(empty.path(), None, Purpose::Dev).unwrap_err().to_string();
    assert!(message.starts_with("no wrangler.jsonc, wrangler.json or wrangler.toml in "), "{message}");
    let message = Project::load(&empty.path().join("nowhere"), None, Purpose::Dev).unwrap_err().to_string();
    assert!(message.starts_with("cannot read ") && message.contains("nowhere: "), "{message}");
}

#[test]
fn deploying_needs_what_development_has_defaults_for() {
    let fixture = Fixture::new("wrangler.json", r#"{ "main": "index.ts" }"#);
    let project = fixture.load(None, Purpose::Dev).unwrap();
    assert_eq!(project.config.name, "worker");
    assert_eq!(project.notes.len(), 1, "the date of today is worth a note");
    assert_eq!(
        fixture.plain(fixture.load(None, Purpose::Deploy).unwrap_err()),
        "wrangler.json:1:1: name: missing: a deployment needs the script's name\n\
         wrangler.json:1:1: compatibility_date: missing: the Worker runs with the behaviour of that day, such as \"2026-01-15\""
    );
}

#[test]
fn keys_without_effect_get_a_note() {
    let fixture = Fixture::new(
        "wrangler.jsonc",
        r#"{ "main": "index.ts", "compatibility_date": "2026-01-15",
           "$schema": "x", "account_id": "1", "workers_dev": true, "routes": [], "placement": { "mode": "smart" },
           "migrations": [{ "tag": "v1", "new_classes": ["A"] }],
           "durable_objects": { "bindings": [{ "name": "B", "class_name": "B" }] } }"#,
    );
    let project = fixture.load(None, Purpose::Dev).unwrap();
    let notes: Vec<String> = project.notes.iter().map(|note| fixture.plain(note)).collect();
    assert_eq!(
        notes,
        [
            "wrangler.jsonc:2:28: account_id: has no effect: it selects a Cloudflare account",
            "wrangler.jsonc:2:47: workers_dev: has no effect: it routes a domain of Cloudflare's edge",
            "wrangler.jsonc:2:82: placement: has no effect: the fleet decides where code runs",
            "wrangler.jsonc:3:42: migrations[0].new_classes: the same as new_sqlite_classes: every cell has a SQLite database",
            "wrangler.jsonc:4:12: durable_objects: no migration introduces B; Cloudflare needs one: \
             {\"tag\": \"v1\", \"new_sqlite_classes\": [\"B\"]}",
        ]
    );
}

#[test]
fn an_environment_inherits_as_in_wrangler() {
    let fixture = Fixture::new(
        "wrangler.jsonc",
        r#"{
  "name": "app", "main": "index.ts", "compatibility_date": "2026-01-15",
  "minify": true, "vars": { "A": "top" }, "kv_namespaces": [{ "binding": "KV" }],
  "env": {
    "staging": { "minify": false, "vars": { "B": "staging" } },
    "bare": { "name": "own", "alias": {}, "triggers": { "crons": ["* * * * *"] } }
  }
}"#,
    );
    let staging = fixture.load(Some("staging"), Purpose::Deploy).unwrap();
    assert_eq!(staging.config.name, "app-staging");
    assert!(!staging.config.minify);
    assert_eq!(staging.config.vars.keys().collect::<Vec<_>>(), ["B"]);
    assert_eq!(staging.config.compatibility_date, "2026-01-15");
    let notes: Vec<String> = staging.notes.iter().map(|note| fixture.plain(note)).collect();
    assert_eq!(
        notes,
        [
            "wrangler.jsonc:3:43: kv_namespaces: not inherited by the environment \"staging\", which has none of its own"
        ]
    );

    assert_eq!(
        fixture.plain(fixture.load(Some("bare"), Purpose::Deploy).unwrap_err()),
        "wrangler.jsonc:6:30: env.bare.alias: allowed only at the top level of the file\n\
         wrangler.jsonc:6:43: env.bare.triggers: cron triggers: not supported yet by this release of celld"
    );
    assert_eq!(
        fixture.plain(fixture.load(Some("nope"), Purpose::Deploy).unwrap_err()),
        "wrangler.jsonc: there is no environment \"nope\"; the file defines staging, bare"
    );
}

#[test]
fn dev_vars_override_in_development_only() {
    let fixture = Fixture::new(
        "wrangler.jsonc",
        r#"{ "name": "a", "main": "index.ts", "compatibility_date": "2026-01-15",
             "vars": { "A": "config", "B": "config" }, "env": { "x": {} } }"#,
    );
    std::fs::write(fixture.path().join(".dev.vars"), "A=local\nSECRET=s\n").unwrap();
    let vars = |env, purpose| {
        let project = fixture.load(env, purpose).unwrap();
        serde_json::to_string(&project.config.vars).unwrap()
    };
    assert_eq!(vars(None, Purpose::Dev), r#"{"A":"local","B":"config","SECRET":"s"}"#);
    assert_eq!(vars(None, Purpose::Deploy), r#"{"A":"config","B":"config"}"#);
    assert_eq!(vars(Some("x"), Purpose::Dev), r#"{"A":"local","SECRET":"s"}"#);
    std::fs::write(fixture.path().join(".dev.vars.x"), "A=x\n").unwrap();
    assert_eq!(vars(Some("x"), Purpose::Dev), r#"{"A":"x"}"#);

    std::fs::write(fixture.path().join(".dev.vars"), "A=1\nnonsense").unwrap();
    assert_eq!(
        fixture.plain(fixture.load(None, Purpose::Dev).unwrap_err()),
        ".dev.vars:2: expected NAME=value, found \"nonsense\""
    );
}
