//! Typed access to a [`Node`]: each reader reports a wrong value with its place and goes on, so that one run
//! names everything that is wrong with a file.

use indexmap::IndexMap;

use super::keys::nearest;
use super::mentions::{Mentions, Place};
use super::source::{Diagnostic, Source};
use super::tree::{Entry, Node, Value};

/// Reads one file and collects what it has to say about it.
pub(crate) struct Reader<'s> {
    pub source: &'s Source,
    pub errors: Vec<Diagnostic>,
    pub notes: Vec<Diagnostic>,
    pub mentions: Mentions,
}

impl<'s> Reader<'s> {
    pub fn new(source: &'s Source) -> Reader<'s> {
        // Of a file without a name only the first byte is pointed at.
        let name = Place::new(source.diagnostic(&(0..0), "name", ""));
        let mentions = Mentions { name, defines: Vec::new(), services: Vec::new(), borrowed: Vec::new() };
        Reader { source, errors: Vec::new(), notes: Vec::new(), mentions }
    }

    /// The place of a value, for a message that comes when all Workers are known.
    pub fn place(&self, span: &std::ops::Range<usize>, path: &str) -> Place {
        Place::new(self.source.diagnostic(span, path, ""))
    }

    pub fn error(&mut self, span: &std::ops::Range<usize>, path: &str, message: impl Into<String>) {
        self.errors.push(self.source.diagnostic(span, path, message));
    }

    pub fn note(&mut self, span: &std::ops::Range<usize>, path: &str, message: impl Into<String>) {
        self.notes.push(self.source.diagnostic(span, path, message));
    }

    fn wrong_type(&mut self, node: &Node, path: &str, expected: &str) {
        self.error(&node.span, path, format!("expected {expected}, found {}", node.kind()));
    }

    pub fn string(&mut self, node: &Node, path: &str) -> Option<String> {
        match &node.value {
            Value::String(text) => Some(text.clone()),
            _ => {
                self.wrong_type(node, path, "a string");
                None
            }
        }
    }

    /// A string with something in it.
    pub fn filled(&mut self, node: &Node, path: &str) -> Option<String> {
        let text = self.string(node, path)?;
        if text.trim().is_empty() {
            self.error(&node.span, path, "must not be empty");
            return None;
        }
        Some(text)
    }

    pub fn boolean(&mut self, node: &Node, path: &str) -> Option<bool> {
        match &node.value {
            Value::Bool(on) => Some(*on),
            _ => {
                self.wrong_type(node, path, "true or false");
                None
            }
        }
    }

    pub fn array<'n>(&mut self, node: &'n Node, path: &str) -> &'n [Node] {
        match &node.value {
            Value::Array(items) => items,
            _ => {
                self.wrong_type(node, path, "an array");
                &[]
            }
        }
    }

    pub fn strings(&mut self, node: &Node, path: &str) -> Vec<String> {
        let items = self.array(node, path);
        items
            .iter()
            .enumerate()
            .filter_map(|(index, item)| self.filled(item, &format!("{path}[{index}]")))
            .collect()
    }

    pub fn table<'n>(&mut self, node: &'n Node, path: &str) -> &'n [Entry] {
        match &node.value {
            Value::Table(entries) => entries,
            _ => {
                self.wrong_type(node, path, "an object");
                &[]
            }
        }
    }

    /// A table of strings under names that the user chose.
    pub fn string_map(&mut self, node: &Node, path: &str) -> IndexMap<String, String> {
        let mut map = IndexMap::new();
        for entry in self.table(node, path) {
            if let Some(text) = self.string(&entry.node, &join(path, &entry.key)) {
                map.insert(entry.key.clone(), text);
            }
        }
        map
    }

    /// A table whose keys are all among `known`; any other key is an error.
    pub fn fields<'n>(&mut self, node: &'n Node, path: &str, known: &[&'static str]) -> Fields<'n> {
        let entries = self.table(node, path);
        for entry in entries.iter().filter(|entry| !known.contains(&entry.key.as_str())) {
            self.unknown(entry, path, known.iter().copied());
        }
        Fields { entries, path: path.to_owned() }
    }

    /// Reports the key of `entry`, in the table at `path`, as one that nobody knows.
    pub fn unknown<'a>(&mut self, entry: &Entry, path: &str, known: impl IntoIterator<Item = &'a str>) {
        let message = match nearest(&entry.key, known) {
            Some(meant) => format!("unknown key; did you mean \"{meant}\"?"),
            None => "unknown key".to_owned(),
        };
        self.error(&entry.key_span, &join(path, &entry.key), message);
    }

    /// The text of a key that must be there; `node` is the table that lacks it.
    pub fn required(&mut self, fields: &Fields<'_>, node: &Node, key: &str) -> Option<String> {
        match fields.get(key) {
            Some(entry) => self.filled(&entry.node, &fields.path(key)),
            None => {
                // Of a whole table only the first byte is pointed at.
                self.error(&node.span, &fields.path, format!("\"{key}\" is missing"));
                None
            }
        }
    }
}

/// The entries of a table whose keys were checked.
pub(crate) struct Fields<'n> {
    entries: &'n [Entry],
    path: String,
}

impl<'n> Fields<'n> {
    pub fn get(&self, key: &str) -> Option<&'n Entry> {
        self.entries.iter().find(|entry| entry.key == key)
    }

    pub fn path(&self, key: &str) -> String {
        join(&self.path, key)
    }
}

/// `path.key`, or `key` at the top.
pub(crate) fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
