//! `.dev.vars`: variables for local development in the dotenv format.
//!
//! `NAME=value` lines, an optional `export`, `#` comments, single quotes (as they are), double quotes (with
//! `\n`, `\r`, `\t`, `\"`, `\\`), backquotes, and values over several lines inside quotes. Nothing is expanded.

use std::path::{Path, PathBuf};

use indexmap::IndexMap;

/// Why a `.dev.vars` file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DotenvError {
    /// It exists and cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A line is not in the format.
    #[error("{}:{line}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// From 1.
        line: usize,
        /// What is wrong.
        message: String,
    },
}

/// The variables of one file.
#[derive(Debug)]
pub(crate) struct DevVars {
    pub file: PathBuf,
    pub vars: IndexMap<String, String>,
}

/// The variables of `.dev.vars`, or of `.dev.vars.ENV` in its place when that exists; `None` without either.
pub(crate) fn load(directory: &Path, env: Option<&str>) -> Result<Option<DevVars>, DotenvError> {
    let names = env.map(|env| format!(".dev.vars.{env}")).into_iter().chain([".dev.vars".to_owned()]);
    for path in names.map(|name| directory.join(name)) {
        match read_dotenv(&path) {
            Ok(vars) => return Ok(Some(DevVars { file: path, vars })),
            Err(DotenvError::Read { source, .. }) if source.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
    }
    Ok(None)
}

/// The variables of a file in the dotenv format, in its order.
pub fn read_dotenv(path: &Path) -> Result<IndexMap<String, String>, DotenvError> {
    let text = std::fs::read_to_string(path)
        .map_err(|source| DotenvError::Read { path: path.to_owned(), source })?;
    parse(&text).map_err(|(line, message)| DotenvError::Syntax { path: path.to_owned(), line, message })
}

/// Parses the whole text; an error is a line number and a message.
fn parse(text: &str) -> Result<IndexMap<String, String>, (usize, String)> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut vars = IndexMap::new();
    let mut rest = text;
    let mut line = 1;
    while !rest.is_empty() {
        let (current, after) = rest.split_once('\n').unwrap_or((rest, ""));
        let trimmed = current.trim();
        if trimmed.is_empty() || trimmed.starts_with('#') {
            rest = after;
            line += 1;
            continue;
        }
        let (name, value) = trimmed
            .split_once('=')
            .ok_or_else(|| (line, format!("expected NAME=value, found \"{trimmed}\"")))?;
        let name = name.strip_prefix("export ").unwrap_or(name).trim();
        if name.is_empty() || !name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-')) {
            return Err((line, format!("\"{name}\" cannot be the name of a variable")));
        }
        let quote = value.trim_start().chars().next().filter(|c| matches!(c, '"' | '\'' | '`'));
        match quote {
            Some(quote) => {
                // `trimmed` is a slice of `rest`, and a quoted value may run over its end.
                let opening = rest.find('=').map_or(0, |equals| equals + 1);
                let inner_start = opening + rest[opening..].find(quote).map_or(0, |at| at + 1);
                let inner = &rest[inner_start..];
                let length = closing_quote(inner, quote).ok_or_else(|| {
                    (line, format!("the {quote} that opens the value of {name} is never closed"))
                })?;
                let raw = &inner[..length];
                let value = if quote == '"' { unescape(raw) } else { raw.to_owned() };
                vars.insert(name.to_owned(), value);
                line += raw.matches('\n').count() + 1;
                let tail = &inner[length + 1..];
                let (trailer, after) = tail.split_once('\n').unwrap_or((tail, ""));
                let trailer = trailer.trim();
                if !trailer.is_empty() && !trailer.starts_with('#') {
                    return Err((line - 1, format!("unexpected \"{trailer}\" after the value of {name}")));
                }
                rest = after;
            }
            None => {
                let value = match value.find('#') {
                    Some(comment) => &value[..comment],
                    None => value,
                };
                vars.insert(name.to_owned(), value.trim().to_owned());
                rest = after;
                line += 1;
            }
        }
    }
    Ok(vars)
}

/// The offset of the quote that closes a value; inside double quotes a backslash protects the next character.
fn closing_quote(text: &str, quote: char) -> Option<usize> {
    let mut escaped = false;
    for (offset, c) in text.char_indices() {
        if escaped {
            escaped = false;
        } else if c == '\\' && quote == '"' {
            escaped = true;
        } else if c == quote {
            return Some(offset);
        }
    }
    None
}

fn unescape(raw: &str) -> String {
    let mut value = String::with_capacity(raw.len());
    let mut chars = raw.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            value.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => value.push('\n'),
            Some('r') => value.push('\r'),
            Some('t') => value.push('\t'),
            Some(c @ ('"' | '\\')) => value.push(c),
            Some(other) => value.extend(['\\', other]),
            None => value.push('\\'),
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(text: &str) -> Vec<(String, String)> {
        parse(text).unwrap().into_iter().collect()
    }

    #[test]
    fn reads_every_form_of_a_value() {
        let text = "# comment\n\nPLAIN = some text # why\nexport EXPORTED=1\nSINGLE='a # \\n b'\n\
                    DOUBLE=\"tab\\there \\\"q\\\"\" # c\nBACK=`x'\"`\nMULTI=\"one\ntwo\"\nEMPTY=\nEQUALS=a=b=c\r\n";
        let expected = [
            ("PLAIN", "some text"),
            ("EXPORTED", "1"),
            ("SINGLE", "a # \\n b"),
            ("DOUBLE", "tab\there \"q\""),
            ("BACK", "x'\""),
            ("MULTI", "one\ntwo"),
            ("EMPTY", ""),
            ("EQUALS", "a=b=c"),
        ];
        let expected: Vec<_> = expected.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        assert_eq!(pairs(text), expected);
    }

    #[test]
    fn the_last_of_two_wins() {
        assert_eq!(pairs("A=1\nA=2"), [("A".to_owned(), "2".to_owned())]);
    }

    #[test]
    fn errors_name_the_line() {
        assert_eq!(
            parse("A=1\nnonsense\n").unwrap_err(),
            (2, "expected NAME=value, found \"nonsense\"".into())
        );
        assert_eq!(
            parse("A='1\n2'\nB=\"open\n").unwrap_err(),
            (3, "the \" that opens the value of B is never closed".into())
        );
        assert_eq!(parse("A B=1").unwrap_err(), (1, "\"A B\" cannot be the name of a variable".into()));
        assert_eq!(parse("A='1' 2").unwrap_err(), (1, "unexpected \"2\" after the value of A".into()));
    }
}
