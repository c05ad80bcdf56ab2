//! `celld diagnose`: whether the store keeps its promises, and whether the nodes of the fleet can be reached.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use celld_bucket::{Bucket, Probe};
use celld_ids::NodeId;
use celld_replica::LeaseRecord;
use celld_tui::NodeState;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::settings::{self, Settings};
use crate::{console, probe};

pub(super) const NAME: &str = "diagnose";

#[derive(Debug, Args)]
struct DiagnoseArgs {
    /// Only this node; may be repeated.
    #[arg(long, value_name = "NODE_ID")]
    peer: Vec<NodeId>,
}

pub(super) fn command() -> Command {
    let diagnose = DiagnoseArgs::augment_args(Command::new(NAME))
        .about("Tries the store out and asks every node with a lease; takes no lease, changes no ownership");
    settings::add_options(diagnose, settings::BUCKET_OPTIONS)
}

pub(super) fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let args = DiagnoseArgs::from_arg_matches(matches)?;
    let settings = Settings::load(matches)?;
    super::warn(&settings);
    let bucket = settings.bucket()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let bucket = bucket.open()?;
        if !is_store_sound(&bucket).await? {
            return Ok(ExitCode::FAILURE);
        }
        let are_nodes_sound = nodes(&bucket, &args.peer).await?;
        Ok(if are_nodes_sound { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

async fn is_store_sound(bucket: &Bucket) -> anyhow::Result<bool> {
    let (line, is_sound) = match probe::patiently(bucket).await {
        Probe::Qualified => (format!("store {bucket}: qualified\n"), true),
        Probe::CannotFence { what, detail } => (format!("{}\n", probe::unfit(bucket, what, &detail)), false),
        Probe::Unreachable(error) => (format!("store {bucket}: no verdict: {error}\n"), false),
    };
    console::print(&line)?;
    Ok(is_sound)
}

/// Prints a line for each node; `true` when none is in trouble.
async fn nodes(bucket: &Bucket, only: &[NodeId]) -> anyhow::Result<bool> {
    let leases = celld_replica::read_leases(bucket).await?;
    let mut is_sound = true;
    for name in only {
        if !leases.iter().any(|lease| lease.record.node == *name) {
            console::print(&format!("node {name}: has no lease in the bucket\n"))?;
            is_sound = false;
        }
    }
    let asked =
        leases.iter().map(|lease| &lease.record).filter(|r| only.is_empty() || only.contains(&r.node));
    for lease in asked {
        let answer = match &lease.internal {
            Some(address) if lease.is_live(now_ms()) => Some(celld_tui::node_state(address).await),
            _ => None,
        };
        let (finding, is_fine) = finding(lease, answer, now_ms());
        console::print(&format!("node {}: {finding}\n", lease.node))?;
        is_sound &= is_fine;
    }
    Ok(is_sound)
}

fn now_ms() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_millis();
    u64::try_from(now).unwrap_or(u64::MAX)
}

/// What to say about a node, and whether it is as it should be. `answer` is that of a node whose lease is live.
fn finding(lease: &LeaseRecord, answer: Option<Result<NodeState, String>>, now_ms: u64) -> (String, bool) {
    let address = lease.internal.as_deref().unwrap_or("no address");
    if lease.expires_ms == 0 {
        return ("stopped".to_owned(), true);
    }
    if !lease.is_live(now_ms) {
        let ago = (now_ms - lease.expires_ms) / 1000;
        let what = format!(
            "its lease ended {ago} s ago (session {}): it has crashed or cannot reach the store",
            lease.session
        );
        return (what, false);
    }
    let state = match answer {
        None => return ("live, but it gives no address at which it can be reached".to_owned(), false),
        Some(Err(error)) => return (format!("live, but not reached at {address}: {error}"), false),
        Some(Ok(state)) => state,
    };
    if state.node != lease.node.as_str() {
        return (format!("its address {address} belongs to node {}", state.node), false);
    }
    if state.session != lease.session.as_str() {
        return (
            format!(
                "at {address} runs session {}, but the lease belongs to {}",
                state.session, lease.session
            ),
            false,
        );
    }
    let health = match (state.healthy, state.draining) {
        (_, true) => "draining",
        (true, false) => "healthy",
        (false, false) => "not healthy",
    };
    let deployment = state.deployment.as_deref().unwrap_or("none");
    let mut line = format!(
        "{health} at {address}, celld {}, deployment {deployment}, {} cells, restoring={}",
        state.version, state.owned_cells, state.restoring
    );
    if state.version != env!("CARGO_PKG_VERSION") {
        line.push_str(&format!(" (this celld is {})", env!("CARGO_PKG_VERSION")));
    }
    if let Some(failed) = state.log.failed {
        return (format!("{line}; its log has stopped: {failed}"), false);
    }
    (line, state.healthy || state.draining)
}

#[cfg(test)]
mod tests {
    use celld_ids::SessionId;
    use celld_tui::LogState;

    use super::*;

    fn lease(expires_ms: u64) -> LeaseRecord {
        LeaseRecord {
            node: NodeId::new("a").unwrap(),
            session: SessionId::new("a.1").unwrap(),
            expires_ms,
            renewal: 0,
            internal: Some("10.0.0.1:1".into()),
            load: serde_json::Map::new(),
        }
    }

    fn state(node: &str, session: &str) -> NodeState {
        NodeState {
            node: node.into(),
            session: session.into(),
            version: env!("CARGO_PKG_VERSION").into(),
            healthy: true,
            draining: false,
            deployment: Some("d1".into()),
            moving_cells: 0,
            owned_cells: 3,
            resident_cells: 1,
            connections: 0,
            events: 0,
            restoring: 2,
            log: LogState { appended: 0, durable: 0, backlog_bytes: 0, failed: None },
        }
    }

    #[test]
    fn every_kind_of_trouble_is_told_apart() {
        let say = |expires, answer| finding(&lease(expires), answer, 10_000);
        assert_eq!(say(0, None), ("stopped".to_owned(), true));
        assert!(say(7_000, None).0.contains("ended 3 s ago"));
        assert!(!say(7_000, None).1);
        let (line, is_fine) = say(20_000, Some(Ok(state("a", "a.1"))));
        assert!(is_fine && line.ends_with("deployment d1, 3 cells, restoring=2"), "{line}");
        for (answer, what) in [
            (Err("refused".to_owned()), "not reached at 10.0.0.1:1: refused"),
            (Ok(state("b", "b.1")), "belongs to node b"),
            (Ok(state("a", "a.2")), "runs session a.2"),
        ] {
            let (line, is_fine) = say(20_000, Some(answer));
            assert!(!is_fine && line.contains(what), "{line}");
        }
    }
}
