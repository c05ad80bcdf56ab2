//! From the file to the keys that are in force: which environment, what it inherits, which keys count at all.

use super::error::ConfigError;
use super::keys::{self, Key, Reach, Support};
use super::reader::{Reader, join};
use super::tree::{Entry, Node, Value};

/// The keys that are in force, each with the table it came from.
pub(crate) struct InForce<'n> {
    entries: Vec<(String, &'n Entry)>,
    /// Whether the environment, rather than the top level, gives the script its name.
    pub named_by_environment: bool,
}

impl<'n> InForce<'n> {
    /// A key's path and entry.
    pub fn get(&self, key: &str) -> Option<(&str, &'n Entry)> {
        self.entries.iter().find(|(_, entry)| entry.key == key).map(|(path, entry)| (path.as_str(), *entry))
    }
}

/// Checks every key of the top level and of the environment `env`, and lays one over the other.
pub(crate) fn in_force<'n>(
    reader: &mut Reader<'_>,
    root: &'n Node,
    env: Option<&str>,
) -> Result<InForce<'n>, ConfigError> {
    let top = reader.table(root, "");
    let chosen = match env {
        Some(name) => Some((name, environment(reader, top, name)?)),
        None => None,
    };
    let own = |key: &str| chosen.and_then(|(_, table)| table.iter().find(|entry| entry.key == key));

    let mut entries = Vec::new();
    for entry in top {
        let Some(key) = keys::find(&entry.key) else {
            reader.unknown(entry, "", keys::KEYS.iter().map(|key| key.name));
            continue;
        };
        let overridden = own(&entry.key).is_some();
        match key.reach {
            Reach::TopLevel => {}
            Reach::Inherited if overridden => continue,
            Reach::Inherited => {}
            Reach::PerEnvironment if chosen.is_some() => {
                if !overridden && !entry.node.is_blank() {
                    let (name, _) = chosen.unwrap_or_default();
                    let message =
                        format!("not inherited by the environment \"{name}\", which has none of its own");
                    reader.note(&entry.key_span, &entry.key, message);
                }
                continue;
            }
            Reach::PerEnvironment => {}
        }
        admit(reader, key, entry, entry.key.clone(), &mut entries);
    }
    if let Some((name, table)) = chosen {
        let prefix = format!("env.{name}");
        for entry in table {
            let path = join(&prefix, &entry.key);
            match keys::find(&entry.key) {
                None => {
                    let allowed = keys::KEYS.iter().filter(|key| key.reach != Reach::TopLevel);
                    reader.unknown(entry, &prefix, allowed.map(|key| key.name));
                }
                Some(key) if key.reach == Reach::TopLevel => {
                    reader.error(&entry.key_span, &path, "allowed only at the top level of the file");
                }
                Some(key) => admit(reader, key, entry, path, &mut entries),
            }
        }
    }
    Ok(InForce { entries, named_by_environment: own("name").is_some() })
}

fn admit<'n>(
    reader: &mut Reader<'_>,
    key: &Key,
    entry: &'n Entry,
    path: String,
    entries: &mut Vec<(String, &'n Entry)>,
) {
    match key.support {
        Support::Used => entries.push((path, entry)),
        Support::Silent => {}
        Support::NoEffect(why) => {
            if !entry.node.is_blank() {
                reader.note(&entry.key_span, &path, format!("has no effect: {why}"));
            }
        }
        Support::NotYet(what) => {
            if !entry.node.is_blank() {
                reader.error(
                    &entry.key_span,
                    &path,
                    format!("{what}: not supported yet by this release of celld"),
                );
            }
        }
    }
}

fn environment<'n>(
    reader: &mut Reader<'_>,
    top: &'n [Entry],
    name: &str,
) -> Result<&'n [Entry], ConfigError> {
    let all = match top.iter().find(|entry| entry.key == "env") {
        Some(entry) => reader.table(&entry.node, "env"),
        None => &[],
    };
    match all.iter().find(|entry| entry.key == name) {
        Some(Entry { node: Node { value: Value::Table(entries), .. }, .. }) => Ok(entries),
        Some(entry) => {
            reader.table(&entry.node, &join("env", name));
            Ok(&[])
        }
        None => Err(ConfigError::NoEnvironment {
            file: reader.source.path().to_owned(),
            name: name.to_owned(),
            known: all.iter().map(|entry| entry.key.clone()).collect(),
        }),
    }
}
