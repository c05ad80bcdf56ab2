//! Whether a response may be stored, and how long it is fresh.

use std::time::{Duration, SystemTime};

use super::{Fields, field};

/// The directives of `Cache-Control` that a shared cache obeys.
#[derive(Debug, Default)]
struct Directives {
    no_store: bool,
    no_cache: bool,
    private: bool,
    /// `private=set-cookie`: everything but the cookies may be stored.
    private_cookies: bool,
    public: bool,
    must_revalidate: bool,
    max_age: Option<u64>,
    shared_max_age: Option<u64>,
}

impl Directives {
    fn parse(value: &str) -> Directives {
        let mut found = Directives::default();
        for part in value.split(',') {
            let (name, argument) = part.split_once('=').unwrap_or((part, ""));
            let argument = argument.trim().trim_matches('"');
            // An argument that is no number makes a response stale, RFC 9111 section 4.2.1.
            let seconds = || Some(argument.parse().unwrap_or(0));
            match name.trim().to_ascii_lowercase().as_str() {
                "no-store" => found.no_store = true,
                "no-cache" if argument.is_empty() => found.no_cache = true,
                "private" if argument.eq_ignore_ascii_case("set-cookie") => found.private_cookies = true,
                "private" => found.private = true,
                "public" => found.public = true,
                "must-revalidate" => found.must_revalidate = true,
                "max-age" => found.max_age = seconds(),
                "s-maxage" => found.shared_max_age = seconds(),
                _ => {}
            }
        }
        found
    }
}

/// How long the response may be given out, or `None` when it is not stored. Takes `Set-Cookie` out of `headers` where the response
/// allows that.
pub(super) fn lifetime(
    request: &Fields,
    status: u16,
    headers: &mut Fields,
    now: SystemTime,
) -> Option<Duration> {
    let control = Directives::parse(&field(headers, "cache-control").unwrap_or_default());
    if control.private_cookies {
        headers.retain(|(name, _)| name != "set-cookie");
    }
    if control.no_store || control.no_cache || control.private || field(headers, "set-cookie").is_some() {
        return None;
    }
    let is_shareable = control.public || control.must_revalidate || control.shared_max_age.is_some();
    if field(request, "authorization").is_some() && !is_shareable {
        return None;
    }
    let lifetime = match control.shared_max_age.or(control.max_age) {
        Some(seconds) => Duration::from_secs(seconds),
        None => match field(headers, "expires") {
            // A date that cannot be read is in the past, RFC 9111 section 5.3.
            Some(expires) => {
                let date = field(headers, "date").and_then(|date| httpdate::parse_http_date(&date).ok());
                let expires = httpdate::parse_http_date(&expires).ok()?;
                expires.duration_since(date.unwrap_or(now)).ok()?
            }
            None => default_lifetime(status)?,
        },
    };
    let age = field(headers, "age")
        .and_then(|age| age.trim().parse().ok())
        .map_or(Duration::ZERO, Duration::from_secs);
    lifetime.checked_sub(age).filter(|left| !left.is_zero())
}

/// How long Cloudflare keeps a response that says nothing about it.
fn default_lifetime(status: u16) -> Option<Duration> {
    let minutes = match status {
        200 | 301 => 120,
        302 | 303 => 20,
        404 | 410 => 3,
        _ => return None,
    };
    Some(Duration::from_secs(minutes * 60))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(status: u16, headers: &[(&str, &str)]) -> Option<u64> {
        let mut headers = headers.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(784_111_777);
        lifetime(&Vec::new(), status, &mut headers, now).map(|lifetime| lifetime.as_secs())
    }

    #[test]
    fn the_most_specific_directive_counts() {
        let expires = ("expires", "Sun, 06 Nov 1994 08:50:37 GMT");
        assert_eq!(seconds(200, &[("cache-control", "max-age=5, s-maxage=7"), expires]), Some(7));
        assert_eq!(seconds(200, &[("cache-control", "public, MAX-AGE=5"), expires]), Some(5));
        assert_eq!(seconds(200, &[expires]), Some(60));
        assert_eq!(seconds(200, &[expires, ("age", "20")]), Some(40));
        assert_eq!(seconds(200, &[]), Some(7200));
    }

    #[test]
    fn what_is_not_for_a_shared_cache_is_not_stored() {
        for control in ["no-store", "private", "no-cache", "max-age=0", "max-age=x", "private, max-age=9"] {
            assert_eq!(seconds(200, &[("cache-control", control)]), None, "{control}");
        }
        assert_eq!(seconds(200, &[("set-cookie", "a=b"), ("cache-control", "max-age=9")]), None);
        assert_eq!(seconds(200, &[("expires", "0")]), None);
        assert_eq!(seconds(500, &[]), None);
    }

    #[test]
    fn private_set_cookie_stores_the_rest() {
        let mut headers = vec![
            ("set-cookie".to_owned(), "a=b".to_owned()),
            ("cache-control".to_owned(), "private=Set-Cookie, max-age=9".to_owned()),
        ];
        let lifetime = lifetime(&Vec::new(), 200, &mut headers, SystemTime::UNIX_EPOCH);
        assert_eq!(lifetime, Some(Duration::from_secs(9)));
        assert!(headers.iter().all(|(name, _)| name != "set-cookie"));
    }

    #[test]
    fn an_authorized_answer_needs_permission() {
        let request = vec![("authorization".to_owned(), "x".to_owned())];
        let stored = |control: &str| {
            let mut headers = vec![("cache-control".to_owned(), control.to_owned())];
            lifetime(&request, 200, &mut headers, SystemTime::UNIX_EPOCH).is_some()
        };
        assert!(!stored("max-age=9"));
        assert!(stored("max-age=9, public"));
        assert!(stored("s-maxage=9"));
    }
}
