//! Installing a script in its isolate: what the script exports is checked against its configuration, `env` is made, and the
//! functions of `js/events` by which events start are looked up.

use std::rc::Rc;
use std::time::Duration;

use deno_core::v8;

use super::isolate::BuildError;
use super::values::{call, text};
use crate::deployment::{BindingValue, Script};
use crate::platform::errors::UserError;
use crate::platform::guard::Meter;
use crate::platform::isolate::Isolate;

/// The functions of `js/events/main.js`.
pub(super) struct Hooks {
    pub dispatch_fetch: v8::Global<v8::Function>,
    pub deliver_next: v8::Global<v8::Function>,
    pub count_export: v8::Global<v8::Function>,
    pub deliver_export: v8::Global<v8::Function>,
    pub deliver_alarm: v8::Global<v8::Function>,
    pub deliver_entry_fetch: v8::Global<v8::Function>,
    pub deliver_entry_rpc: v8::Global<v8::Function>,
    pub deliver_fetch: v8::Global<v8::Function>,
    pub deliver_rpc: v8::Global<v8::Function>,
    pub deliver_socket: v8::Global<v8::Function>,
    pub evict: v8::Global<v8::Function>,
    pub has_entrypoint: v8::Global<v8::Function>,
    pub hung: v8::Global<v8::Function>,
    pub live: v8::Global<v8::Function>,
    pub lose_held: v8::Global<v8::Function>,
    pub release_held: v8::Global<v8::Function>,
    pub terminated: v8::Global<v8::Function>,
}

/// What `install` in `js/events/main.js` takes.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct InstallConfig<'a> {
    main: &'a str,
    script: &'a str,
    classes: Vec<&'a str>,
    populate_process_env: bool,
    delete_all_deletes_alarm: bool,
    bindings: Vec<InstallBinding<'a>>,
    sockets: SocketBehaviour,
}

/// What the compatibility date and flags choose for `js/socket`.
#[derive(serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct SocketBehaviour {
    auto_reply: bool,
    blobs: bool,
    limits_reason: bool,
}

impl SocketBehaviour {
    fn of(script: &Script) -> SocketBehaviour {
        let on = |flag, date, off| script.is_on(flag, date, off);
        SocketBehaviour {
            auto_reply: on(
                "web_socket_auto_reply_to_close",
                "2026-04-07",
                "web_socket_manual_reply_to_close",
            ),
            blobs: on("websocket_standard_binary_type", "2026-03-17", "no_websocket_standard_binary_type"),
            limits_reason: on(
                "websocket_close_reason_byte_limit",
                "2026-03-03",
                "no_websocket_close_reason_byte_limit",
            ),
        }
    }
}

#[derive(serde::Serialize)]
struct InstallBinding<'a> {
    name: &'a str,
    kind: &'static str,
    value: serde_json::Value,
}

fn install_config(script: &Script) -> InstallConfig<'_> {
    let bindings = script.bindings.iter().map(|binding| {
        let (kind, value) = match &binding.value {
            BindingValue::Json(value) => ("json", value.clone()),
            BindingValue::DurableObject { class } => ("durable_object", class.clone().into()),
            BindingValue::Service { script, entrypoint, props } => {
                ("service", serde_json::json!({ "script": script, "entrypoint": entrypoint, "props": props }))
            }
        };
        InstallBinding { name: &binding.name, kind, value }
    });
    InstallConfig {
        main: &script.main,
        script: &script.name,
        classes: script.defines.iter().map(String::as_str).collect(),
        populate_process_env: populates_process_env(script),
        delete_all_deletes_alarm: script.is_on(
            "delete_all_deletes_alarm",
            "2026-02-24",
            "delete_all_preserves_alarm",
        ),
        bindings: bindings.collect(),
        sockets: SocketBehaviour::of(script),
    }
}

/// `nodejs_compat_populate_process_env` is on by default with `nodejs_compat` from this date on.
const POPULATES_FROM: &str = "2025-04-01";

fn populates_process_env(script: &Script) -> bool {
    let is_late = script.compatibility_date.as_deref().is_some_and(|date| date >= POPULATES_FROM);
    script.has_flag("nodejs_compat_populate_process_env")
        || (is_late
            && script.has_flag("nodejs_compat")
            && !script.has_flag("nodejs_compat_do_not_populate_process_env"))
}

/// Code comes from modules only, WebAssembly too.
extern "C" fn refuse_wasm(_: v8::Local<v8::Context>, _: v8::Local<v8::String>) -> bool {
    false
}

/// Gives the isolate its `env`, before the script is evaluated.
pub(super) fn prepare(isolate: &mut Isolate, script: &Script) -> Result<(), BuildError> {
    let hooks = isolate.hooks().clone();
    let mut entered = isolate.enter();
    let runtime = entered.runtime();
    deno_core::scope!(scope, runtime);
    v8::tc_scope!(let scope, scope);
    let hooks = v8::Local::new(scope, hooks);
    let key = text(scope, "prepare");
    let prepare = hooks.get(scope, key).and_then(|v| v8::Local::<v8::Function>::try_from(v).ok());
    let prepare = prepare.ok_or_else(|| BuildError::Engine("the snapshot has no prepare".into()))?;
    let prepare = v8::Global::new(scope, prepare);
    let config = deno_core::serde_v8::to_v8(scope, install_config(script))
        .map_err(|e| BuildError::Engine(e.to_string()))?;
    call(scope, &prepare, &[config]);
    match scope.exception() {
        None => Ok(()),
        Some(exception) => {
            let error = deno_core::error::JsError::from_v8_exception(scope, exception);
            Err(BuildError::Script(UserError::from_js(&error).message))
        }
    }
}

pub(super) fn install(
    isolate: &mut Isolate,
    namespace: &v8::Global<v8::Object>,
    script: &Script,
    cpu_limit: Duration,
) -> Result<Hooks, BuildError> {
    let hooks = isolate.hooks().clone();
    let mut entered = isolate.enter();
    let runtime = entered.runtime();
    let context = runtime.main_context();
    // The script's own modules are compiled by now.
    runtime.v8_isolate().set_allow_wasm_code_generation_callback(refuse_wasm);
    deno_core::scope!(scope, runtime);
    v8::tc_scope!(let scope, scope);
    let hooks = v8::Local::new(scope, hooks);
    let mut hook = |name: &str| -> Result<v8::Global<v8::Function>, BuildError> {
        let key = text(scope, name);
        let value = hooks.get(scope, key).and_then(|v| v8::Local::<v8::Function>::try_from(v).ok());
        let value = value.ok_or_else(|| BuildError::Engine(format!("the snapshot has no {name}")))?;
        Ok(v8::Global::new(scope, value))
    };
    let installer = hook("install")?;
    let made = Hooks {
        dispatch_fetch: hook("dispatchFetch")?,
        deliver_next: hook("deliverNext")?,
        count_export: hook("countExport")?,
        deliver_export: hook("deliverExport")?,
        deliver_alarm: hook("deliverAlarm")?,
        deliver_entry_fetch: hook("deliverEntryFetch")?,
        deliver_entry_rpc: hook("deliverEntryRpc")?,
        deliver_fetch: hook("deliverFetch")?,
        deliver_rpc: hook("deliverRpc")?,
        deliver_socket: hook("deliverSocket")?,
        evict: hook("evict")?,
        has_entrypoint: hook("hasEntrypoint")?,
        hung: hook("hung")?,
        live: hook("liveEvents")?,
        lose_held: hook("loseHeld")?,
        release_held: hook("releaseHeld")?,
        terminated: hook("terminated")?,
    };
    let event_key = text(scope, "eventKey");
    let event = hooks.get(scope, event_key).and_then(|v| v8::Local::<v8::Symbol>::try_from(v).ok());
    let event = event.ok_or_else(|| BuildError::Engine("the snapshot has no eventKey".into()))?;
    let cpu = v8::String::new(scope, "cpu").unwrap_or_else(|| v8::String::empty(scope));
    let cell = v8::String::new(scope, "cell").unwrap_or_else(|| v8::String::empty(scope));
    let meter = Meter {
        context,
        event: v8::Global::new(scope, event),
        cpu: v8::Global::new(scope, cpu),
        cell: v8::Global::new(scope, cell),
        limit: cpu_limit.as_millis() as u64,
    };
    scope.set_slot(Rc::new(meter));
    let config = deno_core::serde_v8::to_v8(scope, install_config(script))
        .map_err(|e| BuildError::Engine(e.to_string()))?;
    let namespace = v8::Local::new(scope, namespace);
    call(scope, &installer, &[namespace.into(), config]);
    if let Some(exception) = scope.exception() {
        let error = deno_core::error::JsError::from_v8_exception(scope, exception);
        return Err(BuildError::Script(UserError::from_js(&error).message));
    }
    Ok(made)
}
