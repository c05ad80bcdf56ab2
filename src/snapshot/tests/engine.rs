//! The platform half of the engine, started from the embedded snapshot: small Workers in `workers/` that
//! assert inside the isolate, and what only the embedder can see.

mod gate;
mod harness;

use celld_engine::deployment::ModuleKind;
use celld_engine::host::{ConsoleLevel, SourcePosition};
use celld_engine::platform::isolate::{Isolate, IsolateError, IsolateOptions};
use celld_engine::platform::modules::{Modules, ModulesError};
use celld_snapshot::SNAPSHOTS;
use deno_core::v8;

use harness::{Bundle, Sink, block_on, on_engine_thread};

const NODE: &[&str] = &["nodejs_compat"];

/// Runs a Worker of `workers/`, which fails by throwing.
fn passes(worker: &'static str, source: &'static str, flags: &'static [&'static str]) {
    on_engine_thread(move || {
        let outcome = Bundle::new(worker).esm(worker, source).flags(flags).run();
        if let Err(error) = outcome.result {
            panic!("{worker} {flags:?}: {error}\n{}", outcome.sink.text());
        }
        assert_eq!(outcome.sink.at(ConsoleLevel::Uncaught), Vec::<String>::new(), "{worker}");
    });
}

#[test]
fn globals_exist_and_work() {
    passes("globals.js", include_str!("workers/globals.js"), &[]);
    passes("globals.js", include_str!("workers/globals.js"), NODE);
}

#[test]
fn code_from_text_is_refused() {
    passes("eval.js", include_str!("workers/eval.js"), &[]);
    passes("eval.js", include_str!("workers/eval.js"), NODE);
}

#[test]
fn nothing_of_the_runtime_is_reachable() {
    passes("reachable.js", include_str!("workers/reachable.js"), &[]);
    passes("reachable_node.js", include_str!("workers/reachable_node.js"), NODE);
}

#[test]
fn node_modules_work() {
    passes("node.js", include_str!("workers/node.js"), NODE);
}

#[test]
fn the_host_is_closed() {
    passes("host.js", include_str!("workers/host.js"), NODE);
}

#[test]
fn cloudflare_workers_has_its_exports() {
    passes("cloudflare_workers.js", include_str!("workers/cloudflare_workers.js"), &[]);
}

#[test]
fn nothing_leaves_a_cell_before_it_is_durable() {
    on_engine_thread(|| block_on(gate::nothing_leaves_before_it_is_durable()));
}

#[test]
fn the_namespace_of_a_worker_is_readable() {
    on_engine_thread(|| {
        let source = "export default { fetch() { return 'hello'; } }; export class Counter {}";
        let mut running = Bundle::new("index.js").esm("index.js", source).start();
        let namespace = running.load().expect("loads");
        let mut entered = running.isolate.enter();
        let runtime = entered.runtime();
        deno_core::scope!(scope, runtime);
        let namespace = v8::Local::new(scope, namespace);
        let get = |object: v8::Local<v8::Object>, name: &str| {
            let key = v8::String::new(scope, name).expect("short");
            object.get(scope, key.into()).map(|value| v8::Global::new(scope, value)).expect("present")
        };
        let default = get(namespace, "default");
        let counter = get(namespace, "Counter");
        let default = v8::Local::new(scope, default).to_object(scope).expect("an object");
        assert!(v8::Local::new(scope, counter).is_function());
        let key = v8::String::new(scope, "fetch").expect("short");
        let fetch = default.get(scope, key.into()).expect("present");
        let fetch: v8::Local<v8::Function> = fetch.try_into().expect("a function");
        let answer = fetch.call(scope, default.into(), &[]).expect("returns");
        assert_eq!(answer.to_rust_string_lossy(scope), "hello");
    });
}

#[test]
fn node_modules_need_the_flag() {
    on_engine_thread(|| {
        let outcome =
            Bundle::new("src/index.js").esm("src/index.js", "import { Buffer } from 'node:buffer';").run();
        let message = outcome.result.expect_err("refused").to_string();
        assert!(message.contains("\"node:buffer\""), "{message}");
        assert!(message.contains("\"src/index.js\""), "{message}");
        assert!(message.contains("nodejs_compat"), "{message}");
    });
}

#[test]
fn a_missing_module_is_named_with_its_importer() {
    on_engine_thread(|| {
        // The last ones exist, but not for users.
        for specifier in [
            "./missing.js",
            "npm-package",
            "node:sea",
            "node:celld-workers",
            "node:celld/vm",
            "node:_http_proxy",
            "ext:core/mod.js",
            "ext:deno_node/internal_binding/util.ts",
        ] {
            for source in
                [format!("import * as x from {specifier:?};"), format!("await import({specifier:?});")]
            {
                let outcome = Bundle::new("main.js").esm("main.js", &source).flags(NODE).run();
                let message = outcome.result.expect_err(specifier).to_string();
                let name = specifier.trim_start_matches("./");
                assert!(message.contains(name) && message.contains("main.js"), "{message}");
            }
        }
        let outcome = Bundle::new("main.js")
            .esm("main.js", "import './a/inner.js';")
            .esm("a/inner.js", "import '../gone.js';")
            .run();
        let message = outcome.result.expect_err("refused").to_string();
        assert!(message.contains("gone.js") && message.contains("a/inner.js"), "{message}");
    });
}

#[test]
fn modules_of_other_kinds_have_a_default_export() {
    on_engine_thread(|| {
        // (module (func (export "f") (result i32) i32.const 42))
        let wasm = b"\0asm\x01\0\0\0\x01\x05\x01\x60\0\x01\x7f\x03\x02\x01\0\x07\x05\x01\x01f\0\0\x0a\x06\x01\x04\0\x41\x2a\x0b";
        let source = r#"
            import answer from "./lib/answer.wasm";
            import text from "./text.txt";
            import data from "./data.bin";
            import config from "./config.json";
            import again from "./config.json" with { type: "json" };
            import bare from "text.txt";
            const got = [
              new WebAssembly.Instance(answer).exports.f(), text, [...new Uint8Array(data)].join(), config.a,
              again.a, bare === text, answer instanceof WebAssembly.Module,
            ];
            console.log(got.join(" "));
        "#;
        let bundle = Bundle::new("index.js")
            .esm("index.js", source)
            .module("lib/answer.wasm", ModuleKind::Wasm, wasm)
            .module("text.txt", ModuleKind::Text, "grüße".as_bytes())
            .module("data.bin", ModuleKind::Data, &[1, 2, 255])
            .module("config.json", ModuleKind::Json, br#"{"a":1}"#);
        let modules = bundle.modules();
        for _isolate in 0..2 {
            let outcome = harness::run(modules.clone());
            outcome.result.expect("loads");
            assert_eq!(outcome.sink.at(ConsoleLevel::Info), ["42 grüße 1,2,255 1 1 true true"]);
        }
        let broken = Bundle::new("index.js").esm("index.js", "import config from './config.json';").module(
            "config.json",
            ModuleKind::Json,
            b"{",
        );
        let message = broken.run().result.expect_err("refused").to_string();
        assert!(message.contains("config.json"), "{message}");
    });
}

/// One line of bundle for two of source: the statement at the bundle's first line stands in line 5,
/// column 3, the one at its second line in line 8, column 1.
const SOURCE_MAP: &str =
    r#"{"version":3,"sources":["src/index.ts"],"sourcesContent":[""],"names":[],"mappings":"AAIE;AAGF"}"#;

#[test]
fn errors_point_into_the_source() {
    on_engine_thread(|| {
        let source = "function fail() { throw new RangeError('boom'); }\nfail();";
        let outcome = Bundle::new("index.js").mapped("index.js", source, SOURCE_MAP).run();
        let error = outcome.result.expect_err("throws");
        let text = error.to_string();
        assert!(text.starts_with("RangeError: boom\n    at fail (src/index.ts:5:3)"), "{text}");
        assert!(text.contains("src/index.ts:8:1"), "{text}");
        assert!(!text.contains("index.js"), "{text}");
    });
}

#[test]
fn a_syntax_error_names_the_module() {
    on_engine_thread(|| {
        let outcome = Bundle::new("index.js").esm("index.js", "export default {\n  fetch( {\n").run();
        let text = outcome.result.expect_err("does not parse").to_string();
        assert!(text.contains("SyntaxError") && text.contains("index.js:"), "{text}");
    });
}

#[test]
fn console_lines_carry_the_source_position() {
    on_engine_thread(|| {
        let source = "function log() { console.warn('a %s', 'b', { c: [1] }); }\nlog();";
        let outcome = Bundle::new("index.js").mapped("index.js", source, SOURCE_MAP).run();
        outcome.result.expect("loads");
        let lines = outcome.sink.lines();
        let position = SourcePosition { file: "src/index.ts".to_owned(), line: 5, column: 3 };
        assert_eq!(lines, [(ConsoleLevel::Warn, "a b { c: [ 1 ] }".to_owned(), Some(position))]);
    });
}

#[test]
fn what_nobody_caught_is_reported_and_the_isolate_goes_on() {
    on_engine_thread(|| {
        let source = r#"
            addEventListener("unhandledrejection", (event) => {
              if (event.reason.message === "expected") event.preventDefault();
            });
            Promise.reject(new Error("expected"));
            Promise.reject(new TypeError("lost"));
            setTimeout(() => { throw new RangeError("late"); }, 1);
            setTimeout(() => console.log("still here"), 5);
        "#;
        let outcome = Bundle::new("index.js").esm("index.js", source).run();
        outcome.result.expect("loads");
        let uncaught = outcome.sink.at(ConsoleLevel::Uncaught);
        assert_eq!(uncaught.len(), 2, "{uncaught:?}");
        assert!(uncaught[0].contains("(in promise) TypeError: lost"), "{uncaught:?}");
        assert!(uncaught[1].contains("RangeError: late"), "{uncaught:?}");
        assert_eq!(outcome.sink.at(ConsoleLevel::Info), ["still here"]);
    });
}

#[test]
fn isolates_of_one_thread_live_side_by_side() {
    on_engine_thread(|| {
        let bundle = |text: &str| Bundle::new("index.js").esm("index.js", &format!("console.log({text:?})"));
        let mut first = bundle("first").start();
        let mut second = bundle("second").start();
        first.load().expect("loads");
        drop(first);
        let mut third = bundle("third").start();
        second.load().expect("loads");
        third.load().expect("loads");
        drop(second);
        assert_eq!(third.sink.at(ConsoleLevel::Info), ["third"]);
    });
}

#[test]
fn a_bundle_is_checked_before_it_is_loaded() {
    let error = |bundle: Bundle| Modules::new(bundle.script()).expect_err("refused");
    assert!(matches!(error(Bundle::new("index.js")), ModulesError::NoMain { .. }));
    let text = Bundle::new("index.js").module("index.js", ModuleKind::Text, b"");
    assert!(matches!(error(text), ModulesError::MainNotEsm { .. }));
    let outside = Bundle::new("index.js").esm("index.js", "").esm("../x.js", "");
    assert!(matches!(error(outside), ModulesError::BadName { .. }));
    let latin1 = Bundle::new("index.js").module("index.js", ModuleKind::Esm, &[0xff]);
    assert!(matches!(error(latin1), ModulesError::NotUtf8 { .. }));
}

/// A process has one snapshot (`Snapshots::of_process`): what holds with the one holds with the other, in a process of its own.
#[test]
fn all_of_this_holds_with_the_node_snapshot() {
    if std::env::var_os(harness::WITH_NODE).is_some() {
        return;
    }
    let tests = std::process::Command::new(std::env::current_exe().expect("this is a program"))
        .env(harness::WITH_NODE, "1")
        .output()
        .expect("it runs again");
    assert!(
        tests.status.success(),
        "{}\n{}",
        String::from_utf8_lossy(&tests.stdout),
        String::from_utf8_lossy(&tests.stderr)
    );
}

#[test]
fn an_isolate_of_the_other_snapshot_is_refused() {
    on_engine_thread(|| {
        let own = harness::snapshot();
        let is_own = std::ptr::eq(own.bytes, SNAPSHOTS.plain.bytes);
        let other = if is_own { &SNAPSHOTS.node } else { &SNAPSHOTS.plain };
        let modules = Bundle::new("index.js").esm("index.js", "export default {};").modules();
        let options = IsolateOptions::new(modules, std::rc::Rc::new(Sink::default()));
        let refused = block_on(async { Isolate::start(other, options) });
        assert!(matches!(refused, Err(IsolateError::OtherSnapshot)));
    });
}

/// `cargo test --release --workspace -- --ignored --nocapture start_cost`; once more with `CELLD_TEST_NODE_SNAPSHOT=1`.
#[test]
#[ignore = "a measurement"]
fn start_cost() {
    on_engine_thread(|| {
        for (name, flags, source) in [
            ("plain", &[][..], "export default {};"),
            ("nodejs_compat", NODE, "export default {};"),
            (
                "crypto, stream, buffer",
                NODE,
                "import 'node:crypto'; import 'node:stream'; import 'node:buffer';",
            ),
            (
                "http, fs, zlib, process, util",
                NODE,
                "import 'node:http'; import 'node:fs'; import 'node:zlib'; import 'node:process'; import 'node:util';",
            ),
        ] {
            let modules = Bundle::new("index.js").esm("index.js", source).flags(flags).modules();
            let sink = std::rc::Rc::new(Sink::default());
            let mut before = 0;
            let mut started = Vec::new();
            let mut times = Vec::new();
            // The first one loads what all share.
            for n in 0..41 {
                if n == 1 {
                    before = harness::resident_bytes();
                }
                let begin = std::time::Instant::now();
                let options = IsolateOptions::new(modules.clone(), sink.clone());
                let isolate = harness::block_on(async { Isolate::start(harness::snapshot(), options) });
                let mut isolate = isolate.expect("starts");
                harness::block_on(isolate.load_main()).expect("loads");
                times.push(begin.elapsed());
                started.push(isolate);
            }
            let resident = (harness::resident_bytes() - before) / (started.len() - 1) as u64;
            times.sort();
            println!("{name}: start and load {:?} (median), {} KiB resident each", times[20], resident >> 10);
            // What one has freed, the next could use.
            std::mem::forget(started);
        }
    });
}
