//! Deployments in a bucket.
//!
//! `deploy/modules/SHA256` holds a module, `deploy/manifests/ID.json` a manifest, and `deploy/current.json`
//! points at the manifest to serve. Modules and manifests are written before the pointer and never change, so
//! whoever follows the pointer finds everything; the pointer moves by compare-and-swap.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use bytes::Bytes;
use celld_bucket::{Bucket, BucketError, Version, WriteOutcome};
use futures::stream::{self, StreamExt, TryStreamExt};
use serde::{Deserialize, Serialize};

use crate::bundle::Module;
use crate::manifest::{Manifest, ManifestError, ModuleEntry};
use crate::projects::Built;

/// The key of the pointer.
pub const CURRENT_KEY: &str = "deploy/current.json";

/// How many modules travel at once.
const PARALLEL: usize = 8;

/// How often the pointer is read again after somebody else moved it.
const POINTER_ATTEMPTS: u32 = 8;

/// What `deploy/current.json` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Pointer {
    /// The deployment to serve.
    pub id: String,
    /// The one before it, to which an operator can go back.
    #[serde(default)]
    pub previous: Option<String>,
}

/// A finished deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Deployed {
    /// Its id.
    pub id: String,
}

/// A deployment whose modules were verified.
#[derive(Debug, Clone)]
pub struct LoadedDeployment {
    /// What it consists of.
    pub manifest: Manifest,
    /// Those of the primary Worker, in the order of the manifest.
    pub modules: Vec<Module>,
    /// Those of each other Worker, in the order of the manifest.
    pub others: Vec<Vec<Module>>,
}

/// Why a deployment did not come about. Nodes go on with the one they serve.
#[derive(Debug, thiserror::Error)]
pub enum DeployError {
    /// The bucket did not do what it was asked.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// The pointer kept moving.
    #[error(
        "{CURRENT_KEY} in {bucket} changed {POINTER_ATTEMPTS} times while this deployment tried to set it: other deployments are running; try again"
    )]
    Contended {
        /// The bucket.
        bucket: String,
    },
}

/// Why a deployment cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// The bucket did not do what it was asked.
    #[error(transparent)]
    Bucket(#[from] BucketError),
    /// The pointer's content is not a pointer.
    #[error("{CURRENT_KEY} in {bucket} is damaged ({source}): deploy again")]
    Pointer {
        /// The bucket.
        bucket: String,
        /// What is wrong.
        source: serde_json::Error,
    },
    /// There is no such deployment.
    #[error("there is no deployment {id} in {bucket}: deploy again")]
    NoManifest {
        /// Its id.
        id: String,
        /// The bucket.
        bucket: String,
    },
    /// Its manifest cannot be used.
    #[error("deployment {id} in {bucket}: {source}")]
    Manifest {
        /// Its id.
        id: String,
        /// The bucket.
        bucket: String,
        /// What is wrong.
        source: ManifestError,
    },
    /// A module is gone.
    #[error("deployment {id}: the module {module} is missing ({key} in {bucket}): deploy again")]
    ModuleMissing {
        /// The deployment.
        id: String,
        /// The module's name.
        module: String,
        /// Where it should be.
        key: String,
        /// The bucket.
        bucket: String,
    },
    /// A module is not the one that was deployed.
    #[error(
        "deployment {id}: the module {module} was changed after it was deployed ({key} in {bucket} does not have the SHA-256 digest {expected}): deploy again"
    )]
    ModuleChanged {
        /// The deployment.
        id: String,
        /// The module's name.
        module: String,
        /// Where it is.
        key: String,
        /// The bucket.
        bucket: String,
        /// The digest in the manifest.
        expected: String,
    },
}

/// Uploads what was built and makes it the current deployment.
pub async fn deploy(bucket: &Bucket, built: &Built) -> Result<Deployed, DeployError> {
    deploy_at(bucket, built, SystemTime::now()).await
}

/// The same at a given time.
pub async fn deploy_at(bucket: &Bucket, built: &Built, now: SystemTime) -> Result<Deployed, DeployError> {
    let created_ms = now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis());
    let manifest = Manifest::new(built, u64::try_from(created_ms).unwrap_or(u64::MAX));
    // A module is written even if its key exists: that repairs one that was damaged.
    let mut uploads = Vec::new();
    let mut keys = HashSet::new();
    for (worker, built) in manifest.iter().zip(built.iter()) {
        for (entry, module) in worker.modules.iter().zip(&built.bundle.modules) {
            // Workers that share a module share its object.
            if keys.insert(&entry.key) {
                uploads.push(bucket.put(&entry.key, Bytes::copy_from_slice(&module.bytes)));
            }
        }
    }
    let _: Vec<Version> = stream::iter(uploads).buffer_unordered(PARALLEL).try_collect().await?;
    bucket.put(&manifest_key(&manifest.id), manifest.to_json().into()).await?;
    point_at(bucket, &manifest.id).await?;
    Ok(Deployed { id: manifest.id })
}

/// The id of the current deployment, or `None` before the first one.
pub async fn current(bucket: &Bucket) -> Result<Option<Pointer>, LoadError> {
    let Some(object) = bucket.get(CURRENT_KEY).await? else { return Ok(None) };
    serde_json::from_slice(&object.bytes)
        .map(Some)
        .map_err(|source| LoadError::Pointer { bucket: bucket.to_string(), source })
}

/// Loads and verifies the current deployment, or `None` before the first one.
pub async fn load_current(bucket: &Bucket) -> Result<Option<LoadedDeployment>, LoadError> {
    match current(bucket).await? {
        Some(pointer) => load(bucket, &pointer.id).await.map(Some),
        None => Ok(None),
    }
}

/// Loads the deployment `id` and verifies every module against its digest.
pub async fn load(bucket: &Bucket, id: &str) -> Result<LoadedDeployment, LoadError> {
    let object = bucket
        .get(&manifest_key(id))
        .await?
        .ok_or_else(|| LoadError::NoManifest { id: id.to_owned(), bucket: bucket.to_string() })?;
    let manifest = Manifest::from_json(&object.bytes).map_err(|source| LoadError::Manifest {
        id: id.to_owned(),
        bucket: bucket.to_string(),
        source,
    })?;
    let entries = manifest.iter().flat_map(|worker| &worker.modules);
    let downloads: Vec<_> = entries.map(|entry| load_module(bucket, id, entry)).collect();
    let mut modules: Vec<Module> = stream::iter(downloads).buffered(PARALLEL).try_collect().await?;
    let mut rest = modules.split_off(manifest.worker.modules.len()).into_iter();
    let others =
        manifest.workers.iter().map(|worker| rest.by_ref().take(worker.modules.len()).collect()).collect();
    Ok(LoadedDeployment { manifest, modules, others })
}

async fn load_module(bucket: &Bucket, id: &str, entry: &ModuleEntry) -> Result<Module, LoadError> {
    let object = bucket.get(&entry.key).await?.ok_or_else(|| LoadError::ModuleMissing {
        id: id.to_owned(),
        module: entry.name.clone(),
        key: entry.key.clone(),
        bucket: bucket.to_string(),
    })?;
    if !entry.matches(&object.bytes) {
        return Err(LoadError::ModuleChanged {
            id: id.to_owned(),
            module: entry.name.clone(),
            key: entry.key.clone(),
            bucket: bucket.to_string(),
            expected: entry.sha256.clone(),
        });
    }
    Ok(Module { name: entry.name.clone(), kind: entry.kind, bytes: Arc::from(&object.bytes[..]) })
}

pub(crate) fn manifest_key(id: &str) -> String {
    format!("deploy/manifests/{id}.json")
}

/// Moves the pointer to `id`, whatever it is now; the last of several concurrent deployments wins.
async fn point_at(bucket: &Bucket, id: &str) -> Result<(), DeployError> {
    for _ in 0..POINTER_ATTEMPTS {
        let (version, previous) = read_pointer(bucket).await?;
        let pointer = Pointer { id: id.to_owned(), previous: previous.map(|pointer| pointer.id) };
        let bytes = Bytes::from(serde_json::to_vec(&pointer).unwrap_or_default());
        let outcome = match &version {
            Some(Stands::As(version)) => bucket.update_resolved(CURRENT_KEY, bytes, version).await,
            // Nothing can be compared with a damaged object.
            Some(Stands::Damaged) => WriteOutcome::Done(bucket.put(CURRENT_KEY, bytes).await?),
            None => bucket.create_resolved(CURRENT_KEY, bytes).await,
        };
        match outcome {
            WriteOutcome::Done(_) => return Ok(()),
            WriteOutcome::Refused => {}
            WriteOutcome::Unknown(error) | WriteOutcome::Failed(error) => return Err(error.into()),
        }
    }
    Err(DeployError::Contended { bucket: bucket.to_string() })
}

/// What stands at the pointer's key.
enum Stands {
    As(Version),
    Damaged,
}

async fn read_pointer(bucket: &Bucket) -> Result<(Option<Stands>, Option<Pointer>), DeployError> {
    match bucket.get(CURRENT_KEY).await {
        // What is not a pointer is replaced like one: deploying is how it gets repaired.
        Ok(Some(object)) => {
            Ok((Some(Stands::As(object.version)), serde_json::from_slice(&object.bytes).ok()))
        }
        Ok(None) => Ok((None, None)),
        Err(BucketError::Damaged { .. }) => Ok((Some(Stands::Damaged), None)),
        Err(error) => Err(error.into()),
    }
}
