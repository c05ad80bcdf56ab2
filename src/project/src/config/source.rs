//! A configuration file and the positions in it.

use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// The text of one configuration file.
#[derive(Debug)]
pub(crate) struct Source {
    path: PathBuf,
    text: String,
}

impl Source {
    pub fn new(path: PathBuf, text: String) -> Source {
        Source { path, text }
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// A message about the bytes at `span`.
    pub fn diagnostic(&self, span: &Range<usize>, key: &str, message: impl Into<String>) -> Diagnostic {
        let (line, column) = self.position(span.start);
        Diagnostic { file: self.path.clone(), line, column, key: key.to_owned(), message: message.into() }
    }

    /// Line and column of a byte offset, both from 1; the column counts characters.
    fn position(&self, offset: usize) -> (u32, u32) {
        let mut end = offset.min(self.text.len());
        while !self.text.is_char_boundary(end) {
            end -= 1;
        }
        let before = &self.text[..end];
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = before.matches('\n').count() + 1;
        let column = before[line_start..].chars().count() + 1;
        (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
    }
}

/// One message about one place of a configuration file: an error, or a note about a key that has no effect.
///
/// Displays as `FILE:LINE:COLUMN: KEY: MESSAGE`, the form that editors and terminals turn into a link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// The configuration file, as it was opened.
    pub file: PathBuf,
    /// From 1.
    pub line: u32,
    /// From 1, in characters.
    pub column: u32,
    /// The path of the key, such as `durable_objects.bindings[0].class_name`; empty for the whole file.
    pub key: String,
    /// What is wrong, or what has no effect.
    pub message: String,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.file.display(), self.line, self.column)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_count_characters_from_one() {
        let source = Source::new("w.toml".into(), "a\nké = 1\n".into());
        assert_eq!(source.position(0), (1, 1));
        let equals = source.text().find('=').unwrap();
        assert_eq!(source.position(equals), (2, 4));
        assert_eq!(source.position(10_000), (3, 1));
    }
}
