//! The settings of a node, with their defaults and the rules that involve more than one of them.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use celld_bucket::Bucket;
use celld_ids::NodeId;
use celld_node::{Adoption, Limits, Listener, NodeConfig, RestoreOptions, Shutdown, VarOverrides};
use celld_replica::LogOptions;

use super::{SettingError, Settings};

const DEFAULT_PUBLIC: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8080);
const DEFAULT_INTERNAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8081);

/// The addresses of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Addresses {
    public: SocketAddr,
    internal: SocketAddr,
    advertise: Option<String>,
}

impl Settings {
    /// What a node on `bucket` needs to start.
    ///
    /// # Errors
    /// Addresses that contradict each other.
    pub(crate) fn node(&self, bucket: Bucket) -> Result<NodeConfig, SettingError> {
        let addresses = self.addresses()?;
        let cpus = std::thread::available_parallelism().map_or(1, NonZeroUsize::get);
        let milliseconds = |name| self.integer(name).map(Duration::from_millis);
        let seconds = |name| self.integer(name).map(Duration::from_secs);
        // A bound above the address space is no bound.
        let count = |name| self.integer(name).map(|value| usize::try_from(value).unwrap_or(usize::MAX));
        let limits = Limits::default();
        let adoption = Adoption::default();
        let restore = RestoreOptions::default();
        let mebibytes = |name| self.integer(name).map(|mib| mib.saturating_mul(1 << 20));
        let operation_deadline =
            milliseconds("CELLD_OPERATION_DEADLINE_MS").unwrap_or(limits.operation_deadline);
        Ok(NodeConfig {
            bucket,
            node: match self.node_id("CELLD_NODE") {
                Some(node) => node,
                None => default_node(addresses.internal)?,
            },
            listen: Listener::Address(addresses.public),
            internal_listen: Listener::Address(addresses.internal),
            advertise: addresses.advertise,
            work_dir: self.path("CELLD_WATCH").unwrap_or_else(|| PathBuf::from(".celld/node")),
            shards: count("CELLD_SHARDS").unwrap_or(cpus),
            lease_ttl: milliseconds("CELLD_TTL_MS").unwrap_or(Duration::from_secs(10)),
            output_gate: self.boolean("CELLD_OUTPUT_GATE").unwrap_or(true),
            log: self.log(operation_deadline),
            idle_evict: seconds("CELLD_IDLE_EVICT_S"),
            restore: RestoreOptions {
                paged: self.boolean("CELLD_LTX_PAGED").unwrap_or(restore.paged),
                paged_min_bytes: mebibytes("CELLD_LTX_PAGED_MIN_MB").unwrap_or(restore.paged_min_bytes),
                hydrate: match mebibytes("CELLD_LTX_HYDRATE_MBPS") {
                    Some(0) => None,
                    rate => rate.or(restore.hydrate),
                },
                ..restore
            },
            limits: Limits {
                max_request_body_bytes: self
                    .integer("CELLD_MAX_REQUEST_BODY_BYTES")
                    .unwrap_or(limits.max_request_body_bytes),
                max_cell_requests: count("CELLD_MAX_CELL_REQUESTS").unwrap_or(limits.max_cell_requests),
                max_activations: count("CELLD_ACTIVATIONS").unwrap_or_else(|| default_activations(cpus)),
                cache_bytes: count("CELLD_CACHE_BYTES").unwrap_or(limits.cache_bytes),
                operation_deadline,
            },
            adoption: Adoption {
                poll: seconds("CELLD_DEPLOY_POLL_S").or(adoption.poll),
                max_age: seconds("CELLD_DEPLOY_MAX_AGE_S").unwrap_or(adoption.max_age),
            },
            shutdown: Shutdown {
                total: milliseconds("CELLD_SHUTDOWN_TOTAL_MS").unwrap_or(Shutdown::default().total),
            },
            vars: VarOverrides { fixed: self.vars.clone(), file: self.path("CELLD_VARS_FILE") },
            live_reload: false,
        })
    }

    /// How the log is written and the cells' histories are kept.
    fn log(&self, operation_deadline: Duration) -> LogOptions {
        let default = LogOptions::default();
        let seconds = self.integer("CELLD_LTX_DURABILITY_TIMEOUT_SECS");
        let durability_timeout = seconds.map_or(default.durability_timeout, Duration::from_secs);
        LogOptions {
            durability_timeout,
            // One call is given up well before the proof is.
            attempt_timeout: default.attempt_timeout.max(durability_timeout / 3).min(operation_deadline),
            compaction: self.boolean("CELLD_LTX_COMPACTION").unwrap_or(default.compaction),
            compact_txids: self.integer("CELLD_LTX_COMPACTION_MIN_TXIDS").unwrap_or(default.compact_txids),
            // At most 64 MiB.
            compact_bytes: self
                .integer("CELLD_LTX_COMPACTION_MIN_MB")
                .map_or(default.compact_bytes, |mib| mib << 20),
            compactions: self
                .integer("CELLD_LTX_COMPACTIONS")
                .map_or(default.compactions, |count| usize::try_from(count).unwrap_or(usize::MAX)),
            retention: self
                .integer("CELLD_LTX_RETENTION_HOURS")
                .map_or(default.retention, |hours| Duration::from_secs(hours * 3600)),
            ..default
        }
    }

    fn addresses(&self) -> Result<Addresses, SettingError> {
        let public = self.address("CELLD_ADDR");
        let internal = self.address("CELLD_INTERNAL_ADDR");
        let advertise = self.text("CELLD_ADVERTISE").map(str::to_owned);
        if internal.is_none() {
            if let Some(advertise) = &advertise {
                return Err(SettingError::Conflict(format!(
                    "CELLD_ADVERTISE is {advertise:?}, but no internal listener is given: set CELLD_INTERNAL_ADDR or --internal-listen too"
                )));
            }
            if let Some(public) = public.filter(|public| !public.ip().is_loopback()) {
                return Err(SettingError::Conflict(format!(
                    "the public listener {public} is not loopback, and no internal listener is given: set CELLD_INTERNAL_ADDR or --internal-listen too"
                )));
            }
        }
        let unsafe_public = self.boolean("CELLD_UNSAFE_PUBLIC_ADVERTISE").unwrap_or(false);
        if let Some(advertise) = &advertise
            && !unsafe_public
            && literal_ip(advertise).is_some_and(is_public)
        {
            return Err(SettingError::Conflict(format!(
                "CELLD_ADVERTISE is {advertise:?}, a public IP address; the internal listener must not reach the public network. Set CELLD_UNSAFE_PUBLIC_ADVERTISE=1 if it is protected otherwise"
            )));
        }
        let (public, internal) = (public.unwrap_or(DEFAULT_PUBLIC), internal.unwrap_or(DEFAULT_INTERNAL));
        if public == internal && public.port() != 0 {
            return Err(SettingError::Conflict(format!(
                "the public and the internal listener are both {public}; give them different addresses"
            )));
        }
        Ok(Addresses { public, internal, advertise })
    }
}

/// Stable over restarts, and different for two nodes of one machine.
fn default_node(internal: SocketAddr) -> Result<NodeId, SettingError> {
    let uname = rustix::system::uname();
    let host: String = uname
        .nodename()
        .to_string_lossy()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '-' })
        .take(120)
        .collect();
    NodeId::new(&format!("{host}-{}", internal.port()))
        .map_err(|error| SettingError::Conflict(format!("{error}: set CELLD_NODE")))
}

fn default_activations(cpus: usize) -> usize {
    cpus.saturating_mul(8).clamp(16, 128)
}

fn literal_ip(host_port: &str) -> Option<IpAddr> {
    host_port.parse::<SocketAddr>().ok().map(|address| address.ip())
}

/// Whether an address is reachable from the public Internet, as far as the address itself says (RFC 1918, 3927, 4193,
/// 6598 and the special blocks of RFC 6890 are not).
fn is_public(ip: IpAddr) -> bool {
    match ip {
        IpAddr::V4(ip) => {
            let [a, b, ..] = ip.octets();
            let shared = a == 100 && (64..128).contains(&b);
            !(ip.is_private() || ip.is_loopback() || ip.is_link_local() || ip.is_unspecified() || shared)
        }
        IpAddr::V6(ip) => match ip.to_ipv4_mapped() {
            Some(ip) => is_public(IpAddr::V4(ip)),
            None => {
                let local = ip.is_unique_local() || ip.is_unicast_link_local();
                !(local || ip.is_loopback() || ip.is_unspecified())
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::tests::settings;

    #[test]
    fn listeners_that_expose_the_internal_one_are_refused() {
        for (environment, problem) in [
            (&[("CELLD_ADVERTISE", "a.internal:1")][..], "no internal listener"),
            (&[("CELLD_ADDR", "0.0.0.0:8080")], "is not loopback"),
            (&[("CELLD_ADDR", "10.0.0.1:1"), ("CELLD_INTERNAL_ADDR", "10.0.0.1:1")], "are both"),
            (&[("CELLD_INTERNAL_ADDR", "0.0.0.0:1"), ("CELLD_ADVERTISE", "8.8.8.8:1")], "public IP"),
            (&[("CELLD_INTERNAL_ADDR", "[::]:1"), ("CELLD_ADVERTISE", "[2001:4860::1]:1")], "public IP"),
        ] {
            let error = settings(&[], environment).unwrap().addresses().unwrap_err().to_string();
            assert!(error.contains(problem), "{error}");
        }
        for environment in [
            &[][..],
            &[("CELLD_ADDR", "127.0.0.1:3000")],
            &[("CELLD_ADDR", "0.0.0.0:8080"), ("CELLD_INTERNAL_ADDR", "10.0.0.12:8081")],
            &[("CELLD_INTERNAL_ADDR", "0.0.0.0:1"), ("CELLD_ADVERTISE", "100.64.0.1:1")],
            &[
                ("CELLD_INTERNAL_ADDR", "0.0.0.0:1"),
                ("CELLD_ADVERTISE", "8.8.8.8:1"),
                ("CELLD_UNSAFE_PUBLIC_ADVERTISE", "1"),
            ],
        ] {
            settings(&[], environment).unwrap().addresses().unwrap();
        }
    }

    #[test]
    fn an_unset_setting_has_the_default_that_the_table_documents() {
        let node = settings(&[], &[]).unwrap().node(Bucket::in_memory()).unwrap();
        let documented = |name: &str| {
            let setting =
                crate::settings::table::SETTINGS.iter().find(|setting| setting.name() == name).unwrap();
            setting.default.parse::<u64>().unwrap()
        };
        assert_eq!(node.limits.max_request_body_bytes, documented("CELLD_MAX_REQUEST_BODY_BYTES"));
        assert_eq!(node.limits.max_cell_requests as u64, documented("CELLD_MAX_CELL_REQUESTS"));
        assert_eq!(node.limits.cache_bytes as u64, documented("CELLD_CACHE_BYTES"));
        assert_eq!(
            node.limits.operation_deadline.as_millis() as u64,
            documented("CELLD_OPERATION_DEADLINE_MS")
        );
        assert_eq!(node.log.durability_timeout.as_secs(), documented("CELLD_LTX_DURABILITY_TIMEOUT_SECS"));
        assert_eq!(node.log.compact_txids, documented("CELLD_LTX_COMPACTION_MIN_TXIDS"));
        assert_eq!(node.log.compact_bytes >> 20, documented("CELLD_LTX_COMPACTION_MIN_MB"));
        assert_eq!(node.log.compactions as u64, documented("CELLD_LTX_COMPACTIONS"));
        assert_eq!(node.log.retention.as_secs() / 3600, documented("CELLD_LTX_RETENTION_HOURS"));
        assert_eq!(node.lease_ttl.as_millis() as u64, documented("CELLD_TTL_MS"));
        assert_eq!(node.adoption.poll.unwrap().as_secs(), documented("CELLD_DEPLOY_POLL_S"));
        assert_eq!(node.adoption.max_age.as_secs(), documented("CELLD_DEPLOY_MAX_AGE_S"));
        assert_eq!(node.shutdown.total.as_millis() as u64, documented("CELLD_SHUTDOWN_TOTAL_MS"));
        assert!((16..=128).contains(&node.limits.max_activations));
    }
}
