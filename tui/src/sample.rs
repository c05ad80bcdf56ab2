//! What the nodes said, and how fast it changes.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Deserialize;

/// The part of `/state` that is shown.
#[derive(Debug, Clone, Deserialize)]
pub struct NodeState {
    /// The node's name.
    pub node: String,
    /// Its present life.
    pub session: String,
    /// Of celld.
    pub version: String,
    /// It takes requests.
    pub healthy: bool,
    /// It is stopping.
    pub draining: bool,
    /// What it serves.
    pub deployment: Option<String>,
    /// Cells that still run a replaced deployment.
    pub moving_cells: u64,
    /// Cells that it owns.
    pub owned_cells: u64,
    /// Cells that have an instance.
    pub resident_cells: u64,
    /// Public connections.
    pub connections: u64,
    /// Events without an answer.
    pub events: u64,
    /// Activations that wait for the bucket.
    pub restoring: u64,
    /// Its session log.
    pub log: LogState,
}

/// The session log of a node.
#[derive(Debug, Clone, Deserialize)]
pub struct LogState {
    /// Transactions handed to the log.
    pub appended: u64,
    /// Transactions that are durable.
    pub durable: u64,
    /// Bytes that wait for their proof.
    pub backlog_bytes: u64,
    /// Why it stopped, if it did.
    pub failed: Option<String>,
}

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    pub state: Result<NodeState, String>,
    /// Transactions committed in a second, once there are two samples of one session.
    pub commits_per_second: Option<f64>,
    appended: Option<(u64, Instant)>,
}

/// All nodes, by address.
#[derive(Debug, Default)]
pub(crate) struct Fleet {
    pub rows: BTreeMap<String, Row>,
    /// Why the nodes could not be found.
    pub error: Option<String>,
}

impl Fleet {
    /// Takes in a round of answers; nodes that were not asked disappear.
    pub fn update(
        &mut self,
        samples: impl Iterator<Item = (String, Result<NodeState, String>)>,
        now: Instant,
    ) {
        let mut before = std::mem::take(&mut self.rows);
        self.error = None;
        for (address, state) in samples {
            let last = before.remove(&address).and_then(|row| row.appended);
            let appended = state.as_ref().ok().map(|state| (state.log.appended, now));
            let commits_per_second = match (last, appended) {
                // A count that falls belongs to another session.
                (Some((a, t)), Some((b, u))) if b >= a && u > t => {
                    Some((b - a) as f64 / (u - t).as_secs_f64())
                }
                _ => None,
            };
            self.rows.insert(address, Row { state, commits_per_second, appended });
        }
    }

    /// The nodes could not be found; what is known stays.
    pub fn fail(&mut self, error: String) {
        self.error = Some(error);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn state(appended: u64) -> NodeState {
        let json = serde_json::json!({
            "node": "a", "session": "a.1", "version": "0", "healthy": true, "draining": false, "deployment": null,
            "moving_cells": 0, "owned_cells": 1, "resident_cells": 1, "connections": 0, "events": 0, "restoring": 0,
            "log": {"appended": appended, "durable": appended, "backlog_bytes": 0, "failed": null}
        });
        serde_json::from_value(json).unwrap()
    }

    fn round(fleet: &mut Fleet, state: Result<NodeState, String>, now: Instant) -> Option<f64> {
        fleet.update([("x:1".to_owned(), state)].into_iter(), now);
        fleet.rows["x:1"].commits_per_second
    }

    #[test]
    fn the_rate_is_the_difference_of_two_samples_of_one_session() {
        let (mut fleet, start) = (Fleet::default(), Instant::now());
        assert_eq!(round(&mut fleet, Ok(state(10)), start), None);
        assert_eq!(round(&mut fleet, Ok(state(30)), start + Duration::from_secs(2)), Some(10.0));
        assert_eq!(round(&mut fleet, Ok(state(5)), start + Duration::from_secs(3)), None, "another session");
        assert_eq!(round(&mut fleet, Err("gone".into()), start + Duration::from_secs(4)), None);
        assert!(fleet.rows["x:1"].state.is_err());
        fleet.update(std::iter::empty(), start);
        assert!(fleet.rows.is_empty());
    }
}
