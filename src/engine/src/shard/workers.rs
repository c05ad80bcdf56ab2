//! The isolates of one deployment in one shard: one for each of its Workers.

use std::rc::Rc;
use std::sync::Arc;

use super::ShardState;
use super::isolate::{BuildError, ScriptIsolate};
use crate::deployment::{BindingValue, Deployment};
use crate::platform::modules::Modules;

/// The isolates that serve a deployment.
pub(crate) struct Workers {
    /// In the order of [`Deployment::scripts`]: the first one serves the public listener.
    isolates: Vec<Rc<ScriptIsolate>>,
}

impl Workers {
    /// Starts an isolate for each of `modules`, in the order of [`Deployment::scripts`]. What was started is closed again when one
    /// fails.
    pub async fn build(
        shard: &Rc<ShardState>,
        deployment: &Arc<Deployment>,
        modules: &[Arc<Modules>],
    ) -> Result<Rc<Workers>, BuildError> {
        let mut isolates: Vec<Rc<ScriptIsolate>> = Vec::new();
        for modules in modules {
            match ScriptIsolate::build(shard, deployment.clone(), modules.clone()).await {
                Ok(isolate) => {
                    tokio::task::spawn_local(isolate.clone().pump());
                    isolates.push(isolate);
                }
                Err(error) => {
                    isolates.iter().for_each(|isolate| isolate.close());
                    // Which one failed is of interest only when there are several.
                    return Err(match error {
                        BuildError::Script(text) if !deployment.others.is_empty() => {
                            BuildError::Script(format!("Worker {}: {text}", modules.script().name))
                        }
                        error => error,
                    });
                }
            }
        }
        let workers = Rc::new(Workers { isolates });
        if let Err(error) = workers.check_services() {
            workers.iter().for_each(|isolate| isolate.close());
            return Err(error);
        }
        Ok(workers)
    }

    /// Looks for the entrypoints that the Workers' bindings name in one another.
    fn check_services(&self) -> Result<(), BuildError> {
        for from in self.iter() {
            for binding in &from.script().bindings {
                let BindingValue::Service { script: Some(script), entrypoint, .. } = &binding.value else {
                    continue;
                };
                let (name, of) = (&binding.name, &from.script().name);
                let problem = match self.of_script(script) {
                    None => format!("the deployment has no Worker {script}"),
                    Some(to) if to.has_entrypoint(entrypoint) => continue,
                    Some(_) if entrypoint == "default" => {
                        format!("Worker {script} has no default export of handlers")
                    }
                    Some(_) => {
                        format!(
                            "Worker {script} does not export a class {entrypoint} that extends WorkerEntrypoint"
                        )
                    }
                };
                return Err(BuildError::Script(format!(
                    "The service binding {name} of Worker {of}: {problem}."
                )));
            }
        }
        Ok(())
    }

    /// The same isolates, but `fresh` in the place of `old`; `None` when `old` is not among them.
    pub fn with(&self, old: &Rc<ScriptIsolate>, fresh: Rc<ScriptIsolate>) -> Option<Rc<Workers>> {
        let place = self.isolates.iter().position(|isolate| Rc::ptr_eq(isolate, old))?;
        let mut isolates = self.isolates.clone();
        isolates[place] = fresh;
        Some(Rc::new(Workers { isolates }))
    }

    /// Every isolate.
    pub fn iter(&self) -> impl Iterator<Item = &Rc<ScriptIsolate>> {
        self.isolates.iter()
    }

    /// The isolate that serves the public listener.
    pub fn primary(&self) -> Option<&Rc<ScriptIsolate>> {
        self.isolates.first()
    }

    /// The isolate of the Worker that defines a Durable Object class.
    pub fn of_class(&self, class: &str) -> Option<&Rc<ScriptIsolate>> {
        self.isolates.iter().find(|isolate| isolate.script().defines.iter().any(|name| name == class))
    }

    /// The isolate of the Worker of this name.
    pub fn of_script(&self, name: &str) -> Option<&Rc<ScriptIsolate>> {
        self.isolates.iter().find(|isolate| isolate.script().name == name)
    }

    /// The isolate with this serial number.
    pub fn by_serial(&self, serial: u64) -> Option<&Rc<ScriptIsolate>> {
        self.isolates.iter().find(|isolate| isolate.state.serial == serial)
    }
}
