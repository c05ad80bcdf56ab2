//! What a shard needs to run one version of a script: modules, bindings, classes. Built by the node from a manifest whose
//! hashes it has verified; nothing here does I/O.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// One version of the application. Shards build an isolate from it beside the one that serves.
#[derive(Debug)]
pub struct Deployment {
    /// Identifies the version in logs, in `/state` and in the live-reload stream.
    pub id: String,
    /// The script that serves the public listener.
    pub script: Arc<Script>,
    /// The other Workers, which only bindings reach.
    pub others: Vec<Arc<Script>>,
}

impl Deployment {
    /// Every script, the one that serves the public listener first.
    pub fn scripts(&self) -> impl Iterator<Item = &Arc<Script>> {
        std::iter::once(&self.script).chain(&self.others)
    }
}

/// The modules and bindings of one Worker.
#[derive(Debug)]
pub struct Script {
    /// The Worker's name in its configuration.
    pub name: String,
    /// The name of the entry module in `modules`.
    pub main: String,
    /// Every module by its name, a path relative to the bundle's root.
    pub modules: BTreeMap<String, Module>,
    /// `env` of the Worker.
    pub bindings: Vec<Binding>,
    /// The Durable Object classes that it exports for bindings, its own and those of other Workers; each once in a deployment.
    pub defines: Vec<String>,
    /// `compatibility_date`, if the configuration has one.
    pub compatibility_date: Option<String>,
    /// `compatibility_flags`, in the order given.
    pub compatibility_flags: Vec<String>,
    /// How much processor time an event may use; without it as much as the shard's options say.
    pub cpu_limit: Option<Duration>,
}

impl Script {
    /// `true` when `flag` is among the compatibility flags.
    pub fn has_flag(&self, flag: &str) -> bool {
        self.compatibility_flags.iter().any(|f| f == flag)
    }

    /// Whether a behaviour is on: by its flag, or from a compatibility date on unless the flag `off` is set. The names and dates are
    /// workerd's.
    pub fn is_on(&self, flag: &str, date: &str, off: &str) -> bool {
        self.has_flag(flag)
            || (!self.has_flag(off) && self.compatibility_date.as_deref().is_some_and(|d| d >= date))
    }
}

/// One module of a bundle.
#[derive(Debug, Clone)]
pub struct Module {
    /// How an import of it is served.
    pub kind: ModuleKind,
    /// The content: UTF-8 for `Esm`, `Text` and `Json`.
    pub bytes: Arc<[u8]>,
    /// The source map (JSON) of an ES module, with the sources' content in it.
    pub source_map: Option<Arc<[u8]>>,
}

/// What `import` of a module gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ModuleKind {
    /// JavaScript.
    Esm,
    /// A compiled `WebAssembly.Module` as the default export.
    Wasm,
    /// A string as the default export.
    Text,
    /// An `ArrayBuffer` as the default export.
    Data,
    /// The parsed value as the default export.
    Json,
}

/// One property of `env`.
#[derive(Debug, Clone)]
pub struct Binding {
    /// The property's name.
    pub name: String,
    /// What it holds.
    pub value: BindingValue,
}

/// The value behind a binding.
#[derive(Debug, Clone)]
pub enum BindingValue {
    /// A string or JSON value from `vars` or a secret.
    Json(serde_json::Value),
    /// A Durable Object namespace of a class that a script of the deployment exports.
    DurableObject {
        /// The exported class.
        class: String,
    },
    /// An entrypoint of a script.
    Service {
        /// The name of the script; `None`: the script itself.
        script: Option<String>,
        /// The exported class, or `default`.
        entrypoint: String,
        /// `ctx.props` of the entrypoint.
        props: serde_json::Value,
    },
}
