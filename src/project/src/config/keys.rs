//! Every key of a Wrangler configuration, once: whether environments inherit it and what celld does with it.
//!
//! The list follows the schema that the `wrangler` package ships (`config-schema.json`), version 4.

/// Where a key may stand and whether an environment inherits the top level's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reach {
    /// Only at the top of the file.
    TopLevel,
    /// An environment takes the top level's value unless it has its own.
    Inherited,
    /// Never inherited: an environment has only what it says itself. All bindings are such.
    PerEnvironment,
}

/// What this release does with a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Support {
    /// Read by [`super::read`].
    Used,
    /// Accepted without a word.
    Silent,
    /// Accepted with a note, because ignoring it cannot change what the Worker does; why.
    NoEffect(&'static str),
    /// Refused unless its value is blank; what it is.
    NotYet(&'static str),
}

#[derive(Debug)]
pub(crate) struct Key {
    pub name: &'static str,
    pub reach: Reach,
    pub support: Support,
}

const fn key(name: &'static str, reach: Reach, support: Support) -> Key {
    Key { name, reach, support }
}

const CLOUDFLARE_ACCOUNT: Support = Support::NoEffect("it selects a Cloudflare account");
const CLOUDFLARE_ROUTING: Support = Support::NoEffect("it routes a domain of Cloudflare's edge");
const TELEMETRY: Support = Support::NoEffect("a node's telemetry is configured on the node");

use Reach::{Inherited, PerEnvironment, TopLevel};
use Support::{NoEffect, NotYet, Silent, Used};

/// The keys, in the order of Wrangler's schema.
pub(crate) const KEYS: &[Key] = &[
    key("$schema", TopLevel, Silent),
    key("env", TopLevel, Used),
    key("name", Inherited, Used),
    key("account_id", Inherited, CLOUDFLARE_ACCOUNT),
    key("compatibility_date", Inherited, Used),
    key("compatibility_flags", Inherited, Used),
    key("main", Inherited, Used),
    key("find_additional_modules", Inherited, Used),
    key(
        "preserve_file_names",
        Inherited,
        NoEffect("the names of text, data and wasm modules are not visible"),
    ),
    key("base_dir", Inherited, Used),
    key("workers_dev", Inherited, CLOUDFLARE_ROUTING),
    key("preview_urls", Inherited, CLOUDFLARE_ROUTING),
    key("routes", Inherited, CLOUDFLARE_ROUTING),
    key("route", Inherited, CLOUDFLARE_ROUTING),
    key("tsconfig", Inherited, Used),
    key("jsx_factory", Inherited, Used),
    key("jsx_fragment", Inherited, Used),
    key("migrations", Inherited, Used),
    key("triggers", Inherited, NotYet("cron triggers")),
    key("limits", Inherited, Used),
    key("rules", Inherited, Used),
    key("build", Inherited, Used),
    key("no_bundle", Inherited, Used),
    key("minify", Inherited, Used),
    key("keep_names", Inherited, Used),
    key("first_party_worker", Inherited, CLOUDFLARE_ACCOUNT),
    key("logfwdr", Inherited, NotYet("log forwarding bindings")),
    key("logpush", Inherited, TELEMETRY),
    key("upload_source_maps", Inherited, NoEffect("source maps are always part of a deployment")),
    key("placement", Inherited, NoEffect("the fleet decides where code runs")),
    key("assets", Inherited, NotYet("static assets")),
    key("observability", Inherited, TELEMETRY),
    key("compliance_region", Inherited, NotYet("a compliance region")),
    key("python_modules", Inherited, NotYet("Python Workers")),
    key("cache", Inherited, NotYet("Worker response caching")),
    key("previews", Inherited, NoEffect("it configures Cloudflare's preview deployments")),
    key("define", PerEnvironment, Used),
    key("vars", PerEnvironment, Used),
    key("secrets", PerEnvironment, NotYet("required secrets")),
    key("durable_objects", PerEnvironment, Used),
    key("workflows", PerEnvironment, NotYet("Workflows")),
    key("cloudchamber", PerEnvironment, NotYet("containers")),
    key("containers", PerEnvironment, NotYet("containers")),
    key("kv_namespaces", PerEnvironment, NotYet("KV namespaces")),
    key("send_email", PerEnvironment, NotYet("email bindings")),
    key("queues", PerEnvironment, NotYet("Queues")),
    key("r2_buckets", PerEnvironment, NotYet("R2 buckets")),
    key("d1_databases", PerEnvironment, NotYet("D1 databases")),
    key("vectorize", PerEnvironment, NotYet("Vectorize indexes")),
    key("ai_search_namespaces", PerEnvironment, NotYet("AI Search")),
    key("ai_search", PerEnvironment, NotYet("AI Search")),
    key("hyperdrive", PerEnvironment, NotYet("Hyperdrive")),
    key("services", PerEnvironment, Used),
    key("analytics_engine_datasets", PerEnvironment, NotYet("Analytics Engine datasets")),
    key("browser", PerEnvironment, NotYet("Browser Rendering")),
    key("ai", PerEnvironment, NotYet("Workers AI")),
    key("images", PerEnvironment, NotYet("the Images binding")),
    key("media", PerEnvironment, NotYet("the Media binding")),
    key("stream", PerEnvironment, NotYet("the Stream binding")),
    key("version_metadata", PerEnvironment, NotYet("the version metadata binding")),
    key("unsafe", PerEnvironment, NotYet("unsafe bindings")),
    key("mtls_certificates", PerEnvironment, NotYet("mTLS certificates")),
    key("tail_consumers", PerEnvironment, NotYet("tail consumers")),
    key("streaming_tail_consumers", PerEnvironment, NotYet("tail consumers")),
    key("dispatch_namespaces", PerEnvironment, NotYet("dispatch namespaces")),
    key("pipelines", PerEnvironment, NotYet("Pipelines")),
    key("secrets_store_secrets", PerEnvironment, NotYet("Secrets Store secrets")),
    key("artifacts", PerEnvironment, NotYet("artifacts")),
    key("unsafe_hello_world", PerEnvironment, NotYet("unsafe bindings")),
    key("flagship", PerEnvironment, NotYet("Flagship")),
    key("ratelimits", PerEnvironment, NotYet("rate limiters")),
    key("worker_loaders", PerEnvironment, NotYet("Worker Loaders")),
    key("vpc_services", PerEnvironment, NotYet("VPC services")),
    key("vpc_networks", PerEnvironment, NotYet("VPC networks")),
    key("pages_build_output_dir", TopLevel, NotYet("Pages projects")),
    key("legacy_env", TopLevel, NoEffect("each environment is a script of its own")),
    key("send_metrics", TopLevel, NoEffect("celld sends no usage metrics")),
    key("dev", TopLevel, NoEffect("use the options of celld dev, such as --port")),
    key("site", TopLevel, NotYet("Workers Sites")),
    key("wasm_modules", TopLevel, NotYet("the service-worker format (import the file instead)")),
    key("text_blobs", TopLevel, NotYet("the service-worker format (import the file instead)")),
    key("data_blobs", TopLevel, NotYet("the service-worker format (import the file instead)")),
    key("alias", TopLevel, Used),
    key("keep_vars", TopLevel, NoEffect("variables come only from this file")),
];

/// The key of that name.
pub(crate) fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name)
}

/// `known` that is spelled nearly like `word`, for a "did you mean".
pub(crate) fn nearest<'a>(word: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|candidate| (strsim::damerau_levenshtein(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= (candidate.len() / 3).max(1))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}
