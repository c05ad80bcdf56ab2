//! `CELLD_BUCKET`: which bucket, and where in it.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use crate::key::check_key;

/// Where a bucket is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BucketUrl {
    /// A directory. Only `celld dev` makes one: no text reads as this.
    Local(PathBuf),
    /// `s3://bucket/prefix`: Amazon S3 or a store that speaks its protocol.
    S3 {
        /// The bucket.
        bucket: String,
        /// The key prefix without slashes at its ends; may be empty.
        prefix: String,
    },
    /// `gs://bucket/prefix`: Google Cloud Storage.
    Gcs {
        /// The bucket.
        bucket: String,
        /// The key prefix without slashes at its ends; may be empty.
        prefix: String,
    },
    /// `az://container/prefix`: Azure Blob Storage. The account comes from the environment.
    Azure {
        /// The container.
        container: String,
        /// The key prefix without slashes at its ends; may be empty.
        prefix: String,
    },
}

/// Why a text is not a bucket.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("bucket {value:?}: {problem}")]
pub struct InvalidBucketUrl {
    /// The text as given.
    pub value: String,
    /// What is wrong with it.
    pub problem: &'static str,
}

impl FromStr for BucketUrl {
    type Err = InvalidBucketUrl;

    fn from_str(value: &str) -> Result<BucketUrl, InvalidBucketUrl> {
        parse(value.trim()).map_err(|problem| InvalidBucketUrl { value: value.to_owned(), problem })
    }
}

fn parse(text: &str) -> Result<BucketUrl, &'static str> {
    if text.is_empty() {
        return Err("is empty; expected s3://NAME, gs://NAME or az://NAME, each with an optional /PREFIX");
    }
    let (scheme, rest) =
        text.split_once("://").ok_or("has no scheme; expected s3://NAME, gs://NAME or az://NAME")?;
    if rest.contains(['?', '#', '@', '\\']) {
        return Err(
            "may hold only a bucket name and a key prefix; credentials and settings come from the environment",
        );
    }
    let (name, prefix) = rest.split_once('/').unwrap_or((rest, ""));
    let prefix = prefix.strip_suffix('/').unwrap_or(prefix).to_owned();
    if !prefix.is_empty() {
        check_key(&prefix)
            .map_err(|_| "has a key prefix with an empty, `.` or `..` segment, or a control character")?;
        // The longest key that celld itself makes has to fit behind it.
        if prefix.len() > 512 {
            return Err("has a key prefix of more than 512 bytes");
        }
    }
    match scheme.to_ascii_lowercase().as_str() {
        "s3" => {
            check_name(name, 63, |c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_'))?;
            Ok(BucketUrl::S3 { bucket: name.to_owned(), prefix })
        }
        "gs" => {
            check_name(name, 222, |c| {
                c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '-' | '_')
            })?;
            Ok(BucketUrl::Gcs { bucket: name.to_owned(), prefix })
        }
        "az" => {
            check_name(name, 63, |c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-')
                .map_err(|_| "an az:// container has 3 to 63 lower-case letters, digits and single dashes")?;
            if name.contains("--") {
                return Err("an az:// container has no two dashes in a row");
            }
            Ok(BucketUrl::Azure { container: name.to_owned(), prefix })
        }
        _ => Err("has an unknown scheme; expected s3://, gs:// or az://"),
    }
}

fn check_name(name: &str, max: usize, allowed: impl Fn(char) -> bool) -> Result<(), &'static str> {
    if name.is_empty() {
        return Err("has no bucket name");
    }
    let edge = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    if name.len() < 3 || name.len() > max || !name.chars().all(allowed) {
        return Err(
            "has a bucket name of the wrong length (at least 3) or with characters that no bucket has",
        );
    }
    if !edge(name.chars().next()) || !edge(name.chars().last()) {
        return Err("has a bucket name that does not start and end with a letter or digit");
    }
    Ok(())
}

impl fmt::Display for BucketUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (scheme, name, prefix) = match self {
            BucketUrl::Local(path) => return write!(f, "{}", path.display()),
            BucketUrl::S3 { bucket, prefix } => ("s3", bucket, prefix),
            BucketUrl::Gcs { bucket, prefix } => ("gs", bucket, prefix),
            BucketUrl::Azure { container, prefix } => ("az", container, prefix),
        };
        write!(f, "{scheme}://{name}")?;
        if prefix.is_empty() { Ok(()) } else { write!(f, "/{prefix}") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_read_back_what_they_print() {
        for (text, canonical) in [
            ("s3://bkt", "s3://bkt"),
            (" S3://My.bkt/a/b/ \n", "s3://My.bkt/a/b"),
            ("GS://bkt_1/x", "gs://bkt_1/x"),
            ("Az://con-tainer", "az://con-tainer"),
        ] {
            let url: BucketUrl = text.parse().unwrap();
            assert_eq!(url.to_string(), canonical);
            assert_eq!(canonical.parse::<BucketUrl>().unwrap(), url);
        }
    }

    #[test]
    fn a_wrong_value_is_named() {
        for bad in [
            "",
            "bkt",
            "s3:/bkt",
            "http://bkt",
            "/tmp/x",
            "file:///tmp/x",
            "s3://",
            "s3:///x",
            "s3://ab",
            "s3://-abc",
            "s3://bkt//x",
            "s3://bkt/../x",
            "s3://bkt?x=y",
            "s3://key@bkt",
            "az://Container",
            "az://a--b",
            "az://con.tainer",
            "gs://Bkt",
        ] {
            let error = bad.parse::<BucketUrl>().unwrap_err();
            assert!(error.to_string().contains(&format!("{bad:?}")), "{error}");
        }
    }
}
