//! Real runs of esbuild. Uses the one that celld would find; where there is none, installs it with npm.

use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;

use celld_project::{Bundle, BundleError, BundleOptions, ModuleKind, Project, Purpose, bundle, find_esbuild};

/// A directory whose projects find esbuild.
fn workspace() -> &'static Path {
    static WORKSPACE: OnceLock<tempfile::TempDir> = OnceLock::new();
    WORKSPACE
        .get_or_init(|| {
            let directory = tempfile::tempdir().unwrap();
            if find_esbuild(directory.path()).is_err() {
                let npm = Command::new("npm")
                    .args(["install", "--silent", "--no-save", "--ignore-scripts", "esbuild@0.28.2"])
                    .current_dir(directory.path())
                    .status()
                    .unwrap();
                assert!(npm.success(), "npm could not install esbuild");
            }
            directory
        })
        .path()
}

/// A project of these files, in a directory of its own below the workspace.
fn project(files: &[(&str, &str)], purpose: Purpose) -> (tempfile::TempDir, Project) {
    let directory = tempfile::tempdir_in(workspace()).unwrap();
    for (name, content) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }
    let project = Project::load(directory.path(), None, purpose).unwrap();
    (directory, project)
}

async fn build(files: &[(&str, &str)]) -> Result<Bundle, BundleError> {
    let (_directory, project) = project(files, Purpose::Deploy);
    bundle(&project, &BundleOptions::default()).await
}

fn text<'b>(bundle: &'b Bundle, name: &str) -> &'b str {
    let module = bundle.modules.iter().find(|module| module.name == name);
    std::str::from_utf8(&module.unwrap_or_else(|| panic!("{name} in {bundle:?}")).bytes).unwrap()
}

const CONFIG: &str = r#"{ "name": "a", "main": "src/index.ts", "compatibility_date": "2026-01-15",
    "define": { "VERSION": "\"7\"" }, "alias": { "aliased": "./src/other.ts" } }"#;
const NODE_CONFIG: &str = r#"{ "name": "a", "main": "src/index.ts", "compatibility_date": "2026-01-15",
    "compatibility_flags": ["nodejs_compat"] }"#;

#[tokio::test]
async fn a_project_with_every_kind_of_module() {
    let index = r#"
        import page from "./page.html";
        import wasm from "./add.wasm";
        import again from "./add.wasm?module";
        import data from "./data.bin";
        import config from "./config.json";
        import other from "aliased";
        import packaged from "packaged";
        import { DurableObject } from "cloudflare:workers";
        export class Room extends DurableObject<unknown> {}
        export default {
          fetch(): Response {
            const all = [page, wasm, again, data, config.five, other, packaged, VERSION, process.env.NODE_ENV];
            return new Response(String(all));
          },
        };"#;
    let bundle = build(&[
        ("wrangler.jsonc", CONFIG),
        ("src/index.ts", index),
        ("src/page.html", "<p>page</p>"),
        ("src/add.wasm", "\0asm"),
        ("src/data.bin", "data"),
        ("src/config.json", r#"{ "five": 5 }"#),
        ("src/other.ts", "export default 'the alias' as string;"),
        (
            "node_modules/packaged/package.json",
            r#"{ "exports": { "workerd": "./w.js", "default": "./d.js" } }"#,
        ),
        ("node_modules/packaged/w.js", "export default 'for workerd';"),
        ("node_modules/packaged/d.js", "export default 'for others';"),
    ])
    .await
    .unwrap();

    assert_eq!(bundle.main, "index.js");
    assert_eq!(bundle.modules[0].name, "index.js");
    assert_eq!(bundle.exports.as_deref().unwrap(), ["Room", "default"]);
    assert!(bundle.warnings.is_empty(), "{:?}", bundle.warnings);
    let kinds = |kind| bundle.modules.iter().filter(move |module| module.kind == kind).collect::<Vec<_>>();
    let code = text(&bundle, "index.js");
    for kind in [ModuleKind::Text, ModuleKind::Data, ModuleKind::Wasm] {
        for module in kinds(kind) {
            assert!(code.contains(&format!("\"./{}\"", module.name)), "{} is not imported", module.name);
        }
    }
    assert_eq!(kinds(ModuleKind::Text).len(), 1);
    assert_eq!(kinds(ModuleKind::Data).len(), 1);
    let wasm = kinds(ModuleKind::Wasm);
    assert_eq!(wasm[1].name, format!("{}?module", wasm[0].name));
    assert_eq!(&*wasm[1].bytes, b"\0asm");
    assert!(code.contains("for workerd") && !code.contains("for others"));
    assert!(code.contains("the alias") && code.contains("\"7\"") && code.contains("\"production\""));

    let map: serde_json::Value = serde_json::from_str(text(&bundle, "index.js.map")).unwrap();
    let sources = map["sources"].as_array().unwrap();
    let position = sources.iter().position(|source| source == "src/index.ts").unwrap();
    assert_eq!(map["sourcesContent"][position], index);

    let inputs: Vec<_> =
        bundle.inputs.iter().map(|input| input.file_name().unwrap().to_str().unwrap()).collect();
    for input in ["index.ts", "page.html", "add.wasm", "data.bin", "config.json", "other.ts", "w.js"] {
        assert!(inputs.contains(&input), "{input} in {inputs:?}");
    }
    assert!(bundle.inputs.iter().all(|input| input.is_absolute()));
}

#[tokio::test]
async fn node_built_ins_stay_outside_and_can_be_required() {
    let index = r#"
        import { readFile } from "fs/promises";
        import { Buffer } from "node:buffer";
        import legacy from "legacy";
        export default { fetch: () => new Response(String([readFile, Buffer, legacy])) };"#;
    let legacy = "module.exports = require('events').EventEmitter; try { require('node:none') } catch {}";
    let files = |config| {
        [
            ("wrangler.jsonc", config),
            ("src/index.ts", index),
            ("node_modules/legacy/package.json", r#"{ "main": "i.js" }"#),
            ("node_modules/legacy/i.js", legacy),
        ]
    };
    let bundle = build(&files(NODE_CONFIG)).await.unwrap();
    let code = text(&bundle, "index.js");
    assert!(code.contains(r#"from "node:fs/promises""#) && code.contains(r#"from "node:buffer""#), "{code}");
    assert!(code.contains(r#"import __celld_required_0 from "node:events";"#), "{code}");
    assert!(code.contains(r#"case "node:events": return __celld_required_0;"#), "{code}");

    assert!(!code.contains(r#"from "node:none""#), "an optional module must not be imported: {code}");

    // Without the flag a bare name is a package that is not there.
    let error = build(&files(CONFIG)).await.unwrap_err().to_string();
    assert!(
        error.contains(r#"Could not resolve "fs/promises""#) && error.contains("src/index.ts:2:33"),
        "{error}"
    );
}

#[tokio::test]
async fn a_path_into_a_package_named_like_a_built_in_is_the_package() {
    let bundle = build(&[
        ("wrangler.jsonc", NODE_CONFIG),
        (
            "src/index.ts",
            "import a from 'process'; import b from 'process/browser'; export default { a, b };",
        ),
        ("node_modules/process/package.json", "{}"),
        ("node_modules/process/browser.js", "export default 'from the package';"),
    ])
    .await
    .unwrap();
    let code = text(&bundle, "index.js");
    assert!(code.contains("from the package") && code.contains(r#"from "node:process""#), "{code}");
}

#[tokio::test]
async fn an_abandoned_build_command_is_ended() {
    let config = r#"{ "name": "a", "main": "made.ts", "compatibility_date": "2026-01-15",
        "build": { "command": "echo $$ > started; sleep 1000 & echo $! >> started; wait" } }"#;
    let (directory, project) = project(&[("wrangler.jsonc", config)], Purpose::Deploy);
    let started = directory.path().join("started");
    let pids = async {
        loop {
            let text = std::fs::read_to_string(&started).unwrap_or_default();
            if text.lines().count() == 2 {
                return text.lines().map(str::to_owned).collect::<Vec<_>>();
            }
            tokio::task::yield_now().await;
        }
    };
    let options = BundleOptions::default();
    let pids = tokio::select! {
        result = bundle(&project, &options) => panic!("ended by itself: {result:?}"),
        pids = pids => pids,
    };
    for pid in pids {
        // A process that was killed and not yet collected by init has no command line any more.
        let command_line = format!("/proc/{pid}/cmdline");
        while std::fs::read(&command_line).is_ok_and(|text| !text.is_empty()) {
            tokio::task::yield_now().await;
        }
    }
}

#[tokio::test]
async fn a_built_in_without_the_flag_is_warned_about() {
    let index = "import { Buffer } from 'node:buffer'; export default { fetch: () => new Response(Buffer.from('a')) };";
    let bundle = build(&[("wrangler.jsonc", CONFIG), ("src/index.ts", index)]).await.unwrap();
    let expected =
        "node:buffer is imported, and the compatibility flag \"nodejs_compat\" that provides it is not set";
    assert_eq!(bundle.warnings, [expected]);
}

#[tokio::test]
async fn errors_name_file_and_line() {
    let files = [("wrangler.jsonc", CONFIG), ("src/index.ts", "export default {\n  fetch( { }\n};\n")];
    let error = build(&files).await.unwrap_err();
    assert!(matches!(error, BundleError::Failed { .. }));
    let message = error.to_string();
    assert!(message.starts_with("the build failed\n") && message.contains("src/index.ts:"), "{message}");
    assert!(!message.contains('\u{1b}'), "no colours unless asked for");
}

#[tokio::test]
async fn a_bound_class_must_be_exported() {
    let config = r#"{ "name": "a", "main": "i.ts", "compatibility_date": "2026-01-15",
        "durable_objects": { "bindings": [{ "name": "ROOM", "class_name": "Room" }] } }"#;
    let error =
        build(&[("wrangler.jsonc", config), ("i.ts", "class Room {}; export default {}")]).await.unwrap_err();
    let message = error.to_string();
    assert!(
        message.starts_with("the Durable Object class Room, bound as ROOM, is not exported by "),
        "{message}"
    );
}

#[tokio::test]
async fn a_build_command_runs_first() {
    let config = |command: &str| {
        format!(
            r#"{{ "name": "a", "main": "made.ts", "compatibility_date": "2026-01-15",
                 "build": {{ "command": "{command}" }} }}"#
        )
    };
    let made = build(&[("wrangler.jsonc", &config("echo 'export default 42' > made.ts"))]).await.unwrap();
    assert!(text(&made, "made.js").contains("42"));

    let error = build(&[("wrangler.jsonc", &config("echo out; echo err >&2; exit 3"))]).await.unwrap_err();
    let expected = "the build command `echo out; echo err >&2; exit 3` failed (exit status: 3)\nout\nerr";
    assert_eq!(error.to_string(), expected);

    let error = build(&[("wrangler.jsonc", &config("true"))]).await.unwrap_err().to_string();
    assert!(error.ends_with("made.ts, although `true` ran"), "{error}");
}

#[tokio::test]
async fn without_bundling_the_rules_find_the_modules() {
    let config = r#"{ "name": "a", "main": "src/index.js", "compatibility_date": "2026-01-15", "no_bundle": true,
        "rules": [{ "type": "ESModule", "globs": ["**/*.js"] }] }"#;
    let bundle = build(&[
        ("wrangler.jsonc", config),
        ("src/index.js", "import './lib/a.js'; export default {}"),
        ("src/lib/a.js", "export {}"),
        ("src/lib/t.txt", "text"),
        ("src/node_modules/x/b.js", "no"),
        ("outside.js", "no"),
    ])
    .await
    .unwrap();
    let found: Vec<_> = bundle.modules.iter().map(|module| (module.name.as_str(), module.kind)).collect();
    assert_eq!(
        found,
        [("index.js", ModuleKind::Esm), ("lib/a.js", ModuleKind::Esm), ("lib/t.txt", ModuleKind::Text)]
    );
}

#[tokio::test]
async fn the_examples_build() {
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    for name in ["hello", "counter", "sql", "chat"] {
        let mut project = Project::load(&examples.join(name), None, Purpose::Deploy).unwrap();
        assert!(project.notes.is_empty(), "{name}: {:?}", project.notes);
        // The bundler is looked for from the root; the examples have none of their own.
        let modules = workspace().join("node_modules");
        if modules.is_dir() {
            let copy = workspace().join(name);
            copy_directory(&examples.join(name), &copy);
            project = Project::load(&copy, None, Purpose::Deploy).unwrap();
        }
        let bundle = bundle(&project, &BundleOptions::default()).await.unwrap();
        assert!(bundle.warnings.is_empty(), "{name}: {:?}", bundle.warnings);
    }
}

fn copy_directory(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy_directory(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}
