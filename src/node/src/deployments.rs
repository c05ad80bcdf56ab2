//! Deployments: from the pointer in the bucket to code that serves.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use celld_bucket::Bucket;
use celld_engine::deployment::{Binding, BindingValue, Deployment, Module, ModuleKind, Script};
use celld_engine::{AdoptError, BuildError, Engine};
use celld_project::{LoadedDeployment, Worker};
use tokio_util::sync::CancellationToken;

use crate::config::VarOverrides;
use crate::public::Public;

/// Why a deployment was not adopted; the one before goes on serving.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// The bucket, the manifest or a module.
    #[error(transparent)]
    Load(#[from] celld_project::LoadError),
    /// The file of variables (`CELLD_VARS_FILE`).
    #[error(transparent)]
    Vars(#[from] celld_project::DotenvError),
    /// The code.
    #[error(transparent)]
    Adopt(#[from] AdoptError),
    /// Nothing has been deployed into the bucket.
    #[error("the bucket has no deployment: run `celld deploy`")]
    None,
}

/// Adopts what the bucket's pointer names.
pub(crate) struct Deployments {
    pub bucket: Bucket,
    pub engine: Arc<Engine>,
    pub public: Arc<Public>,
    pub vars: VarOverrides,
}

impl Deployments {
    /// Builds and serves the current deployment, even if it is the one that serves: variables may have changed.
    pub async fn reload(&self) -> Result<String, ReloadError> {
        let loaded = celld_project::load_current(&self.bucket).await?.ok_or(ReloadError::None)?;
        self.adopt(loaded).await
    }

    /// Adopts the current deployment if another one serves, and if it is not one that was `refused` for good.
    async fn poll_once(&self, refused: &mut Refused) -> Result<(), ReloadError> {
        let Some(pointer) = celld_project::current(&self.bucket).await? else { return Ok(()) };
        let serves = self.engine.serving().is_some_and(|serving| serving.id == pointer.id);
        if serves || refused.is_final(&pointer.id) {
            return Ok(());
        }
        let loaded = celld_project::load(&self.bucket, &pointer.id).await?;
        let adopted = self.adopt(loaded).await;
        if let Err(ReloadError::Adopt(error)) = &adopted {
            refused.note(pointer.id, error);
        }
        adopted.map(|_| ())
    }

    async fn adopt(&self, loaded: LoadedDeployment) -> Result<String, ReloadError> {
        let vars = read_vars(&self.vars)?;
        let deployment = Arc::new(to_engine(loaded, &vars));
        let id = deployment.id.clone();
        self.engine.adopt(deployment).await?;
        self.public.set_healthy(true);
        self.public.adopted(&id);
        tracing::info!(deployment = %id, "adopted a deployment");
        Ok(id)
    }

    /// Follows the pointer until `stop`. A deployment that does not build is reported once.
    pub async fn follow(self: Arc<Self>, interval: Duration, stop: CancellationToken) {
        let mut reported = None;
        let mut refused = Refused::default();
        loop {
            tokio::select! {
                () = tokio::time::sleep(interval) => {}
                () = stop.cancelled() => return,
            }
            let error = self.poll_once(&mut refused).await.err().map(|e| e.to_string());
            if let Some(error) = &error
                && reported.as_ref() != Some(error)
            {
                tracing::error!(%error, "cannot adopt the current deployment; the one before goes on serving");
            }
            reported = error;
        }
    }
}

/// The deployment that could not be adopted last, and how often: the same code fails in the same way, and one that costs a shard
/// each time would cost the node.
#[derive(Default)]
struct Refused {
    id: String,
    times: u32,
}

impl Refused {
    /// A shard may have been lost, or have been too busy, for another reason, once.
    const TRIES: u32 = 2;

    fn is_final(&self, id: &str) -> bool {
        self.id == id && self.times >= Self::TRIES
    }

    fn note(&mut self, id: String, error: &AdoptError) {
        let before = if self.id == id { self.times } else { 0 };
        let times = match error {
            AdoptError::Modules(_) | AdoptError::Build(BuildError::Script(_)) => Self::TRIES,
            AdoptError::Build(_) | AdoptError::ShardLost => before + 1,
            AdoptError::Stopping => before,
        };
        *self = Refused { id, times };
    }
}

/// The operator's variables; what the environment of the process says wins over the file.
fn read_vars(overrides: &VarOverrides) -> Result<BTreeMap<String, String>, ReloadError> {
    let mut vars = BTreeMap::new();
    if let Some(path) = &overrides.file {
        vars.extend(celld_project::read_dotenv(path)?);
    }
    vars.extend(overrides.fixed.clone());
    Ok(vars)
}

fn to_engine(loaded: LoadedDeployment, vars: &BTreeMap<String, String>) -> Deployment {
    let LoadedDeployment { manifest, modules, others } = loaded;
    let others = manifest.workers.into_iter().zip(others);
    Deployment {
        id: manifest.id,
        script: to_script(manifest.worker, modules, vars),
        others: others.map(|(worker, modules)| to_script(worker, modules, vars)).collect(),
    }
}

fn to_script(
    worker: Worker,
    loaded: Vec<celld_project::Module>,
    vars: &BTreeMap<String, String>,
) -> Arc<Script> {
    let mut modules = BTreeMap::new();
    let mut maps = BTreeMap::new();
    for module in loaded {
        let kind = match module.kind {
            celld_project::ModuleKind::Esm => ModuleKind::Esm,
            celld_project::ModuleKind::Wasm => ModuleKind::Wasm,
            celld_project::ModuleKind::Text => ModuleKind::Text,
            celld_project::ModuleKind::Data => ModuleKind::Data,
            celld_project::ModuleKind::Json => ModuleKind::Json,
            celld_project::ModuleKind::SourceMap => {
                maps.insert(module.name, module.bytes);
                continue;
            }
        };
        modules.insert(module.name, Module { kind, bytes: module.bytes, source_map: None });
    }
    for (name, map) in maps {
        if let Some(module) = name.strip_suffix(".map").and_then(|of| modules.get_mut(of)) {
            module.source_map = Some(map);
        }
    }
    let defines = worker.defines();
    let mut bindings: Vec<Binding> = worker
        .vars
        .into_iter()
        .filter(|(name, _)| !vars.contains_key(name))
        .map(|(name, value)| Binding { name, value: BindingValue::Json(value) })
        .collect();
    bindings.extend(vars.iter().map(|(name, value)| Binding {
        name: name.clone(),
        value: BindingValue::Json(value.clone().into()),
    }));
    bindings.extend(worker.durable_objects.into_iter().map(|binding| Binding {
        name: binding.name,
        value: BindingValue::DurableObject { class: binding.class },
    }));
    bindings.extend(worker.services.into_iter().map(|binding| Binding {
        name: binding.name,
        value: BindingValue::Service {
            script: binding.service,
            entrypoint: binding.entrypoint,
            props: binding.props,
        },
    }));
    Arc::new(Script {
        name: worker.script,
        main: worker.main,
        modules,
        bindings,
        defines,
        compatibility_date: Some(worker.compatibility_date),
        compatibility_flags: worker.compatibility_flags,
        cpu_limit: worker.cpu_ms.map(Duration::from_millis),
    })
}
