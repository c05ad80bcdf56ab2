//! One value of a setting, checked against its kind.

use std::net::SocketAddr;
use std::path::PathBuf;

use celld_ids::NodeId;

use super::table::Kind;

/// A checked value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Value {
    Boolean(bool),
    Integer(u64),
    Address(SocketAddr),
    Node(NodeId),
    Path(PathBuf),
    Text(String),
}

/// Checks `text` against `kind`; `None` when it is not of that kind or outside of the bounds.
pub(super) fn parse(kind: Kind, text: &str) -> Option<Value> {
    match kind {
        Kind::Boolean => match text {
            "0" => Some(Value::Boolean(false)),
            "1" => Some(Value::Boolean(true)),
            _ => None,
        },
        Kind::Integer { min, max, .. } => {
            // `u64::from_str` also takes a leading plus.
            let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
            let number = text.parse().ok().filter(|_| digits)?;
            (min..=max).contains(&number).then_some(Value::Integer(number))
        }
        Kind::Choice(words) => words.contains(&text).then(|| Value::Text(text.to_owned())),
        Kind::Address => text.parse().ok().map(Value::Address),
        Kind::HostPort => is_host_port(text).then(|| Value::Text(text.to_owned())),
        Kind::Node => NodeId::new(text).ok().map(Value::Node),
        Kind::Path => (!text.is_empty()).then(|| Value::Path(text.into())),
        Kind::Text | Kind::External => (!text.trim().is_empty()).then(|| Value::Text(text.trim().to_owned())),
    }
}

/// `HOST:PORT` with a port that can be connected to.
fn is_host_port(text: &str) -> bool {
    let Some((host, port)) = text.rsplit_once(':') else { return false };
    let bracketed = host.strip_prefix('[').and_then(|host| host.strip_suffix(']'));
    let host_is_valid = match bracketed {
        Some(address) => address.parse::<std::net::Ipv6Addr>().is_ok(),
        None => {
            !host.is_empty()
                && host.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))
        }
    };
    host_is_valid && port.parse::<u16>().is_ok_and(|port| port != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boolean_is_only_0_or_1() {
        assert_eq!(parse(Kind::Boolean, "1"), Some(Value::Boolean(true)));
        for bad in ["true", "yes", "", " 1", "01", "2"] {
            assert_eq!(parse(Kind::Boolean, bad), None, "{bad:?}");
        }
    }

    #[test]
    fn integers_keep_their_bounds() {
        let kind = Kind::Integer { min: 1, max: 64, unit: "MiB" };
        assert_eq!(parse(kind, "64"), Some(Value::Integer(64)));
        for bad in ["0", "65", "-1", "+1", "1.5", "", "1e1", "99999999999999999999"] {
            assert_eq!(parse(kind, bad), None, "{bad:?}");
        }
    }

    #[test]
    fn addresses_name_a_host_and_a_port() {
        for good in ["node-a.internal:8081", "10.0.0.1:1", "[fd00::1]:8081"] {
            assert!(parse(Kind::HostPort, good).is_some(), "{good}");
        }
        for bad in ["node-a", ":8081", "a:0", "a:65536", "fd00::1:80", "http://a:80", "a b:80"] {
            assert!(parse(Kind::HostPort, bad).is_none(), "{bad}");
        }
        assert!(parse(Kind::Address, "localhost:80").is_none());
    }
}
