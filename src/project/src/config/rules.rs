//! Module rules: which files become modules of their own instead of JavaScript in the bundle.

use super::reader::Reader;
use super::tree::{Node, Value};

/// What a module of its own is to the importing code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RuleKind {
    /// JavaScript; matters only without a bundler, which otherwise bundles it.
    EsModule,
    /// A string.
    Text,
    /// An `ArrayBuffer`.
    Data,
    /// A `WebAssembly.Module`.
    CompiledWasm,
}

/// Files that match any of the globs are modules of the kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// What they become.
    pub kind: RuleKind,
    /// As written, such as `**/*.txt`.
    pub globs: Vec<String>,
}

/// The rules in force, first match wins: the user's, then Wrangler's defaults for the kinds whose user rules
/// all say `fallthrough` or that have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules(pub Vec<Rule>);

impl Default for Rules {
    fn default() -> Rules {
        Rules(defaults())
    }
}

impl Rules {
    /// The rules as file extensions with a leading dot, first match wins; that is what a bundler wants.
    pub fn extensions(&self) -> Vec<(String, RuleKind)> {
        let mut extensions: Vec<(String, RuleKind)> = Vec::new();
        for rule in &self.0 {
            for extension in rule.globs.iter().filter_map(|glob| extension_of(glob)) {
                if !extensions.iter().any(|(known, _)| known == extension) {
                    extensions.push((extension.to_owned(), rule.kind));
                }
            }
        }
        extensions
    }

    pub(crate) fn read(reader: &mut Reader<'_>, node: &Node, path: &str) -> Rules {
        let mut rules: Vec<Rule> = Vec::new();
        let mut complete: Vec<RuleKind> = Vec::new();
        for (index, item) in reader.array(node, path).iter().enumerate() {
            let path = format!("{path}[{index}]");
            let fields = reader.fields(item, &path, &["type", "globs", "fallthrough"]);
            if !matches!(item.value, Value::Table(_)) {
                continue;
            }
            let Some(kind) = reader.required(&fields, item, "type") else { continue };
            let kind = match kind.as_str() {
                "ESModule" => RuleKind::EsModule,
                "Text" => RuleKind::Text,
                "Data" => RuleKind::Data,
                "CompiledWasm" => RuleKind::CompiledWasm,
                other => {
                    let known = ["ESModule", "Text", "Data", "CompiledWasm"];
                    let message = match other {
                        "CommonJS" | "PythonModule" | "PythonRequirement" => {
                            format!("{other} modules: not supported yet by this release of celld")
                        }
                        _ => format!("\"{other}\" is not a kind of module; known are {}", known.join(", ")),
                    };
                    let span = fields.get("type").map_or(&item.span, |entry| &entry.node.span);
                    reader.error(span, &fields.path("type"), message);
                    continue;
                }
            };
            let Some(globs) = fields.get("globs") else {
                reader.error(&item.span, &path, "\"globs\" is missing");
                continue;
            };
            let globs_path = fields.path("globs");
            let globs_node = &globs.node;
            let globs = reader.strings(globs_node, &globs_path);
            if kind != RuleKind::EsModule {
                for glob in globs.iter().filter(|glob| extension_of(glob).is_none()) {
                    let message = format!(
                        "\"{glob}\": only globs by file extension, such as \"**/*.txt\", are supported by this release of celld"
                    );
                    reader.error(&globs_node.span, &globs_path, message);
                }
            }
            let fallthrough = fields
                .get("fallthrough")
                .and_then(|entry| reader.boolean(&entry.node, &fields.path("fallthrough")))
                .unwrap_or(false);
            if complete.contains(&kind) {
                let message = "an earlier rule of the same type has no \"fallthrough\": true, so this one never applies";
                reader.error(&item.span, &path, message);
            }
            if !fallthrough {
                complete.push(kind);
            }
            rules.push(Rule { kind, globs });
        }
        rules.extend(defaults().into_iter().filter(|rule| !complete.contains(&rule.kind)));
        Rules(rules)
    }
}

/// Wrangler's default rules.
fn defaults() -> Vec<Rule> {
    let rule =
        |kind, globs: &[&str]| Rule { kind, globs: globs.iter().map(|glob| (*glob).to_owned()).collect() };
    vec![
        rule(RuleKind::Text, &["**/*.txt", "**/*.html", "**/*.sql"]),
        rule(RuleKind::Data, &["**/*.bin"]),
        rule(RuleKind::CompiledWasm, &["**/*.wasm", "**/*.wasm?module"]),
    ]
}

/// The extension, with its dot, of a glob that selects by nothing else. A `?module` suffix is no part of the
/// file's name and is dropped.
fn extension_of(glob: &str) -> Option<&str> {
    let name = glob.strip_prefix("**/").or_else(|| glob.strip_prefix("./**/")).unwrap_or(glob);
    let extension = name.strip_prefix('*')?;
    let extension = extension.strip_suffix("?module").unwrap_or(extension);
    let plain = extension.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_'));
    (extension.len() > 1 && extension.starts_with('.') && plain).then_some(extension)
}
