//! Runs of esbuild: one, or two when the first shows that a package has the name of a built-in module.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use tokio::process::Command;

use super::metafile::{Metafile, Output};
use super::{Bundle, BundleError, BundleOptions, Esbuild, Module, ModuleKind, node_builtins, source_map};
use crate::config::{Config, RuleKind};

/// The name of the metafile in the output directory; no output of a build can have it.
const METAFILE: &str = ".celld-metafile.json";

pub(super) async fn run(
    esbuild: &Esbuild,
    root: &Path,
    config: &Config,
    production: bool,
    options: &BundleOptions,
) -> Result<Bundle, BundleError> {
    // Paths in the metafile are relative to the working directory with symbolic links resolved.
    let root = root.canonicalize().map_err(io("open", root))?;
    let out = tempfile::Builder::new()
        .prefix("celld-build-")
        .tempdir()
        .map_err(io("create a directory in", &std::env::temp_dir()))?;
    let out_dir = out.path().canonicalize().map_err(io("open", out.path()))?;

    let invocation = Invocation { esbuild, root: &root, out_dir: &out_dir };
    let mut arguments = arguments(config, &out_dir, production, options);
    let mut messages = invocation.run(&arguments).await?;
    let mut outputs = Outputs::open(invocation)?;
    let packages = outputs.packages_taken_for_built_ins();
    if !packages.is_empty() {
        // An alias to itself is longer, so it wins over the one of the built-in module, and it resolves as usual.
        arguments.extend(packages.iter().map(|path| format!("--alias:{path}={path}")));
        messages = invocation.run(&arguments).await?;
        outputs = Outputs::open(invocation)?;
    }
    let mut bundle = outputs.bundle(config)?;
    bundle.warnings.extend(Some(messages.trim_end().to_owned()).filter(|text| !text.is_empty()));
    Ok(bundle)
}

/// What all runs for one bundle have in common.
#[derive(Clone, Copy)]
struct Invocation<'a> {
    esbuild: &'a Esbuild,
    /// The working directory.
    root: &'a Path,
    out_dir: &'a Path,
}

impl Invocation<'_> {
    /// Runs esbuild and returns its warnings.
    async fn run(&self, arguments: &[String]) -> Result<String, BundleError> {
        let program = &self.esbuild.path;
        let result = Command::new(program)
            .args(arguments)
            .current_dir(self.root)
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .output()
            .await
            .map_err(|source| BundleError::Start { program: program.display().to_string(), source })?;
        let messages = String::from_utf8_lossy(&result.stderr).into_owned();
        if result.status.success() {
            return Ok(messages);
        }
        Err(BundleError::Failed {
            messages: match messages.trim().is_empty() {
                true => format!("esbuild ended without a message ({})", result.status),
                false => messages,
            },
        })
    }
}

/// The options of Wrangler's bundler, where the command line has them.
fn arguments(config: &Config, out_dir: &Path, production: bool, options: &BundleOptions) -> Vec<String> {
    let mut arguments: Vec<String> = [
        "--bundle",
        "--format=esm",
        "--target=es2024",
        "--platform=browser",
        "--conditions=workerd,worker,browser",
        "--supported:import-source=true",
        "--sourcemap=external",
        "--sources-content=true",
        "--loader:.js=jsx",
        "--loader:.mjs=jsx",
        "--loader:.cjs=jsx",
        "--external:node:*",
        "--external:cloudflare:*",
        "--entry-names=[name]",
        "--asset-names=[name]-[hash]",
        "--log-level=warning",
        "--log-limit=50",
    ]
    .map(str::to_owned)
    .into();
    arguments.push(format!("--outdir={}", out_dir.display()));
    arguments.push(format!("--metafile={}", out_dir.join(METAFILE).display()));
    arguments.push(format!("--color={}", options.color));
    arguments.push(format!("--minify={}", config.minify));
    arguments.push(format!("--keep-names={}", config.keep_names));

    // The `copy` loader writes the file beside the bundle and leaves an import of it.
    for (extension, kind) in config.rules.extensions() {
        if kind != RuleKind::EsModule {
            arguments.push(format!("--loader:{extension}=copy"));
        }
    }
    if node_builtins::enabled(&config.compatibility_flags) {
        arguments.extend(
            node_builtins::BARE
                .iter()
                .filter(|name| !config.alias.contains_key(**name))
                .map(|name| format!("--alias:{name}=node:{name}")),
        );
    }
    arguments.extend(config.alias.iter().map(|(from, to)| format!("--alias:{from}={to}")));

    let node_env = std::env::var("NODE_ENV").unwrap_or_else(|_| {
        let default = if production { "production" } else { "development" };
        default.to_owned()
    });
    for object in ["process", "global.process", "globalThis.process"] {
        let name = format!("{object}.env.NODE_ENV");
        if !config.define.contains_key(&name) {
            arguments.push(format!("--define:{name}={}", serde_json::Value::from(node_env.as_str())));
        }
    }
    arguments.extend(config.define.iter().map(|(name, value)| format!("--define:{name}={value}")));

    let paths = [("tsconfig", config.tsconfig.as_ref().map(|path| path.display().to_string()))];
    let texts = [("jsx-factory", config.jsx_factory.clone()), ("jsx-fragment", config.jsx_fragment.clone())];
    for (option, value) in paths.into_iter().chain(texts) {
        arguments.extend(value.map(|value| format!("--{option}={value}")));
    }
    arguments.push(config.main.display().to_string());
    arguments
}

/// What a run left in the output directory.
struct Outputs<'a> {
    invocation: Invocation<'a>,
    metafile: Metafile,
}

impl<'a> Outputs<'a> {
    fn open(invocation: Invocation<'a>) -> Result<Outputs<'a>, BundleError> {
        let path = invocation.out_dir.join(METAFILE);
        let bytes = std::fs::read(&path).map_err(io("read", &path))?;
        let metafile = serde_json::from_slice(&bytes).map_err(|error| BundleError::Unexpected {
            path: invocation.esbuild.path.clone(),
            detail: format!("its metafile: {error}"),
        })?;
        Ok(Outputs { invocation, metafile })
    }

    /// Paths into packages that share their name with a built-in module, such as `process/browser`: the alias of
    /// the built-in module applied to them too.
    fn packages_taken_for_built_ins(&self) -> BTreeSet<String> {
        let imports = self.metafile.outputs.values().flat_map(|output| &output.imports);
        imports
            .filter(|import| import.external)
            .filter_map(|import| node_builtins::path_in_package(&import.path))
            .map(str::to_owned)
            .collect()
    }

    fn bundle(&self, config: &Config) -> Result<Bundle, BundleError> {
        let (path, entry) = self
            .metafile
            .outputs
            .iter()
            .find(|(_, output)| output.entry_point.is_some())
            .ok_or_else(|| self.unexpected("no output for the entry point"))?;
        let main = self.name(path)?;

        let mut code = self.read(&main)?;
        code.extend_from_slice(node_builtins::require_shim(&entry.imports).as_bytes());
        let mut modules = vec![module(&main, ModuleKind::Esm, code)];

        let map_name = format!("{main}.map");
        let map = self.read(&map_name)?;
        let map = std::str::from_utf8(&map).map_err(|_| self.unexpected("a source map that is not UTF-8"))?;
        let map = source_map::relocate(map, self.invocation.out_dir, self.invocation.root)
            .map_err(|error| self.unexpected(&format!("its source map: {error}")))?;
        self.imported(entry, config, &mut modules)?;
        modules.push(module(&map_name, ModuleKind::SourceMap, map.into_bytes()));

        Ok(Bundle {
            main,
            modules,
            exports: Some(entry.exports.clone()),
            inputs: self.inputs(),
            warnings: node_builtins::warnings(
                &entry.imports,
                node_builtins::enabled(&config.compatibility_flags),
            ),
        })
    }

    /// Adds the files that the bundle imports, each under every name it is imported by (`x.wasm` and
    /// `x.wasm?module` are one file and two names).
    fn imported(
        &self,
        entry: &Output,
        config: &Config,
        modules: &mut Vec<Module>,
    ) -> Result<(), BundleError> {
        let kinds = config.rules.extensions();
        for import in entry.imports.iter().filter(|import| !import.external) {
            let name = self.name(&import.path)?;
            if modules.iter().any(|module| module.name == name) {
                continue;
            }
            let file = name.split('?').next().unwrap_or_default();
            let kind = kinds.iter().find(|(extension, _)| file.ends_with(extension.as_str()));
            let kind = match kind.map(|(_, kind)| kind) {
                Some(RuleKind::Text) => ModuleKind::Text,
                Some(RuleKind::Data) => ModuleKind::Data,
                Some(RuleKind::CompiledWasm) => ModuleKind::Wasm,
                _ => return Err(self.unexpected(&format!("an import of {file}"))),
            };
            modules.push(module(&name, kind, self.read(file)?));
        }
        Ok(())
    }

    fn inputs(&self) -> Vec<PathBuf> {
        let mut inputs: Vec<PathBuf> = Vec::with_capacity(self.metafile.inputs.len());
        for name in self.metafile.inputs.keys() {
            let file = self.invocation.root.join(name.split('?').next().unwrap_or_default());
            let file = source_map::normalize(&file);
            // Names such as `<runtime>` or `(disabled):x` are not files.
            if file.is_file() && !inputs.contains(&file) {
                inputs.push(file);
            }
        }
        inputs
    }

    /// An output's path, relative to the working directory, as its name in the output directory.
    fn name(&self, path: &str) -> Result<String, BundleError> {
        let path = source_map::normalize(&self.invocation.root.join(path));
        match path.strip_prefix(self.invocation.out_dir) {
            Ok(name) => Ok(name.display().to_string()),
            Err(_) => Err(self.unexpected(&format!("an output at {}", path.display()))),
        }
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, BundleError> {
        let path = self.invocation.out_dir.join(name);
        std::fs::read(&path).map_err(io("read", &path))
    }

    fn unexpected(&self, detail: &str) -> BundleError {
        BundleError::Unexpected { path: self.invocation.esbuild.path.clone(), detail: detail.to_owned() }
    }
}

fn module(name: &str, kind: ModuleKind, bytes: Vec<u8>) -> Module {
    Module { name: name.to_owned(), kind, bytes: Arc::from(bytes) }
}

fn io(action: &'static str, path: &Path) -> impl FnOnce(std::io::Error) -> BundleError {
    let path = path.to_owned();
    move |source| BundleError::Io { action, path, source }
}
