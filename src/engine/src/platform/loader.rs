//! Finds modules for an isolate: the deployment's own and the built-in ones on the allow-list.

use std::borrow::Cow;
use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, LazyLock};

use deno_core::{
    CustomModuleEvaluationKind, FastString, ModuleCodeBytes, ModuleLoadOptions, ModuleLoadReferrer,
    ModuleLoadResponse, ModuleLoader, ModuleResolveResponse, ModuleSource, ModuleSourceCode, ModuleSpecifier,
    ModuleType, RequestedModuleType, ResolutionKind, SourceCodeCacheInfo, v8,
};
use deno_error::JsErrorBox;

use super::builtins;
use super::code_cache::CodeCache;
use super::modules::{CompiledWasm, Modules, display_name};
use crate::deployment::{Module, ModuleKind};

/// The import type under which the value of a non-JavaScript module is asked for; see [`facade`].
const VALUE_TYPE: &str = "celld-value";

/// Bytecode of the built-in modules that are not in the snapshot: the same for every deployment.
static BUILTIN_CODE: LazyLock<CodeCache> = LazyLock::new(CodeCache::default);

/// The module loader of one isolate.
pub(super) struct Loader {
    modules: Arc<Modules>,
    node_compat: bool,
    /// Whether the main module has been evaluated: what is imported from then on is imported by `import()`.
    is_running: Cell<bool>,
}

/// Why an import is refused.
struct Refusal {
    /// The module in question as the platform names it: a path from the bundle's root, or a URL.
    name: String,
    /// For the developer, beyond the platform's text.
    hint: Option<&'static str>,
}

impl Loader {
    pub(super) fn new(modules: Arc<Modules>) -> Self {
        let node_compat = modules.script().has_flag(builtins::NODEJS_COMPAT);
        Loader { modules, node_compat, is_running: Cell::new(false) }
    }

    /// Says that the main module has been evaluated.
    pub(super) fn set_running(&self) {
        self.is_running.set(true);
    }

    /// Resolves an import in a user's module.
    fn import_of_user(&self, specifier: &str, importer: &str) -> Result<ModuleSpecifier, Refusal> {
        let refused = |hint| Err(Refusal { name: specifier.to_owned(), hint });
        let parse = |url: &str| {
            ModuleSpecifier::parse(url).map_err(|_| Refusal { name: specifier.to_owned(), hint: None })
        };
        if let Some(url) = builtins::cloudflare_module(specifier) {
            return parse(url);
        }
        if let Some(url) = builtins::node_module(specifier) {
            if self.node_compat {
                return parse(&url);
            }
            return refused(Some("it needs the compatibility flag \"nodejs_compat\""));
        }
        let url = deno_core::resolve_import(specifier, importer).ok();
        if let Some(url) = &url
            && self.modules.by_url(url.as_str()).is_some()
        {
            return Ok(url.clone());
        }
        // A name in the bundle may be imported bare, as workerd allows.
        let bare = super::modules::module_url(specifier);
        if let Some(bare) = bare.filter(|url| self.modules.by_url(url.as_str()).is_some()) {
            return Ok(bare);
        }
        let is_relative = specifier.starts_with(['.', '/']);
        match url.filter(|_| is_relative) {
            Some(url) => Err(Refusal { name: display_name(url.as_str()).to_owned(), hint: None }),
            // The platform takes a URL for a path.
            None => Err(Refusal { name: specifier.replace("///", "/").replace("//", "/"), hint: None }),
        }
    }

    /// A URL whose loading fails. An error from `resolve` is not enough: for a static import `deno_core`
    /// would then look among all built-in modules, also those that are not for users.
    fn refuse(&self, refusal: Refusal, importer: &str) -> ModuleResolveResponse {
        let mut text = format!("No such module {:?}.", refusal.name);
        let scheme = if self.is_running.get() {
            THROWING_SCHEME
        } else {
            text.push_str(&format!("\n  imported from {:?}", display_name(importer)));
            REFUSED_SCHEME
        };
        if let Some(hint) = refusal.hint.filter(|_| !self.is_running.get()) {
            text.push_str(&format!("\n  {hint}"));
        }
        let text = percent_encoding::utf8_percent_encode(&text, percent_encoding::NON_ALPHANUMERIC);
        ModuleSpecifier::parse(&format!("{scheme}:{text}")).map_err(JsErrorBox::from_err)
    }
}

/// The scheme of URLs that stand for a refused import whose loading fails.
const REFUSED_SCHEME: &str = "celld-refused";

/// The scheme of URLs that stand for a refused `import()`: modules that throw when they are evaluated. The
/// error of a load that fails would get a `code`, which the platform's has not.
const THROWING_SCHEME: &str = "celld-throws";

impl ModuleLoader for Loader {
    fn resolve(&self, specifier: &str, referrer: &str, kind: ResolutionKind) -> ModuleResolveResponse {
        if matches!(kind, ResolutionKind::MainModule) {
            return ModuleSpecifier::parse(specifier).map_err(JsErrorBox::from_err);
        }
        // A user's module can never have one of these URLs.
        if referrer.starts_with("ext:") || referrer.starts_with("node:") {
            return deno_core::resolve_import(specifier, referrer).map_err(JsErrorBox::from_err);
        }
        self.import_of_user(specifier, referrer).or_else(|refusal| self.refuse(refusal, referrer))
    }

    fn load(
        &self,
        specifier: &ModuleSpecifier,
        _referrer: Option<&ModuleLoadReferrer>,
        options: ModuleLoadOptions,
    ) -> ModuleLoadResponse {
        if let REFUSED_SCHEME | THROWING_SCHEME = specifier.scheme() {
            let text = percent_encoding::percent_decode_str(specifier.path()).decode_utf8_lossy();
            return ModuleLoadResponse::Sync(match specifier.scheme() {
                THROWING_SCHEME => Ok(throwing(specifier, &text)),
                _ => Err(JsErrorBox::generic(text.into_owned())),
            });
        }
        let Some((_, module)) = self.modules.by_url(specifier.as_str()) else {
            let name = display_name(specifier.as_str());
            return ModuleLoadResponse::Sync(Err(JsErrorBox::type_error(format!(
                "no module {name:?} in the bundle"
            ))));
        };
        ModuleLoadResponse::Sync(self.source(specifier, module, options.requested_module_type))
    }

    fn get_code_cache(&self, specifier: &ModuleSpecifier, source: &str) -> Option<SourceCodeCacheInfo> {
        Some(BUILTIN_CODE.info(specifier.as_str(), source.as_bytes()))
    }

    fn code_cache_ready(
        &self,
        specifier: ModuleSpecifier,
        hash: u64,
        code: &[u8],
    ) -> Pin<Box<dyn Future<Output = ()>>> {
        let cache = match specifier.scheme() {
            "file" => &self.modules.code_cache,
            _ => &*BUILTIN_CODE,
        };
        cache.insert(specifier.as_str(), hash, code);
        Box::pin(std::future::ready(()))
    }

    fn purge_and_prevent_code_cache(&self, specifier: &str) {
        self.modules.code_cache.remove(specifier);
    }

    fn get_source_map(&self, file_name: &str) -> Option<Cow<'_, [u8]>> {
        let (_, module) = self.modules.by_url(file_name)?;
        module.source_map.as_deref().map(Cow::Borrowed)
    }

    fn source_map_source_exists(&self, _source_url: &str) -> Option<bool> {
        // The map was made from the developer's sources, which this machine need not have.
        Some(true)
    }
}

impl Loader {
    fn source(
        &self,
        specifier: &ModuleSpecifier,
        module: &Module,
        requested: RequestedModuleType,
    ) -> Result<ModuleSource, JsErrorBox> {
        let bytes = || ModuleSourceCode::Bytes(ModuleCodeBytes::Arc(module.bytes.clone()));
        let wrong_type = |wanted: &str| {
            let name = display_name(specifier.as_str());
            Err(JsErrorBox::type_error(format!("module {name:?} cannot be imported with type {wanted:?}")))
        };
        let (module_type, code, code_cache) = match (requested, module.kind) {
            (RequestedModuleType::None, ModuleKind::Esm) => {
                let cache = self.modules.code_cache.info(specifier.as_str(), &module.bytes);
                (ModuleType::JavaScript, bytes(), Some(cache))
            }
            (RequestedModuleType::None, _) => {
                (ModuleType::JavaScript, ModuleSourceCode::String(facade(specifier).into()), None)
            }
            (RequestedModuleType::Json, ModuleKind::Json) => (ModuleType::Json, bytes(), None),
            (RequestedModuleType::Text, ModuleKind::Text) => (ModuleType::Text, bytes(), None),
            (RequestedModuleType::Bytes, ModuleKind::Data) => (ModuleType::Bytes, bytes(), None),
            (
                RequestedModuleType::Other(kind),
                ModuleKind::Wasm | ModuleKind::Text | ModuleKind::Data | ModuleKind::Json,
            ) if kind == VALUE_TYPE => (ModuleType::Other(kind), bytes(), None),
            (RequestedModuleType::Other(kind), _) => return wrong_type(&kind),
            (RequestedModuleType::Json, _) => return wrong_type("json"),
            (RequestedModuleType::Text, _) => return wrong_type("text"),
            (RequestedModuleType::Bytes, _) => return wrong_type("bytes"),
        };
        Ok(ModuleSource::new(module_type, code, specifier, code_cache))
    }
}

/// A module that throws an `Error` with that message.
fn throwing(specifier: &ModuleSpecifier, message: &str) -> ModuleSource {
    // JSON's strings are JavaScript's.
    let message = serde_json::Value::from(message);
    let code = format!("throw new Error({message});");
    ModuleSource::new(ModuleType::JavaScript, ModuleSourceCode::String(code.into()), specifier, None)
}

/// The JavaScript that stands for a module of another kind. `deno_core` files a module under the type
/// that its import asked for, and a Worker imports text or WebAssembly without any: so a plain import
/// gets this module, which asks for the value with the type that [`evaluate`] answers.
fn facade(specifier: &ModuleSpecifier) -> String {
    // A URL has no character that would need escaping in a JavaScript string.
    format!("export {{ default }} from \"{specifier}\" with {{ type: \"{VALUE_TYPE}\" }};\n")
}

/// Makes the value of a module that is not JavaScript: `deno_core`'s hook for custom module types.
pub(super) fn evaluate(
    modules: &Modules,
    scope: &mut v8::PinScope<'_, '_>,
    url: &FastString,
) -> Result<CustomModuleEvaluationKind, JsErrorBox> {
    let missing =
        || JsErrorBox::type_error(format!("no module {:?} in the bundle", display_name(url.as_str())));
    let (name, module) = modules.by_url(url.as_str()).ok_or_else(missing)?;
    v8::tc_scope!(let scope, scope);
    let value: Option<v8::Local<v8::Value>> = match module.kind {
        ModuleKind::Wasm => wasm_module(modules, scope, name, &module.bytes).map(Into::into),
        ModuleKind::Data => {
            let store = v8::ArrayBuffer::new_backing_store_from_vec(module.bytes.to_vec()).make_shared();
            Some(v8::ArrayBuffer::with_backing_store(scope, &store).into())
        }
        ModuleKind::Text => text(scope, &module.bytes).map(Into::into),
        ModuleKind::Json => text(scope, &module.bytes).and_then(|text| v8::json::parse(scope, text)),
        ModuleKind::Esm => None,
    };
    let value = value.ok_or_else(|| {
        let cause = scope.exception().map(|e| e.to_rust_string_lossy(scope));
        let cause = cause.unwrap_or_else(|| "it is not a value".to_owned());
        JsErrorBox::type_error(format!("cannot load module {name:?}: {cause}"))
    })?;
    Ok(CustomModuleEvaluationKind::Synthetic(v8::Global::new(scope, value)))
}

fn text<'s>(scope: &mut v8::PinScope<'s, '_>, bytes: &[u8]) -> Option<v8::Local<'s, v8::String>> {
    v8::String::new_from_utf8(scope, bytes, v8::NewStringType::Normal)
}

/// The `WebAssembly.Module` of `name`, compiled at most once per process.
fn wasm_module<'s>(
    modules: &Modules,
    scope: &mut v8::PinScope<'s, '_>,
    name: &str,
    bytes: &[u8],
) -> Option<v8::Local<'s, v8::WasmModuleObject>> {
    let slot = modules.wasm_slot(name)?;
    if let Some(compiled) = slot.get() {
        return v8::WasmModuleObject::from_compiled_module(scope, &compiled.0);
    }
    let module = v8::WasmModuleObject::compile(scope, bytes)?;
    // Another isolate may have been faster; its result is as good.
    let _ = slot.set(CompiledWasm(module.get_compiled_module()));
    Some(module)
}
