//! Keys as paths below `objects/`.
//!
//! A segment that other segments follow is a directory of that name; the last segment is a file whose name ends in `@`, so
//! that `a` and `a/b` can both exist. Bytes other than ASCII letters, digits and `.-_$=,` are written `%XX`, and so is a
//! leading dot: no key can leave the directory, hide in it, or look like a file or a part of another key. A name longer than
//! a file system takes is cut into parts; each part but the last is a directory whose name ends in `+`.

/// The longest part, in bytes; with the mark below the 255 of every file system.
const PART: usize = 200;

const FILE: char = '@';
const CONTINUED: char = '+';

/// Where an object lives: a directory relative to `objects/` (empty: `objects/` itself) and a file in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Place {
    pub(super) dir: String,
    pub(super) file: String,
}

/// What one directory entry is.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Entry<'a> {
    /// The file of an object; the encoded name without its mark.
    File(&'a str),
    /// A directory whose entries have names that continue this one.
    Continued(&'a str),
    /// A segment.
    Dir(&'a str),
}

fn encode(segment: &str) -> String {
    let mut out = String::with_capacity(segment.len());
    for (i, byte) in segment.bytes().enumerate() {
        match byte {
            b'.' if i == 0 => out.push_str("%2E"),
            b'0'..=b'9' | b'A'..=b'Z' | b'a'..=b'z' | b'.' | b'-' | b'_' | b'$' | b'=' | b',' => {
                out.push(byte.into())
            }
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

/// Undoes [`encode`]; `None` for a name that it cannot have made.
pub(super) fn decode(name: &str) -> Option<String> {
    let mut out = Vec::with_capacity(name.len());
    let mut bytes = name.bytes();
    while let Some(byte) = bytes.next() {
        if byte == b'%' {
            let mut digit = || char::from(bytes.next()?).to_digit(16);
            out.push((digit()? * 16 + digit()?) as u8);
        } else {
            out.push(byte);
        }
    }
    let text = String::from_utf8(out).ok()?;
    (!text.is_empty() && encode(&text) == name).then_some(text)
}

fn push_parts<'a>(path: &mut String, name: &'a str) -> &'a str {
    let mut rest = name;
    while rest.len() > PART {
        let (part, tail) = rest.split_at(PART);
        push_dir(path, part);
        path.push(CONTINUED);
        rest = tail;
    }
    rest
}

fn push_dir(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('/');
    }
    path.push_str(name);
}

/// The directory of the objects below `prefix`.
pub(super) fn dir_of(prefix: &str) -> String {
    let mut path = String::new();
    for segment in prefix.split('/').filter(|s| !s.is_empty()) {
        let name = encode(segment);
        let last = push_parts(&mut path, &name);
        push_dir(&mut path, last);
    }
    path
}

/// Where the object `key` lives.
pub(super) fn place(key: &str) -> Place {
    let (parents, last) = key.rsplit_once('/').unwrap_or(("", key));
    let mut dir = dir_of(parents);
    let name = encode(last);
    let file = format!("{}{FILE}", push_parts(&mut dir, &name));
    Place { dir, file }
}

/// What the directory entry `name` is.
pub(super) fn entry(name: &str) -> Entry<'_> {
    if let Some(name) = name.strip_suffix(FILE) {
        Entry::File(name)
    } else if let Some(name) = name.strip_suffix(CONTINUED) {
        Entry::Continued(name)
    } else {
        Entry::Dir(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_leaves_its_directory_or_meets_another_one() {
        let keys = [
            "a", "a/b", "a@", "a@/b", "a+", "a+/b", "a%40", ".a", "é", "A", "a b", "..a/x", "a\\b", "a.", "~",
        ];
        let mut seen = std::collections::HashSet::new();
        for key in keys {
            let Place { dir, file } = place(key);
            let path = format!("{dir}/{file}");
            assert!(path.split('/').all(|s| !s.starts_with('.') && s.len() <= 255), "{key}: {path}");
            assert!(seen.insert(path.clone()), "{key}: {path}");
            assert!(!seen.contains(&dir), "{key}");
        }
    }

    #[test]
    fn names_read_back() {
        for segment in ["a", "%", "a@b", "é…", ".x", "a+", "Room$1"] {
            assert_eq!(decode(&encode(segment)).as_deref(), Some(segment));
        }
        for foreign in ["", "a%4", "a%zz", "%41", ".x", "a b", "%ff"] {
            assert_eq!(decode(foreign), None, "{foreign}");
        }
    }

    #[test]
    fn long_names_are_cut() {
        let place = place(&"é".repeat(512));
        assert!(place.dir.split('/').all(|s| s.len() == PART + 1 && s.ends_with(CONTINUED)));
        assert_eq!(place.dir.split('/').count(), 15);
    }
}
