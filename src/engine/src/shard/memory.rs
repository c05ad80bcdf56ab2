//! An isolate that holds on to so much memory that its events fail, or cannot be relied on any more, is replaced by a fresh one of the
//! same deployment.

use std::rc::Rc;
use std::time::{Duration, Instant};

use super::isolate::{ScriptIsolate, Worn};
use super::run::Shard;
use crate::host::{ConsoleLevel, ConsoleLine};

/// How often the memory of the isolates that serve is looked at, besides while code runs for long.
const LOOK: Duration = Duration::from_secs(1);

impl Shard {
    /// Looks at the memory of the isolates that serve if `looked` is long ago, and replaces those that are worn.
    pub(super) fn look_at_memory(self: &Rc<Self>, now: Instant, looked: &mut Instant) {
        let Some(workers) = self.serving() else { return };
        let looks = now.duration_since(*looked) >= LOOK;
        if looks {
            *looked = now;
        }
        for isolate in workers.iter() {
            if looks {
                isolate.check_memory();
            }
            if let Some(why) = isolate.take_worn() {
                tokio::task::spawn_local(self.clone().replace(isolate.clone(), why));
            }
        }
    }

    /// Builds a fresh isolate beside `worn`, and serves new events from it. What runs in the old one finishes there.
    async fn replace(self: Rc<Self>, worn: Rc<ScriptIsolate>, why: Worn) {
        let built = ScriptIsolate::build(self.state(), worn.deployment.clone(), worn.modules()).await;
        let (level, text) = match built {
            Ok(fresh) => match self.serving().and_then(|workers| workers.with(&worn, fresh.clone())) {
                Some(workers) => {
                    tokio::task::spawn_local(fresh.pump());
                    self.serve(workers);
                    (ConsoleLevel::Warn, format!("{why}; new events get a fresh isolate."))
                }
                // A deployment was adopted meanwhile.
                None => return fresh.close(),
            },
            // It goes on as it is; the next event that exceeds the limit tries again.
            Err(error) => {
                (ConsoleLevel::Error, format!("{why}, and its isolate cannot be replaced: {error}"))
            }
        };
        let script = worn.state.script.clone();
        self.state().host.console(ConsoleLine { level, script, text, position: None });
    }
}
