//! JSON with comments and TOML, read into one tree that remembers where everything stood.

use std::ops::Range;

use jsonc_parser::ast;
use jsonc_parser::common::Ranged;
use toml::de::{DeTable, DeValue};

use super::source::{Diagnostic, Source};

/// A value and the bytes it came from.
#[derive(Debug, Clone)]
pub(crate) struct Node {
    pub span: Range<usize>,
    pub value: Value,
}

#[derive(Debug, Clone)]
pub(crate) enum Value {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    String(String),
    Array(Vec<Node>),
    Table(Vec<Entry>),
}

/// One `key: value` of a table, in the order of the file.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub key: String,
    pub key_span: Range<usize>,
    pub node: Node,
}

impl Node {
    /// The value as error messages call it.
    pub fn kind(&self) -> &'static str {
        match &self.value {
            Value::Null => "null",
            Value::Bool(_) => "a boolean",
            Value::Number(_) => "a number",
            Value::String(_) => "a string",
            Value::Array(_) => "an array",
            Value::Table(_) => "an object",
        }
    }

    /// Whether the value says nothing: `null`, `false`, `""`, `[]`, `{}`, or a table of such values.
    pub fn is_blank(&self) -> bool {
        match &self.value {
            Value::Null => true,
            Value::Bool(on) => !on,
            Value::Number(_) => false,
            Value::String(text) => text.is_empty(),
            Value::Array(items) => items.is_empty(),
            Value::Table(entries) => entries.iter().all(|entry| entry.node.is_blank()),
        }
    }

    pub fn to_json(&self) -> serde_json::Value {
        match &self.value {
            Value::Null => serde_json::Value::Null,
            Value::Bool(on) => (*on).into(),
            Value::Number(number) => number.clone().into(),
            Value::String(text) => text.clone().into(),
            Value::Array(items) => items.iter().map(Node::to_json).collect(),
            Value::Table(entries) => {
                entries.iter().map(|entry| (entry.key.clone(), entry.node.to_json())).collect()
            }
        }
    }
}

/// Reads JSON with comments and trailing commas.
pub(crate) fn parse_json(source: &Source) -> Result<Node, Box<Diagnostic>> {
    let options = jsonc_parser::ParseOptions {
        allow_comments: true,
        allow_trailing_commas: true,
        allow_loose_object_property_names: false,
        allow_missing_commas: false,
        allow_single_quoted_strings: false,
        allow_hexadecimal_numbers: false,
        allow_unary_plus_numbers: false,
    };
    // A byte order mark is not JSON, but editors on Windows write one.
    let text = source.text().strip_prefix('\u{feff}').unwrap_or(source.text());
    let shift = source.text().len() - text.len();
    let parsed = jsonc_parser::parse_to_ast(text, &Default::default(), &options).map_err(|error| {
        let span = error.range().start + shift..error.range().end + shift;
        Box::new(source.diagnostic(&span, "", format!("not valid JSON: {}", error.kind())))
    })?;
    match &parsed.value {
        Some(value) => json_node(source, value, shift),
        None => Err(Box::new(source.diagnostic(&(0..0), "", "the file is empty; expected a JSON object"))),
    }
}

fn json_node(source: &Source, value: &ast::Value<'_>, shift: usize) -> Result<Node, Box<Diagnostic>> {
    let span = |ranged: &dyn Ranged| ranged.start() + shift..ranged.end() + shift;
    let node_value = match value {
        ast::Value::NullKeyword(_) => Value::Null,
        ast::Value::BooleanLit(literal) => Value::Bool(literal.value),
        ast::Value::StringLit(literal) => Value::String(literal.value.to_string()),
        ast::Value::NumberLit(literal) => match literal.value.parse() {
            Ok(number) => Value::Number(number),
            Err(_) => {
                let message = format!("not valid JSON: {} is not a number", literal.value);
                return Err(Box::new(source.diagnostic(&span(literal), "", message)));
            }
        },
        ast::Value::Array(array) => Value::Array(
            array.elements.iter().map(|item| json_node(source, item, shift)).collect::<Result<_, _>>()?,
        ),
        ast::Value::Object(object) => {
            let mut entries: Vec<Entry> = Vec::with_capacity(object.properties.len());
            for property in &object.properties {
                let key = property.name.as_str().to_owned();
                let key_span = span(&property.name);
                if entries.iter().any(|entry| entry.key == key) {
                    return Err(Box::new(source.diagnostic(&key_span, &key, "the key is set twice")));
                }
                entries.push(Entry { key, key_span, node: json_node(source, &property.value, shift)? });
            }
            Value::Table(entries)
        }
    };
    Ok(Node { span: span(value), value: node_value })
}

/// Reads TOML.
pub(crate) fn parse_toml(source: &Source) -> Result<Node, Box<Diagnostic>> {
    let table = DeTable::parse(source.text()).map_err(|error| {
        let message = format!("not valid TOML: {}", error.message());
        Box::new(source.diagnostic(&error.span().unwrap_or(0..0), "", message))
    })?;
    Ok(Node { span: table.span(), value: toml_table(table.get_ref()) })
}

fn toml_table(table: &DeTable<'_>) -> Value {
    let mut entries: Vec<Entry> = table
        .iter()
        .map(|(key, value)| Entry {
            key: key.get_ref().to_string(),
            key_span: key.span(),
            node: Node { span: value.span(), value: toml_value(value.get_ref()) },
        })
        .collect();
    // The parser may sort the keys; messages follow the file.
    entries.sort_by_key(|entry| entry.key_span.start);
    Value::Table(entries)
}

fn toml_value(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Boolean(on) => Value::Bool(*on),
        // TOML has dates, JavaScript variables have not: Wrangler hands them on as text too.
        DeValue::Datetime(when) => Value::String(when.to_string()),
        DeValue::Integer(integer) => {
            let parsed = i64::from_str_radix(integer.as_str(), integer.radix());
            number_or_text(parsed.ok().map(Into::into), integer.as_str())
        }
        DeValue::Float(float) => {
            number_or_text(float.as_str().parse().ok().and_then(serde_json::Number::from_f64), float.as_str())
        }
        DeValue::Array(items) => Value::Array(
            items.iter().map(|item| Node { span: item.span(), value: toml_value(item.get_ref()) }).collect(),
        ),
        DeValue::Table(table) => toml_table(table),
    }
}

/// A number that JSON cannot hold (`inf`, `nan`, beyond 64 bits) stays the text that was written.
fn number_or_text(number: Option<serde_json::Number>, text: &str) -> Value {
    number.map_or_else(|| Value::String(text.to_owned()), Value::Number)
}
