//! The deployment manifest: what a deployment consists of, as JSON in the bucket. The primary Worker stands at the top, others
//! in a list.
//!
//! Readers ignore fields they do not know, so a field may be added without a new [`VERSION`]; a change that an
//! older reader would get wrong needs one.

use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::bundle::ModuleKind;
use crate::projects::{Built, BuiltWorker};

/// The version of the format of a deployment of one Worker.
const ONE_WORKER: u32 = 1;

/// The version of the format of a deployment of several Workers, and the highest that this code reads.
pub const VERSION: u32 = 2;

/// A deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The version of the format.
    pub version: u32,
    /// Unique, and in the order of deployment when sorted as text.
    pub id: String,
    /// Milliseconds since 1970-01-01 UTC.
    pub created_ms: u64,
    /// The Worker that serves the requests.
    #[serde(flatten)]
    pub worker: Worker,
    /// The Workers that only bindings reach.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workers: Vec<Worker>,
}

/// One Worker of a deployment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Worker {
    /// The script's name.
    pub script: String,
    /// The name of the module with the handlers.
    pub main: String,
    /// All modules.
    pub modules: Vec<ModuleEntry>,
    /// `YYYY-MM-DD`.
    pub compatibility_date: String,
    /// In the order of the configuration.
    #[serde(default)]
    pub compatibility_flags: Vec<String>,
    /// Durable Object namespaces in `env`.
    #[serde(default)]
    pub durable_objects: Vec<DurableObject>,
    /// Milliseconds that an event may keep its thread; the node's own limit when it is not given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpu_ms: Option<u64>,
    /// The entrypoints of this and other scripts that are in its `env`.
    #[serde(default)]
    pub services: Vec<Service>,
    /// Variables in `env`: a string is text, anything else a JSON variable.
    #[serde(default)]
    pub vars: IndexMap<String, serde_json::Value>,
    /// The history of the Durable Object classes.
    #[serde(default)]
    pub migrations: Vec<MigrationEntry>,
}

/// A module of a deployment.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleEntry {
    /// As in [`crate::Module`].
    pub name: String,
    /// What it is.
    pub kind: ModuleKind,
    /// 64 hexadecimal digits; 16 in a deployment of an old release, which are then the first ones.
    pub sha256: String,
    /// In bytes.
    pub size: u64,
    /// Where it is in the bucket.
    pub key: String,
}

/// A Durable Object namespace.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DurableObject {
    /// The property of `env`.
    pub name: String,
    /// The exported class.
    pub class: String,
    /// The script that exports it; `None` when it is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub script: Option<String>,
}

/// A service binding.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Service {
    /// The property of `env`.
    pub name: String,
    /// The script; `None` when it is this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service: Option<String>,
    /// The exported class, or `default`.
    pub entrypoint: String,
    /// `ctx.props` of the entrypoint.
    pub props: serde_json::Value,
}

/// A step in the history of the classes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MigrationEntry {
    /// Unique in the deployment.
    pub tag: String,
    /// Classes that exist from here on.
    #[serde(default)]
    pub new_classes: Vec<String>,
}

/// Why the bytes of a manifest cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ManifestError {
    /// Not the JSON that is expected.
    #[error("not a deployment manifest: {0}")]
    Format(#[from] serde_json::Error),
    /// Written by a newer celld.
    #[error("written in format {found}, and this celld reads formats up to {VERSION}: update celld")]
    Newer {
        /// The format's version.
        found: u32,
    },
    /// The main module is not among the modules.
    #[error("the main module {main} is not among the modules")]
    NoMain {
        /// Its name.
        main: String,
    },
    /// A binding to a Worker that is not there.
    #[error("{script} has a binding to {missing}, which is not among the Workers")]
    NoWorker {
        /// The Worker with the binding.
        script: String,
        /// What it names.
        missing: String,
    },
}

impl Manifest {
    /// The manifest of what was built, deployed at `created_ms`.
    pub fn new(built: &Built, created_ms: u64) -> Manifest {
        let mut manifest = Manifest {
            version: if built.others.is_empty() { ONE_WORKER } else { VERSION },
            id: String::new(),
            created_ms,
            worker: Worker::new(&built.primary),
            workers: built.others.iter().map(Worker::new).collect(),
        };
        manifest.id = manifest.new_id();
        manifest
    }

    /// All Workers, the primary one first.
    pub fn iter(&self) -> impl Iterator<Item = &Worker> {
        std::iter::once(&self.worker).chain(&self.workers)
    }

    /// The time, so that ids sort, and a digest of the content, so that two deployments of one millisecond differ.
    fn new_id(&self) -> String {
        let (seconds, milliseconds) = (self.created_ms / 1000, self.created_ms % 1000);
        let (year, month, day) = crate::project::civil_date(seconds / 86_400);
        let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
        let digest = sha256(&self.to_json());
        format!(
            "{year:04}{month:02}{day:02}T{hour:02}{minute:02}{second:02}.{milliseconds:03}Z-{}",
            &digest[..8]
        )
    }

    /// The bytes to store.
    pub fn to_json(&self) -> Vec<u8> {
        // Serialising strings, numbers and maps with string keys into memory has no failure.
        serde_json::to_vec_pretty(self).unwrap_or_default()
    }

    /// Reads stored bytes.
    pub fn from_json(bytes: &[u8]) -> Result<Manifest, ManifestError> {
        #[derive(Deserialize)]
        struct Head {
            version: u32,
        }
        // The version first: in a newer format the rest may not even parse.
        let head: Head = serde_json::from_slice(bytes)?;
        if head.version > VERSION {
            return Err(ManifestError::Newer { found: head.version });
        }
        let manifest: Manifest = serde_json::from_slice(bytes)?;
        for worker in manifest.iter() {
            if !worker.modules.iter().any(|module| module.name == worker.main) {
                return Err(ManifestError::NoMain { main: worker.main.clone() });
            }
            let services = worker.services.iter().filter_map(|binding| binding.service.as_ref());
            let owners = worker.durable_objects.iter().filter_map(|binding| binding.script.as_ref());
            let is_missing = |name: &&String| !manifest.iter().any(|other| other.script == **name);
            if let Some(missing) = services.chain(owners).find(is_missing) {
                let (script, missing) = (worker.script.clone(), missing.clone());
                return Err(ManifestError::NoWorker { script, missing });
            }
        }
        Ok(manifest)
    }
}

impl Worker {
    fn new(built: &BuiltWorker) -> Worker {
        let BuiltWorker { project, bundle } = built;
        let config = &project.config;
        let modules = bundle.modules.iter().map(|module| {
            let sha256 = sha256(&module.bytes);
            ModuleEntry {
                name: module.name.clone(),
                kind: module.kind,
                key: module_key(&sha256),
                sha256,
                size: module.bytes.len() as u64,
            }
        });
        Worker {
            script: config.name.clone(),
            main: bundle.main.clone(),
            modules: modules.collect(),
            compatibility_date: config.compatibility_date.clone(),
            compatibility_flags: config.compatibility_flags.clone(),
            durable_objects: config
                .durable_objects
                .iter()
                .map(|binding| DurableObject {
                    name: binding.name.clone(),
                    class: binding.class.clone(),
                    script: binding.script.clone(),
                })
                .collect(),
            cpu_ms: config.cpu_ms,
            services: config
                .services
                .iter()
                .map(|binding| Service {
                    name: binding.name.clone(),
                    service: binding.service.clone(),
                    entrypoint: binding.entrypoint.clone(),
                    props: binding.props.clone(),
                })
                .collect(),
            vars: config.vars.clone(),
            migrations: config
                .migrations
                .iter()
                .map(|step| MigrationEntry { tag: step.tag.clone(), new_classes: step.new_classes.clone() })
                .collect(),
        }
    }

    /// The Durable Object classes that it defines, each once: of its bindings to itself, and of its migrations.
    pub fn defines(&self) -> Vec<String> {
        let bound = self.durable_objects.iter().filter(|binding| binding.script.is_none());
        let mut classes: Vec<String> = bound.map(|binding| binding.class.clone()).collect();
        classes.extend(self.migrations.iter().flat_map(|step| step.new_classes.iter().cloned()));
        classes.sort_unstable();
        classes.dedup();
        classes
    }
}

impl ModuleEntry {
    /// Whether `bytes` are this module: by the full digest, or by the 16-digit prefix that old releases wrote.
    pub fn matches(&self, bytes: &[u8]) -> bool {
        let digest = sha256(bytes);
        match self.sha256.len() {
            64 => digest.eq_ignore_ascii_case(&self.sha256),
            16 => digest[..16].eq_ignore_ascii_case(&self.sha256),
            _ => false,
        }
    }
}

/// Where a module with this digest is kept.
pub(crate) fn module_key(sha256: &str) -> String {
    format!("deploy/modules/{sha256}")
}

/// The digest in lower-case hexadecimal.
pub(crate) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest() -> serde_json::Value {
        serde_json::json!({
            "version": 1, "id": "x", "created_ms": 0, "script": "s", "main": "index.js",
            "modules": [{"name": "index.js", "kind": "esm", "sha256": sha256(b"a"), "size": 1, "key": "k", "later": 1}],
            "compatibility_date": "2026-01-01", "a_field_of_the_future": {"x": 1}
        })
    }

    fn read(json: &serde_json::Value) -> Result<Manifest, String> {
        Manifest::from_json(json.to_string().as_bytes()).map_err(|error| error.to_string())
    }

    #[test]
    fn fields_of_the_future_are_ignored_and_versions_of_the_future_refused() {
        let mut json = manifest();
        let stored = read(&json).unwrap();
        assert_eq!(Manifest::from_json(&stored.to_json()).unwrap(), stored);

        json["version"] = 3.into();
        json["modules"] = "elsewhere".into();
        assert_eq!(
            read(&json).unwrap_err(),
            "written in format 3, and this celld reads formats up to 2: update celld"
        );
    }

    #[test]
    fn one_worker_is_written_as_it_always_was() {
        // Written by a release that knew only one.
        let text = r#"{
  "version": 1,
  "id": "20260115T000000.000Z-01234567",
  "created_ms": 1768435200000,
  "script": "app",
  "main": "index.js",
  "modules": [
    {
      "name": "index.js",
      "kind": "esm",
      "sha256": "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
      "size": 1,
      "key": "deploy/modules/ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb"
    }
  ],
  "compatibility_date": "2026-01-15",
  "compatibility_flags": [
    "nodejs_compat"
  ],
  "durable_objects": [
    {
      "name": "ROOM",
      "class": "Room"
    }
  ],
  "cpu_ms": 50,
  "services": [
    {
      "name": "SELF",
      "entrypoint": "default",
      "props": {}
    }
  ],
  "vars": {
    "Z": "text",
    "A": [
      1.5,
      18446744073709551615,
      -1,
      null
    ]
  },
  "migrations": [
    {
      "tag": "v1",
      "new_classes": [
        "Room",
        "Hall"
      ]
    }
  ]
}"#;
        let manifest = Manifest::from_json(text.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(manifest.to_json()).unwrap(), text);
        assert_eq!(manifest.worker.defines(), ["Hall", "Room"]);
    }

    #[test]
    fn several_workers_come_back_as_they_were_written() {
        let mut json = manifest();
        json["version"] = 2.into();
        let mut other = json.clone();
        other["script"] = "other".into();
        other["durable_objects"] = serde_json::json!([{"name": "A", "class": "A"}]);
        json["services"] = serde_json::json!([{"name": "OTHER", "service": "other", "entrypoint": "default", "props": {"a": 1}}]);
        json["durable_objects"] = serde_json::json!([{"name": "A", "class": "A", "script": "other"}]);
        json["workers"] = serde_json::json!([other]);
        let stored = read(&json).unwrap();
        assert_eq!(Manifest::from_json(&stored.to_json()).unwrap(), stored);
        assert_eq!(stored.iter().map(|worker| worker.script.as_str()).collect::<Vec<_>>(), ["s", "other"]);
        assert_eq!(stored.worker.services[0].service.as_deref(), Some("other"));
        assert_eq!(stored.worker.defines(), Vec::<String>::new());
        assert_eq!(stored.workers[0].defines(), ["A"]);

        json["workers"][0]["main"] = "gone.js".into();
        assert_eq!(read(&json).unwrap_err(), "the main module gone.js is not among the modules");
        json["workers"] = serde_json::json!([]);
        assert_eq!(read(&json).unwrap_err(), "s has a binding to other, which is not among the Workers");
    }

    #[test]
    fn the_main_module_must_be_there() {
        let mut json = manifest();
        json["main"] = "other.js".into();
        assert_eq!(read(&json).unwrap_err(), "the main module other.js is not among the modules");
    }

    #[test]
    fn a_digest_is_full_or_the_legacy_prefix() {
        let mut entry = read(&manifest()).unwrap().worker.modules[0].clone();
        let full = entry.sha256.clone();
        assert!(entry.matches(b"a") && !entry.matches(b"b"));
        entry.sha256 = full[..16].to_owned();
        assert!(entry.matches(b"a") && !entry.matches(b"b"));
        for length in [0, 8, 17, 63] {
            entry.sha256 = full[..length].to_owned();
            assert!(!entry.matches(b"a"), "{length} digits");
        }
    }
}
