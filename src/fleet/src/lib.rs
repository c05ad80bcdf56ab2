//! The decisions of a fleet, as pure functions over what was read: who may serve a cell, whose log must be sealed first.
//!
//! Invariant: no I/O, no clock, no randomness. Whoever calls brings the time and carries out what is decided.

use celld_ids::{Epoch, NodeId, SessionId};

/// What an owner record says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Owner {
    /// The session that serves the cell, or served it last.
    pub session: SessionId,
    /// The epoch it does so under.
    pub epoch: Epoch,
}

/// What the lease of the owner's node says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The node.
    pub node: NodeId,
    /// The session that holds the lease.
    pub session: SessionId,
    /// When it ends, in milliseconds since the Unix epoch.
    pub expires_ms: u64,
}

/// What a session that wants to serve a cell does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// It is ours already.
    Keep {
        /// The epoch it has.
        epoch: Epoch,
    },
    /// Nobody serves it: write the owner record with the next epoch.
    Take {
        /// The dead session whose log is sealed first.
        seal: Option<SessionId>,
    },
    /// A live node serves it.
    Leave {
        /// That node.
        node: NodeId,
    },
}

/// Decides for session `me` of node `node` about a cell with the owner record `owner`; `None` when nobody owns it.
///
/// `lease` is the lease of the owner's node, if it has one. A lease that has ended, a lease that another session of the same node
/// holds by now, and a lease of `node` itself, whose earlier sessions are all over, make the owner a dead one. The clock decides
/// only *when* a cell is taken over: what the old session can still acknowledge is decided by the seal.
pub fn claim(
    me: &SessionId,
    node: &NodeId,
    owner: Option<&Owner>,
    lease: Option<&Lease>,
    now_ms: u64,
) -> Claim {
    let Some(owner) = owner else { return Claim::Take { seal: None } };
    if owner.session == *me {
        return Claim::Keep { epoch: owner.epoch };
    }
    match lease {
        Some(lease) if lease.session == owner.session && lease.expires_ms > now_ms && lease.node != *node => {
            Claim::Leave { node: lease.node.clone() }
        }
        _ => Claim::Take { seal: Some(owner.session.clone()) },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(text: &str) -> SessionId {
        SessionId::new(text).unwrap()
    }

    fn node(text: &str) -> NodeId {
        NodeId::new(text).unwrap()
    }

    fn decide(owner: Option<(&str, u64)>, lease: Option<(&str, &str, u64)>) -> Claim {
        let owner = owner.map(|(s, e)| Owner { session: session(s), epoch: Epoch(e) });
        let lease = lease.map(|(n, s, t)| Lease { node: node(n), session: session(s), expires_ms: t });
        claim(&session("a.2"), &node("a"), owner.as_ref(), lease.as_ref(), 1000)
    }

    #[test]
    fn a_free_cell_is_taken_and_an_own_one_kept() {
        assert_eq!(decide(None, None), Claim::Take { seal: None });
        assert_eq!(decide(Some(("a.2", 4)), None), Claim::Keep { epoch: Epoch(4) });
    }

    #[test]
    fn a_live_owner_is_left_alone() {
        assert_eq!(decide(Some(("b.1", 4)), Some(("b", "b.1", 1001))), Claim::Leave { node: node("b") });
    }

    #[test]
    fn a_dead_owner_is_sealed_and_replaced() {
        let take = Claim::Take { seal: Some(session("b.1")) };
        assert_eq!(decide(Some(("b.1", 4)), None), take, "no lease at all");
        assert_eq!(decide(Some(("b.1", 4)), Some(("b", "b.1", 1000))), take, "a lease that has ended");
        assert_eq!(decide(Some(("b.1", 4)), Some(("b", "b.2", 9000))), take, "a lease of a later session");
    }

    #[test]
    fn an_earlier_session_of_the_own_node_is_over_whatever_its_lease_says() {
        let take = Claim::Take { seal: Some(session("a.1")) };
        assert_eq!(decide(Some(("a.1", 4)), Some(("a", "a.1", 9000))), take);
    }
}
