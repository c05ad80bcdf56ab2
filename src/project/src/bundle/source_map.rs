//! Source maps name their sources relative to where esbuild wrote the output, a directory that is gone by the
//! time anybody reads the map. This makes the names relative to the project.

use std::path::{Component, Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

/// A version 3 source map of which only `sources` is looked into; the rest is copied as it stands.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
struct SourceMap<'a> {
    version: u32,
    sources: Vec<String>,
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    sources_content: Option<&'a RawValue>,
    #[serde(borrow)]
    mappings: &'a RawValue,
    #[serde(borrow)]
    names: &'a RawValue,
}

/// `map`, written to `written_in`, with its sources relative to `root`.
pub(super) fn relocate(map: &str, written_in: &Path, root: &Path) -> Result<String, serde_json::Error> {
    let mut map: SourceMap<'_> = serde_json::from_str(map)?;
    for source in &mut map.sources {
        // A URL, such as that of a virtual module, is not a path.
        if !source.contains("://") {
            *source = relative(&normalize(&written_in.join(&*source)), root);
        }
    }
    serde_json::to_string(&map)
}

/// `path` without `.` and `..`; textual, which is right for paths that the bundler made from real ones.
pub(super) fn normalize(path: &Path) -> PathBuf {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                normal.pop();
            }
            other => normal.push(other),
        }
    }
    normal
}

/// `path` as seen from `root`, `/`-separated.
fn relative(path: &Path, root: &Path) -> String {
    for (ups, ancestor) in root.ancestors().enumerate() {
        if let Ok(below) = path.strip_prefix(ancestor) {
            return format!("{}{}", "../".repeat(ups), below.display());
        }
    }
    path.display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_become_relative_to_the_project_and_the_rest_stays() {
        let map = r#"{
  "version": 3,
  "sources": ["../../work/app/src/index.ts", "../../work/node_modules/x/y.js", "https://x/y.ts"],
  "sourcesContent": ["let a = \"\\u0041\"", null, ""],
  "mappings": "AAAA;",
  "names": ["a"]
}"#;
        let moved = relocate(map, Path::new("/tmp/build"), Path::new("/work/app")).unwrap();
        assert_eq!(
            moved,
            r#"{"version":3,"sources":["src/index.ts","../node_modules/x/y.js","https://x/y.ts"],"#
                .to_owned()
                + r#""sourcesContent":["let a = \"\\u0041\"", null, ""],"mappings":"AAAA;","names":["a"]}"#
        );
    }
}
