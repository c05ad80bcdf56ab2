//! The table of settings: the only place where a setting's flag, variable, default, bounds and meaning are written.
//!
//! `--help`, `docs/configuration.md` and the validation are all made from it.

use std::fmt;

/// One setting.
#[derive(Debug)]
pub(crate) struct Setting {
    /// The environment variables, the first that is set counts. A trailing `*` stands for the rest of a name.
    pub(crate) variables: &'static [&'static str],
    /// The option of the same meaning; it wins over the variables.
    pub(crate) flag: Option<Flag>,
    /// What a value may be.
    pub(crate) kind: Kind,
    /// What an unset setting means, as text.
    pub(crate) default: &'static str,
    /// Where the help lists it.
    pub(crate) group: Group,
    /// What this release does with it.
    pub(crate) status: Status,
    /// One or two sentences.
    pub(crate) doc: &'static str,
}

impl Setting {
    /// The name by which messages and code call it: the first variable.
    pub(crate) fn name(&self) -> &'static str {
        self.variables.first().copied().unwrap_or_default()
    }
}

/// An option on the command line.
#[derive(Debug)]
pub(crate) struct Flag {
    /// Without the dashes.
    pub(crate) long: &'static str,
    /// The placeholder of the value in the help.
    pub(crate) value: &'static str,
    /// Whether every command that opens the bucket takes it, or only the node.
    pub(crate) scope: Scope,
}

/// Which commands take an option.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every command that opens the fleet's bucket.
    Bucket,
    /// The node.
    Node,
}

/// What a value may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `0` or `1`.
    Boolean,
    /// A whole number within bounds, both included.
    Integer { min: u64, max: u64, unit: &'static str },
    /// One of these words.
    Choice(&'static [&'static str]),
    /// `IP:PORT` or `[IP]:PORT`.
    Address,
    /// `HOST:PORT`.
    HostPort,
    /// The rule of `celld_ids::NodeId`.
    Node,
    /// A path.
    Path,
    /// Text that its user checks (a bucket, an endpoint, a region).
    Text,
    /// Read by somebody else (the credential chain, the log filter); listed, never checked here.
    External,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boolean => write!(f, "0 or 1"),
            Self::Integer { min, max: u64::MAX, unit } => {
                write!(f, "a whole number of {unit}, at least {min}")
            }
            Self::Integer { min, max, unit } => write!(f, "a whole number of {unit} from {min} to {max}"),
            Self::Choice(words) => write!(f, "{}", words.join(" or ")),
            Self::Address => write!(f, "IP:PORT, such as 127.0.0.1:8080"),
            Self::HostPort => write!(f, "HOST:PORT, such as node-a.internal:8081"),
            Self::Node => {
                write!(f, "1 to 128 ASCII letters, digits, dots, dashes or underscores, not . or ..")
            }
            Self::Path => write!(f, "a path"),
            Self::Text | Self::External => write!(f, "text"),
        }
    }
}

/// Sections of the help.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Bucket,
    Node,
    Limits,
    Deployments,
    Durability,
    Fleet,
    Tools,
}

impl Group {
    pub(crate) const ALL: [Group; 7] = [
        Group::Bucket,
        Group::Node,
        Group::Limits,
        Group::Deployments,
        Group::Durability,
        Group::Fleet,
        Group::Tools,
    ];

    pub(crate) fn title(self) -> &'static str {
        match self {
            Group::Bucket => "Bucket",
            Group::Node => "Node",
            Group::Limits => "Limits",
            Group::Deployments => "Deployments",
            Group::Durability => "Durability",
            Group::Fleet => "Fleet",
            Group::Tools => "Tools",
        }
    }
}

/// What this release does with a setting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Status {
    /// It works.
    Works,
    /// Not available yet, and somebody who sets it relies on it: an error at startup.
    Planned,
    /// Not available yet, and nothing observable but speed can depend on it: a warning at startup.
    PlannedTuning,
}

const fn flag(long: &'static str, value: &'static str, scope: Scope) -> Option<Flag> {
    Some(Flag { long, value, scope })
}

const fn integer(min: u64, max: u64, unit: &'static str) -> Kind {
    Kind::Integer { min, max, unit }
}

/// A day, in milliseconds and seconds: the bound of every duration that would otherwise overflow a clock.
const DAY_MS: u64 = 86_400_000;
const DAY_S: u64 = 86_400;

/// A setting that works; the helper keeps the table readable.
const fn works(
    variables: &'static [&'static str],
    flag: Option<Flag>,
    kind: Kind,
    default: &'static str,
    group: Group,
    doc: &'static str,
) -> Setting {
    Setting { variables, flag, kind, default, group, status: Status::Works, doc }
}

const fn planned(
    variables: &'static [&'static str],
    kind: Kind,
    default: &'static str,
    group: Group,
    doc: &'static str,
) -> Setting {
    Setting { variables, flag: None, kind, default, group, status: Status::Planned, doc }
}

const fn tuning(
    variables: &'static [&'static str],
    kind: Kind,
    default: &'static str,
    group: Group,
    doc: &'static str,
) -> Setting {
    Setting { variables, flag: None, kind, default, group, status: Status::PlannedTuning, doc }
}

/// Every setting, in the order of the help.
pub(crate) static SETTINGS: &[Setting] = &[
    // Bucket.
    works(
        &["CELLD_BUCKET"],
        flag("bucket", "URL", Scope::Bucket),
        Kind::Text,
        "required",
        Group::Bucket,
        "The fleet's bucket: s3://NAME, gs://NAME or az://NAME, with an optional /PREFIX for its keys.",
    ),
    works(
        &["S3_ENDPOINT"],
        flag("endpoint", "URL", Scope::Bucket),
        Kind::Text,
        "Amazon S3",
        Group::Bucket,
        "The endpoint of an S3-compatible store. Only for s3:// buckets.",
    ),
    works(
        &["AWS_REGION", "AWS_DEFAULT_REGION"],
        flag("region", "NAME", Scope::Bucket),
        Kind::Text,
        "the store's default",
        Group::Bucket,
        "The storage region of an s3:// bucket; `auto` for Cloudflare R2.",
    ),
    works(
        &["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"],
        None,
        Kind::External,
        "the standard AWS credential chain",
        Group::Bucket,
        "Explicit credentials for an s3:// bucket.",
    ),
    works(
        &["GOOGLE_APPLICATION_CREDENTIALS", "GOOGLE_SERVICE_ACCOUNT_KEY"],
        None,
        Kind::External,
        "Application Default Credentials",
        Group::Bucket,
        "Credentials for a gs:// bucket.",
    ),
    works(
        &["STORAGE_EMULATOR_HOST"],
        None,
        Kind::External,
        "unset",
        Group::Bucket,
        "HOST:PORT or a URL, for development: an emulator of Google Cloud Storage's XML API behind a gs:// bucket. It \
         excludes credentials.",
    ),
    works(
        &["AZURE_STORAGE_ACCOUNT_NAME"],
        None,
        Kind::External,
        "required for az://",
        Group::Bucket,
        "The storage account of an az:// bucket; the bucket's NAME is the container.",
    ),
    works(
        &["AZURE_STORAGE_ACCOUNT_KEY"],
        None,
        Kind::External,
        "a managed or workload identity",
        Group::Bucket,
        "The account key. It excludes the identity selectors.",
    ),
    works(
        &["AZURE_AUTHORITY_HOST", "AZURE_CLIENT_ID", "AZURE_TENANT_ID", "AZURE_FEDERATED_TOKEN_FILE"],
        None,
        Kind::External,
        "unset",
        Group::Bucket,
        "A workload identity, as AKS provides it. The authority must be the public Azure host.",
    ),
    works(
        &["AZURE_STORAGE_USE_EMULATOR"],
        None,
        Kind::External,
        "false",
        Group::Bucket,
        "`true` for development against Azurite, which is not fit for a fleet.",
    ),
    // Node.
    works(
        &["CELLD_ADDR"],
        flag("listen", "IP:PORT", Scope::Node),
        Kind::Address,
        "127.0.0.1:8080",
        Group::Node,
        "The public Worker listener. An address that is not loopback also needs an explicit internal listener.",
    ),
    works(
        &["CELLD_INTERNAL_ADDR"],
        flag("internal-listen", "IP:PORT", Scope::Node),
        Kind::Address,
        "127.0.0.1:8081",
        Group::Node,
        "The listener of peers and operators. It is not authenticated: keep it on a private network.",
    ),
    works(
        &["CELLD_ADVERTISE"],
        flag("advertise", "HOST:PORT", Scope::Node),
        Kind::HostPort,
        "the internal listener's address",
        Group::Node,
        "The address at which peers reach the internal listener. It needs an explicit internal listener.",
    ),
    works(
        &["CELLD_UNSAFE_PUBLIC_ADVERTISE"],
        None,
        Kind::Boolean,
        "0",
        Group::Node,
        "1 permits a literal public IP address in CELLD_ADVERTISE.",
    ),
    works(
        &["CELLD_NODE"],
        None,
        Kind::Node,
        "the host name and the internal port",
        Group::Node,
        "The node's ID: the name of its lease in the bucket.",
    ),
    works(
        &["CELLD_WATCH"],
        None,
        Kind::Path,
        ".celld/node",
        Group::Node,
        "The local work directory for SQLite and replication. It is a cache: the bucket holds the history.",
    ),
    works(
        &["CELLD_TTL_MS"],
        None,
        integer(1000, DAY_MS, "milliseconds"),
        "10000",
        Group::Node,
        "The lifetime of the node's lease; it is renewed at a third of that.",
    ),
    works(
        &["CELLD_SHUTDOWN_TOTAL_MS"],
        None,
        integer(1000, DAY_MS, "milliseconds"),
        "40000",
        Group::Node,
        "The bound on a complete stop. An orchestrator's stop grace must be longer.",
    ),
    works(
        &["RUST_LOG"],
        None,
        Kind::External,
        "info",
        Group::Node,
        "The filter of the node's log, such as `warn` or `celld_replica=debug,info`.",
    ),
    // Limits.
    works(
        &["CELLD_MAX_REQUEST_BODY_BYTES"],
        None,
        integer(1, u64::MAX, "bytes"),
        "1073741824",
        Group::Limits,
        "The largest body of a public request. A larger one gets status 413.",
    ),
    works(
        &["CELLD_MAX_CELL_REQUESTS"],
        None,
        integer(1, 1_000_000, "requests"),
        "64",
        Group::Limits,
        "Concurrent fetch events of one cell. Above it: status 503, Retry-After: 1, X-Celld-Overload: cell.",
    ),
    works(
        &["CELLD_CACHE_BYTES"],
        None,
        integer(0, u64::MAX, "bytes"),
        "67108864",
        Group::Limits,
        "What the Cache API may hold in memory. Each node has a cache of its own; 0 turns it off.",
    ),
    works(
        &["CELLD_SHARDS"],
        None,
        integer(1, 1024, "threads"),
        "the CPU count",
        Group::Limits,
        "Threads that run JavaScript. A cell belongs to one of them.",
    ),
    works(
        &["CELLD_ACTIVATIONS"],
        None,
        integer(1, 65_536, "cells"),
        "8 for each CPU, from 16 to 128",
        Group::Limits,
        "Cells that may start cold at the same time.",
    ),
    works(
        &["CELLD_OPERATION_DEADLINE_MS"],
        None,
        integer(1, DAY_MS, "milliseconds"),
        "15000",
        Group::Limits,
        "The deadline of an operation that is not a restore.",
    ),
    planned(
        &["CELLD_MAX_RESIDENT_CELLS"],
        integer(1, u64::MAX, "cells"),
        "no limit",
        Group::Limits,
        "The hard limit of resident cells, enforced at admission.",
    ),
    works(
        &["CELLD_IDLE_EVICT_S"],
        None,
        integer(1, 365 * DAY_S, "seconds"),
        "idle cells stay",
        Group::Limits,
        "The age at which an idle resident cell leaves memory. Unset, idle cells stay.",
    ),
    planned(
        &["CELLD_MAX_RSS_MB"],
        integer(0, u64::MAX, "MiB"),
        "80% of the available memory",
        Group::Limits,
        "The memory threshold for shedding cells under pressure; 0 disables it.",
    ),
    planned(
        &["CELLD_WORKER_LOADER"],
        Kind::Text,
        "off",
        Group::Limits,
        "Binds a Worker Loader at this name of `env` (experimental).",
    ),
    planned(
        &["CELLD_MAX_LOADED_WORKERS"],
        integer(1, 1_000_000, "workers"),
        "256",
        Group::Limits,
        "Concurrent workers started by a Worker Loader.",
    ),
    // Deployments.
    works(
        &["CELLD_DEPLOY_POLL_S"],
        None,
        integer(1, DAY_S, "seconds"),
        "30",
        Group::Deployments,
        "How often a node reads deploy/current.json and adopts a new deployment in place.",
    ),
    works(
        &["CELLD_DEPLOY_MAX_AGE_S"],
        None,
        integer(0, DAY_S, "seconds"),
        "60",
        Group::Deployments,
        "How long a resident cell may keep the previous code after an adoption; 0 moves it at once.",
    ),
    works(
        &["CELLD_VAR_*"],
        None,
        Kind::External,
        "unset",
        Group::Deployments,
        "CELLD_VAR_NAME overrides the variable NAME of every Worker. It wins over CELLD_VARS_FILE.",
    ),
    works(
        &["CELLD_VARS_FILE"],
        None,
        Kind::Path,
        "unset",
        Group::Deployments,
        "A file of NAME=value lines that override variables of every Worker; read again at each adoption and reload.",
    ),
    // Durability.
    works(
        &["CELLD_DURABILITY"],
        None,
        Kind::Choice(&["fleet", "bucket"]),
        "fleet",
        Group::Durability,
        "How a write is proved durable before it is answered. A node without peers always waits for the bucket.",
    ),
    works(
        &["CELLD_OUTPUT_GATE"],
        None,
        Kind::Boolean,
        "1",
        Group::Durability,
        "0 answers before a write is durable, and accepts that a crash loses acknowledged writes.",
    ),
    works(
        &["CELLD_LTX_DURABILITY_TIMEOUT_SECS"],
        None,
        integer(1, DAY_S, "seconds"),
        "10",
        Group::Durability,
        "The budget of one durability proof, from the moment its upload starts. A write waits behind others for six budgets at most.",
    ),
    tuning(
        &["CELLD_LOG_CAPTURE_WORKERS"],
        integer(1, 1024, "workers"),
        "8",
        Group::Durability,
        "Concurrent workers that capture transactions for the log.",
    ),
    tuning(
        &["CELLD_LOG_PIPELINE"],
        integer(1, 1024, "rounds"),
        "4",
        Group::Durability,
        "Log rounds that may be in flight.",
    ),
    tuning(
        &["CELLD_LOG_GROUP_COMMIT_MS"],
        integer(0, 10_000, "milliseconds"),
        "1",
        Group::Durability,
        "The wait before pending Queue writes join a log round; 0 disables it.",
    ),
    tuning(
        &["CELLD_LOG_HEDGE_MS"],
        integer(0, DAY_MS, "milliseconds"),
        "adaptive",
        Group::Durability,
        "The wait before a slow log append is sent to a follower again; 0 disables the second copy.",
    ),
    tuning(
        &["CELLD_QUEUE_PRODUCER_GROUP_MS"],
        integer(0, 10_000, "milliseconds"),
        "4",
        Group::Durability,
        "The wait in which concurrent producer calls of a Queue join one transaction; 0 disables it.",
    ),
    tuning(
        &["CELLD_LTX_TRUNCATE_PAGES"],
        integer(0, u64::MAX, "pages"),
        "128",
        Group::Durability,
        "The size at which a write-ahead log is truncated. Cells of this release have none.",
    ),
    works(
        &["CELLD_LTX_COMPACTION"],
        None,
        Kind::Boolean,
        "1",
        Group::Durability,
        "0 turns the compaction of history off: nothing is merged and nothing is deleted, so a cell's restore gets slower and its storage grows.",
    ),
    works(
        &["CELLD_LTX_COMPACTION_MIN_TXIDS"],
        None,
        integer(1, u64::MAX, "transactions"),
        "256",
        Group::Durability,
        "A cell whose transactions since the last compaction reach this number is compacted in the background.",
    ),
    works(
        &["CELLD_LTX_COMPACTION_MIN_MB"],
        None,
        integer(1, 64, "MiB"),
        "32",
        Group::Durability,
        "So is one whose history has grown by this size since.",
    ),
    works(
        &["CELLD_LTX_COMPACTIONS"],
        None,
        integer(1, 1024, "compactions"),
        "2",
        Group::Durability,
        "Cells that the node compacts at the same time. Each needs up to 60 MiB of memory.",
    ),
    works(
        &["CELLD_LTX_RETENTION_HOURS"],
        None,
        integer(0, 8784, "hours"),
        "24",
        Group::Durability,
        "How far back from its last transaction a cell can be restored to an earlier moment. The superseded history of that time stays in the bucket: up to about two and a half times the bytes written meanwhile, and one snapshot. 0 deletes it at once.",
    ),
    works(
        &["CELLD_LTX_PAGED"],
        None,
        Kind::Boolean,
        "1",
        Group::Durability,
        "0 restores every cell by downloading it whole.",
    ),
    works(
        &["CELLD_LTX_PAGED_MIN_MB"],
        None,
        integer(0, u64::MAX, "MiB"),
        "256",
        Group::Durability,
        "The size from which a restore reads pages on demand; 0 pages every cell.",
    ),
    works(
        &["CELLD_LTX_HYDRATE_MBPS"],
        None,
        integer(0, u64::MAX, "MiB per second"),
        "16",
        Group::Durability,
        "The rate at which a paged cell fills in the background; 0 keeps it sparse.",
    ),
    // Fleet.
    tuning(
        &["CELLD_PLACEMENT_WEIGHT"],
        integer(1, 1_000_000, "shares"),
        "the CPU count",
        Group::Fleet,
        "This node's share of the cells, relative to the other nodes' weights.",
    ),
    tuning(
        &["CELLD_REBALANCE_INTERVAL_MS"],
        integer(0, DAY_MS, "milliseconds"),
        "5000",
        Group::Fleet,
        "The interval between reads of the shared fleet sample; 0 disables balancing.",
    ),
    tuning(
        &["CELLD_REBALANCE_BATCH_CELLS"],
        integer(1, 65_536, "cells"),
        "32",
        Group::Fleet,
        "The most idle cells that one balancing batch hands over.",
    ),
    tuning(
        &["CELLD_PRESSURE_OWNERSHIP"],
        Kind::Choice(&["release", "keep"]),
        "release",
        Group::Fleet,
        "What becomes of the ownership of a cell that is shed under memory pressure.",
    ),
    tuning(
        &["CELLD_RELEASES"],
        integer(1, 65_536, "handoffs"),
        "128",
        Group::Fleet,
        "Complete handoffs in progress at the same time.",
    ),
    tuning(
        &["CELLD_SHUTDOWN_DRAIN_MS"],
        integer(1, DAY_MS, "milliseconds"),
        "25000",
        Group::Fleet,
        "The longest interval of a stop without a completed handoff.",
    ),
    tuning(
        &["CELLD_DRAIN_TOKEN_WAIT_MS"],
        integer(0, DAY_MS, "milliseconds"),
        "30000",
        Group::Fleet,
        "How long a stopping node waits for its turn to hand off; 0 disables the token.",
    ),
    tuning(
        &["CELLD_READY_FLEET_GATE_MS"],
        integer(0, DAY_MS, "milliseconds"),
        "120000",
        Group::Fleet,
        "How long a new process observes the fleet before it reports itself late; 0 disables the gate.",
    ),
    // Tools.
    works(
        &["CELLD_ESBUILD"],
        None,
        Kind::External,
        "beside celld, in node_modules, on PATH",
        Group::Tools,
        "The esbuild executable.",
    ),
    works(
        &["NO_COLOR"],
        None,
        Kind::External,
        "unset",
        Group::Tools,
        "Set to anything: no colour. It wins over FORCE_COLOR.",
    ),
    works(
        &["FORCE_COLOR"],
        None,
        Kind::External,
        "unset",
        Group::Tools,
        "Set to anything: colour, also when the output is no terminal.",
    ),
];

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_every_setting_is_documented() {
        let mut seen = HashSet::new();
        for setting in SETTINGS {
            assert!(!setting.variables.is_empty());
            for name in setting.variables.iter().copied().chain(setting.flag.iter().map(|flag| flag.long)) {
                assert!(seen.insert(name), "{name} is listed twice");
            }
            assert!(setting.doc.ends_with('.') && !setting.default.is_empty(), "{}", setting.name());
        }
    }
}
