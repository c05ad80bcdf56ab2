//! Conditional requests and ranges on a stored response.

use bytes::Bytes;

use super::store::Stored;
use super::{Fields, field};

/// The answer to a request with these fields, from the stored response.
pub(super) fn answer(request: &Fields, stored: Stored) -> Stored {
    if is_unmodified(request, &stored.headers) {
        return Stored { status: 304, body: Bytes::new(), ..stored };
    }
    if stored.status != 200 {
        return stored;
    }
    match field(request, "range").and_then(|range| parse(&range, stored.body.len())) {
        None => stored,
        Some(Range::Unsatisfiable) => {
            let length = stored.body.len();
            partial(stored, 416, Bytes::new(), format!("bytes */{length}"))
        }
        Some(Range::Part { first, last }) => {
            let text = format!("bytes {first}-{last}/{}", stored.body.len());
            let part = stored.body.slice(first..=last);
            partial(stored, 206, part, text)
        }
    }
}

fn partial(stored: Stored, status: u16, body: Bytes, range: String) -> Stored {
    let mut headers = stored.headers;
    headers.retain(|(name, _)| name != "content-range" && name != "content-length");
    headers.push(("content-range".to_owned(), range));
    Stored { status, headers, body }
}

/// `If-None-Match` and, without it, `If-Modified-Since`: RFC 9110 section 13.2.2.
fn is_unmodified(request: &Fields, headers: &Fields) -> bool {
    if let Some(tags) = field(request, "if-none-match") {
        let Some(tag) = field(headers, "etag") else { return false };
        let strong = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
        return tags.trim() == "*" || tags.split(',').any(|each| strong(each) == strong(&tag));
    }
    let date = |fields: &Fields, name| httpdate::parse_http_date(&field(fields, name)?).ok();
    match (date(request, "if-modified-since"), date(headers, "last-modified")) {
        (Some(since), Some(modified)) => modified <= since,
        _ => false,
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Range {
    /// First and last byte.
    Part {
        first: usize,
        last: usize,
    },
    Unsatisfiable,
}

/// One range of bytes of a body of `length`. `None` for what is no range, or several: the whole body is an answer to those.
fn parse(text: &str, length: usize) -> Option<Range> {
    let (first, last) = text.trim().strip_prefix("bytes=")?.split_once('-')?;
    let (first, last) = (first.trim(), last.trim());
    if first.is_empty() {
        let count: usize = last.parse().ok()?;
        return Some(match (count, length) {
            (0, _) | (_, 0) => Range::Unsatisfiable,
            _ => Range::Part { first: length.saturating_sub(count), last: length - 1 },
        });
    }
    let first: usize = first.parse().ok()?;
    let last = if last.is_empty() { usize::MAX } else { last.parse().ok()? };
    if last < first {
        return None;
    }
    if first >= length {
        return Some(Range::Unsatisfiable);
    }
    Some(Range::Part { first, last: last.min(length - 1) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges() {
        let part = |first, last| Some(Range::Part { first, last });
        for (text, length, expected) in [
            ("bytes=0-4", 10, part(0, 4)),
            ("bytes=5-", 10, part(5, 9)),
            ("bytes=5-99", 10, part(5, 9)),
            ("bytes=-3", 10, part(7, 9)),
            ("bytes=-99", 10, part(0, 9)),
            ("bytes=10-", 10, Some(Range::Unsatisfiable)),
            ("bytes=-0", 10, Some(Range::Unsatisfiable)),
            ("bytes=-1", 0, Some(Range::Unsatisfiable)),
            ("bytes=4-2", 10, None),
            ("bytes=0-1,3-4", 10, None),
            ("lines=0-1", 10, None),
        ] {
            assert_eq!(parse(text, length), expected, "{text}");
        }
    }

    fn ask(request: &[(&str, &str)]) -> Stored {
        let fields =
            |list: &[(&str, &str)]| list.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        let headers = fields(&[("etag", "\"x\""), ("last-modified", "Sun, 06 Nov 1994 08:49:37 GMT")]);
        answer(&fields(request), Stored { status: 200, headers, body: Bytes::from_static(b"0123456789") })
    }

    #[test]
    fn conditions() {
        assert_eq!(ask(&[("if-none-match", "\"y\", W/\"x\"")]).status, 304);
        assert_eq!(ask(&[("if-none-match", "\"y\"")]).status, 200);
        assert_eq!(ask(&[("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT")]).status, 304);
        assert_eq!(ask(&[("if-modified-since", "Sun, 06 Nov 1994 08:49:36 GMT")]).status, 200);
        // The tag decides alone when it is there.
        let both = [("if-none-match", "\"y\""), ("if-modified-since", "Sun, 06 Nov 1994 08:49:37 GMT")];
        assert_eq!(ask(&both).status, 200);
    }

    #[test]
    fn a_part_says_which_it_is() {
        let part = ask(&[("range", "bytes=2-3")]);
        assert_eq!((part.status, &part.body[..]), (206, &b"23"[..]));
        assert_eq!(field(&part.headers, "content-range").as_deref(), Some("bytes 2-3/10"));
    }
}
