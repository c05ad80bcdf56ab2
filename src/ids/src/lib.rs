//! Identifiers that every layer shares: cells, nodes, sessions, epochs. Parsed at the edge, passed as types.
//!
//! Invariant: no I/O, no clock, no randomness; nothing here knows where a record is stored.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

/// Why a string is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value:?} {problem}")]
pub struct InvalidId {
    what: &'static str,
    value: String,
    problem: &'static str,
}

fn invalid(what: &'static str, value: &str, problem: &'static str) -> InvalidId {
    InvalidId { what, value: value.chars().take(160).collect(), problem }
}

/// `true` for the characters that are safe in a key, a file name and a URL alike.
fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_')
}

fn check_plain(what: &'static str, value: &str, max: usize) -> Result<(), InvalidId> {
    if value.is_empty() || value.len() > max {
        return Err(invalid(what, value, "has no characters, or too many"));
    }
    if !value.chars().all(is_plain) {
        return Err(invalid(
            what,
            value,
            "may hold only ASCII letters, digits, dots, dashes and underscores",
        ));
    }
    if value == "." || value == ".." {
        return Err(invalid(what, value, "is reserved"));
    }
    Ok(())
}

macro_rules! string_id {
    ($(#[$doc:meta])* $name:ident, $what:literal, $max:literal) => {
        $(#[$doc])*
        #[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(Arc<str>);

        impl $name {
            #[doc = concat!("Checks `value`: 1 to ", $max, " ASCII letters, digits, dots, dashes or underscores, not `.` or `..`.")]
            pub fn new(value: &str) -> Result<Self, InvalidId> {
                check_plain($what, value, $max)?;
                Ok(Self(value.into()))
            }

            /// The text as given.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, "{:?}", &*self.0)
            }
        }

        impl TryFrom<String> for $name {
            type Error = InvalidId;
            fn try_from(value: String) -> Result<Self, InvalidId> {
                Self::new(&value)
            }
        }

        impl From<$name> for String {
            fn from(id: $name) -> String {
                id.0.as_ref().to_owned()
            }
        }

        impl std::str::FromStr for $name {
            type Err = InvalidId;
            fn from_str(value: &str) -> Result<Self, InvalidId> {
                Self::new(value)
            }
        }
    };
}

string_id!(
    /// One machine's place in the fleet: stable over restarts of the process (`CELLD_NODE`).
    NodeId,
    "node ID",
    128
);

string_id!(
    /// One life of one `celld` process. Never used twice; it names the log that the process writes.
    SessionId,
    "session ID",
    145
);

impl SessionId {
    /// The session of `node` that `nonce` tells apart from every other: `<node>.<16 hex digits>`.
    pub fn of(node: &NodeId, nonce: u64) -> SessionId {
        SessionId(format!("{node}.{nonce:016x}").into())
    }

    /// The node whose session this is; `None` for a name that [`SessionId::of`] did not make.
    pub fn node(&self) -> Option<NodeId> {
        let (node, nonce) = self.0.rsplit_once('.')?;
        (nonce.len() == 16 && nonce.bytes().all(|b| b.is_ascii_hexdigit())).then(|| NodeId::new(node).ok())?
    }
}

/// How often the right to serve a cell has changed hands; every key that the owner writes for the cell carries it.
/// The first owner has epoch 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The epoch of a cell's first owner.
    pub const FIRST: Epoch = Epoch(1);

    /// The epoch that follows this one.
    #[must_use]
    pub fn next(self) -> Epoch {
        Epoch(self.0 + 1)
    }
}

impl fmt::Display for Epoch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// One cell: the class that its code comes from and its ID, printed as `Class:ID`.
///
/// The class is a JavaScript identifier (or a reserved class whose name starts with `__`); the ID is 64 hexadecimal digits,
/// or a name that a reserved class chose. Both consist of characters that need no escaping in a key.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct CellScope {
    class: Arc<str>,
    id: Arc<str>,
}

impl CellScope {
    /// Checks both parts. `$` is allowed in a class, as in a JavaScript identifier.
    pub fn new(class: impl Into<Arc<str>>, id: impl Into<Arc<str>>) -> Result<CellScope, InvalidId> {
        let (class, id) = (class.into(), id.into());
        if class.len() > 128 {
            return Err(invalid("cell class", &class, "has no characters, or too many"));
        }
        let bare: String = class.chars().filter(|c| *c != '$').collect();
        if bare.is_empty() && !class.is_empty() {
            // A class made of `$` alone is a valid identifier.
        } else {
            check_plain("cell class", &bare, 128)?;
        }
        check_plain("cell ID", &id, 128)?;
        Ok(CellScope { class, id })
    }

    /// The class part.
    pub fn class(&self) -> &str {
        &self.class
    }

    /// The ID part.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The name of the local file that its database is in, within a directory of such files.
    pub fn file_name(&self) -> String {
        format!("{}-{}.db", self.class, self.id)
    }

    /// `true` for celld's own cells (KV, D1, queues, workflows): their class starts with `__`.
    pub fn is_reserved(&self) -> bool {
        self.class.starts_with("__")
    }
}

impl fmt::Display for CellScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.class, self.id)
    }
}

impl fmt::Debug for CellScope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.class, self.id)
    }
}

impl std::str::FromStr for CellScope {
    type Err = InvalidId;
    fn from_str(value: &str) -> Result<Self, InvalidId> {
        let (class, id) =
            value.split_once(':').ok_or_else(|| invalid("cell scope", value, "must look like Class:ID"))?;
        CellScope::new(class, id)
    }
}

impl TryFrom<String> for CellScope {
    type Error = InvalidId;
    fn try_from(value: String) -> Result<Self, InvalidId> {
        value.parse()
    }
}

impl From<CellScope> for String {
    fn from(scope: CellScope) -> String {
        scope.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn node_ids_follow_the_rule_of_celld_node() {
        for good in ["a", "node-1.eu_west", &"x".repeat(128)] {
            assert!(NodeId::new(good).is_ok(), "{good}");
        }
        for bad in ["", ".", "..", "a b", "a/b", "é", &"x".repeat(129)] {
            assert!(NodeId::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_scope_reads_back_what_it_prints() {
        let scope = CellScope::new("Room$1", "d99d").unwrap();
        assert_eq!(scope.to_string().parse::<CellScope>().unwrap(), scope);
        for bad in
            ["Room", "Room:", ":x", "Room:a/b", "Ro/om:x", "Room:..", &format!("a{}:x", "$".repeat(128))]
        {
            assert!(bad.parse::<CellScope>().is_err(), "{bad}");
        }
    }

    #[test]
    fn a_session_of_a_long_node_name_is_still_an_id() {
        let node = NodeId::new(&"n".repeat(128)).unwrap();
        let session = SessionId::of(&node, u64::MAX);
        assert!(SessionId::new(session.as_str()).is_ok());
        assert_eq!(session.node(), Some(node));
        assert_eq!(SessionId::new("a.b").unwrap().node(), None);
    }
}
