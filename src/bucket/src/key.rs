//! What can be a key, in every store alike: what the directory store cannot hold, S3 does not get either.

/// The longest key of S3, Google and R2, in bytes; Azure takes as many characters.
const MAX_KEY: usize = 1024;

/// Checks a key: 1 to 1024 bytes; segments between `/` are not empty, not `.` and not `..`; no control characters.
pub(crate) fn check_key(key: &str) -> Result<(), &'static str> {
    if key.is_empty() {
        return Err("is empty");
    }
    if key.len() > MAX_KEY {
        return Err("is longer than 1024 bytes");
    }
    if key.chars().any(char::is_control) {
        return Err("holds a control character");
    }
    for segment in key.split('/') {
        match segment {
            "" => return Err("has an empty segment (a leading, trailing or double `/`)"),
            "." | ".." => return Err("has `.` or `..` as a segment"),
            _ => {}
        }
    }
    Ok(())
}

/// Checks a prefix and returns it without its trailing `/`. A prefix is whole segments; the empty one means everything.
pub(crate) fn check_prefix(prefix: &str) -> Result<&str, &'static str> {
    let bare = prefix.strip_suffix('/').unwrap_or(prefix);
    if bare.is_empty() && prefix.is_empty() {
        return Ok("");
    }
    check_key(bare)?;
    Ok(bare)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_some_store_cannot_hold_are_refused() {
        for good in ["a", "a/b", "Room$1/é ~#%", &"x".repeat(1024)] {
            assert!(check_key(good).is_ok(), "{good}");
        }
        for bad in ["", "/", "/a", "a/", "a//b", ".", "a/../b", "a\nb", "a\0", &"x".repeat(1025)] {
            assert!(check_key(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_prefix_may_end_in_a_slash() {
        assert_eq!(check_prefix(""), Ok(""));
        assert_eq!(check_prefix("a/"), Ok("a"));
        assert_eq!(check_prefix("a/b"), Ok("a/b"));
        assert!(check_prefix("/").is_err());
        assert!(check_prefix("a//").is_err());
    }
}
