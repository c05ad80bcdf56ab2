//! Listing: a walk of the directories in the order of the keys.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::object::TRAILER;
use super::path::{self, Entry};
use crate::Listed;

/// One name in one directory, as keys see it.
struct Child {
    /// The segment, followed by `/` when objects lie below it: comparing these strings orders whole subtrees.
    name: String,
    path: PathBuf,
    /// Content size of an object; `None` for a directory.
    size: Option<u64>,
}

/// What is in `dir` in key order; nothing when it does not exist.
fn children(dir: &Path) -> io::Result<Vec<Child>> {
    let mut found = Vec::new();
    collect(dir, "", &mut found)?;
    found.sort_unstable_by(|a, b| a.name.cmp(&b.name));
    Ok(found)
}

fn collect(dir: &Path, head: &str, found: &mut Vec<Child>) -> io::Result<()> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let path = entry.path();
        match path::entry(&name) {
            Entry::Continued(part) => collect(&path, &format!("{head}{part}"), found)?,
            Entry::Dir(part) => {
                // What is not ours (a `.DS_Store`, an editor's backup) is no key.
                if let Some(name) = path::decode(&format!("{head}{part}"))
                    && entry.file_type()?.is_dir()
                {
                    found.push(Child { name: name + "/", path, size: None });
                }
            }
            Entry::File(part) => {
                let Some(name) = path::decode(&format!("{head}{part}")) else { continue };
                match entry.metadata() {
                    // A file shorter than a trailer is damaged: listed all the same, so that reading it says so.
                    Ok(meta) => found.push(Child {
                        name,
                        path,
                        size: Some(meta.len().saturating_sub(TRAILER as u64)),
                    }),
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    Err(error) => return Err(error),
                }
            }
        }
    }
    Ok(())
}

/// The objects below `prefix` after `after`, at most `limit`.
pub(super) fn list(
    objects: &Path,
    prefix: &str,
    after: Option<&str>,
    limit: usize,
) -> io::Result<Vec<Listed>> {
    let mut found = Vec::new();
    let stem = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
    walk(&objects.join(path::dir_of(prefix)), &stem, after.unwrap_or(""), limit, &mut found)?;
    Ok(found)
}

fn walk(dir: &Path, stem: &str, after: &str, limit: usize, found: &mut Vec<Listed>) -> io::Result<()> {
    for child in children(dir)? {
        if found.len() >= limit {
            break;
        }
        let key = format!("{stem}{}", child.name);
        match child.size {
            Some(size) if key.as_str() > after => found.push(Listed { key, size }),
            Some(_) => {}
            // Everything in it starts with `key`, so it all lies on one side of `after` unless `after` is in there too.
            None if key.as_str() > after || after.starts_with(&key) => {
                walk(&child.path, &key, after, limit, found)?
            }
            None => {}
        }
    }
    Ok(())
}

/// The names directly below `prefix` that have objects below them.
pub(super) fn list_dirs(objects: &Path, prefix: &str) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for mut child in children(&objects.join(path::dir_of(prefix)))? {
        if child.size.is_none() && holds_object(&child.path)? {
            child.name.pop();
            names.push(child.name);
        }
    }
    // The walk's order is that of the keys, in which `a-/x` comes before `a/x`.
    names.sort_unstable();
    Ok(names)
}

/// `true` when an object lies somewhere in `dir`; looks no further than the first one.
fn holds_object(dir: &Path) -> io::Result<bool> {
    let entries = match fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        let Ok(name) = entry.file_name().into_string() else { continue };
        let found = match path::entry(&name) {
            Entry::File(_) => true,
            Entry::Dir(_) | Entry::Continued(_) => {
                entry.file_type()?.is_dir() && holds_object(&entry.path())?
            }
        };
        if found {
            return Ok(true);
        }
    }
    Ok(false)
}
